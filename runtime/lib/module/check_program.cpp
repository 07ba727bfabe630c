// Runs a program over what is known before any call: which registers hold something, the numbers and sizes that follow
// from constants. What the executor relies on and what can be known here is refused here; the rest it checks itself.
#include "module/decoder.h"
#include "module/dispatch_sizes.h"

#include <algorithm>
#include <map>

namespace vx {

namespace {

// What is known of each register of one file. Changes are remembered, so that a branch can be taken back.
template <typename Fact>
class Facts {
public:
  using Changes = std::map<uint32_t, Fact>;

  explicit Facts(size_t count) : facts(count) {}
  const Fact &operator[](uint32_t index) const { return facts[index]; }
  void set(uint32_t index, Fact fact) {
    trail.emplace_back(index, std::move(facts[index]));
    facts[index] = std::move(fact);
  }
  size_t mark() const { return trail.size(); }
  // Goes back to what was known at `mark`; gives what was known instead.
  Changes undo(size_t mark) {
    Changes undone;
    for (; trail.size() > mark; trail.pop_back()) {
      auto &[index, before] = trail.back();
      undone.try_emplace(index, facts[index]); // the last change of a register comes first here
      facts[index] = std::move(before);
    }
    return undone;
  }
  // Where two ways from here meet. A register that one of them leaves alone keeps what it has.
  void meet(const Changes &first, const Changes &second) {
    for (const auto &[index, fact] : first) {
      auto other = second.find(index);
      set(index, fact.meet(other == second.end() ? facts[index] : other->second));
    }
    for (const auto &[index, fact] : second)
      if (!first.count(index))
        set(index, fact.meet(facts[index]));
  }
  void take(const Changes &only) {
    for (const auto &[index, fact] : only)
      set(index, fact);
  }

private:
  std::vector<Fact> facts;
  std::vector<std::pair<uint32_t, Fact>> trail;
};

struct Number {
  std::optional<int64_t> value = 0; // what an i64 register holds at first

  Number meet(const Number &other) const { return {value == other.value ? value : std::nullopt}; }
};

struct Buffer {
  bool defined = false;
  bool writable = false; // perhaps
  std::optional<uint64_t> size;
  std::optional<uint64_t> offset; // from a place that is aligned for kernels

  Buffer meet(const Buffer &other) const {
    return {defined && other.defined, writable || other.writable, size == other.size ? size : std::nullopt,
            offset == other.offset ? offset : std::nullopt};
  }
};

struct Object {
  bool defined = false;

  Object meet(const Object &other) const { return {defined && other.defined}; }
};

class ProgramChecker {
public:
  ProgramChecker(const ModuleData &data, const Target &target, const Program &program, size_t derivedCount)
      : data(data), target(target), program(program), derivedCount(derivedCount), numbers(program.i64Registers),
        buffers(program.bufferRegisters), objects(program.objectRegisters) {}

  void enter(const Function &entered);
  Status run(const Block &block);
  Status tensorResult(const Result &result, std::string_view of, vx_element_type type,
                      std::span<const std::optional<int64_t>> dims) const;
  Status result(const Result &result, const Argument &output) const;

private:
  Status step(const Instruction &instruction);
  Status branch(const Instruction &instruction);
  Status loop(const Instruction &instruction);
  Status command(const Command &command);
  Status dispatch(const Command &command);
  Status copy(const Command &command) const;
  Status readInput(const Instruction &instruction) const;
  Status slice(uint32_t result, const Buffer &of, std::string_view where, uint32_t offset, uint32_t size);
  Status reads(const Instruction &instruction) const;
  Status known(char file, uint32_t index) const;
  void forget(const Block &block);

  std::optional<uint64_t> sizeIn(uint32_t index) const {
    const std::optional<int64_t> &value = numbers[index].value;
    return value && *value >= 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
  }
  void number(uint32_t index, std::optional<int64_t> value) { numbers.set(index, {value}); }

  const ModuleData &data;
  const Target &target;
  const Program &program;
  const size_t derivedCount;
  const Function *function = nullptr; // none: the program computes a derived constant
  Facts<Number> numbers;
  Facts<Buffer> buffers;
  Facts<Object> objects;
};

void ProgramChecker::enter(const Function &entered) {
  function = &entered;
  for (uint32_t i = 0; i < entered.symbols.size(); ++i)
    number(i, std::nullopt);
  uint32_t buffer = 0, object = 0;
  for (const Argument &input : entered.inputs) {
    if (input.type.kind != VX_TENSOR) {
      objects.set(object++, {true});
      continue;
    }
    std::vector<int64_t> dims;
    for (const Expression &dim : input.type.dims)
      if (auto size = dim.asConstant())
        dims.push_back(*size);
    Buffer fact = {true, false, std::nullopt, 0};
    uint64_t size = 0;
    if (dims.size() == input.type.dims.size() && tensorByteSize(input.type.elementType, dims, size).ok())
      fact.size = size;
    buffers.set(buffer++, fact);
  }
}

Status ProgramChecker::known(char file, uint32_t index) const {
  if (file == 'b' ? buffers[index].defined : objects[index].defined)
    return okStatus();
  return failure(VX_INVALID_MODULE, "{} register {} is read before anything is put into it",
                 file == 'b' ? "buffer" : "object", index);
}

// The operands that are read hold something.
Status ProgramChecker::reads(const Instruction &instruction) const {
  const std::string_view signature = opFacts(instruction.op).signature;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const size_t last = signature.ends_with('*') ? signature.size() - 2 : signature.size();
    const char kind = signature[std::min(i, last)];
    if (kind == 'b' || kind == 'o')
      VX_RETURN_IF_ERROR(known(kind, instruction.operands[i]));
  }
  return okStatus();
}

Status ProgramChecker::run(const Block &block) {
  for (size_t i = 0; i < block.instructions.size(); ++i) {
    const Instruction &instruction = block.instructions[i];
    auto one = [&]() -> Status {
      VX_RETURN_IF_ERROR(reads(instruction));
      return step(instruction);
    };
    VX_RETURN_IF_ERROR(one().addContext(fmt::format("instruction {} {}", i, opFacts(instruction.op).name)));
  }
  return okStatus();
}

Status ProgramChecker::readInput(const Instruction &instruction) const {
  const size_t count = function ? function->inputs.size() : 0;
  if (instruction.imm < 0 || static_cast<uint64_t>(instruction.imm) >= count)
    return failure(VX_INVALID_MODULE, "input {} does not exist, there are {}", instruction.imm, count);
  const Argument &input = function->inputs[static_cast<size_t>(instruction.imm)];
  const vx_element_type type = input.type.elementType;
  if (input.type.kind != VX_TENSOR || (type != VX_BOOL && type != VX_I32 && type != VX_I64))
    return failure(VX_INVALID_MODULE, "input '{}' is a {} of {}, allowed are tensors of bool, i32 and i64", input.name,
                   valueKindName(input.type.kind), elementTypeName(type));
  for (const Expression &dim : input.type.dims)
    if (dim.asConstant().value_or(0) < 1)
      return failure(VX_INVALID_MODULE, "input '{}' is not sure to have an element", input.name);
  return okStatus();
}

Status ProgramChecker::slice(uint32_t result, const Buffer &of, std::string_view where, uint32_t offset,
                             uint32_t size) {
  auto negative = [&](std::string_view what, uint32_t index) -> Status {
    if (numbers[index].value.value_or(0) < 0)
      return failure(VX_INVALID_MODULE, "{} is {}", what, *numbers[index].value);
    return okStatus();
  };
  VX_RETURN_IF_ERROR(negative("offset", offset));
  VX_RETURN_IF_ERROR(negative("size", size));
  const std::optional<uint64_t> begin = sizeIn(offset), bytes = sizeIn(size);
  if (of.size && begin && (*begin > *of.size || bytes.value_or(0) > *of.size - *begin))
    return failure(VX_INVALID_MODULE, "{} bytes at {} are outside the {} of {} bytes", bytes.value_or(0), *begin, where,
                   *of.size);
  Buffer fact = {true, of.writable, bytes, std::nullopt};
  if (of.offset && begin)
    fact.offset = *of.offset + *begin;
  buffers.set(result, fact);
  return okStatus();
}

Status ProgramChecker::step(const Instruction &instruction) {
  const std::vector<uint32_t> &operands = instruction.operands;
  switch (instruction.op) {
  case Op::ConstI64:
    number(operands[0], instruction.imm);
    return okStatus();
  case Op::MoveI64:
    number(operands[0], numbers[operands[1]].value);
    return okStatus();
  case Op::Select: {
    const std::optional<int64_t> condition = numbers[operands[1]].value;
    const Number &yes = numbers[operands[2]], &no = numbers[operands[3]];
    number(operands[0], condition ? (*condition != 0 ? yes : no).value : yes.meet(no).value);
    return okStatus();
  }
  case Op::MoveBuffer:
    buffers.set(operands[0], buffers[operands[1]]);
    return okStatus();
  case Op::ArenaReserve:
    if (numbers[operands[0]].value.value_or(0) < 0)
      return failure(VX_INVALID_MODULE, "asks for an arena of {} bytes", *numbers[operands[0]].value);
    return okStatus();
  case Op::ArenaSlice:
    // Programs that call this one's blocks may have reserved more; the executor knows how much there is.
    return slice(operands[0], {true, true, std::nullopt, 0}, "arena", operands[1], operands[2]);
  case Op::Allocate:
    if (numbers[operands[1]].value.value_or(0) < 0)
      return failure(VX_INVALID_MODULE, "allocates {} bytes", *numbers[operands[1]].value);
    buffers.set(operands[0], {true, true, sizeIn(operands[1]), 0});
    return okStatus();
  case Op::Constant:
    buffers.set(operands[0], {true, false, data.constants[static_cast<size_t>(instruction.imm)].size, 0});
    return okStatus();
  case Op::Variable: {
    const auto index = static_cast<uint32_t>(instruction.imm);
    const std::optional<VariablePlace> &place = data.variables[index].known;
    buffers.set(operands[0], {true, std::binary_search(program.stores.begin(), program.stores.end(), index),
                              place ? std::optional(place->size) : std::nullopt, 0});
    return okStatus();
  }
  case Op::Derived:
    if (instruction.imm < 0 || static_cast<uint64_t>(instruction.imm) >= derivedCount)
      return failure(VX_INVALID_MODULE, "derived value {} does not exist here, there are {}", instruction.imm,
                     derivedCount);
    buffers.set(operands[0], {true, false, target.derived[static_cast<size_t>(instruction.imm)].size, 0});
    return okStatus();
  case Op::Slice:
    return slice(operands[0], buffers[operands[1]], "buffer", operands[2], operands[3]);
  case Op::Segment:
    for (size_t i = 0; i < instruction.commands.size(); ++i)
      VX_RETURN_IF_ERROR(command(instruction.commands[i]).addContext(fmt::format("command {}", i)));
    return okStatus();
  case Op::ReadI64: {
    const Buffer &from = buffers[operands[1]];
    const uint64_t size = elementTypeBits(static_cast<vx_element_type>(instruction.imm)) / 8;
    const std::optional<int64_t> offset = numbers[operands[2]].value;
    if (from.size && offset &&
        (*offset < 0 || static_cast<uint64_t>(*offset) > *from.size ||
         size > *from.size - static_cast<uint64_t>(*offset)))
      return failure(VX_INVALID_MODULE, "reads {} bytes at {} of a buffer of {} bytes", size, *offset, *from.size);
    number(operands[0], std::nullopt);
    return okStatus();
  }
  case Op::ReadInput:
    VX_RETURN_IF_ERROR(readInput(instruction));
    number(operands[0], std::nullopt);
    return okStatus();
  case Op::Check:
  case Op::CheckFaults:
  case Op::Error:
    return okStatus();
  case Op::If:
    return branch(instruction);
  case Op::While:
    return loop(instruction);
  case Op::MoveObject:
  case Op::ListEmpty:
  case Op::NoList:
  case Op::ListInsert:
  case Op::ListErase:
    objects.set(operands[0], {true});
    return okStatus();
  case Op::HostCall:
    // What is derived has no strings: they are of calls.
    if (!function)
      return failure(VX_INVALID_MODULE, "the program of a derived value calls the host");
    objects.set(operands[0], {true});
    return okStatus();
  case Op::ListSize:
  case Op::HasList:
    number(operands[0], std::nullopt);
    return okStatus();
  case Op::ListGet:
    buffers.set(operands[0], {true, false, std::nullopt, 0});
    for (size_t i = 3; i < operands.size(); ++i)
      number(operands[i], std::nullopt);
    return okStatus();
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::FloorDiv:
  case Op::CeilDiv:
  case Op::Mod:
  case Op::Max:
  case Op::Min:
  case Op::CmpEq:
  case Op::CmpNe:
  case Op::CmpLt:
  case Op::CmpLe: {
    const std::optional<int64_t> &a = numbers[operands[1]].value, &b = numbers[operands[2]].value;
    int64_t value = 0;
    number(operands[0], a && b && calculate(instruction.op, *a, *b, value) ? std::optional(value) : std::nullopt);
    return okStatus();
  }
  }
  return failure(VX_INVALID_MODULE, "has no meaning");
}

// Nothing goes on behind an error.
static bool ends(const Block &block) {
  return !block.instructions.empty() && block.instructions.back().op == Op::Error;
}

Status ProgramChecker::branch(const Instruction &instruction) {
  const size_t numberMark = numbers.mark(), bufferMark = buffers.mark(), objectMark = objects.mark();
  VX_RETURN_IF_ERROR(run(instruction.blocks[0]).addContext("block 0"));
  const auto thenNumbers = numbers.undo(numberMark);
  const auto thenBuffers = buffers.undo(bufferMark);
  const auto thenObjects = objects.undo(objectMark);
  VX_RETURN_IF_ERROR(run(instruction.blocks[1]).addContext("block 1"));
  if (ends(instruction.blocks[0]))
    return okStatus();
  const auto elseNumbers = numbers.undo(numberMark);
  const auto elseBuffers = buffers.undo(bufferMark);
  const auto elseObjects = objects.undo(objectMark);
  if (ends(instruction.blocks[1])) {
    numbers.take(thenNumbers);
    buffers.take(thenBuffers);
    objects.take(thenObjects);
    return okStatus();
  }
  numbers.meet(thenNumbers, elseNumbers);
  buffers.meet(thenBuffers, elseBuffers);
  objects.meet(thenObjects, elseObjects);
  return okStatus();
}

// What the block assigns has any value when it begins again.
void ProgramChecker::forget(const Block &block) {
  for (const Instruction &instruction : block.instructions) {
    const std::string_view signature = opFacts(instruction.op).signature;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const uint32_t index = instruction.operands[i];
      const size_t last = signature.ends_with('*') ? signature.size() - 2 : signature.size();
      switch (signature[std::min(i, last)]) {
      case 'I':
        numbers.set(index, {std::nullopt});
        break;
      case 'B':
        buffers.set(index, {buffers[index].defined, true, std::nullopt, std::nullopt});
        break;
      default:
        break;
      }
    }
    for (const Block &inner : instruction.blocks)
      forget(inner);
  }
}

Status ProgramChecker::loop(const Instruction &instruction) {
  forget(instruction.blocks[0]);
  const size_t numberMark = numbers.mark(), bufferMark = buffers.mark(), objectMark = objects.mark();
  VX_RETURN_IF_ERROR(run(instruction.blocks[0]).addContext("block 0"));
  // It may not run at all.
  numbers.undo(numberMark);
  buffers.undo(bufferMark);
  objects.undo(objectMark);
  return okStatus();
}

Status ProgramChecker::copy(const Command &command) const {
  const Buffer &from = buffers[command.buffers[0]], &to = buffers[command.buffers[1]];
  if (from.size && to.size && *from.size != *to.size)
    return failure(VX_INVALID_MODULE, "copies {} bytes to {} bytes", *from.size, *to.size);
  if (!to.writable)
    return failure(VX_INVALID_MODULE, "copies to a buffer that is read-only");
  return okStatus();
}

Status ProgramChecker::dispatch(const Command &command) {
  if (command.kernel >= target.kernels.size())
    return failure(VX_INVALID_MODULE, "kernel {} does not exist, there are {}", command.kernel, target.kernels.size());
  const Kernel &kernel = target.kernels[command.kernel];
  if (command.buffers.size() != kernel.buffers.size())
    return failure(VX_INVALID_MODULE, "kernel '{}' takes {} buffers, the dispatch has {}", kernel.name,
                   kernel.buffers.size(), command.buffers.size());
  if (command.scalars.size() != kernel.scalarCount)
    return failure(VX_INVALID_MODULE, "kernel '{}' takes {} scalars, the dispatch has {}", kernel.name,
                   kernel.scalarCount, command.scalars.size());
  std::vector<KnownSize> sizes;
  for (size_t i = 0; i < command.buffers.size(); ++i) {
    const Buffer &buffer = buffers[command.buffers[i]];
    if (kernel.buffers[i] != Access::Read && !buffer.writable)
      return failure(VX_INVALID_MODULE, "kernel '{}' writes to buffer {}, which is read-only", kernel.name, i);
    if (buffer.offset.value_or(0) % VX_BUFFER_ALIGNMENT != 0)
      return failure(VX_INVALID_MODULE, "buffer {} of kernel '{}' begins at {}, expected a multiple of {}", i,
                     kernel.name, *buffer.offset, VX_BUFFER_ALIGNMENT);
    sizes.push_back(buffer.size);
  }
  if (command.workspace >= 0) {
    const auto workspace = static_cast<uint32_t>(command.workspace);
    VX_RETURN_IF_ERROR(known('b', workspace));
    if (!buffers[workspace].writable || buffers[workspace].offset.value_or(0) % VX_BUFFER_ALIGNMENT != 0)
      return failure(VX_INVALID_MODULE, "the workspace of kernel '{}' is read-only or not aligned", kernel.name);
  } else if (kernel.workspace) {
    return failure(VX_INVALID_MODULE, "kernel '{}' needs a workspace, the dispatch has none", kernel.name);
  }
  std::vector<int64_t> scalars;
  for (uint32_t index : command.scalars)
    if (numbers[index].value)
      scalars.push_back(*numbers[index].value);
  if (scalars.size() != command.scalars.size())
    return okStatus();
  const std::optional<uint64_t> workspace =
      command.workspace >= 0 ? buffers[static_cast<uint32_t>(command.workspace)].size : std::nullopt;
  return checkDispatchSizes(kernel, scalars, sizes, workspace, numbers[command.workgroups].value);
}

Status ProgramChecker::command(const Command &command) {
  for (uint32_t index : command.buffers)
    VX_RETURN_IF_ERROR(known('b', index));
  return command.kind == hal::CommandKind::Copy ? copy(command) : dispatch(command);
}

Status ProgramChecker::tensorResult(const Result &result, std::string_view of, vx_element_type type,
                                    std::span<const std::optional<int64_t>> dims) const {
  const auto index = static_cast<uint32_t>(result.buffer);
  VX_RETURN_IF_ERROR(known('b', index).addContext(of));
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    std::optional<int64_t> size = dims[i];
    if (i < result.dims.size()) {
      const std::optional<int64_t> &given = numbers[result.dims[i]].value;
      if (size && given && *size != *given)
        return failure(VX_INVALID_MODULE, "{}: dim {} is {}, expected {}", of, i, *given, *size);
      if (!size)
        size = given;
    }
    if (size)
      sizes.push_back(*size);
  }
  uint64_t needed = 0;
  if (sizes.size() != dims.size() || !buffers[index].size)
    return okStatus();
  if (Status status = tensorByteSize(type, sizes, needed); !status.ok())
    return failure(VX_INVALID_MODULE, "{}: {}", of, status.message());
  if (needed > *buffers[index].size)
    return failure(VX_INVALID_MODULE, "{}: has {} bytes, {} needs {}", of, *buffers[index].size,
                   tensorTypeString(type, sizes), needed);
  return okStatus();
}

Status ProgramChecker::result(const Result &result, const Argument &output) const {
  const std::string of = fmt::format("output '{}'", output.name);
  if (result.buffer < 0)
    return known('o', static_cast<uint32_t>(result.object)).addContext(of);
  std::vector<std::optional<int64_t>> dims;
  for (const Expression &dim : output.type.dims)
    dims.push_back(dim.asConstant());
  return tensorResult(result, of, storedType(output.type.elementType), dims);
}

} // namespace

Status Decoder::programFits(const Target &owner, const Program &program, const Function *function,
                            size_t derivedCount) {
  ProgramChecker checker(data, owner, program, derivedCount);
  if (function)
    checker.enter(*function);
  VX_RETURN_IF_ERROR(checker.run(program.body));
  for (size_t i = 0; function && i < function->outputs.size(); ++i)
    VX_RETURN_IF_ERROR(checker.result(program.results[i], function->outputs[i]));
  if (!function) {
    // The derived value itself, the next one of the target.
    const Derived &derived = owner.derived[derivedCount];
    const std::vector<std::optional<int64_t>> dims(derived.dims.begin(), derived.dims.end());
    return checker.tensorResult(program.results[0], "result", derived.elementType, dims);
  }
  return okStatus();
}

} // namespace vx
