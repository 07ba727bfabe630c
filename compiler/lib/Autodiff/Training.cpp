#include "vx/Autodiff/Training.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>
#include <cstdio>

namespace vx {

using llvm::StringRef;

namespace {

std::optional<double> parseNumber(StringRef text) {
  double number = 0;
  if (text == "true")
    return 1;
  if (text == "false")
    return 0;
  // getAsDouble takes hexadecimal floats and "nan" too; what is no finite number is refused below.
  if (text.empty() || text.getAsDouble(number) || !std::isfinite(number))
    return std::nullopt;
  return number;
}

/// What a value of a key may be.
enum class Domain { Any, NotNegative, Positive, Fraction, Flag, Whole };

struct Key {
  StringRef name;
  double value; // where none is given
  Domain domain = Domain::NotNegative;
};

bool isIn(Domain domain, double value) {
  switch (domain) {
  case Domain::Any:
    return true;
  case Domain::NotNegative:
    return value >= 0;
  case Domain::Positive:
    return value > 0;
  case Domain::Fraction:
    return value >= 0 && value < 1;
  case Domain::Flag:
    return value == 0 || value == 1;
  case Domain::Whole:
    return value == std::trunc(value) && std::abs(value) < 1e15;
  }
  return false;
}

StringRef describe(Domain domain) {
  static constexpr StringRef texts[] = {"a number",         "a number of at least 0",
                                        "a number above 0", "at least 0, below 1",
                                        "true or false",    "a whole number"};
  return texts[static_cast<size_t>(domain)];
}

struct Table {
  StringRef name;
  std::vector<Key> keys;
};

const std::vector<Table> &getOptimizers() {
  static const auto *tables = new std::vector<Table>{
      {"adagrad", {{"lr_decay", 0}, {"weight_decay", 0}, {"initial_accumulator_value", 0}, {"eps", 1e-10}}},
      {"adam",
       {{"beta1", 0.9, Domain::Fraction}, {"beta2", 0.999, Domain::Fraction}, {"eps", 1e-8}, {"weight_decay", 0}}},
      {"adamw",
       {{"beta1", 0.9, Domain::Fraction}, {"beta2", 0.999, Domain::Fraction}, {"eps", 1e-8}, {"weight_decay", 0.01}}},
      {"lion", {{"beta1", 0.9, Domain::Fraction}, {"beta2", 0.99, Domain::Fraction}, {"weight_decay", 0}}},
      {"rmsprop",
       {{"alpha", 0.99}, {"eps", 1e-8}, {"weight_decay", 0}, {"momentum", 0}, {"centered", 0, Domain::Flag}}},
      {"sgd", {{"momentum", 0}, {"dampening", 0, Domain::Any}, {"weight_decay", 0}, {"nesterov", 0, Domain::Flag}}},
  };
  return *tables;
}

const std::vector<Table> &getLosses() {
  static const auto *tables = new std::vector<Table>{
      {"bce", {}},
      {"bce_logits", {}},
      {"cross_entropy",
       {{"soft", 0, Domain::Flag},
        {"smoothing", 0, Domain::Fraction},
        {"ignore_index", 0, Domain::Whole},
        {"axis", -1, Domain::Whole}}},
      {"huber", {{"delta", 1, Domain::Positive}}},
      {"kl", {}},
      {"l1", {}},
      {"mse", {}},
      {"nll", {{"ignore_index", 0, Domain::Whole}, {"axis", -1, Domain::Whole}}},
      {"none", {}},
  };
  return *tables;
}

template <typename List>
std::string joinNames(const List &list) {
  return llvm::join(llvm::map_range(list, [](const auto &entry) { return entry.name.str(); }), ", ");
}

const Table *find(StringRef what, const std::vector<Table> &tables, StringRef name, std::string &error) {
  for (const Table &table : tables)
    if (table.name == name)
      return &table;
  error = (what + ": expected one of " + joinNames(tables) + ", got '" + name + "'").str();
  return nullptr;
}

/// Calls `set` for "key=value"; false after an error.
bool parseEntry(StringRef what, const Table &table, StringRef entry, llvm::function_ref<void(const Key &, double)> set,
                std::string &error) {
  auto [name, text] = entry.split('=');
  auto key = llvm::find_if(table.keys, [&, name = name](const Key &known) { return known.name == name; });
  if (key == table.keys.end() && name == "lr") {
    error =
        (what + ": the rate is an input of each step, not a key of '" + table.name + "', got '" + entry + "'").str();
    return false;
  }
  if (key == table.keys.end()) {
    error = (what + ": " + table.name + " has " +
             (table.keys.empty() ? "no keys" : "the keys " + joinNames(table.keys)) + ", got '" + entry + "'")
                .str();
    return false;
  }
  std::optional<double> number = parseNumber(text);
  if (!number || !isIn(key->domain, *number)) {
    error = (what + ": expected " + describe(key->domain) + " as " + name + ", got '" + text + "'").str();
    return false;
  }
  set(*key, *number);
  return true;
}

/// As short as a number can be said so that it is read back the same.
std::string toText(double value) {
  char text[32];
  for (int digits = 1; digits < 18; ++digits) {
    snprintf(text, sizeof(text), "%.*g", digits, value);
    if (strtod(text, nullptr) == value)
      break;
  }
  return text;
}

} // namespace

std::optional<LossSpec> LossSpec::parseUnweighted(StringRef text, std::string &error) {
  auto [name, rest] = text.split(':');
  const Table *table = find("--loss", getLosses(), name, error);
  if (!table)
    return std::nullopt;
  LossSpec spec;
  spec.name = name.str();
  llvm::SmallVector<StringRef> entries;
  rest.split(entries, ',');
  for (auto [number, entry] : llvm::enumerate(entries)) {
    if (number == 0 && !entry.contains('=')) {
      spec.output = entry.str();
      continue;
    }
    auto set = [&](const Key &key, double value) {
      if (key.name == "soft")
        spec.isSoft = value != 0;
      else if (key.name == "smoothing")
        spec.smoothing = value;
      else if (key.name == "ignore_index")
        spec.ignoredIndex = static_cast<int64_t>(value);
      else if (key.name == "axis")
        spec.axis = static_cast<int64_t>(value);
      else
        spec.delta = value;
    };
    if (!parseEntry("--loss", *table, entry, set, error))
      return std::nullopt;
  }
  if (spec.isSoft && spec.ignoredIndex) {
    error = "--loss: ignore_index is a class number, expected none with soft=true, got both";
    return std::nullopt;
  }
  return spec;
}

std::optional<OptimizerSpec> OptimizerSpec::parseUngrouped(StringRef text, std::string &error) {
  auto [name, rest] = text.split(':');
  const Table *table = find("--optimizer", getOptimizers(), name, error);
  if (!table)
    return std::nullopt;
  OptimizerSpec spec;
  spec.name = name.str();
  for (const Key &key : table->keys)
    spec.values.emplace_back(key.name.str(), key.value);
  llvm::SmallVector<StringRef> entries;
  if (text.contains(':'))
    rest.split(entries, ',');
  for (StringRef entry : entries) {
    auto set = [&](const Key &key, double value) {
      for (auto &[known, stored] : spec.values)
        if (known == key.name)
          stored = value;
    };
    if (!parseEntry("--optimizer", *table, entry, set, error))
      return std::nullopt;
  }
  if (spec.name == "sgd" && spec.get("nesterov") != 0 && (spec.get("momentum") == 0 || spec.get("dampening") != 0)) {
    error = "--optimizer: expected a momentum above 0 and a dampening of 0 for nesterov, got " +
            toText(spec.get("momentum")) + " and " + toText(spec.get("dampening"));
    return std::nullopt;
  }
  return spec;
}

double OptimizerSpec::get(StringRef key) const {
  auto entry = llvm::find_if(values, [&](const auto &known) { return known.first == key; });
  return entry == values.end() ? 0 : entry->second;
}

std::string OptimizerSpec::describe() const {
  std::string text = name;
  auto append = [&, isFirst = true](StringRef key, double value) mutable {
    text += (std::exchange(isFirst, false) ? ":" : ",") + key.str() + "=" + toText(value);
  };
  for (auto &[key, value] : values)
    append(key, value);
  if (clipNorm)
    append("clip_norm", *clipNorm);
  if (clipValue)
    append("clip_value", *clipValue);
  return text;
}

std::optional<NamePatterns> NamePatterns::parse(const std::vector<std::string> &patterns, std::string &error) {
  for (const std::string &pattern : patterns)
    if (llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern); !glob) {
      error = "'" + pattern + "': " + llvm::toString(glob.takeError());
      return std::nullopt;
    }
  NamePatterns result;
  result.patterns = patterns;
  result.isUsed.resize(patterns.size());
  return result;
}

bool NamePatterns::match(StringRef name) {
  bool matches = false;
  for (size_t i = 0; i < patterns.size(); ++i)
    // A name with brackets in it is meant as it stands.
    if (patterns[i] == name || llvm::cantFail(llvm::GlobPattern::create(patterns[i])).match(name))
      matches = isUsed[i] = true;
  return matches;
}

std::vector<std::string> NamePatterns::getUnused() const {
  std::vector<std::string> unused;
  for (size_t i = 0; i < patterns.size(); ++i)
    if (!isUsed[i])
      unused.push_back(patterns[i]);
  return unused;
}

} // namespace vx
