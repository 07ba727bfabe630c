#include "exec/interpreter.h"

#include "base/arithmetic.h"
#include "exec/binding.h"
#include "module/dispatch_sizes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace vx {

// Memory that registers have dropped is kept for queued work up to this much; then the call waits and frees it.
static constexpr uint64_t maxRetiredBytes = uint64_t(64) << 20;
// What a device that separates buffers puts around each of them, about.
static constexpr uint64_t separateBytes = 8192;

Status Interpreter::runBlock(const Block &block) {
  for (size_t i = 0; i < block.instructions.size(); ++i) {
    const Instruction &instruction = block.instructions[i];
    following = std::span(block.instructions).subspan(i + 1);
    Status status = runInstruction(instruction);
    if (!status.ok()) [[unlikely]] {
      // A fault already names its node; anything else gets the source node of the instruction, if there is one.
      if (status.code() != VX_FAULT && instruction.site >= 0 && instruction.blocks.empty())
        return std::move(status).addContext(loaded.data().faultSites[static_cast<size_t>(instruction.site)].node);
      return status;
    }
  }
  return okStatus();
}

Status Interpreter::runInstruction(const Instruction &instruction) {
  const std::vector<uint32_t> &operands = instruction.operands;
  switch (instruction.op) {
  case Op::ConstI64:
    i64(operands[0]) = instruction.imm;
    return okStatus();
  case Op::MoveI64:
    i64(operands[0]) = i64(operands[1]);
    return okStatus();
  case Op::Select:
    i64(operands[0]) = i64(operands[1]) != 0 ? i64(operands[2]) : i64(operands[3]);
    return okStatus();
  case Op::Segment:
    return runSegment(instruction);
  case Op::ReadI64:
    return readI64(instruction);
  case Op::ReadInput:
    return readInput(instruction);
  case Op::CheckFaults:
    return checkFaults();
  case Op::Check: {
    int64_t a = i64(operands[0]), b = i64(operands[1]);
    return holds(static_cast<PredicateKind>(instruction.imm), a, b)
               ? okStatus()
               : unfulfilled(loaded.data().faultSites[static_cast<size_t>(instruction.site)], VX_FAULT, a, b);
  }
  case Op::If:
    return runBlock(instruction.blocks[i64(operands[0]) != 0 ? 0 : 1]);
  case Op::While:
    return runLoop(instruction);
  case Op::Error:
    return faultAt(static_cast<uint32_t>(instruction.imm), {}, i64(operands[0]), i64(operands[1]), i64(operands[2]));
  case Op::MoveBuffer:
  case Op::ArenaReserve:
  case Op::ArenaSlice:
  case Op::Allocate:
  case Op::Constant:
  case Op::Variable:
  case Op::Slice:
  case Op::Derived:
    return runBufferOp(instruction);
  case Op::MoveObject:
  case Op::ListEmpty:
  case Op::ListInsert:
  case Op::ListErase:
  case Op::ListSize:
  case Op::ListGet:
  case Op::HostCall:
  case Op::NoList:
  case Op::HasList:
    return runListOp(instruction);
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
  case Op::CmpLe:
    return runArithmetic(instruction);
  }
  return failure(VX_INTERNAL, "instruction {} has no meaning", static_cast<int>(instruction.op));
}

Status Interpreter::runLoop(const Instruction &instruction) {
  const size_t place = committed.size();
  if (instruction.site >= 0)
    committed.push_back({static_cast<uint32_t>(instruction.site), 0});
  while (i64(instruction.operands[0]) != 0) {
    VX_RETURN_IF_ERROR(runBlock(instruction.blocks[0]));
    if (instruction.site >= 0)
      ++committed[place].iterations;
  }
  return okStatus();
}

Status Interpreter::nameCommitted(Status status) const {
  if (status.ok() || committed.empty())
    return status;
  std::string message(status.message());
  for (const Committed &loop : committed)
    message += fmt::format("; {} iteration{} of {} {} done, and what was stored stays", loop.iterations,
                           loop.iterations == 1 ? "" : "s", loaded.data().faultSites[loop.site].node,
                           loop.iterations == 1 ? "was" : "were");
  return Status(status.code(), std::move(message));
}

Status Interpreter::runArithmetic(const Instruction &instruction) {
  const int64_t a = i64(instruction.operands[1]), b = i64(instruction.operands[2]);
  int64_t value = 0;
  if (!calculate(instruction.op, a, b, value)) {
    std::string node = instruction.site >= 0
                           ? loaded.data().faultSites[static_cast<size_t>(instruction.site)].node + ": "
                           : std::string();
    return failure(VX_FAULT, "{}{} of {} and {} is no 64-bit number", node, opFacts(instruction.op).name, a, b);
  }
  i64(instruction.operands[0]) = value;
  return okStatus();
}

Status Interpreter::viewOf(uint32_t index, hal::BufferView &view) const {
  view = registers.buffers[index].view;
  if (view.memory) [[likely]]
    return okStatus();
  return failure(VX_INVALID_MODULE, "program '{}' reads buffer register {}, which holds nothing", program.name, index);
}

Status Interpreter::listOf(uint32_t index, List *&list) const {
  list = registers.objects[index].get();
  if (list && !list->isNone)
    return okStatus();
  return failure(VX_INVALID_MODULE, "program '{}' reads object register {}, which holds {}", program.name, index,
                 list ? "no list" : "nothing");
}

Status Interpreter::drainRetired() {
  if (call.retired.bytes <= maxRetiredBytes)
    return okStatus();
  VX_RETURN_IF_ERROR(call.stream->wait());
  call.retired.clear();
  return okStatus();
}

uint64_t Interpreter::retiredBytes(const hal::Memory &memory) const {
  return memory.size() + (loaded.device().info().separatesBuffers ? separateBytes : 0);
}

// Work is done in the order in which it is queued, so what only earlier work uses may be written by later work: the new
// and the old value of a loop take turns in two places.
Status Interpreter::allocate(uint64_t size, Ref<hal::Memory> &memory) {
  constexpr size_t mostLooked = 8;
  const uint64_t most = size + size / 8 + VX_BUFFER_ALIGNMENT; // which devices round to
  std::vector<Ref<hal::Memory>> &retired = call.retired.memory;
  // On a device that guards each buffer what is new must be seen as such.
  for (size_t i = retired.size(); i-- > 0 && i + mostLooked >= retired.size() && !loaded.guards();)
    if (retired[i]->size() >= size && retired[i]->size() <= most && retired[i]->unique()) {
      call.retired.bytes -= retiredBytes(*retired[i]);
      memory = std::move(retired[i]);
      retired.erase(retired.begin() + static_cast<ptrdiff_t>(i));
      return okStatus();
    }
  return call.allocate(size, memory);
}

Status Interpreter::setBuffer(uint32_t index, BufferRegister value) {
  BufferRegister &place = registers.buffers[index];
  std::swap(place, value);
  if (!value.owner && !value.slice) [[likely]]
    return okStatus();
  // What another register or a list holds too is retired when that lets it go.
  for (Ref<hal::Memory> *dropped : {&value.owner, &value.slice})
    if (*dropped && (*dropped)->unique()) {
      call.retired.bytes += retiredBytes(**dropped);
      call.retired.memory.push_back(std::move(*dropped));
    }
  return drainRetired();
}

Status Interpreter::setObject(uint32_t index, Ref<List> list) {
  Ref<List> &place = registers.objects[index];
  std::swap(place, list);
  if (!list || !list->unique())
    return okStatus();
  // The list itself goes now, so that lists that follow one another do not add up; queued work may still use what only
  // it had. Where two elements are one, the last of them is that.
  for (ListTensor &tensor : list->tensors) {
    Ref<hal::Memory> owner = std::move(tensor.buffer.owner);
    if (!owner || !owner->unique())
      continue;
    call.retired.bytes += retiredBytes(*owner);
    call.retired.memory.push_back(std::move(owner));
  }
  return drainRetired();
}

Status Interpreter::runBufferOp(const Instruction &instruction) {
  const std::vector<uint32_t> &operands = instruction.operands;
  // [offset, offset + size) must lie in `available` bytes of what `where` names.
  auto inside = [&](int64_t offset, int64_t size, uint64_t available, std::string_view where) -> Status {
    if (offset >= 0 && size >= 0 && static_cast<uint64_t>(offset) <= available &&
        static_cast<uint64_t>(size) <= available - static_cast<uint64_t>(offset)) [[likely]]
      return okStatus();
    return failure(VX_INVALID_MODULE, "program '{}': {} bytes at {} are outside the {} of {} bytes", program.name, size,
                   offset, where, available);
  };
  switch (instruction.op) {
  case Op::MoveBuffer:
    return setBuffer(operands[0], registers.buffers[operands[1]]);
  case Op::ArenaReserve: {
    int64_t size = i64(operands[0]);
    if (size < 0)
      return failure(VX_INVALID_MODULE, "program '{}' asks for an arena of {} bytes", program.name, size);
    if (call.arena && call.arena->size() >= static_cast<uint64_t>(size))
      return okStatus();
    const uint64_t needed = static_cast<uint64_t>(size), before = call.arena ? call.arena->size() : 0;
    // Views of the smaller arena stay good until the call ends; without any it makes room for the larger one.
    if (call.arena && call.arenaHasViews)
      call.oldArenas.push_back(std::move(call.arena));
    call.arena = nullptr;
    call.arenaHasViews = false;
    // Sizes that grow from run to run, as that of the tokens before a step, do not allocate in each. An instance with a
    // limit of its memory counts each byte.
    constexpr uint64_t mostSpare = uint64_t(16) << 20;
    const uint64_t grown = before + std::min(before / 2, mostSpare);
    const bool hasLimit = call.instance && call.instance->memoryLimit() != 0;
    if (needed < grown && !hasLimit && call.allocate(grown, call.arena).ok())
      return okStatus();
    return call.allocate(needed, call.arena).addContext("arena");
  }
  case Op::ArenaSlice: {
    int64_t offset = i64(operands[1]), size = i64(operands[2]);
    VX_RETURN_IF_ERROR(inside(offset, size, call.arena ? call.arena->size() : 0, "arena"));
    const uint64_t origin = call.check ? call.check->begin() : 0;
    if (loaded.device().info().separatesBuffers) [[unlikely]] {
      Ref<hal::Memory> slice;
      VX_RETURN_IF_ERROR(
          loaded.device().allocate(static_cast<uint64_t>(size), hal::MemoryKind::Device, slice).addContext("arena"));
      hal::BufferView view = {slice.get(), 0, static_cast<uint64_t>(size)};
      return setBuffer(operands[0], {view, nullptr, true, origin, std::move(slice)});
    }
    call.arenaHasViews |= static_cast<bool>(call.arena);
    // No arena is needed for slices of nothing.
    hal::BufferView view =
        call.arena ? hal::BufferView{call.arena.get(), static_cast<uint64_t>(offset), static_cast<uint64_t>(size)}
                   : loaded.emptyBuffer().view();
    return setBuffer(operands[0], {view, nullptr, true, origin});
  }
  case Op::Allocate: {
    int64_t size = i64(operands[1]);
    if (size < 0)
      return failure(VX_INVALID_MODULE, "program '{}' allocates {} bytes", program.name, size);
    Ref<hal::Memory> memory;
    if (operands[0] < state.given.size() && state.given[operands[0]].memory &&
        static_cast<uint64_t>(size) <= state.given[operands[0]].memory->size()) [[unlikely]]
      memory = state.given[operands[0]].memory;
    else
      VX_RETURN_IF_ERROR(allocate(static_cast<uint64_t>(size), memory).addContext("result"));
    hal::BufferView view = {memory.get(), 0, static_cast<uint64_t>(size)};
    return setBuffer(operands[0], {view, std::move(memory), true, call.check ? call.check->begin() : 0});
  }
  case Op::Constant:
    return setBuffer(operands[0], {loaded.constant(static_cast<size_t>(instruction.imm)).view(), nullptr, false});
  case Op::Variable: {
    const auto index = static_cast<uint32_t>(instruction.imm);
    const bool stored = std::binary_search(program.stores.begin(), program.stores.end(), index);
    return setBuffer(operands[0], {call.instance->variable(index).view(), nullptr, stored});
  }
  case Op::Derived: {
    const auto index = static_cast<size_t>(instruction.imm);
    const bool isConstant = loaded.target().derived[index].variables.empty();
    const KeptBuffer &buffer = isConstant ? loaded.derived(index) : call.instance->derived(index).buffer;
    return setBuffer(operands[0], {buffer.view(), nullptr, false});
  }
  default: { // Slice
    BufferRegister slice = registers.buffers[operands[1]];
    hal::BufferView view;
    VX_RETURN_IF_ERROR(viewOf(operands[1], view));
    int64_t offset = i64(operands[2]), size = i64(operands[3]);
    VX_RETURN_IF_ERROR(inside(offset, size, view.size, "buffer"));
    slice.view.offset += static_cast<uint64_t>(offset);
    slice.view.size = static_cast<uint64_t>(size);
    return setBuffer(operands[0], std::move(slice));
  }
  }
}

Status Interpreter::recordSegment(const Instruction &instruction, CallState::RecordedSegment &segment) {
  hal::SegmentShape shape;
  size_t views = 0, scalars = 0;
  for (const Command &command : instruction.commands) {
    shape.commands.push_back(command.shape());
    views += command.buffers.size();
    scalars += command.scalars.size();
  }
  VX_RETURN_IF_ERROR(call.stream->record(shape, loaded.executable(), segment.list));
  segment.views.resize(views);
  segment.scalars.resize(scalars);
  segment.arguments.resize(instruction.commands.size());
  segment.timings.resize(instruction.commands.size());
  segment.fits.assign(instruction.commands.size(), 0);
  const hal::BufferView *view = segment.views.data();
  const int64_t *scalar = segment.scalars.data();
  for (size_t i = 0; i < instruction.commands.size(); ++i) {
    segment.arguments[i].buffers = view;
    segment.arguments[i].scalars = scalar;
    segment.arguments[i].faultSite = instruction.commands[i].faultSite;
    view += instruction.commands[i].buffers.size();
    scalar += instruction.commands[i].scalars.size();
  }
  return okStatus();
}

Status Interpreter::fillCommand(const Command &command, hal::CommandArguments &arguments, uint8_t &fits) {
  auto *views = const_cast<hal::BufferView *>(arguments.buffers);
  if (command.kind == hal::CommandKind::Copy) {
    VX_RETURN_IF_ERROR(viewOf(command.buffers[0], views[0]));
    VX_RETURN_IF_ERROR(viewOf(command.buffers[1], views[1]));
    if (views[0].size != views[1].size)
      return failure(VX_INVALID_MODULE, "program '{}' copies {} bytes to {} bytes", program.name, views[0].size,
                     views[1].size);
    if (!registers.buffers[command.buffers[1]].writable)
      return failure(VX_INVALID_MODULE, "program '{}' copies to a buffer that is read-only", program.name);
    if (views[0].size && views[0].memory == views[1].memory && views[0].offset != views[1].offset &&
        views[0].offset < views[1].offset + views[1].size && views[1].offset < views[0].offset + views[0].size)
      return failure(VX_INVALID_MODULE, "program '{}' copies {} bytes from {} to {} of one buffer, which overlap",
                     program.name, views[0].size, views[0].offset, views[1].offset);
    return okStatus();
  }
  const Kernel &kernel = loaded.target().kernels[command.kernel];
  // Sizes that have fitted fit again.
  bool changed = !fits;
  fits = false;
  for (size_t i = 0; i < command.buffers.size(); ++i) {
    const uint64_t before = views[i].size;
    VX_RETURN_IF_ERROR(viewOf(command.buffers[i], views[i]));
    changed |= views[i].size < before;
    if (views[i].address() % VX_BUFFER_ALIGNMENT != 0)
      return failure(VX_INVALID_MODULE, "program '{}': buffer {} of kernel '{}' is not aligned to {} bytes",
                     program.name, i, kernel.name, VX_BUFFER_ALIGNMENT);
    if (kernel.buffers[i] != Access::Read && !registers.buffers[command.buffers[i]].writable)
      return failure(VX_INVALID_MODULE, "program '{}': kernel '{}' writes to buffer {}, which is read-only",
                     program.name, kernel.name, i);
  }
  auto *scalars = const_cast<int64_t *>(arguments.scalars);
  for (size_t i = 0; i < command.scalars.size(); ++i) {
    changed |= scalars[i] != i64(command.scalars[i]);
    scalars[i] = i64(command.scalars[i]);
  }
  const uint64_t workspaceBefore = arguments.workspace.size;
  arguments.workspace = {};
  if (command.workspace >= 0) {
    VX_RETURN_IF_ERROR(viewOf(static_cast<uint32_t>(command.workspace), arguments.workspace));
    if (!registers.buffers[static_cast<size_t>(command.workspace)].writable ||
        arguments.workspace.address() % VX_BUFFER_ALIGNMENT != 0)
      return failure(VX_INVALID_MODULE, "program '{}': the workspace of kernel '{}' is read-only or not aligned",
                     program.name, kernel.name);
  }
  changed |= arguments.workspace.size < workspaceBefore;
  const int64_t workgroups = i64(command.workgroups);
  if (changed || workgroups < 0 || static_cast<uint64_t>(workgroups) != arguments.workgroups) {
    std::vector<KnownSize> sizes;
    for (size_t i = 0; i < command.buffers.size(); ++i)
      sizes.push_back(views[i].size);
    VX_RETURN_IF_ERROR(
        checkDispatchSizes(kernel, {scalars, command.scalars.size()}, sizes, arguments.workspace.size, workgroups)
            .addContext(fmt::format("program '{}'", program.name)));
  }
  fits = true;
  arguments.workgroups = static_cast<uint64_t>(workgroups);
  return okStatus();
}

bool Interpreter::overwritesWhatWas(const Instruction &instruction) const {
  if (std::ranges::any_of(state.given, &CallState::ProgramState::Given::overwritesInput))
    return true;
  auto isOfVariable = [&](uint32_t index) {
    const BufferRegister &buffer = registers.buffers[index];
    return buffer.writable && buffer.view.memory && std::ranges::any_of(program.stores, [&](uint32_t variable) {
             return call.instance->variable(variable).view().memory == buffer.view.memory;
           });
  };
  return !program.stores.empty() && std::ranges::any_of(instruction.commands, [&](const Command &command) {
    return std::ranges::any_of(command.buffers, isOfVariable);
  });
}

Status Interpreter::runSegment(const Instruction &instruction) {
  if (call.stop && !mustGoOn) [[unlikely]] {
    VX_RETURN_IF_ERROR(call.stop->check());
    mustGoOn = overwritesWhatWas(instruction);
    call.stream->endWhere(mustGoOn ? nullptr : call.stop);
  }
  CallState::RecordedSegment &segment = state.segments[instruction.segment];
  if (!segment.list) [[unlikely]]
    VX_RETURN_IF_ERROR(recordSegment(instruction, segment));
  for (size_t i = 0; i < instruction.commands.size(); ++i)
    VX_RETURN_IF_ERROR(fillCommand(instruction.commands[i], segment.arguments[i], segment.fits[i]));
  if (call.check) [[unlikely]]
    VX_RETURN_IF_ERROR(
        call.check->commands(program, instruction.commands, registers, segment.arguments, loaded.target().kernels));
  if (loaded.guards()) [[unlikely]]
    for (size_t i = 0; i < instruction.commands.size(); ++i)
      noteUsers(instruction.commands[i], segment.arguments[i]);
  // What a result that took over an input's memory is a copy of is there already.
  for (size_t i = 0; i < instruction.commands.size(); ++i)
    if (instruction.commands[i].kind == hal::CommandKind::Copy) {
      auto *views = const_cast<hal::BufferView *>(segment.arguments[i].buffers);
      if (views[0].memory == views[1].memory && views[0].offset == views[1].offset)
        views[0].size = views[1].size = 0;
    }
  const auto replayed = std::chrono::steady_clock::now();
  if (call.observer) [[unlikely]] {
    std::fill(segment.timings.begin(), segment.timings.end(), -1);
    VX_RETURN_IF_ERROR(replayObserved(instruction, segment));
  } else {
    VX_RETURN_IF_ERROR(
        call.stream->replay(*segment.list, segment.arguments, call.profile ? segment.timings.data() : nullptr));
  }
  ++call.statistics.replays;
  // What is timed runs alone: one dispatch behind the other, from when the replay began.
  int64_t begin = std::chrono::nanoseconds(replayed - call.statistics.begin).count();
  for (size_t i = 0; i < instruction.commands.size(); ++i) {
    const Command &command = instruction.commands[i];
    if (command.kind != hal::CommandKind::Dispatch)
      continue;
    ++call.statistics.dispatches;
    if (!call.profile)
      continue;
    countWork(command, segment.arguments[i], segment.timings[i]);
    call.statistics.times.push_back({&command, begin, segment.timings[i]});
    begin += std::max<int64_t>(segment.timings[i], 0);
  }
  return okStatus();
}

void Interpreter::noteUsers(const Command &command, const hal::CommandArguments &arguments) {
  const bool isCopy = command.kind == hal::CommandKind::Copy;
  std::string user = "a copy";
  if (!isCopy) {
    const Kernel &kernel = loaded.target().kernels[command.kernel];
    std::vector<std::string_view> nodes(kernel.sources.begin(), kernel.sources.end());
    if (!command.nodes.empty())
      nodes.clear();
    for (uint32_t node : command.nodes)
      nodes.push_back(loaded.data().sourceNodes[node]);
    user = fmt::format("kernel '{}' ({})", kernel.name, fmt::join(nodes, ", "));
  }
  for (size_t b = 0; b < command.buffers.size(); ++b)
    loaded.guards()->noteUser(*arguments.buffers[b].memory, user,
                              isCopy ? b == 1 : loaded.target().kernels[command.kernel].buffers[b] != Access::Read);
  if (arguments.workspace.memory)
    loaded.guards()->noteUser(*arguments.workspace.memory, user, true);
}

void Interpreter::countWork(const Command &command, const hal::CommandArguments &arguments, int64_t nanoseconds) {
  CallState::KernelStatistics &statistics = call.statistics.kernels[command.kernel];
  const Kernel &kernel = loaded.target().kernels[command.kernel];
  if (statistics.count++ == 0)
    statistics.nanoseconds = statistics.flops = statistics.bytes = 0;
  auto add = [](std::optional<int64_t> &sum, std::optional<int64_t> more) {
    int64_t total = 0;
    sum = sum && more && checkedAdd(*sum, *more, total) ? std::optional(total) : std::nullopt;
  };
  auto evaluate = [&](const std::optional<Expression> &expression) -> std::optional<int64_t> {
    int64_t value = 0;
    if (!expression || !expression->evaluate({arguments.scalars, command.scalars.size()}, value).ok())
      return std::nullopt;
    return value;
  };
  add(statistics.nanoseconds, nanoseconds >= 0 ? std::optional(nanoseconds) : std::nullopt);
  add(statistics.flops, evaluate(kernel.flops));
  add(statistics.bytes, evaluate(kernel.bytes));
}

/// " at [2, 0]": where the kernel has read the value; nothing of a scalar.
static std::string describePlace(const vx_fault_record &fault) {
  if (fault.rank <= 0)
    return {};
  const bool isWhole = fault.rank <= VX_FAULT_PLACES;
  std::span<const int64_t> known(fault.place, isWhole ? static_cast<size_t>(fault.rank) : VX_FAULT_PLACES);
  return fmt::format(" at [{}{}]", fmt::join(known, ", "), isWhole ? "" : ", ...");
}

Status Interpreter::faultAt(uint32_t index, std::string_view place, int64_t value, int64_t lower, int64_t upper) const {
  const std::vector<FaultSite> &sites = loaded.data().faultSites;
  if (index >= sites.size())
    return failure(VX_INTERNAL, "a kernel reported the fault site {}, there are {}", index, sites.size());
  return failure(VX_FAULT, "{}: {}{} is {}, allowed is [{}, {})", sites[index].node, sites[index].what, place, value,
                 lower, upper)
      .attachDetails(siteDetails(sites[index], fmt::format("{}{} in [{}, {})", sites[index].what, place, lower, upper),
                                 std::to_string(value)));
}

Status Interpreter::outOfRange(const Instruction &instruction, std::string_view what, int64_t value, int64_t lower,
                               int64_t upper) {
  if (instruction.site >= 0)
    return faultAt(static_cast<uint32_t>(instruction.site), {}, value, lower, upper);
  return failure(VX_FAULT, "{}: {} is {}, allowed is [{}, {})", opFacts(instruction.op).name, what, value, lower,
                 upper);
}

Status Interpreter::checkFaults() {
  vx_fault_record fault = {};
  VX_RETURN_IF_ERROR(call.stream->readFault(fault));
  call.retired.clear();
  if (fault.count == 0)
    return okStatus();
  return faultAt(fault.site, describePlace(fault), fault.value, fault.lower, fault.upper);
}

// An element of one of the types that the loader allows.
static int64_t widen(vx_element_type type, const void *bytes) {
  if (type == VX_BOOL)
    return *static_cast<const uint8_t *>(bytes) != 0;
  if (type == VX_I32) {
    int32_t value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  int64_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

Status Interpreter::readI64(const Instruction &instruction) {
  VX_RETURN_IF_ERROR(checkFaults());
  hal::BufferView view;
  VX_RETURN_IF_ERROR(viewOf(instruction.operands[1], view));
  if (call.check) [[unlikely]]
    VX_RETURN_IF_ERROR(call.check->read(program, registers.buffers[instruction.operands[1]], "the host"));
  auto type = static_cast<vx_element_type>(instruction.imm);
  uint64_t size = elementTypeBits(type) / 8;
  int64_t offset = i64(instruction.operands[2]);
  if (offset < 0 || static_cast<uint64_t>(offset) > view.size || size > view.size - static_cast<uint64_t>(offset))
    return failure(VX_INVALID_MODULE, "program '{}' reads {} bytes at {} of a buffer of {} bytes", program.name, size,
                   offset, view.size);
  view.offset += static_cast<uint64_t>(offset);
  view.size = size;
  uint8_t bytes[8] = {};
  VX_RETURN_IF_ERROR(call.stream->download(view, bytes));
  i64(instruction.operands[0]) = widen(type, bytes);
  return okStatus();
}

Status Interpreter::readInput(const Instruction &instruction) {
  const Value &input = *call.inputs->value(static_cast<size_t>(instruction.imm));
  const void *bytes;
  VX_RETURN_IF_ERROR(input.hostBytes(bytes));
  i64(instruction.operands[0]) = widen(input.elementType(), bytes);
  return okStatus();
}

} // namespace vx
