#include "exec/call_state.h"

#include "base/arithmetic.h"
#include "base/json_writer.h"
#include "exec/interpreter.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace vx {

static double millisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

CallState::~CallState() {
  // Queued work may use the arena.
  if (stream) {
    Status status = stream->wait();
    (void)status;
  }
}

Status CallState::create(Instance &instance, uint32_t function, std::unique_ptr<CallState> &result) {
  const DeviceModule &loaded = instance.loaded();
  std::unique_ptr<CallState> state(new CallState(loaded, &instance, function));
  VX_RETURN_IF_ERROR(loaded.device().createStream(state->stream));
  state->programs.resize(loaded.target().entries.size());
  result = std::move(state);
  return okStatus();
}

Status CallState::createForLoad(const DeviceModule &loaded, std::unique_ptr<CallState> &result) {
  std::unique_ptr<CallState> state(new CallState(loaded, nullptr, 0));
  VX_RETURN_IF_ERROR(loaded.device().createStream(state->stream));
  result = std::move(state);
  return okStatus();
}

Status CallState::setStream(void *handle) {
  const TakenDevice &taken = loaded.taken();
  Status status = stream->useCallerStream(handle);
  isCallersStream = handle && status.ok();
  return std::move(status).addContext(fmt::format("device '{}:{}'", taken.backend, taken.index));
}

bool CallState::reset() {
  setProfile(false);
  setObserver(nullptr);
  isCallersStream = false;
  return stream->useCallerStream(nullptr).ok();
}

Status CallState::waitAfter(Status failed) {
  Status idle = stream->wait();
  // A lost device is the cause of whatever else failed; its first words say most.
  return loaded.context()->noted(idle.code() == VX_DEVICE_LOST && failed.code() != VX_DEVICE_LOST ? std::move(idle)
                                                                                                  : std::move(failed));
}

Status CallState::allocate(uint64_t size, Ref<hal::Memory> &memory) {
  return instance ? instance->allocate(size, memory) : loaded.device().allocate(size, hal::MemoryKind::Device, memory);
}

void CallState::takeIdleMemory(std::vector<Ref<hal::Memory>> &memory) {
  if (arena)
    memory.push_back(std::move(arena));
  ownInputs.takeIdleMemory(memory);
}

void CallState::clear(ProgramState &state) {
  for (BufferRegister &buffer : state.registers.buffers)
    buffer = BufferRegister();
  for (Ref<List> &object : state.registers.objects)
    object = nullptr;
  if (check)
    check->reset();
  std::fill(state.registers.i64.begin(), state.registers.i64.end(), 0);
  retired.clear();
  state.given.clear();
  oldArenas.clear();
  arenaHasViews = false;
}

// How often a program puts something into a buffer register.
static size_t countAssignments(const Block &block, uint32_t index) {
  size_t count = 0;
  for (const Instruction &instruction : block.instructions) {
    const std::string_view signature = opFacts(instruction.op).signature;
    for (size_t i = 0; i < instruction.operands.size() && i < signature.size(); ++i)
      count += signature[i] == 'B' && instruction.operands[i] == index;
    for (const Block &inner : instruction.blocks)
      count += countAssignments(inner, index);
  }
  return count;
}

// Whether a program gives the register its only value by one allocation, outside of any branch and loop.
static bool isAllocatedOnce(const Program &program, uint32_t index) {
  const std::vector<Instruction> &body = program.body.instructions;
  return countAssignments(program.body, index) == 1 &&
         std::any_of(body.begin(), body.end(), [&](const Instruction &instruction) {
           return instruction.op == Op::Allocate && instruction.operands[0] == index;
         });
}

BufferRegister &CallState::inputRegister(ProgramState &state, size_t input) const {
  const std::vector<Argument> &inputs = loaded.data().functions[functionIndex].inputs;
  const auto before = std::count_if(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(input),
                                    [](const Argument &argument) { return argument.type.kind == VX_TENSOR; });
  return state.registers.buffers[static_cast<size_t>(before)];
}

Status CallState::placeResults(const Program &program, ProgramState &state, std::span<Value *const> inputs,
                               std::span<const ResultPlace> places) {
  for (size_t i = 0; i < places.size(); ++i) {
    const int32_t index = program.results[i].buffer;
    if (!places[i].value && (!places[i].data || reinterpret_cast<uintptr_t>(places[i].data) % VX_BUFFER_ALIGNMENT != 0))
      continue;
    if (!isAllocatedOnce(program, static_cast<uint32_t>(index)))
      continue;
    state.given.resize(program.bufferRegisters);
    ProgramState::Given &given = state.given[static_cast<size_t>(index)];
    if (given.memory)
      continue;
    const std::optional<size_t> alias = aliasOf(loaded.data().functions[functionIndex], i);
    BufferRegister *input = alias ? &inputRegister(state, *alias) : nullptr;
    if (const Value *value = places[i].value) {
      // Where another value reads the memory too, or this device does not, the result is as without a place.
      if (input->view.memory != value->memory().get() || input->view.offset != 0 || !value->memory()->unique() ||
          value->memory()->isForeign())
        continue;
      given = {value->memory(), /*isCallers=*/false, /*overwritesInput=*/true};
    } else {
      VX_RETURN_IF_ERROR(loaded.device().importHostForWriting(places[i].data, places[i].size, given.memory));
      // One name for what is one memory.
      const void *bytes = input && given.memory && input->view.memory ? input->view.memory->host() : nullptr;
      if (!bytes || static_cast<const uint8_t *>(bytes) + input->view.offset != places[i].data)
        continue;
      input->view = {given.memory.get(), 0, inputs[*alias]->size()};
      given.overwritesInput = true;
    }
    if (check)
      input->origin = check->hold(input->view);
  }
  return okStatus();
}

Status CallState::execute(const Program &program, ProgramState &state, std::vector<Ref<Value>> &outputs,
                          std::span<const ResultPlace> places) {
  Interpreter interpreter(*this, program, state);
  return interpreter.nameCommitted(execute(interpreter, program, outputs, places));
}

Status CallState::execute(Interpreter &interpreter, const Program &program, std::vector<Ref<Value>> &outputs,
                          std::span<const ResultPlace> places) {
  VX_RETURN_IF_ERROR(interpreter.run());
  const Function &function = loaded.data().functions[functionIndex];
  auto hasPlace = [&](size_t output) { return output < places.size() && places[output].data; };
  for (size_t i = 0; i < function.outputs.size(); ++i) {
    outputs.emplace_back();
    VX_RETURN_IF_ERROR(hasPlace(i) ? interpreter.own(program.results[i])
                                   : interpreter.result(function.outputs[i], program.results[i], outputs.back()));
  }
  VX_RETURN_IF_ERROR(interpreter.checkFaults());
  for (size_t i = 0; i < function.outputs.size(); ++i)
    if (hasPlace(i))
      VX_RETURN_IF_ERROR(interpreter.resultTo(function.outputs[i], program.results[i], places[i], outputs[i]));
  if (loaded.guards()) [[unlikely]]
    return loaded.guards()->check().addContext(fmt::format("program '{}'", program.name));
  return okStatus();
}

void CallState::prepare(const Program &program, ProgramState &state) {
  state.registers.i64.resize(program.i64Registers);
  state.registers.buffers.resize(program.bufferRegisters);
  state.registers.objects.resize(program.objectRegisters);
  state.segments.resize(program.segmentCount);
  state.ready = true;
}

Status CallState::derive(const Derived &derived, ProgramState &state, KeptBuffer &result) {
  const Program &program = loaded.data().programs[derived.program];
  if (!state.ready)
    prepare(program, state);
  const auto index = static_cast<uint32_t>(program.results[0].buffer);
  if (result.memory && result.offset == 0 && isAllocatedOnce(program, index)) {
    state.given.resize(program.bufferRegisters);
    state.given[index] = {result.memory};
  }
  Interpreter interpreter(*this, program, state);
  auto compute = [&]() -> Status {
    VX_RETURN_IF_ERROR(stream->resetFault());
    VX_RETURN_IF_ERROR(interpreter.run());
    VX_RETURN_IF_ERROR(interpreter.result(derived, program.results[0], result));
    VX_RETURN_IF_ERROR(interpreter.checkFaults());
    return loaded.guards() ? loaded.guards()->check().addContext(fmt::format("program '{}'", program.name))
                           : okStatus();
  };
  Status status = compute();
  if (!status.ok())
    status = waitAfter(std::move(status));
  clear(state);
  return status;
}

Status CallState::deriveAtLoad(const Derived &derived, KeptBuffer &result) {
  ProgramState state;
  return derive(derived, state, result);
}

Status CallState::deriveAnew(size_t index) {
  const Derived &derived = loaded.target().derived[index];
  DerivedValue &value = instance->derived(index);
  std::vector<std::string_view> names;
  for (uint32_t variable : derived.variables)
    names.push_back(loaded.data().variables[variable].name);
  // It is no part of what the caller asked to see.
  const bool profiled = std::exchange(profile, false);
  Observer observed = std::exchange(observer, nullptr);
  Status status = derive(derived, derivedPrograms[index], value.buffer);
  profile = profiled;
  observer = std::move(observed);
  if (!status.ok())
    return std::move(status).addContext(fmt::format("'{}', derived from '{}'", derived.name, fmt::join(names, "', '")));
  instance->noteComputed(value);
  return okStatus();
}

Status CallState::takeVariables(size_t entry, VariableAccesses::Ticket &ticket, uint64_t &computed) {
  ticket = instance->takeVariables(entry);
  if (ticket.isFresh()) [[likely]]
    return okStatus();
  // Who wants to compute waits for all who read, so nobody waits for that while reading.
  ticket = {};
  ticket = instance->takeDerived(entry);
  return deriveForEntry(entry, ticket, computed);
}

Status CallState::deriveForEntry(size_t entry, VariableAccesses::Ticket &ticket, uint64_t &computed) {
  // Somebody else may have computed some in the meantime.
  for (uint32_t index : instance->derivedToCompute(entry)) {
    VX_RETURN_IF_ERROR(deriveAnew(index));
    ++computed;
  }
  instance->keepVariables(entry, ticket);
  return okStatus();
}

Status CallState::run(std::span<Value *const> given, std::vector<Ref<Value>> &outputs,
                      std::span<const ResultPlace> places) {
  outputs.clear();
  const Clock::time_point begin = Clock::now();
  VX_RETURN_IF_ERROR(ownInputs.bind(*instance, functionIndex, given, places));
  // Until the work is done, also where the call fails.
  VariableAccesses::Ticket ticket;
  uint64_t derived = 0;
  Status status = takeVariables(ownInputs.entry(), ticket, derived);
  return finish(ownInputs, /*arePlaced=*/false, begin, std::move(status), derived, outputs, places);
}

Status CallState::runStaged(StagedInputs &staged, VariableAccesses::Ticket &ticket, std::vector<Ref<Value>> &outputs,
                            std::span<const ResultPlace> places, const StopRequest &request) {
  outputs.clear();
  const Clock::time_point begin = Clock::now();
  VariableAccesses::Ticket untilDone = std::move(ticket);
  VX_RETURN_IF_ERROR(untilDone.await(request));
  uint64_t derived = 0;
  Status status = deriveForEntry(staged.entry(), untilDone, derived);
  stop = &request;
  status = finish(staged, /*arePlaced=*/true, begin, std::move(status), derived, outputs, places);
  stop = nullptr;
  stream->endWhere(nullptr);
  return status;
}

Status CallState::finish(StagedInputs &given, bool arePlaced, Clock::time_point begin, Status status, uint64_t derived,
                         std::vector<Ref<Value>> &outputs, std::span<const ResultPlace> places) {
  const Program &program = loaded.data().programs[loaded.target().entries[given.entry()].program];
  ProgramState &state = programs[given.entry()];
  if (!state.ready)
    prepare(program, state);
  statistics = {};
  statistics.entry = given.entry();
  statistics.derived = derived;
  statistics.begin = begin;
  statistics.kernels.resize(profile ? loaded.target().kernels.size() : 0);
  if (status.ok())
    status = stream->resetFault();
  if (status.ok() && !arePlaced)
    status = given.place(*instance, functionIndex, *stream);
  if (status.ok()) {
    inputs = &given;
    given.fill(state.registers);
    status = placeResults(program, state, given.pointers(), places);
  }
  statistics.uploadMilliseconds = millisecondsSince(begin);
  if (status.ok())
    status = execute(program, state, outputs, places);
  if (status.ok() && !program.stores.empty())
    instance->noteWritten();
  if (!status.ok()) {
    status = waitAfter(std::move(status));
    outputs.clear();
  }
  clear(state);
  inputs = nullptr;
  given.clear();
  // What was too much would be missing in a smaller run.
  if (status.code() == VX_OUT_OF_MEMORY) {
    std::vector<Ref<hal::Memory>> dropped;
    takeIdleMemory(dropped);
    given.takeIdleMemory(dropped);
  }
  statistics.any = true;
  statistics.totalMilliseconds = millisecondsSince(begin);
  return status;
}

// The format of Chrome's traces, which Perfetto reads: complete events, in microseconds.
Status CallState::trace(std::string &result) const {
  if (!statistics.any)
    return failure(VX_INVALID_ARGUMENT, "the call has not run yet");
  if (statistics.kernels.empty())
    return failure(VX_INVALID_ARGUMENT, "the last run was not profiled (vx_call_set_profile), so nothing was timed");
  JsonWriter json;
  json.beginObject().member("displayTimeUnit", "ms").key("traceEvents").beginArray();
  auto name = [&](std::string_view what, int64_t thread, std::string_view text) {
    json.beginObject().member("name", what).member("ph", "M").member("pid", 1).member("tid", thread);
    json.key("args").beginObject().member("name", text).endObject().endObject();
  };
  auto begin = [&](std::string_view text, std::string_view category, int64_t thread, int64_t from, int64_t length) {
    json.beginObject().member("name", text).member("cat", category).member("ph", "X").member("pid", 1);
    json.member("tid", thread).key("ts").thousandths(from).key("dur").thousandths(length);
  };
  auto toNanoseconds = [](double milliseconds) { return static_cast<int64_t>(milliseconds * 1e6); };
  name("process_name", 0, "vx " + loaded.data().name);
  name("thread_name", 1, "calls");
  name("thread_name", 2, "kernels on " + loaded.device().info().name);
  const Entry &entry = loaded.target().entries[statistics.entry];
  begin(loaded.data().functions[functionIndex].name, "call", 1, 0, toNanoseconds(statistics.totalMilliseconds));
  json.key("args").beginObject().member("program", loaded.data().programs[entry.program].name);
  json.member("replays", statistics.replays).member("dispatches", statistics.dispatches).endObject().endObject();
  if (statistics.uploadMilliseconds > 0) {
    begin("inputs", "upload", 1, 0, toNanoseconds(statistics.uploadMilliseconds));
    json.endObject();
  }
  for (const DispatchTime &time : statistics.times) {
    if (time.nanoseconds < 0)
      continue;
    const Kernel &kernel = loaded.target().kernels[time.command->kernel];
    begin(kernel.name, "kernel", 2, time.begin, time.nanoseconds);
    json.key("args").beginObject().key("nodes").beginArray();
    if (time.command->nodes.empty())
      for (const std::string &source : kernel.sources)
        json.string(source);
    for (uint32_t node : time.command->nodes)
      json.string(loaded.data().sourceNodes[node]);
    json.endArray().endObject().endObject();
  }
  json.endArray().endObject();
  result = json.take();
  return okStatus();
}

Status CallState::report(std::string &result) const {
  if (!statistics.any)
    return failure(VX_INVALID_ARGUMENT, "the call has not run yet");
  const Entry &entry = loaded.target().entries[statistics.entry];
  JsonWriter json;
  json.beginObject().member("version", 1).member("function", loaded.data().functions[functionIndex].name);
  json.member("entry", statistics.entry).member("program", loaded.data().programs[entry.program].name);
  json.member("total_ms", statistics.totalMilliseconds).member("upload_ms", statistics.uploadMilliseconds);
  json.member("arena_bytes", arena ? arena->size() : uint64_t(0));
  json.member("memory_bytes", instance->usedMemory());
  json.member("dispatches", statistics.dispatches).member("replays", statistics.replays);
  json.member("host_calls", statistics.hostCalls).member("host_bytes", statistics.hostBytes);
  json.member("derived", statistics.derived);
  auto orNull = [&](std::string_view name, const std::optional<int64_t> &value) {
    json.key(name);
    value ? json.number(*value) : json.null();
  };
  if (!statistics.kernels.empty()) {
    auto sum = [&](std::optional<int64_t> KernelStatistics::*field) {
      std::optional<int64_t> total = 0;
      for (const KernelStatistics &kernel : statistics.kernels) {
        int64_t next = 0;
        if (kernel.count)
          total =
              total && kernel.*field && checkedAdd(*total, *(kernel.*field), next) ? std::optional(next) : std::nullopt;
      }
      return total;
    };
    orNull("flops", sum(&KernelStatistics::flops));
    orNull("bytes", sum(&KernelStatistics::bytes));
  }
  json.key("kernels").beginArray();
  for (size_t i = 0; i < statistics.kernels.size(); ++i) {
    const KernelStatistics &one = statistics.kernels[i];
    if (one.count == 0)
      continue;
    const Kernel &kernel = loaded.target().kernels[i];
    json.beginObject().member("kernel", kernel.name).member("key", kernel.key).key("sources").beginArray();
    for (const std::string &source : kernel.sources)
      json.string(source);
    json.endArray().member("count", one.count).key("total_ms");
    one.nanoseconds ? json.real(static_cast<double>(*one.nanoseconds) * 1e-6) : json.null();
    orNull("flops", one.flops);
    orNull("bytes", one.bytes);
    json.endObject();
  }
  json.endArray().endObject();
  result = json.take();
  return okStatus();
}

} // namespace vx
