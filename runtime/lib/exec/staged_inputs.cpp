#include "exec/staged_inputs.h"

#include "exec/binding.h"
#include "exec/transfer_memory.h"

#include <algorithm>
#include <utility>

namespace vx {

Status StagedInputs::bind(Instance &instance, uint32_t index, std::span<Value *const> inputs,
                          std::span<const ResultPlace> places) {
  clear();
  pool.clear(instance.data(), &instance.memory());
  const Function &function = instance.data().functions[index];
  VX_RETURN_IF_ERROR(bindInputs(instance.data(), function, instance.symbols(), inputs, symbolValues));
  VX_RETURN_IF_ERROR(checkPlaces(function, symbolValues, inputs, places));
  entryIndex = chooseEntry(instance.target(), index, symbolValues);
  valuePointers.assign(inputs.begin(), inputs.end());
  for (Value *input : inputs)
    values.emplace_back(input);
  return okStatus();
}

Status StagedInputs::placeCopy(Instance &instance, uint64_t size, BufferRegister &place, Ref<hal::Memory> *cache) {
  Ref<hal::Memory> copy;
  const bool exact = instance.device().info().separatesBuffers;
  if (cache && *cache && (exact ? (*cache)->size() == size : (*cache)->size() >= size)) {
    copy = *cache;
  } else {
    if (cache)
      *cache = nullptr; // makes room
    VX_RETURN_IF_ERROR(instance.allocate(size, copy));
    if (cache)
      *cache = copy;
  }
  place.view = {copy.get(), 0, size};
  memory.push_back(std::move(copy));
  return okStatus();
}

Status StagedInputs::placeStrings(Instance &instance, const Value &value, BufferRegister &place,
                                  Ref<hal::Memory> *cache, hal::Stream &stream) {
  std::vector<int32_t> numbers(value.stringCount());
  for (size_t i = 0; i < numbers.size(); ++i)
    VX_RETURN_IF_ERROR(pool.number(value.string(i), numbers[i]));
  if (numbers.empty()) {
    place.view = instance.loaded().emptyBuffer().view();
    return okStatus();
  }
  VX_RETURN_IF_ERROR(placeCopy(instance, numbers.size() * sizeof(int32_t), place, cache));
  return stream.upload(place.view, numbers.data());
}

Status StagedInputs::placeTensor(Instance &instance, const Value &value, BufferRegister &place, Ref<hal::Memory> *cache,
                                 hal::Stream &stream) {
  hal::Device &device = instance.device();
  place.writable = false;
  place.owner = nullptr;
  if (value.elementType() == VX_STRING)
    return placeStrings(instance, value, place, cache, stream);
  const hal::AddressSpace space = device.info().addressSpace;
  const bool isInSpace = value.context() && space.isShared() && value.context()->device().info().addressSpace == space;
  if (isReadInPlace(value, device)) {
    place.view = {value.memory().get(), value.offset(), value.size()};
    return okStatus();
  }
  if (value.size() == 0) {
    place.view = instance.loaded().emptyBuffer().view();
    return okStatus();
  }
  const void *bytes = nullptr;
  if (!isInSpace)
    VX_RETURN_IF_ERROR(value.hostBytes(bytes));
  if (bytes && reinterpret_cast<uintptr_t>(bytes) % VX_BUFFER_ALIGNMENT == 0) {
    Ref<hal::Memory> imported;
    VX_RETURN_IF_ERROR(device.importHost(bytes, value.size(), imported));
    if (imported) {
      place.view = {imported.get(), 0, value.size()};
      memory.push_back(std::move(imported));
      return okStatus();
    }
  }
  VX_RETURN_IF_ERROR(placeCopy(instance, value.size(), place, cache));
  if (isInSpace)
    return stream.copy({value.memory().get(), value.offset(), value.size()}, place.view);
  TransferMemory source = findTransferMemory(bytes, value.size(), device);
  if (!source.memory)
    return stream.upload(place.view, bytes);
  memory.push_back(source.memory);
  return stream.copy({source.memory.get(), source.offset, value.size()}, place.view);
}

Status StagedInputs::place(Instance &instance, uint32_t index, hal::Stream &stream) {
  const Function &function = instance.data().functions[index];
  copies.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string &name = function.inputs[i].name;
    if (function.inputs[i].type.kind == VX_TENSOR) {
      VX_RETURN_IF_ERROR(placeTensor(instance, *values[i], buffers.emplace_back(), &copies[i], stream)
                             .addContext(fmt::format("input '{}'", name)));
      continue;
    }
    Ref<List> list = makeRef<List>();
    list->elementType = storedType(values[i]->elementType());
    list->isNone = values[i]->kind() == VX_OPTIONAL_SEQUENCE && values[i]->elements().empty();
    for (const Ref<Value> &element : values[i]->tensors()) {
      ListTensor &tensor = list->tensors.emplace_back();
      tensor.dims.assign(element->dims().begin(), element->dims().end());
      VX_RETURN_IF_ERROR(
          placeTensor(instance, *element, tensor.buffer, nullptr, stream).addContext(fmt::format("input '{}'", name)));
    }
    lists.push_back(std::move(list));
  }
  return okStatus();
}

void StagedInputs::fill(Registers &registers) const {
  std::copy(symbolValues.begin(), symbolValues.end(), registers.i64.begin());
  std::copy(buffers.begin(), buffers.end(), registers.buffers.begin());
  std::copy(lists.begin(), lists.end(), registers.objects.begin());
}

void StagedInputs::clear() {
  buffers.clear();
  lists.clear();
  memory.clear();
  valuePointers.clear();
  values.clear();
  pool.clear();
}

void StagedInputs::takeIdleMemory(std::vector<Ref<hal::Memory>> &idle) {
  for (Ref<hal::Memory> &copy : copies)
    if (copy)
      idle.push_back(std::move(copy));
}

} // namespace vx
