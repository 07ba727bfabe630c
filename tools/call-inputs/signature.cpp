#include "signature.h"

#include "command_line.h"
#include "tool_error.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace vx::tools {

std::string argumentText(const vx_argument_info &argument) {
  std::string text = fmt::format("{}: ", argument.name);
  if (argument.kind == VX_OPTIONAL || argument.kind == VX_OPTIONAL_SEQUENCE)
    text += "optional ";
  if (argument.kind == VX_SEQUENCE || argument.kind == VX_OPTIONAL_SEQUENCE)
    text += "sequence of ";
  text += vx_element_type_name(argument.element_type);
  if (!argument.ranked)
    return text + " of any rank";
  text += '[';
  for (uint32_t i = 0; i < argument.rank; ++i) {
    text += i ? "," : "";
    text += argument.dims[i].expression;
  }
  return text + ']';
}

template <typename Named>
static std::vector<std::string> names(const Named *items, size_t count) {
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i)
    result.emplace_back(items[i].name);
  return result;
}

const vx_function_info &findFunction(const vx::Module &module, const std::string &name) {
  const std::span<const vx_function_info> functions = module.functions();
  if (name.empty() && !functions.empty())
    return functions[0];
  for (const vx_function_info &function : functions)
    if (name == function.name)
      return function;
  if (name.empty())
    throw fileError("the module has no function");
  throw usageError("unknown function '{}', the module has {}", name,
                   quoteNames(names(functions.data(), functions.size())));
}

size_t findArgument(std::string_view what, std::string_view name, const vx_argument_info *arguments, size_t count) {
  return findName(what, name, names(arguments, count));
}

void checkDims(std::span<const vx_symbol_info> ofInstance, const vx_function_info &function, const SymbolValues &dims) {
  std::vector<vx_symbol_info> symbols(ofInstance.begin(), ofInstance.end());
  for (size_t i = 0; i < function.symbol_count; ++i)
    if (!function.symbols[i].instance)
      symbols.push_back(function.symbols[i]);
  for (const auto &[name, value] : dims) {
    const vx_symbol_info &symbol = symbols[findName("dimension", name, names(symbols.data(), symbols.size()))];
    if (value < symbol.min || value > symbol.max)
      throw usageError("--dim {}: expected a size from {} to {}, got {}", name, symbol.min, symbol.max, value);
    if (symbol.multiple > 1 && value % symbol.multiple != 0)
      throw usageError("--dim {}: expected a multiple of {}, got {}", name, symbol.multiple, value);
  }
}

static void bindDefault(const vx_symbol_info &symbol, SymbolValues &values) {
  if (values.count(symbol.name))
    return;
  // The name of several inputs whose sizes may differ: "n", "n'".
  std::string name = symbol.name;
  name.erase(name.find_last_not_of('\'') + 1);
  if (const auto given = values.find(name); given != values.end()) {
    values.emplace(symbol.name, given->second);
    return;
  }
  const int64_t least = std::max<int64_t>(symbol.min, 1);
  const int64_t multiple = std::max<int64_t>(symbol.multiple, 1);
  const int64_t rounded = (least + multiple - 1) / multiple * multiple;
  values.emplace(symbol.name, rounded <= symbol.max ? rounded : symbol.min);
}

std::vector<std::pair<std::string, int64_t>> instanceSizes(const vx::Module &module, SymbolValues &values) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const vx_symbol_info &symbol : module.symbols()) {
    bindDefault(symbol, values);
    sizes.emplace_back(symbol.name, values.at(symbol.name));
  }
  return sizes;
}

static bool isSymbol(std::string_view expression) {
  if (expression.empty() || std::isdigit(static_cast<unsigned char>(expression[0])))
    return false;
  return expression.find_first_of(" (),") == std::string_view::npos;
}

void bindSymbols(const vx_argument_info &argument, const std::vector<int64_t> &dims, SymbolValues &values) {
  if (!argument.ranked || dims.size() != argument.rank)
    return;
  for (uint32_t i = 0; i < argument.rank; ++i)
    if (argument.dims[i].size < 0 && isSymbol(argument.dims[i].expression))
      values.try_emplace(argument.dims[i].expression, dims[i]);
}

// Recursive descent over the text that the runtime prints.
class DimParser {
public:
  DimParser(std::string_view text, const SymbolValues &values) : text(text), values(values) {}

  int64_t parse() {
    const int64_t value = sum();
    skip();
    if (at != text.size())
      fail();
    return value;
  }

private:
  [[noreturn]] void fail() const {
    throw usageError("size expression '{}' is not understood at character {}", text, at);
  }
  void skip() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }
  bool take(std::string_view word) {
    skip();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  int64_t checked(bool overflow, int64_t value) const {
    if (overflow)
      throw usageError("size expression '{}' has no 64-bit value", text);
    return value;
  }

  int64_t sum() {
    int64_t value = product();
    while (take("+ ")) {
      const int64_t term = product();
      int64_t result = 0;
      const bool overflow = __builtin_add_overflow(value, term, &result);
      value = checked(overflow, result);
    }
    return value;
  }
  int64_t product() {
    int64_t value = atom();
    while (true) {
      if (take("* ")) {
        const int64_t factor = atom();
        int64_t result = 0;
        const bool overflow = __builtin_mul_overflow(value, factor, &result);
        value = checked(overflow, result);
        continue;
      }
      const int kind = take("floordiv ") ? 1 : take("ceildiv ") ? 2 : take("mod ") ? 3 : 0;
      if (kind == 0)
        return value;
      const int64_t divisor = atom();
      if (divisor == 0 || (value == INT64_MIN && divisor == -1))
        checked(true, 0);
      int64_t quotient = value / divisor;
      int64_t rest = value % divisor;
      const bool inexact = rest != 0;
      const bool negative = (value < 0) != (divisor < 0);
      if (kind == 2)
        value = quotient + (inexact && !negative);
      else if (kind == 1)
        value = quotient - (inexact && negative);
      else
        value = inexact && negative ? rest + divisor : rest;
    }
  }
  int64_t atom() {
    skip();
    if (take("(")) {
      const int64_t value = sum();
      if (!take(")"))
        fail();
      return value;
    }
    for (bool maximum : {true, false}) {
      if (!take(maximum ? "max(" : "min("))
        continue;
      const int64_t a = sum();
      if (!take(","))
        fail();
      const int64_t b = sum();
      if (!take(")"))
        fail();
      return maximum ? std::max(a, b) : std::min(a, b);
    }
    const size_t begin = at;
    while (at < text.size() && !std::strchr(" (),", text[at]))
      ++at;
    const std::string word(text.substr(begin, at - begin));
    if (word.empty())
      fail();
    if (auto found = values.find(word); found != values.end())
      return found->second;
    char *end = nullptr;
    errno = 0;
    const long long number = std::strtoll(word.c_str(), &end, 10);
    if (*end != '\0' || errno != 0)
      throw usageError("size expression '{}': '{}' has no value; give it with --dim {}=N", text, word, word);
    return number;
  }

  const std::string_view text;
  const SymbolValues &values;
  size_t at = 0;
};

int64_t evaluateDim(std::string_view expression, const SymbolValues &values) {
  return DimParser(expression, values).parse();
}

void bindDefaults(const vx_function_info &function, SymbolValues &values) {
  for (size_t s = 0; s < function.symbol_count; ++s)
    bindDefault(function.symbols[s], values);
}

std::vector<int64_t> argumentDims(const vx_function_info &function, const vx_argument_info &argument,
                                  SymbolValues &values) {
  std::vector<int64_t> dims;
  for (uint32_t i = 0; i < argument.rank; ++i) {
    const vx_dim_info &dim = argument.dims[i];
    if (dim.size >= 0) {
      dims.push_back(dim.size);
      continue;
    }
    bindDefaults(function, values);
    dims.push_back(evaluateDim(dim.expression, values));
  }
  return dims;
}

} // namespace vx::tools
