#include "module/decoder.h"

#include <algorithm>

namespace vx {

static constexpr uint32_t maxNesting = VX_MAX_BLOCK_NESTING;
static constexpr uint32_t maxRegisters = VX_MAX_REGISTERS;

Status Decoder::program(const format::Program &source, Program &result) {
  result.i64Registers = source.i64_registers();
  result.bufferRegisters = source.buffer_registers();
  result.objectRegisters = source.object_registers();
  auto registersFit = [](std::string_view file, uint32_t count) -> Status {
    if (count <= maxRegisters)
      return okStatus();
    return failure(VX_INVALID_MODULE, "program has {} {} registers, allowed are {}", count, file, maxRegisters);
  };
  VX_RETURN_IF_ERROR(registersFit("i64", result.i64Registers));
  VX_RETURN_IF_ERROR(registersFit("buffer", result.bufferRegisters));
  VX_RETURN_IF_ERROR(registersFit("object", result.objectRegisters));
  if (source.stores()) {
    VX_RETURN_IF_ERROR(spend(source.stores()->size() * sizeof(uint32_t)));
    for (uint32_t index : *source.stores()) {
      if (index >= data.variables.size())
        return failure(VX_INVALID_MODULE, "stores variable {}, there are {}", index, data.variables.size());
      if (!result.stores.empty() && index <= result.stores.back())
        return failure(VX_INVALID_MODULE, "stores variable {} after variable {}, expected an ascending list", index,
                       result.stores.back());
      result.stores.push_back(index);
    }
  }
  result.hasArenaSize = source.arena_size() != nullptr;
  // The symbols are checked against each function that runs the program; a function has no more than its registers.
  VX_RETURN_IF_ERROR(expression(source.arena_size(), result.i64Registers, result.arenaSize).addContext("arena size"));
  VX_RETURN_IF_ERROR(expression(source.arena_lower_bound(), result.i64Registers, result.arenaLowerBound)
                         .addContext("arena lower bound"));
  if (!source.body())
    return failure(VX_INVALID_MODULE, "program has no body");
  VX_RETURN_IF_ERROR(block(source.body(), 1, result, result.body));
  result.hasUnknownLoops = hasUnknownLoops(result);
  for (std::vector<uint32_t> *named : {&result.uses, &result.derived}) {
    std::sort(named->begin(), named->end());
    named->erase(std::unique(named->begin(), named->end()), named->end());
  }
  return results(source, result);
}

Status Decoder::block(const format::Block *source, uint32_t depth, Program &owner, Block &result) {
  if (depth > maxNesting)
    return failure(VX_INVALID_MODULE, "blocks are nested more than {} deep", maxNesting);
  return decodeEach(
      source->instructions(), result.instructions,
      [&](const format::Instruction &one, Instruction &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(spend(sizeof(Instruction)));
        out.op = static_cast<Op>(one.op());
        OpFacts facts = opFacts(out.op);
        if (!facts.name)
          return failure(VX_INVALID_MODULE, "instruction {} has the unknown number {}", i, static_cast<int>(one.op()));
        return instruction(one, depth, owner, out).addContext(fmt::format("instruction {} {}", i, facts.name));
      });
}

Status Decoder::instruction(const format::Instruction &source, uint32_t depth, Program &owner, Instruction &result) {
  OpFacts facts = opFacts(result.op);
  result.imm = source.imm();
  result.site = source.site();
  if (result.site < -1 || (result.site >= 0 && static_cast<size_t>(result.site) >= data.faultSites.size()))
    return failure(VX_INVALID_MODULE, "site {} does not exist, there are {}", result.site, data.faultSites.size());
  VX_RETURN_IF_ERROR(operands(source, facts, owner, result));
  VX_RETURN_IF_ERROR(immediate(facts, result));
  if (result.op == Op::Variable)
    owner.uses.push_back(static_cast<uint32_t>(result.imm));
  if (result.op == Op::Derived)
    owner.derived.push_back(static_cast<uint32_t>(result.imm)); // each target that runs the program checks it
  VX_RETURN_IF_ERROR(checkDevice(source.device()));
  if (source.waits() && source.waits()->size())
    return failure(VX_UNSUPPORTED, "waits for segment {}, this runtime runs modules of one device",
                   source.waits()->Get(0));

  size_t blockCount = source.blocks() ? source.blocks()->size() : 0;
  if (blockCount != facts.blocks)
    return failure(VX_INVALID_MODULE, "there are {} blocks, expected {}", blockCount, facts.blocks);
  for (uint32_t i = 0; i < blockCount; ++i)
    VX_RETURN_IF_ERROR(block(source.blocks()->Get(i), depth + 1, owner, result.blocks.emplace_back())
                           .addContext(fmt::format("block {}", i)));

  size_t commandCount = source.commands() ? source.commands()->size() : 0;
  if (commandCount && !facts.commands)
    return failure(VX_INVALID_MODULE, "there are {} commands, expected none", commandCount);
  if (facts.commands)
    result.segment = owner.segmentCount++;
  return decodeEach(source.commands(), result.commands, [&](const format::Command &one, Command &out, uint32_t i) {
    VX_RETURN_IF_ERROR(spend(sizeof(Command)));
    return command(one, owner, out).addContext(fmt::format("command {}", i));
  });
}

static Status checkRegister(char kind, uint64_t index, const Program &owner) {
  struct File {
    const char *name;
    uint32_t size;
  };
  File file = kind == 'i'   ? File{"i64", owner.i64Registers}
              : kind == 'b' ? File{"buffer", owner.bufferRegisters}
                            : File{"object", owner.objectRegisters};
  if (index < file.size)
    return okStatus();
  return failure(VX_INVALID_MODULE, "{} register {} does not exist, there are {}", file.name, index, file.size);
}

Status Decoder::operands(const format::Instruction &source, const OpFacts &facts, const Program &owner,
                         Instruction &result) {
  std::string_view wanted = facts.signature;
  char tail = 0;
  if (wanted.ends_with('*')) {
    tail = wanted[wanted.size() - 2];
    wanted.remove_suffix(2);
  }
  size_t count = source.operands() ? source.operands()->size() : 0;
  if (count < wanted.size() || (count > wanted.size() && !tail))
    return failure(VX_INVALID_MODULE, "there are {} operands, expected {}{}", count, tail ? "at least " : "",
                   wanted.size());
  if (count > wanted.size() + maxRank)
    return failure(VX_INVALID_MODULE, "there are {} operands, allowed are {}", count, wanted.size() + maxRank);
  VX_RETURN_IF_ERROR(spend(count * sizeof(uint32_t)));
  result.operands.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    uint32_t index = source.operands()->Get(static_cast<uint32_t>(i));
    char kind = i < wanted.size() ? wanted[i] : tail;
    VX_RETURN_IF_ERROR(
        checkRegister(static_cast<char>(kind | 0x20), index, owner).addContext(fmt::format("operand {}", i)));
    result.operands.push_back(index);
  }
  return okStatus();
}

Status Decoder::immediate(const OpFacts &facts, const Instruction &instruction) {
  auto below = [&](std::string_view what, size_t count) -> Status {
    if (instruction.imm >= 0 && static_cast<uint64_t>(instruction.imm) < count)
      return okStatus();
    return failure(VX_INVALID_MODULE, "{} {} does not exist, there are {}", what, instruction.imm, count);
  };
  switch (instruction.op) {
  case Op::Constant:
    return below("constant", data.constants.size());
  case Op::Variable:
    return below("variable", data.variables.size());
  case Op::Error:
    return below("site", data.faultSites.size());
  case Op::HostCall:
    return below("function of the host", data.hostFunctions.size());
  case Op::Check:
    if (instruction.site < 0)
      return failure(VX_INVALID_MODULE, "there is no site, expected one");
    return below("kind of predicate", predicateKinds);
  case Op::ReadI64:
    if (instruction.imm != VX_BOOL && instruction.imm != VX_I32 && instruction.imm != VX_I64)
      return failure(VX_INVALID_MODULE, "element type is {}, allowed are bool, i32 and i64",
                     elementTypeName(elementTypeOf(instruction.imm).value_or(VX_ELEMENT_NONE)));
    return okStatus();
  case Op::ListEmpty:
  case Op::NoList:
    if (elementTypeBits(elementTypeOf(instruction.imm).value_or(VX_ELEMENT_NONE)) == 0)
      return failure(VX_INVALID_MODULE, "element type {} is none of a list's", instruction.imm);
    return okStatus();
  default:
    return okStatus();
  }
}

Status Decoder::command(const format::Command &source, const Program &owner, Command &result) {
  if (source.kind() == format::CommandKind::Collective)
    return failure(VX_UNSUPPORTED, "exchanges data with other devices, this runtime runs modules of one device");
  if (source.kind() > format::CommandKind::Collective)
    return failure(VX_INVALID_MODULE, "kind has the unknown number {}", static_cast<int>(source.kind()));
  bool dispatch = source.kind() == format::CommandKind::Dispatch;
  result.kind = dispatch ? hal::CommandKind::Dispatch : hal::CommandKind::Copy;
  result.barrier = source.barrier();
  result.kernel = source.kernel();
  result.workgroups = source.workgroups();
  result.faultSite = source.fault_site();
  result.workspace = source.workspace();
  VX_RETURN_IF_ERROR(checkDevice(source.device()));
  constexpr auto known = static_cast<uint32_t>(format::CommandFlags::Guarded);
  if (source.flags() & ~(dispatch ? known : 0))
    return failure(VX_INVALID_MODULE, "flags are {:#x}, allowed are {:#x}", source.flags(), dispatch ? known : 0);
  result.guarded = source.flags() & known;
  auto decodeRegisters = [&](const flatbuffers::Vector<uint32_t> *registers, char kind, std::string_view what,
                             std::vector<uint32_t> &out) -> Status {
    constexpr uint32_t limit = VX_MAX_COMMAND_REGISTERS;
    if (!registers)
      return okStatus();
    if (registers->size() > limit)
      return failure(VX_INVALID_MODULE, "there are {} {}s, allowed are {}", registers->size(), what, limit);
    VX_RETURN_IF_ERROR(spend(registers->size() * sizeof(uint32_t)));
    out.reserve(registers->size());
    for (uint32_t index : *registers) {
      VX_RETURN_IF_ERROR(checkRegister(kind, index, owner).addContext(fmt::format("{} {}", what, out.size())));
      out.push_back(index);
    }
    return okStatus();
  };
  VX_RETURN_IF_ERROR(decodeRegisters(source.buffers(), 'b', "buffer", result.buffers));
  VX_RETURN_IF_ERROR(decodeRegisters(source.scalars(), 'i', "scalar", result.scalars));
  if (source.nodes()) {
    VX_RETURN_IF_ERROR(spend(source.nodes()->size() * sizeof(uint32_t)));
    for (uint32_t node : *source.nodes()) {
      if (node >= data.sourceNodes.size())
        return failure(VX_INVALID_MODULE, "source node {} does not exist, there are {}", node, data.sourceNodes.size());
      result.nodes.push_back(node);
    }
  }
  if (!dispatch) {
    if (result.buffers.size() != 2)
      return failure(VX_INVALID_MODULE, "copy has {} buffers, expected 2", result.buffers.size());
    if (!result.scalars.empty())
      return failure(VX_INVALID_MODULE, "copy has {} scalars, expected none", result.scalars.size());
    return okStatus();
  }
  VX_RETURN_IF_ERROR(checkRegister('i', result.workgroups, owner).addContext("workgroups"));
  if (result.workspace < -1)
    return failure(VX_INVALID_MODULE, "workspace is {}, expected a register or -1", result.workspace);
  if (result.workspace >= 0)
    VX_RETURN_IF_ERROR(checkRegister('b', static_cast<uint64_t>(result.workspace), owner).addContext("workspace"));
  return okStatus();
}

Status Decoder::results(const format::Program &source, Program &result) {
  return decodeEach(
      source.results(), result.results, [&](const format::Result &one, Result &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(spend(sizeof(Result)));
        out.buffer = one.buffer();
        out.object = one.object();
        std::string context = fmt::format("result {}", i);
        if ((out.buffer >= 0) == (out.object >= 0))
          return failure(VX_INVALID_MODULE, "{}: expected a buffer or an object, the registers are {} and {}", context,
                         out.buffer, out.object);
        if (out.buffer >= 0)
          VX_RETURN_IF_ERROR(checkRegister('b', static_cast<uint64_t>(out.buffer), result).addContext(context));
        else
          VX_RETURN_IF_ERROR(checkRegister('o', static_cast<uint64_t>(out.object), result).addContext(context));
        if (!one.dims())
          return okStatus();
        if (one.dims()->size() > maxRank)
          return failure(VX_INVALID_MODULE, "{}: rank is {}, allowed are {}", context, one.dims()->size(), maxRank);
        for (uint32_t index : *one.dims()) {
          VX_RETURN_IF_ERROR(checkRegister('i', index, result).addContext(context));
          out.dims.push_back(index);
        }
        return okStatus();
      });
}

} // namespace vx
