#include "call_inputs.h"

#include "command_line.h"
#include "described_tensor.h"
#include "npy.h"
#include "tensor_file.h"
#include "tool_error.h"

#include <optional>

namespace vx::tools {

static Value single(const vx_argument_info &argument, Tensor tensor) {
  Value value;
  value.kind = argument.kind;
  value.type = argument.element_type;
  value.tensors.push_back(std::move(tensor));
  return value;
}

static Value fromFile(const vx_argument_info &argument, const std::string &path) {
  if (path.ends_with(".npy")) {
    if (argument.kind == VX_SEQUENCE || argument.kind == VX_OPTIONAL_SEQUENCE)
      throw usageError("input '{}' is a sequence: expected a .pb file, got '{}'", argument.name, path);
    return single(argument, readNpy(path, argument.element_type));
  }
  if (path.ends_with(".pb")) {
    Value value = readTensorFile(path, argument.kind);
    if (value.tensors.empty())
      value.type = argument.element_type;
    return value;
  }
  throw usageError("input '{}': expected a file that ends with .npy or .pb, got '{}'", argument.name, path);
}

static Value fromText(const vx_argument_info &argument, const std::string &text, uint64_t seed) {
  Value value = single(argument, makeDescribedTensor(argument.name, text, seed));
  value.type = value.tensors.front().type;
  return value;
}

enum class Fill { Random, Zeros };

// Values that the graph takes without a fault, as far as they are known.
static Fill fillAllowed(Tensor &tensor, const vx_function_info &function, const vx_argument_info &argument,
                        SymbolValues &symbols, uint64_t seed) {
  if (!argument.range) {
    fillRandom(tensor, argument.name, seed);
    return Fill::Random;
  }
  if (!argument.range->upper)
    return Fill::Zeros;
  bindDefaults(function, symbols);
  fillRandom(tensor, argument.name, seed, argument.range->lower, evaluateDim(argument.range->upper, symbols));
  return Fill::Random;
}

std::vector<Value> makeInputs(const vx_function_info &function, const std::vector<std::string> &specifications,
                              uint64_t seed, SymbolValues &symbols, std::vector<std::string> *zeros) {
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
    if (fillAllowed(tensor, function, argument, symbols, seed) == Fill::Zeros && zeros)
      zeros->push_back(argument.name);
    values.push_back(single(argument, std::move(tensor)));
  }
  return values;
}

std::string zerosNote(const std::vector<std::string> &zeros) {
  return fmt::format("zeros for {}: which values the graph takes there is not known before a call; see --input",
                     quoteNames(zeros));
}

static vx::Value tensorToRuntime(const Tensor &tensor) {
  if (tensor.type == VX_STRING)
    return vx::Value::strings(tensor.dims, tensor.strings);
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
  if (value.kind == VX_OPTIONAL_SEQUENCE)
    return vx::Value::optionalSequence(value.type,
                                       value.isNone ? vx::Value() : vx::Value::sequence(value.type, elements));
  return vx::Value::optional(value.type, elements.empty() ? vx::Value() : elements.front());
}

static Tensor tensorFromRuntime(const vx::Value &value) {
  const std::span<const int64_t> dims = value.dims();
  if (value.info().element_type == VX_STRING) {
    const std::vector<std::string_view> strings = value.strings();
    return {VX_STRING, {dims.begin(), dims.end()}, {}, {strings.begin(), strings.end()}};
  }
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
  if (info.kind == VX_OPTIONAL_SEQUENCE) {
    if (info.count > 0)
      result.tensors = fromRuntime(value.element(0)).tensors;
    result.isNone = info.count == 0;
    return result;
  }
  for (size_t i = 0; i < info.count; ++i)
    result.tensors.push_back(tensorFromRuntime(value.element(i)));
  return result;
}

} // namespace vx::tools
