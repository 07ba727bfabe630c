#include "hal/gpu/gpu_stream.h"

#include "hal/kernel_names.h"
#include "hal/parameter_block.h"

#include <algorithm>
#include <cstring>

namespace vx::hal::gpu {

// A transfer larger than this is done in pieces, one filled by the host while the device takes the other.
static constexpr uint64_t MaxStaging = uint64_t(8) << 20;
static constexpr uint64_t MinStaging = uint64_t(64) << 10;

static void *hostBytes(const BufferView &view) {
  void *host = view.memory->host();
  return host ? static_cast<uint8_t *>(host) + view.offset : nullptr;
}

//===-- Command lists -------------------------------------------------------------------------===//

GpuCommandList::GpuCommandList(Ref<GpuStream> stream, const SegmentShape &shape, Ref<GpuExecutable> executable)
    : stream(std::move(stream)), shape(shape), executable(std::move(executable)), places(shape.commands.size()) {
  for (size_t i = 0; i < shape.commands.size(); ++i) {
    const CommandShape &command = shape.commands[i];
    if (command.kind != CommandKind::Dispatch)
      continue;
    places[i] = parameterBytes;
    const uint64_t words = parameterWords(command);
    parameterBytes += (words * sizeof(uint64_t) + VX_BUFFER_ALIGNMENT - 1) / VX_BUFFER_ALIGNMENT * VX_BUFFER_ALIGNMENT;
  }
  parameters.resize(parameterBytes / sizeof(uint64_t));
}

GpuCommandList::~GpuCommandList() {
  Scope scope(stream->api);
  // Work that is still running must not lose what it uses. A lost device has stopped by itself.
  (void)stream->synchronize().ok();
  std::erase(stream->running, this);
  for (Recording &recording : recordings)
    stream->destroyGraph(recording);
  for (const Slot &slot : slots)
    if (slot.event)
      stream->api.destroyEvent(slot.event);
}

//===-- Life ----------------------------------------------------------------------------------===//

Status GpuStream::create(Ref<GpuDevice> device, Ref<GpuStream> &stream) {
  auto created = Ref<GpuStream>::adopt(new GpuStream(std::move(device)));
  VX_RETURN_IF_ERROR(created->initialise());
  stream = std::move(created);
  return okStatus();
}

Status GpuStream::initialise() {
  Scope scope(api);
  VX_RETURN_IF_ERROR(api.createStream(ownStream));
  stream = ownStream;
  for (Staging &staging : stagings)
    VX_RETURN_IF_ERROR(api.createEvent(/*timed=*/false, staging.event));
  VX_RETURN_IF_ERROR(
      device->allocateFor(sizeof(vx_fault_record), MemoryKind::Device, fault).addContext("fault record"));
  return resetFault();
}

GpuStream::~GpuStream() {
  Scope scope(api);
  if (ownStream)
    (void)synchronize().ok();
  for (const Staging &staging : stagings)
    if (staging.event)
      api.destroyEvent(staging.event);
  if (ownStream)
    api.destroyStream(ownStream);
}

Status GpuStream::describe(Status status) const {
  std::vector<std::string_view> descriptions;
  for (const GpuCommandList *list : running)
    for (const CommandShape &command : list->shape.commands)
      if (command.kind == CommandKind::Dispatch)
        descriptions.push_back(list->executable->kernels[command.kernel].description);
  return nameKernels(std::move(status), descriptions);
}

template <typename Work>
Status GpuStream::inScope(Work &&work) {
  Scope scope(api);
  return describe(work());
}

Status GpuStream::synchronize() {
  if (isIdle)
    return okStatus();
  Status status = describe(api.synchronize(stream));
  isIdle = true;
  running.clear();
  for (Staging &staging : stagings)
    staging.used = false;
  return status;
}

Status GpuStream::wait() {
  Scope scope(api);
  VX_RETURN_IF_ERROR(synchronize());
  return device->checkHealth();
}

Status GpuStream::useCallerStream(void *handle) {
  VX_RETURN_IF_ERROR(device->checkHealth());
  Scope scope(api);
  VX_RETURN_IF_ERROR(synchronize());
  stream = ownStream;
  if (!handle)
    return okStatus();
  // An event can only be recorded in a stream of its own context and device.
  if (Status status = api.recordEvent(stagings[0].event, handle); !status.ok())
    return failure(status.code() == VX_DEVICE_LOST ? VX_DEVICE_LOST : VX_INVALID_ARGUMENT,
                   "it does not take the caller's stream: {}", status.message());
  stream = handle;
  isIdle = false; // the caller may have queued work
  return okStatus();
}

//===-- Transfers -----------------------------------------------------------------------------===//

Status GpuStream::takeStaging(uint64_t size, Staging *&staging) {
  staging = &stagings[nextStaging++ % stagings.size()];
  if (staging->used)
    VX_RETURN_IF_ERROR(api.waitForEvent(staging->event));
  staging->used = false;
  const uint64_t wanted = std::min(size, MaxStaging);
  if (staging->memory && staging->memory->size() >= wanted)
    return okStatus();
  staging->memory = nullptr;
  return device->allocateFor(std::max(wanted, MinStaging), MemoryKind::Staging, staging->memory)
      .addContext("memory for transfers");
}

Status GpuStream::upload(const BufferView &destination, const void *data) {
  VX_RETURN_IF_ERROR(device->checkHealth());
  if (destination.size == 0)
    return okStatus();
  if (void *host = hostBytes(destination); host && isIdle) {
    std::memcpy(host, data, destination.size);
    return okStatus();
  }
  return inScope([&]() -> Status {
    for (uint64_t done = 0; done < destination.size;) {
      Staging *staging = nullptr;
      VX_RETURN_IF_ERROR(takeStaging(destination.size - done, staging));
      const uint64_t piece = std::min(destination.size - done, staging->memory->size());
      std::memcpy(staging->memory->host(), static_cast<const uint8_t *>(data) + done, piece);
      isIdle = false;
      VX_RETURN_IF_ERROR(api.copy({destination.address() + done, staging->memory->address(), piece}, stream));
      VX_RETURN_IF_ERROR(api.recordEvent(staging->event, stream));
      staging->used = true;
      done += piece;
    }
    return okStatus();
  });
}

Status GpuStream::download(const BufferView &source, void *data) {
  VX_RETURN_IF_ERROR(device->checkHealth());
  return inScope([&] { return downloadPieces(source, data); });
}

Status GpuStream::downloadPieces(const BufferView &source, void *data) {
  if (const void *host = source.size ? hostBytes(source) : nullptr; host || source.size == 0) {
    VX_RETURN_IF_ERROR(synchronize());
    if (host)
      std::memcpy(data, host, source.size);
    return okStatus();
  }
  auto *bytes = static_cast<uint8_t *>(data);
  Staging *earlier = nullptr;
  uint64_t earlierSize = 0;
  auto take = [&]() -> Status {
    if (!earlier)
      return okStatus();
    VX_RETURN_IF_ERROR(api.waitForEvent(earlier->event));
    std::memcpy(bytes, earlier->memory->host(), earlierSize);
    bytes += earlierSize;
    earlier->used = false;
    return okStatus();
  };
  for (uint64_t done = 0; done < source.size;) {
    Staging *staging = nullptr;
    VX_RETURN_IF_ERROR(takeStaging(source.size - done, staging));
    const uint64_t piece = std::min(source.size - done, staging->memory->size());
    isIdle = false;
    VX_RETURN_IF_ERROR(api.copy({staging->memory->address(), source.address() + done, piece}, stream));
    VX_RETURN_IF_ERROR(api.recordEvent(staging->event, stream));
    staging->used = true;
    VX_RETURN_IF_ERROR(take());
    earlier = staging;
    earlierSize = piece;
    done += piece;
  }
  VX_RETURN_IF_ERROR(take());
  return synchronize();
}

Status GpuStream::copy(const BufferView &source, const BufferView &destination) {
  VX_RETURN_IF_ERROR(device->checkHealth());
  if (source.size == 0)
    return okStatus();
  isIdle = false;
  return inScope([&] { return api.copy({destination.address(), source.address(), source.size}, stream); });
}

Status GpuStream::fillZero(const BufferView &destination) {
  VX_RETURN_IF_ERROR(device->checkHealth());
  if (destination.size == 0)
    return okStatus();
  isIdle = false;
  return inScope([&] { return api.fillZero(destination.address(), destination.size, stream); });
}

Status GpuStream::resetFault() { return fillZero({fault.get(), 0, sizeof(vx_fault_record)}); }

Status GpuStream::readFault(vx_fault_record &record) {
  return download({fault.get(), 0, sizeof(vx_fault_record)}, &record);
}

//===-- Segments ------------------------------------------------------------------------------===//

Status GpuStream::record(const SegmentShape &shape, const Ref<Executable> &executable, Ref<CommandList> &list) {
  list = nullptr;
  VX_RETURN_IF_ERROR(device->checkHealth());
  Ref<GpuExecutable> code(static_cast<GpuExecutable *>(executable.get()));
  for (const CommandShape &command : shape.commands)
    if (command.kind == CommandKind::Dispatch && (!code || command.kernel >= code->kernels.size()))
      return failure(VX_INVALID_ARGUMENT, "asked for kernel {}, but the code has {}", command.kernel,
                     code ? code->kernels.size() : 0);
  Scope scope(api);
  auto created = makeRef<GpuCommandList>(Ref<GpuStream>(this), shape, std::move(code));
  if (!shape.commands.empty())
    VX_RETURN_IF_ERROR(allocateParameters(*created, created->recordings.front()));
  if (created->parameterBytes > 0) {
    VX_RETURN_IF_ERROR(device
                           ->allocateFor(created->parameterBytes * GpuCommandList::SlotCount, MemoryKind::Staging,
                                         created->hostParameters)
                           .addContext(fmt::format("parameters of {} commands", shape.commands.size())));
    for (size_t i = 0; i < created->slots.size(); ++i) {
      created->slots[i].offset = i * created->parameterBytes;
      VX_RETURN_IF_ERROR(api.createEvent(/*timed=*/false, created->slots[i].event));
    }
  }
  list = std::move(created);
  return okStatus();
}

Status GpuStream::allocateParameters(const GpuCommandList &list, GpuCommandList::Recording &recording) {
  // A copy of nothing still has a place in the graph, for which it needs two places in memory.
  const uint64_t spare = 2 * VX_BUFFER_ALIGNMENT;
  return device->allocateFor(list.parameterBytes + spare, MemoryKind::Device, recording.parameters)
      .addContext(fmt::format("parameters of {} commands", list.shape.commands.size()));
}

Status GpuStream::writeParameters(GpuCommandList &list, std::span<const CommandArguments> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const CommandShape &command = list.shape.commands[i];
    if (command.kind != CommandKind::Dispatch)
      continue;
    const CommandArguments &argument = arguments[i];
    if (argument.workgroups >= static_cast<uint64_t>(VX_MAX_WORKGROUPS))
      return failure(VX_UNSUPPORTED, "kernel '{}' needs {} workgroups, but a dispatch has less than {}",
                     list.executable->kernels[command.kernel].name, argument.workgroups, VX_MAX_WORKGROUPS);
    writeParameterBlock(list.parameters.data() + list.places[i] / sizeof(uint64_t), fault->address(), command,
                        argument);
  }
  return okStatus();
}

// Puts the recording of the parameters to be replayed first, or the one that is to be changed.
void GpuStream::chooseRecording(GpuCommandList &list) {
  auto &[last, other] = list.recordings;
  if (list.parameters == last.uploaded)
    return;
  // Either the other one has them, or it was not used for longer.
  if (other.parameters)
    return std::swap(last, other);
  // Where there is no memory for another one, the one there is goes on being changed.
  if (list.parameters == list.replaced && allocateParameters(list, other).ok())
    return std::swap(last, other);
  list.replaced = last.uploaded;
}

Status GpuStream::uploadParameters(GpuCommandList &list) {
  GpuCommandList::Recording &recording = list.recordings.front();
  if (list.parameters == recording.uploaded)
    return okStatus();
  GpuCommandList::Slot &slot = list.slots[list.nextSlot++ % list.slots.size()];
  if (slot.used)
    VX_RETURN_IF_ERROR(api.waitForEvent(slot.event));
  std::memcpy(static_cast<uint8_t *>(list.hostParameters->host()) + slot.offset, list.parameters.data(),
              list.parameterBytes);
  recording.uploaded.clear(); // until the copy is queued
  VX_RETURN_IF_ERROR(api.copy(
      {recording.parameters->address(), list.hostParameters->address() + slot.offset, list.parameterBytes}, stream));
  VX_RETURN_IF_ERROR(api.recordEvent(slot.event, stream));
  slot.used = true;
  recording.uploaded = list.parameters;
  return okStatus();
}

Launch GpuStream::launchOf(const GpuCommandList &list, size_t command, const CommandArguments &arguments) const {
  const GpuExecutable::Kernel &kernel = list.executable->kernels[list.shape.commands[command].kernel];
  Launch launch;
  launch.function = kernel.function;
  // A kernel of no workgroups is started with one, which sees that its number is not below the count.
  launch.gridX = static_cast<uint32_t>(std::clamp<uint64_t>(arguments.workgroups, 1, VX_GRID_X));
  launch.gridY = static_cast<uint32_t>(std::max<uint64_t>(1, (arguments.workgroups + VX_GRID_X - 1) / VX_GRID_X));
  launch.threads = kernel.threads;
  launch.block = list.recordings.front().parameters->address() + list.places[command];
  return launch;
}

static Transfer transferOf(const CommandArguments &arguments) {
  const BufferView &source = arguments.buffers[0];
  if (source.size == 0)
    return {};
  return {arguments.buffers[1].address(), source.address(), source.size};
}

void GpuStream::destroyGraph(GpuCommandList::Recording &recording) {
  if (recording.instance)
    api.destroyExecutable(recording.instance);
  if (recording.graph)
    api.destroyGraph(recording.graph);
  recording.instance = recording.graph = nullptr;
  recording.nodes.clear();
}

Status GpuStream::buildGraph(GpuCommandList &list, std::span<const CommandArguments> arguments) {
  GpuCommandList::Recording &recording = list.recordings.front();
  // What runs now keeps the old graph alive.
  VX_RETURN_IF_ERROR(synchronize());
  destroyGraph(recording);
  VX_RETURN_IF_ERROR(api.createGraph(recording.graph));
  const uint64_t spare = recording.parameters->address() + list.parameterBytes;
  // Commands between two barriers do not wait for each other, but all of them for those before.
  std::vector<Handle> before, current;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const CommandShape &command = list.shape.commands[i];
    if (command.barrier && !current.empty()) {
      before = std::move(current);
      current.clear();
      if (before.size() > 1) {
        Handle join = nullptr;
        VX_RETURN_IF_ERROR(api.addJoin(recording.graph, before, join));
        before = {join};
      }
    }
    GpuCommandList::Node &node = recording.nodes.emplace_back();
    if (command.kind == CommandKind::Dispatch) {
      node.launch = launchOf(list, i, arguments[i]);
      VX_RETURN_IF_ERROR(api.addKernel(recording.graph, before, node.launch, node.handle));
    } else {
      node.transfer = transferOf(arguments[i]);
      const Transfer nothing = {spare, spare + VX_BUFFER_ALIGNMENT, VX_BUFFER_ALIGNMENT};
      VX_RETURN_IF_ERROR(
          api.addCopy(recording.graph, before, node.transfer.size ? node.transfer : nothing, node.handle));
    }
    current.push_back(node.handle);
  }
  VX_RETURN_IF_ERROR(api.instantiate(recording.graph, recording.instance));
  for (size_t i = 0; i < recording.nodes.size(); ++i)
    if (list.shape.commands[i].kind == CommandKind::Copy && recording.nodes[i].transfer.size == 0)
      VX_RETURN_IF_ERROR(api.setEnabled(recording.instance, recording.nodes[i].handle, false));
  return okStatus();
}

Status GpuStream::updateGraph(GpuCommandList &list, std::span<const CommandArguments> arguments, bool &updated) {
  GpuCommandList::Recording &recording = list.recordings.front();
  updated = false;
  if (!recording.instance)
    return okStatus();
  auto lost = [&](Status status, bool &failed) {
    failed = !status.ok();
    return status.code() == VX_DEVICE_LOST ? std::move(status) : okStatus();
  };
  bool refused = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    GpuCommandList::Node &node = recording.nodes[i];
    if (list.shape.commands[i].kind == CommandKind::Dispatch) {
      const Launch wanted = launchOf(list, i, arguments[i]);
      if (wanted.gridX == node.launch.gridX && wanted.gridY == node.launch.gridY)
        continue;
      VX_RETURN_IF_ERROR(lost(api.setKernel(recording.instance, node.handle, wanted), refused));
      node.launch = wanted;
    } else {
      const Transfer wanted = transferOf(arguments[i]);
      if (wanted == node.transfer)
        continue;
      if (wanted.size)
        VX_RETURN_IF_ERROR(lost(api.setCopy(recording.instance, node.handle, wanted), refused));
      if (!refused && (wanted.size == 0) != (node.transfer.size == 0))
        VX_RETURN_IF_ERROR(lost(api.setEnabled(recording.instance, node.handle, wanted.size != 0), refused));
      node.transfer = wanted;
    }
    if (refused)
      return okStatus();
  }
  updated = true;
  return okStatus();
}

Status GpuStream::replay(CommandList &commandList, std::span<const CommandArguments> arguments, int64_t *timings) {
  auto &list = static_cast<GpuCommandList &>(commandList);
  VX_RETURN_IF_ERROR(device->checkHealth());
  if (arguments.size() != list.shape.commands.size())
    return failure(VX_INTERNAL, "a segment of {} commands was given arguments for {}", list.shape.commands.size(),
                   arguments.size());
  if (arguments.empty())
    return okStatus();
  return inScope([&] { return queue(list, arguments, timings); });
}

Status GpuStream::queue(GpuCommandList &list, std::span<const CommandArguments> arguments, int64_t *timings) {
  VX_RETURN_IF_ERROR(writeParameters(list, arguments));
  chooseRecording(list);
  bool updated = false;
  if (!timings) {
    VX_RETURN_IF_ERROR(updateGraph(list, arguments, updated));
    if (!updated)
      VX_RETURN_IF_ERROR(buildGraph(list, arguments));
  }
  isIdle = false;
  if (std::find(running.begin(), running.end(), &list) == running.end())
    running.push_back(&list);
  VX_RETURN_IF_ERROR(uploadParameters(list));
  return timings ? replayTimed(list, arguments, timings) : api.launchGraph(list.recordings.front().instance, stream);
}

// A time is that of one command only when no other overlaps it, so the commands are queued one by one.
Status GpuStream::replayTimed(GpuCommandList &list, std::span<const CommandArguments> arguments, int64_t *timings) {
  std::vector<Handle> events(arguments.size() + 1, nullptr);
  auto run = [&]() -> Status {
    for (Handle &event : events)
      VX_RETURN_IF_ERROR(api.createEvent(/*timed=*/true, event));
    VX_RETURN_IF_ERROR(api.recordEvent(events[0], stream));
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (list.shape.commands[i].kind == CommandKind::Dispatch)
        VX_RETURN_IF_ERROR(api.launch(launchOf(list, i, arguments[i]), stream));
      else if (const Transfer transfer = transferOf(arguments[i]); transfer.size)
        VX_RETURN_IF_ERROR(api.copy(transfer, stream));
      VX_RETURN_IF_ERROR(api.recordEvent(events[i + 1], stream));
    }
    VX_RETURN_IF_ERROR(synchronize());
    for (size_t i = 0; i < arguments.size(); ++i) {
      double nanoseconds = 0;
      VX_RETURN_IF_ERROR(api.elapsed(events[i], events[i + 1], nanoseconds));
      timings[i] = static_cast<int64_t>(nanoseconds);
    }
    return okStatus();
  };
  Status status = run();
  for (Handle event : events)
    if (event)
      api.destroyEvent(event);
  return status;
}

} // namespace vx::hal::gpu
