#include "exec/result_places.h"

namespace vx {

static bool overlap(const ResultPlace &place, const void *data, uint64_t size) {
  const auto a = reinterpret_cast<uintptr_t>(place.data), b = reinterpret_cast<uintptr_t>(data);
  return a < b + size && b < a + place.size;
}

std::optional<size_t> aliasOf(const Function &function, size_t output) {
  for (const Alias &alias : function.aliases)
    if (alias.output == output)
      return alias.input;
  return std::nullopt;
}

static Status sharesInput(const Function &function, size_t input, size_t output) {
  return failure(VX_INVALID_ARGUMENT,
                 "input '{}' and the place of output '{}' overlap, which the function does not allow",
                 function.inputs[input].name, function.outputs[output].name);
}

// The place of output `output` is an input's memory: of its alias, which the call gets once.
static Status checkTaken(const Function &function, std::span<Value *const> inputs, const ResultPlace &place,
                         size_t output) {
  if (place.data)
    return failure(VX_INVALID_ARGUMENT, "output '{}': expected memory or a value as its place, got both",
                   function.outputs[output].name);
  const std::optional<size_t> alias = aliasOf(function, output);
  bool isInput = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool uses = inputs[i] == place.value;
    for (const Ref<Value> &element : inputs[i]->tensors())
      uses |= element.get() == place.value;
    if (uses && i != alias)
      return sharesInput(function, i, output);
    isInput |= uses;
  }
  if (!isInput)
    return failure(VX_INVALID_ARGUMENT, "output '{}': its place is a value that is no input of the call",
                   function.outputs[output].name);
  return okStatus();
}

// The bytes that the result needs, which must be known before the call.
static Status sizeOf(const Function &function, const Argument &output, std::span<const int64_t> symbols,
                     std::vector<int64_t> &dims, uint64_t &size) {
  if (output.type.kind != VX_TENSOR)
    return failure(VX_INVALID_ARGUMENT, "output '{}' is no tensor, it cannot go to memory of the caller", output.name);
  bool known = true;
  for (const Expression &dim : output.type.dims) {
    dim.forEachSymbol([&](uint32_t symbol) { known &= !function.symbols[symbol].dataDependent; });
    if (!known)
      return failure(VX_INVALID_ARGUMENT,
                     "output '{}' has a size that only the call finds, it cannot go to memory of the caller",
                     output.name);
    VX_RETURN_IF_ERROR(dim.evaluate(symbols, dims.emplace_back()).addContext(fmt::format("output '{}'", output.name)));
  }
  return tensorByteSize(output.type.elementType, dims, size).addContext(fmt::format("output '{}'", output.name));
}

Status checkPlaces(const Function &function, std::span<const int64_t> symbols, std::span<Value *const> inputs,
                   std::span<const ResultPlace> places) {
  // Only the bytes that are written count.
  std::vector<ResultPlace> written(places.begin(), places.end());
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].value)
      VX_RETURN_IF_ERROR(checkTaken(function, inputs, places[i], i));
    if (!places[i].data)
      continue;
    const Argument &output = function.outputs[i];
    std::vector<int64_t> dims;
    VX_RETURN_IF_ERROR(sizeOf(function, output, symbols, dims, written[i].size));
    if (written[i].size > places[i].size)
      return failure(VX_INVALID_ARGUMENT, "output '{}': {} needs {} bytes, its place has {}", output.name,
                     tensorTypeString(output.type.elementType, dims), written[i].size, places[i].size);
    for (size_t j = 0; j < i; ++j)
      if (written[j].data && overlap(written[i], written[j].data, written[j].size))
        return failure(VX_INVALID_ARGUMENT, "the places of outputs '{}' and '{}' overlap", function.outputs[j].name,
                       output.name);
    for (size_t j = 0; j < inputs.size(); ++j) {
      auto check = [&](const Value &value) -> Status {
        const void *bytes = value.knownHostBytes();
        if (!bytes || !overlap(written[i], bytes, value.size()))
          return okStatus();
        if (j != aliasOf(function, i))
          return sharesInput(function, j, i);
        if (bytes != written[i].data)
          return failure(VX_INVALID_ARGUMENT, "input '{}' and the place of output '{}' overlap and begin apart",
                         function.inputs[j].name, output.name);
        return okStatus();
      };
      VX_RETURN_IF_ERROR(inputs[j]->kind() == VX_TENSOR ? check(*inputs[j]) : okStatus());
      for (const Ref<Value> &element : inputs[j]->tensors())
        VX_RETURN_IF_ERROR(check(*element));
    }
  }
  return okStatus();
}

} // namespace vx
