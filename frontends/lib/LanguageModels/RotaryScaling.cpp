#include "RotaryScaling.h"

#include "Families.h"
#include "GgufSettings.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <cstring>

namespace vx {

namespace {

bool isFactor(double number) { return number > 0 && number < 1e30; }

/// The parameters of a variant, by their names in config.json.
class ScalingKeys {
public:
  virtual ~ScalingKeys() = default;
  /// A number above 0. A failure without the key, if there is no `otherwise`.
  virtual double getPositive(llvm::StringRef key, std::optional<double> otherwise = std::nullopt) = 0;
  virtual bool has(llvm::StringRef key) = 0;
  virtual bool getBool(llvm::StringRef key, bool otherwise) = 0;
  /// Numbers above 0, one for each of `count` pairs. After a failure they are 1.
  virtual std::vector<double> getFactors(llvm::StringRef key, size_t count) = 0;
  virtual void fail(llvm::StringRef key, const std::string &expected, double got) = 0;
  /// GGUF files of the variant longrope have the scale of cosines and sines, which other files leave to a formula.
  virtual bool statesScale() const = 0;
};

class ConfigKeys : public ScalingKeys {
public:
  ConfigKeys(ConfigFile &object, const RotaryBase &base) : object(object), base(base) {}
  double getPositive(llvm::StringRef key, std::optional<double> otherwise) override {
    const double number = key == kOriginal && base.original ? *base.original : 0;
    return number > 0 ? ((void)object.lookup(key), number) : readPositive(object, key, otherwise);
  }
  bool has(llvm::StringRef key) override { return object.has(key); }
  bool getBool(llvm::StringRef key, bool otherwise) override { return object.getBool(key).value_or(otherwise); }
  std::vector<double> getFactors(llvm::StringRef key, size_t count) override {
    const llvm::json::Value *value = object.lookup(key);
    const llvm::json::Array *list = value ? value->getAsArray() : nullptr;
    std::vector<double> factors;
    for (const llvm::json::Value &factor : list ? *list : llvm::json::Array())
      factors.push_back(factor.getAsNumber().value_or(0));
    if (factors.size() == count && llvm::all_of(factors, isFactor))
      return factors;
    object.fail("'" + key + "': expected a list of " + llvm::Twine(count) + " numbers above 0, got " +
                (!value                            ? "none"
                 : list && factors.size() != count ? std::to_string(factors.size()) + " values"
                                                   : showJson(*value)));
    return std::vector<double>(count, 1);
  }
  void fail(llvm::StringRef key, const std::string &expected, double got) override {
    object.fail("'" + key + "': expected " + expected + ", got " + showJson(got));
  }
  bool statesScale() const override { return false; }

  static constexpr llvm::StringLiteral kOriginal = "original_max_position_embeddings";

private:
  ConfigFile &object;
  const RotaryBase &base;
};

/// The factors of a tensor; 1 after a failure.
std::vector<double> readFactors(ModelBuilder &model, llvm::StringRef name, size_t count) {
  const StoredTensor *stored = model.weights.find(name);
  std::vector<double> factors(count, 1);
  auto fail = [&](const llvm::Twine &message) {
    model.fail(model.weights.getName() + ": tensor '" + name + "': expected " + message);
    return std::vector<double>(count, 1);
  };
  const std::string expected = "f32[" + std::to_string(count) + "], got ";
  if (!stored)
    return fail(expected + "no such tensor");
  if (stored->type != "f32" || stored->dims != std::vector<int64_t>{static_cast<int64_t>(count)})
    return fail(expected + stored->type + " of " + llvm::Twine(stored->dims.size()) + " dimensions");
  for (size_t i = 0; i < count; ++i) {
    float factor;
    std::memcpy(&factor, stored->bytes.data() + i * sizeof(factor), sizeof(factor));
    if (!isFactor(factor))
      return fail("numbers above 0, got " + std::to_string(factor) + " at place " + llvm::Twine(i));
    factors[i] = factor;
  }
  return factors;
}

class GgufKeys : public ScalingKeys {
public:
  GgufKeys(ModelBuilder &model, GgufSettings &keys) : model(model), keys(keys) {}
  double getPositive(llvm::StringRef key, std::optional<double> otherwise) override {
    const llvm::StringRef name = findName(key);
    if (name.empty())
      return otherwise.value_or(1);
    if (!otherwise && !keys.has(name))
      keys.fail(name, "a number above 0");
    return keys.getPositive(name, otherwise.value_or(1));
  }
  bool has(llvm::StringRef key) override {
    const llvm::StringRef name = findName(key);
    return !name.empty() && keys.has(name);
  }
  bool getBool(llvm::StringRef, bool otherwise) override { return otherwise; }
  std::vector<double> getFactors(llvm::StringRef key, size_t count) override {
    return readFactors(model, findName(key), count);
  }
  void fail(llvm::StringRef key, const std::string &expected, double got) override {
    keys.fail(findName(key), expected, showJson(got));
  }
  bool statesScale() const override { return true; }

private:
  /// Of the key, or of the tensor; empty for a parameter that GGUF files do not have.
  static llvm::StringRef findName(llvm::StringRef key) {
    return llvm::StringSwitch<llvm::StringRef>(key)
        .Case("factor", "rope.scaling.factor")
        .Case(ConfigKeys::kOriginal, "rope.scaling.original_context_length")
        .Case("attention_factor", "rope.scaling.yarn_attn_factor")
        .Case("beta_fast", "rope.scaling.yarn_beta_fast")
        .Case("beta_slow", "rope.scaling.yarn_beta_slow")
        .Case("rope_theta", "rope.freq_base")
        .Case("long_factor", "rope_factors_long.weight")
        .Case("short_factor", "rope_factors_short.weight")
        .Default({});
  }
  ModelBuilder &model;
  GgufSettings &keys;
};

void applyNothing(ScalingKeys &, const RotaryBase &, Rotary &) {}

/// All pairs turn slower.
void applyLinear(ScalingKeys &keys, const RotaryBase &, Rotary &rotary) {
  const double factor = keys.getPositive("factor");
  for (double &frequency : rotary.frequencies)
    frequency /= factor;
}

/// As Llama 3.1 has it: a pair with a wavelength above `original` / `low` turns `factor` times slower, one below
/// `original` / `high` as it was, and between both it is a mean.
void applyLlama3(ScalingKeys &keys, const RotaryBase &, Rotary &rotary) {
  const double factor = keys.getPositive("factor"), low = keys.getPositive("low_freq_factor"),
               high = keys.getPositive("high_freq_factor"), original = keys.getPositive(ConfigKeys::kOriginal);
  if (!(low < high))
    return keys.fail("low_freq_factor", "less than 'high_freq_factor', " + showJson(high), low);
  for (double &frequency : rotary.frequencies) {
    const double wavelength = 2 * M_PI / frequency;
    if (wavelength > original / low) {
      frequency /= factor;
    } else if (wavelength >= original / high) {
      const double share = (original / wavelength - low) / (high - low);
      frequency = (1 - share) * frequency / factor + share * frequency;
    }
  }
}

/// YaRN: a pair that turns more than `beta_fast` times in the first context turns as it was, one that turns less than
/// `beta_slow` times turns `factor` times slower, and those between both are means. Cosines and sines grow with the
/// factor.
void applyYarn(ScalingKeys &keys, const RotaryBase &base, Rotary &rotary) {
  const double original = keys.getPositive(ConfigKeys::kOriginal, double(base.context)),
               factor = keys.getPositive("factor"), fast = keys.getPositive("beta_fast", 32),
               slow = keys.getPositive("beta_slow", 1);
  if (!(slow < fast))
    return keys.fail("beta_slow", "less than the fast one, " + showJson(fast), slow);
  if (!(base.theta > 1))
    return keys.fail("rope_theta", "more than 1 for this type of rotary positions", base.theta);
  // The number of the pair that turns so many times.
  auto findPair = [&](double turns) {
    return double(base.turned) * std::log(original / (turns * 2 * M_PI)) / (2 * std::log(base.theta));
  };
  double low = findPair(fast), high = findPair(slow);
  if (keys.getBool("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(base.turned - 1));
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < rotary.frequencies.size(); ++i) {
    const double share = std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
    rotary.frequencies[i] *= share / factor + (1 - share);
  }
  auto findScale = [&](double weight) { return factor > 1 ? 0.1 * weight * std::log(factor) + 1 : 1; };
  const double above = keys.getPositive("mscale", 1), below = keys.getPositive("mscale_all_dim", 1);
  const double otherwise =
      keys.has("mscale") && keys.has("mscale_all_dim") ? findScale(above) / findScale(below) : findScale(1);
  rotary.scale = keys.getPositive("attention_factor", otherwise);
}

/// LongRoPE: each pair has a factor for contexts of the first length, and one for longer ones.
void applyLongrope(ScalingKeys &keys, const RotaryBase &base, Rotary &rotary) {
  const double original = keys.getPositive(ConfigKeys::kOriginal, double(base.context));
  const size_t count = rotary.frequencies.size();
  const std::vector<double> ofShort = keys.getFactors("short_factor", count),
                            ofLong = keys.getFactors("long_factor", count);
  if (!keys.statesScale()) {
    const double factor = keys.getPositive("factor", double(base.context) / original);
    if (!(original > 1))
      return keys.fail(ConfigKeys::kOriginal, "more than 1", original);
    rotary.scale =
        keys.getPositive("attention_factor", factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(original)) : 1);
  }
  if (original < double(base.context)) {
    rotary.shortContext = static_cast<int64_t>(original);
    rotary.longFrequencies = rotary.frequencies;
  }
  for (size_t i = 0; i < count; ++i) {
    rotary.frequencies[i] /= ofShort[i];
    if (!rotary.longFrequencies.empty())
      rotary.longFrequencies[i] /= ofLong[i];
  }
}

/// All variants.
struct Variant {
  llvm::StringLiteral name;     // in config.json
  llvm::StringLiteral ggufName; // of "rope.scaling.type"; empty: no GGUF file has it
  void (*apply)(ScalingKeys &keys, const RotaryBase &base, Rotary &rotary);
};
constexpr Variant kVariants[] = {{"default", "none", applyNothing},
                                 {"linear", "linear", applyLinear},
                                 {"llama3", "", applyLlama3}, // whose GGUF files have a tensor of factors
                                 {"longrope", "longrope", applyLongrope},
                                 {"su", "", applyLongrope}, // an older name
                                 {"yarn", "yarn", applyYarn}};

/// Null for a name that no variant has; `known` is set to the list of names for messages.
const Variant *findVariant(llvm::StringLiteral Variant::*kind, llvm::StringRef name, std::string &known) {
  known.clear();
  for (const Variant &variant : kVariants) {
    const llvm::StringRef own = variant.*kind;
    if (own.empty())
      continue;
    if (own == name)
      return &variant;
    known += (known.empty() ? "one of " : ", ") + own.str();
  }
  return nullptr;
}

} // namespace

Rotary readRotary(ConfigFile &config, llvm::StringRef path, const llvm::json::Value *value, double partial,
                  RotaryBase base, llvm::StringRef family) {
  if (value && value->kind() != llvm::json::Value::Null && !value->getAsObject()) {
    config.fail(path, "an object", *value);
    return {};
  }
  ConfigFile rope = config.getObject(path);
  base.theta = readPositive(rope, "rope_theta", base.theta);
  partial = readPositive(rope, "partial_rotary_factor", partial);
  base.turned = static_cast<int64_t>(double(base.depth) * std::min(partial, 1.0));
  if (base.turned < 2 || base.turned % 2 != 0)
    config.fail("expected an even number of elements of a head that turn, got " + llvm::Twine(base.turned) + " of " +
                llvm::Twine(base.depth));
  Rotary rotary{computeFrequencies(base.theta, base.turned)};
  const std::optional<std::string> stated = rope.getString("rope_type"), old = rope.getString("type");
  const std::string type = stated ? *stated : old.value_or("default");
  std::string known;
  ConfigKeys keys(rope, base);
  if (const Variant *variant = findVariant(&Variant::name, type, known))
    variant->apply(keys, base, rotary);
  else
    rope.failAt("rope_type", "expected " + known + ", got \"" + type + "\"");
  rope.expectAllRead({}, "the family " + family.str());
  config.takeProblem(rope);
  return rotary;
}

Rotary readRotary(ModelBuilder &model, GgufSettings &settings, const RotaryBase &base) {
  Rotary rotary{computeFrequencies(base.theta, base.turned)};
  // Facts about how the model was trained, if its variant does not read them.
  for (llvm::StringRef key : {"rope.scaling.original_context_length", "rope.scaling.finetuned"})
    (void)settings.lookup(key);
  // The converter of Phi 3 writes no type.
  const bool hasFactors = model.weights.contains("rope_factors_long.weight");
  std::string_view type = settings.getString("rope.scaling.type").value_or("none");
  if (type == "none" && hasFactors)
    type = "longrope";
  std::string known;
  GgufKeys keys(model, settings);
  if (const Variant *variant = findVariant(&Variant::ggufName, type, known))
    variant->apply(keys, base, rotary);
  else
    settings.fail("rope.scaling.type", known);
  if (type == "yarn" && settings.getNumber("rope.scaling.yarn_ext_factor").value_or(1) != 1)
    settings.fail("rope.scaling.yarn_ext_factor", "1");
  rotary.scale *= settings.getPositive("rope.scaling.attn_factor", 1);
  // The factors that Llama 3's pairs turn slower by.
  const size_t count = rotary.frequencies.size();
  if (model.weights.contains("rope_freqs.weight"))
    for (auto [frequency, factor] : llvm::zip(rotary.frequencies, readFactors(model, "rope_freqs.weight", count)))
      frequency /= factor;
  return rotary;
}

} // namespace vx
