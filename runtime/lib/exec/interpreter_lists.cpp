// The interpreter's host objects: sequences and optionals, and the results of a program.
#include "exec/interpreter.h"

#include "base/log.h"
#include "exec/host_functions.h"

#include <algorithm>

namespace vx {

Status Interpreter::keep(const BufferRegister &source, uint64_t size, BufferRegister &kept) {
  // Memory of the caller is not for others to keep.
  const bool isGiven = source.owner && std::any_of(state.given.begin(), state.given.end(), [&](const auto &given) {
                         return given.isCallers && given.memory == source.owner;
                       });
  if (source.owner && !isGiven) {
    kept = source;
    kept.view.size = size;
    return okStatus();
  }
  if (call.check) [[unlikely]]
    VX_RETURN_IF_ERROR(call.check->read(program, source, "a copy"));
  // Arena, inputs, constants and variables change or go away after this.
  kept = {};
  VX_RETURN_IF_ERROR(call.allocate(size, kept.owner).addContext("element of a sequence"));
  kept.view = {kept.owner.get(), 0, size};
  kept.writable = true;
  if (size == 0)
    return okStatus();
  hal::BufferView from = source.view;
  from.size = size;
  return call.stream->copy(from, kept.view);
}

Status Interpreter::runListOp(const Instruction &instruction) {
  const std::vector<uint32_t> &operands = instruction.operands;
  List *list = nullptr;
  switch (instruction.op) {
  case Op::MoveObject:
    return setObject(operands[0], registers.objects[operands[1]]);
  case Op::ListEmpty:
  case Op::NoList: {
    Ref<List> result = makeRef<List>();
    result->elementType = static_cast<vx_element_type>(instruction.imm);
    result->isNone = instruction.op == Op::NoList;
    result->held.countIn(hostMemory());
    return setObject(operands[0], std::move(result));
  }
  case Op::HasList:
    // The loader has seen that something is there.
    i64(operands[0]) = !registers.objects[operands[1]]->isNone;
    return okStatus();
  case Op::ListInsert:
    return listInsert(instruction);
  case Op::ListErase: {
    VX_RETURN_IF_ERROR(listOf(operands[1], list));
    int64_t position = i64(operands[2]), count = static_cast<int64_t>(list->tensors.size());
    if (position < 0 || position >= count)
      return outOfRange(instruction, "position", position, 0, count);
    Ref<List> result;
    VX_RETURN_IF_ERROR(ownList(operands[0], operands[1], list->tensors.size(), result));
    result->tensors.erase(result->tensors.begin() + position);
    return setObject(operands[0], std::move(result));
  }
  case Op::HostCall:
    return hostCall(instruction);
  case Op::ListSize:
    VX_RETURN_IF_ERROR(listOf(operands[1], list));
    i64(operands[0]) = static_cast<int64_t>(list->tensors.size());
    return okStatus();
  default: // ListGet
    return listGet(instruction);
  }
}

bool Interpreter::isOverwritten(uint32_t object) const {
  for (const Instruction &instruction : following) {
    if (!instruction.blocks.empty())
      return false;
    // Capital letters are what an instruction writes.
    const std::string_view signature = opFacts(instruction.op).signature;
    const auto has = [&](char kind) {
      for (size_t i = 0; i < instruction.operands.size() && i < signature.size(); ++i)
        if (signature[i] == kind && instruction.operands[i] == object)
          return true;
      return false;
    };
    if (has('o'))
      return false;
    if (has('O'))
      return true;
  }
  return false;
}

Status Interpreter::ownList(uint32_t target, uint32_t source, size_t count, Ref<List> &list) {
  if (target == source || isOverwritten(source)) {
    Ref<List> taken = std::move(registers.objects[source]);
    if (target != source)
      VX_RETURN_IF_ERROR(setObject(target, nullptr));
    if (taken->unique()) {
      if (count > taken->tensors.size())
        VX_RETURN_IF_ERROR(
            taken->held.add((count - taken->tensors.size()) * List::elementBytes).addContext("sequence"));
      list = std::move(taken);
      return okStatus();
    }
    registers.objects[source] = std::move(taken);
  }
  const List &before = *registers.objects[source];
  list = makeRef<List>();
  list->elementType = before.elementType;
  list->held.countIn(hostMemory());
  VX_RETURN_IF_ERROR(list->held.add(count * List::elementBytes).addContext("sequence"));
  list->tensors = before.tensors;
  return okStatus();
}

Status Interpreter::listInsert(const Instruction &instruction) {
  const std::vector<uint32_t> &operands = instruction.operands;
  List *list = nullptr;
  VX_RETURN_IF_ERROR(listOf(operands[1], list));
  int64_t position = i64(operands[2]), count = static_cast<int64_t>(list->tensors.size());
  if (position < 0 || position > count)
    return outOfRange(instruction, "position", position, 0, count + 1);
  hal::BufferView view;
  VX_RETURN_IF_ERROR(viewOf(operands[3], view));
  ListTensor tensor;
  for (size_t i = 4; i < operands.size(); ++i)
    tensor.dims.push_back(i64(operands[i]));
  uint64_t size = 0;
  VX_RETURN_IF_ERROR(tensorByteSize(list->elementType, tensor.dims, size));
  if (size > view.size)
    return failure(VX_INVALID_MODULE, "program '{}' puts {} of {} bytes into a list, the buffer has {}", program.name,
                   tensorTypeString(list->elementType, tensor.dims), size, view.size);
  VX_RETURN_IF_ERROR(keep(registers.buffers[operands[3]], size, tensor.buffer));
  Ref<List> result;
  VX_RETURN_IF_ERROR(ownList(operands[0], operands[1], list->tensors.size() + 1, result));
  result->tensors.insert(result->tensors.begin() + position, std::move(tensor));
  return setObject(operands[0], std::move(result));
}

Status Interpreter::listGet(const Instruction &instruction) {
  const std::vector<uint32_t> &operands = instruction.operands;
  List *list = nullptr;
  VX_RETURN_IF_ERROR(listOf(operands[1], list));
  int64_t position = i64(operands[2]), count = static_cast<int64_t>(list->tensors.size());
  if (position < 0 || position >= count)
    return outOfRange(instruction, "position", position, 0, count);
  const ListTensor &tensor = list->tensors[static_cast<size_t>(position)];
  if (tensor.dims.size() != operands.size() - 3) {
    std::string node = instruction.site >= 0 ? loaded.data().faultSites[static_cast<size_t>(instruction.site)].node
                                             : std::string("ListGet");
    return failure(VX_FAULT, "{}: element {} has rank {}, expected {}", node, position, tensor.dims.size(),
                   operands.size() - 3);
  }
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    i64(operands[3 + i]) = tensor.dims[i];
  BufferRegister buffer = tensor.buffer;
  buffer.writable = false;
  return setBuffer(operands[0], std::move(buffer));
}

Status Interpreter::hostCall(const Instruction &instruction) {
  const std::vector<uint32_t> &operands = instruction.operands;
  List *list = nullptr;
  VX_RETURN_IF_ERROR(listOf(operands[1], list));
  VX_RETURN_IF_ERROR(checkFaults());
  std::vector<HostTensor> inputs, results;
  HostBytes held(hostMemory());
  for (const ListTensor &tensor : list->tensors) {
    VX_RETURN_IF_ERROR(held.add(tensor.buffer.view.size).addContext("what the host reads"));
    HostTensor &input = inputs.emplace_back(HostTensor{list->elementType, tensor.dims, {}});
    input.bytes.resize(tensor.buffer.view.size);
    if (!input.bytes.empty())
      VX_RETURN_IF_ERROR(call.stream->download(tensor.buffer.view, input.bytes.data()));
    call.statistics.hostBytes += input.bytes.size();
  }
  ++call.statistics.hostCalls;
  const HostFunction &function = loaded.data().hostFunctions[static_cast<size_t>(instruction.imm)];
  std::string damage;
  Status status = computeHostFunction(function, inputs, call.inputs->strings(), held, results, damage);
  const std::string node = instruction.site >= 0 ? loaded.data().faultSites[static_cast<size_t>(instruction.site)].node
                                                 : std::string("HostCall");
  if (status.code() == VX_FAULT)
    return std::move(status).addContext(node);
  VX_RETURN_IF_ERROR(std::move(status));
  if (!damage.empty())
    log(VX_LOG_WARNING, "{}: {}", node, damage);
  Ref<List> result = makeRef<List>();
  result->elementType = results.front().type;
  for (HostTensor &tensor : results) {
    ListTensor &made = result->tensors.emplace_back();
    made.dims = std::move(tensor.dims);
    made.buffer.writable = true;
    VX_RETURN_IF_ERROR(call.allocate(tensor.bytes.size(), made.buffer.owner).addContext("what the host computes"));
    made.buffer.view = {made.buffer.owner.get(), 0, tensor.bytes.size()};
    if (!tensor.bytes.empty())
      VX_RETURN_IF_ERROR(call.stream->upload(made.buffer.view, tensor.bytes.data()));
    call.statistics.hostBytes += tensor.bytes.size();
  }
  return setObject(operands[0], std::move(result));
}

Status Interpreter::tensorSize(const Argument &output, std::span<const int64_t> dims, const BufferRegister &buffer,
                               uint64_t &size) {
  if (call.check) [[unlikely]]
    VX_RETURN_IF_ERROR(call.check->read(program, buffer, "a result"));
  VX_RETURN_IF_ERROR(tensorByteSize(storedType(output.type.elementType), dims, size));
  if (!buffer.view.memory)
    return failure(VX_INVALID_MODULE, "program '{}' leaves nothing for output '{}'", program.name, output.name);
  if (size > buffer.view.size)
    return failure(VX_INVALID_MODULE, "program '{}' gives {} bytes for output '{}', {} needs {}", program.name,
                   buffer.view.size, output.name, tensorTypeString(output.type.elementType, dims), size);
  return okStatus();
}

// A string of a result is a call's no longer.
Status Interpreter::stringsValue(const Argument &output, std::span<const int64_t> dims, const BufferRegister &buffer,
                                 uint64_t size, Ref<Value> &value) {
  VX_RETURN_IF_ERROR(checkFaults());
  // The numbers, the texts that they mean, and their copies in the value.
  HostBytes held(hostMemory());
  const uint64_t count = size / sizeof(int32_t);
  const auto hold = [&](uint64_t bytes) { return held.add(bytes).addContext(fmt::format("output '{}'", output.name)); };
  VX_RETURN_IF_ERROR(hold(count * (sizeof(int32_t) + sizeof(std::string_view) + sizeof(size_t))));
  std::vector<int32_t> numbers(count);
  if (size)
    VX_RETURN_IF_ERROR(call.stream->download({buffer.view.memory, buffer.view.offset, size}, numbers.data()));
  std::vector<std::string_view> texts(numbers.size());
  uint64_t bytes = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    VX_RETURN_IF_ERROR(
        call.inputs->strings().text(numbers[i], texts[i]).addContext(fmt::format("output '{}'", output.name)));
    bytes += texts[i].size();
  }
  VX_RETURN_IF_ERROR(hold(bytes));
  return Value::strings(dims, texts, value);
}

Status Interpreter::tensorValue(const Argument &output, std::vector<int64_t> dims, const BufferRegister &buffer,
                                Ref<Value> &value) {
  uint64_t size = 0;
  VX_RETURN_IF_ERROR(tensorSize(output, dims, buffer, size));
  if (output.type.elementType == VX_STRING)
    return stringsValue(output, dims, buffer, size, value);
  BufferRegister kept;
  VX_RETURN_IF_ERROR(keep(buffer, size, kept).addContext(fmt::format("output '{}'", output.name)));
  value = Value::deviceTensor(output.type.elementType, std::move(dims), size, loaded.context(), kept.owner,
                              kept.view.offset);
  return okStatus();
}

Status Interpreter::result(const Derived &output, const Result &result, KeptBuffer &buffer) {
  hal::BufferView view;
  VX_RETURN_IF_ERROR(viewOf(static_cast<uint32_t>(result.buffer), view));
  if (output.size > view.size)
    return failure(VX_INVALID_MODULE, "program '{}' gives {} bytes, {} needs {}", program.name, view.size,
                   tensorTypeString(output.elementType, output.dims), output.size);
  const BufferRegister &made = registers.buffers[static_cast<size_t>(result.buffer)];
  if (buffer.memory && made.owner.get() == buffer.memory.get())
    return okStatus(); // it was given as the place
  BufferRegister kept;
  VX_RETURN_IF_ERROR(keep(made, view.size, kept));
  buffer = {kept.owner, kept.view.offset, kept.view.size};
  return okStatus();
}

Status Interpreter::own(const Result &result) {
  BufferRegister &buffer = registers.buffers[static_cast<size_t>(result.buffer)];
  if (buffer.owner)
    return okStatus();
  hal::BufferView view;
  VX_RETURN_IF_ERROR(viewOf(static_cast<uint32_t>(result.buffer), view));
  BufferRegister kept;
  VX_RETURN_IF_ERROR(keep(buffer, view.size, kept));
  kept.origin = buffer.origin;
  return setBuffer(static_cast<uint32_t>(result.buffer), std::move(kept));
}

Status Interpreter::resultTo(const Argument &output, const Result &result, const ResultPlace &place,
                             Ref<Value> &value) {
  const BufferRegister &buffer = registers.buffers[static_cast<size_t>(result.buffer)];
  std::vector<int64_t> dims;
  for (uint32_t index : result.dims)
    dims.push_back(i64(index));
  uint64_t size = 0;
  VX_RETURN_IF_ERROR(tensorSize(output, dims, buffer, size));
  if (size > place.size)
    return failure(VX_INVALID_MODULE, "program '{}' gives {} bytes for output '{}', whose place has {}", program.name,
                   size, output.name, place.size);
  const auto *there = static_cast<const uint8_t *>(buffer.view.memory->host());
  if (size && (!there || there + buffer.view.offset != place.data))
    VX_RETURN_IF_ERROR(call.stream->download({buffer.view.memory, buffer.view.offset, size}, place.data));
  return Value::wrapTensor(output.type.elementType, dims, place.data, size, nullptr, nullptr, value);
}

Status Interpreter::result(const Argument &output, const Result &result, Ref<Value> &value) {
  if (result.buffer >= 0) {
    std::vector<int64_t> dims;
    for (uint32_t index : result.dims)
      dims.push_back(i64(index));
    return tensorValue(output, std::move(dims), registers.buffers[static_cast<size_t>(result.buffer)], value);
  }
  const vx_value_kind kind = output.type.kind;
  List *list = registers.objects[static_cast<size_t>(result.object)].get();
  if (kind != VX_OPTIONAL_SEQUENCE || !list)
    VX_RETURN_IF_ERROR(listOf(static_cast<uint32_t>(result.object), list));
  if (list->elementType != storedType(output.type.elementType))
    return failure(VX_INVALID_MODULE, "program '{}' gives a list of {} for output '{}', expected {}", program.name,
                   elementTypeName(list->elementType), output.name, elementTypeName(output.type.elementType));
  if (kind == VX_OPTIONAL && list->tensors.size() > 1)
    return failure(VX_INVALID_MODULE, "program '{}' gives {} elements for output '{}', expected at most 1",
                   program.name, list->tensors.size(), output.name);
  std::vector<Ref<Value>> elements;
  for (const ListTensor &tensor : list->tensors)
    VX_RETURN_IF_ERROR(tensorValue(output, tensor.dims, tensor.buffer, elements.emplace_back()));
  if (kind != VX_OPTIONAL_SEQUENCE)
    return Value::list(kind, output.type.elementType, std::move(elements), value);
  std::vector<Ref<Value>> held;
  if (!list->isNone)
    VX_RETURN_IF_ERROR(Value::list(VX_SEQUENCE, output.type.elementType, std::move(elements), held.emplace_back()));
  return Value::list(kind, output.type.elementType, std::move(held), value);
}

} // namespace vx
