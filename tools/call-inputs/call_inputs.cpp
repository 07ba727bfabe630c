#include "call_inputs.h"

#include "command_line.h"
#include "npy.h"
#include "tensor_file.h"
#include "tool_error.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace vx::tools {

// The generator of made-up inputs, which the compiler's interpreter has too, so that their results can be compared:
//   r(i) = mix(key + (i + 1) * step) with key = mix(seed + step) ^ hash(name).
static constexpr uint64_t Step = 0x9e3779b97f4a7c15;

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

static uint64_t hashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

void fillRandom(Tensor &tensor, std::string_view name, uint64_t seed) {
  const uint64_t key = mix(seed + Step) ^ hashName(name);
  const uint64_t count = elementCount(tensor.type, tensor.dims).value_or(0);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t random = mix(key + (i + 1) * Step);
    if (isFloat(tensor.type))
      setElement(tensor, i, std::ldexp(static_cast<double>(random >> 40), -23) - 1);
    else if (tensor.type == VX_BOOL)
      setElement(tensor, i, static_cast<double>(random >> 63));
    else
      setElement(tensor, i, static_cast<double>((random >> 32) % 4));
  }
}

static Tensor makeTensor(const std::string &name, vx_element_type type, std::vector<int64_t> dims) {
  const std::optional<uint64_t> count = elementCount(type, dims);
  if (!count)
    throw usageError("input '{}': {} is negative or too large", name, typeText(type, dims));
  return {type, std::move(dims), std::vector<uint8_t>(byteCount(type, *count))};
}

static Value single(const vx_argument_info &argument, Tensor tensor) {
  Value value;
  value.kind = argument.kind;
  value.type = argument.element_type;
  value.tensors.push_back(std::move(tensor));
  return value;
}

static Value fromFile(const vx_argument_info &argument, const std::string &path) {
  if (path.ends_with(".npy")) {
    if (argument.kind == VX_SEQUENCE)
      throw usageError("input '{}' is a sequence: want a .pb file, got '{}'", argument.name, path);
    return single(argument, readNpy(path, argument.element_type));
  }
  if (path.ends_with(".pb")) {
    Value value = readTensorFile(path, argument.kind);
    if (value.tensors.empty())
      value.type = argument.element_type;
    return value;
  }
  throw usageError("input '{}': want a file that ends with .npy or .pb, got '{}'", argument.name, path);
}

// "f32[2,3]:random"
static Value fromText(const vx_argument_info &argument, const std::string &text, uint64_t seed) {
  const size_t open = text.find('[');
  const size_t close = text.find("]:");
  if (open == std::string::npos || close == std::string::npos || close < open)
    throw usageError("input '{}': want @FILE or TYPE[DIMS]:random|zeros|ones, got '{}'", argument.name, text);
  const std::optional<vx_element_type> type = elementTypeFromName(text.substr(0, open));
  if (!type)
    throw usageError("input '{}': unknown element type '{}'", argument.name, text.substr(0, open));
  std::vector<int64_t> dims;
  for (const std::string &piece : splitList(text.substr(open + 1, close - open - 1))) {
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), dim);
    if (error != std::errc() || end != piece.data() + piece.size() || dim < 0)
      throw usageError("input '{}': want a size of 0 or more, got '{}'", argument.name, piece);
    dims.push_back(dim);
  }
  Tensor tensor = makeTensor(argument.name, *type, std::move(dims));
  const std::string fill = text.substr(close + 2);
  if (fill == "random") {
    fillRandom(tensor, argument.name, seed);
  } else if (fill == "ones") {
    const uint64_t count = elementCount(tensor.type, tensor.dims).value_or(0);
    for (uint64_t i = 0; i < count; ++i)
      setElement(tensor, i, 1);
  } else if (fill != "zeros") {
    throw usageError("input '{}': want random, zeros or ones, got '{}'", argument.name, fill);
  }
  Value value = single(argument, std::move(tensor));
  value.type = *type;
  return value;
}

std::vector<Value> makeInputs(const vx_function_info &function, const std::vector<std::string> &specifications,
                              uint64_t seed, SymbolValues &symbols) {
  std::vector<std::optional<Value>> given(function.input_count);
  for (const std::string &specification : specifications) {
    const auto [name, text] = splitAssignment("--input", specification);
    const size_t index = findArgument("input", name, function.inputs, function.input_count);
    const vx_argument_info &argument = function.inputs[index];
    if (given[index])
      throw usageError("input '{}' is given twice", name);
    given[index] = text[0] == '@' ? fromFile(argument, text.substr(1)) : fromText(argument, text, seed);
    if (argument.kind == VX_TENSOR)
      bindSymbols(argument, given[index]->tensors.front().dims, symbols);
  }

  std::vector<Value> values;
  for (size_t i = 0; i < function.input_count; ++i) {
    const vx_argument_info &argument = function.inputs[i];
    if (given[i]) {
      values.push_back(std::move(*given[i]));
      continue;
    }
    Tensor tensor = makeTensor(argument.name, argument.element_type, argumentDims(function, argument, symbols));
    fillRandom(tensor, argument.name, seed);
    values.push_back(single(argument, std::move(tensor)));
  }
  return values;
}

static vx::Value tensorToRuntime(const Tensor &tensor) {
  return vx::Value::raw(tensor.type, tensor.dims, tensor.bytes.data(), tensor.bytes.size());
}

vx::Value toRuntime(const Value &value) {
  if (value.kind == VX_TENSOR)
    return tensorToRuntime(value.tensors.front());
  std::vector<vx::Value> elements;
  for (const Tensor &tensor : value.tensors)
    elements.push_back(tensorToRuntime(tensor));
  if (value.kind == VX_SEQUENCE)
    return vx::Value::sequence(value.type, elements);
  return vx::Value::optional(value.type, elements.empty() ? vx::Value() : elements.front());
}

static Tensor tensorFromRuntime(const vx::Value &value) {
  const std::span<const int64_t> dims = value.dims();
  const std::span<const std::byte> bytes = value.bytes();
  const auto *begin = reinterpret_cast<const uint8_t *>(bytes.data());
  return {value.info().element_type, {dims.begin(), dims.end()}, {begin, begin + bytes.size()}};
}

Value fromRuntime(const vx::Value &value) {
  const vx_value_info info = value.info();
  Value result;
  result.kind = info.kind;
  result.type = info.element_type;
  if (info.kind == VX_TENSOR) {
    result.tensors.push_back(tensorFromRuntime(value));
    return result;
  }
  for (size_t i = 0; i < info.count; ++i)
    result.tensors.push_back(tensorFromRuntime(value.element(i)));
  return result;
}

} // namespace vx::tools
