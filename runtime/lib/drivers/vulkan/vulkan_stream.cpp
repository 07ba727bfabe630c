#include "vulkan_stream.h"

#include "hal/kernel_names.h"
#include "hal/parameter_block.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace vx::vulkan {

using hal::BufferView;
using hal::CommandArguments;
using hal::CommandKind;
using hal::CommandShape;

// A transfer larger than this is done in pieces.
static constexpr uint64_t MaxStaging = uint64_t(32) << 20;
static constexpr uint64_t MinStaging = uint64_t(64) << 10;
// Replays of one segment that may be in flight, each with its own parameters.
static constexpr size_t MaxRecordings = 4;
static constexpr size_t MaxTransfers = 8;
// A command whose grid has changed this often reads it from memory instead of having it in the command buffer.
static constexpr uint32_t MaxGridChanges = 2 * MaxRecordings;

// What a stream's commands do on the device.
static constexpr api::Flags DeviceWork = api::PipelineStageComputeShaderBit | api::PipelineStageTransferBit;

static VulkanMemory &vulkanMemory(const BufferView &view) { return *static_cast<VulkanMemory *>(view.memory); }

static uint8_t *hostBytes(const BufferView &view) {
  void *host = view.memory->host();
  return host ? static_cast<uint8_t *>(host) + view.offset : nullptr;
}

static api::DispatchIndirectCommand gridOf(uint64_t workgroups) {
  return {static_cast<uint32_t>(std::min<uint64_t>(workgroups, VX_GRID_X)),
          static_cast<uint32_t>((workgroups + VX_GRID_X - 1) / VX_GRID_X), 1};
}

//===-- Command lists -------------------------------------------------------------------------===//

VulkanCommandList::VulkanCommandList(Ref<VulkanStream> stream, const hal::SegmentShape &shape,
                                     Ref<VulkanExecutable> executable)
    : stream(std::move(stream)), shape(shape), executable(std::move(executable)), places(shape.commands.size()) {
  for (size_t i = 0; i < shape.commands.size(); ++i) {
    const CommandShape &command = shape.commands[i];
    hasCopies |= command.kind == CommandKind::Copy;
    if (command.kind != CommandKind::Dispatch)
      continue;
    const uint64_t words = hal::parameterWords(command);
    places[i].block = parameterBytes;
    places[i].grid = parameterBytes + words * sizeof(uint64_t);
    parameterBytes = (places[i].grid + sizeof(api::DispatchIndirectCommand) + VX_BUFFER_ALIGNMENT - 1) /
                     VX_BUFFER_ALIGNMENT * VX_BUFFER_ALIGNMENT;
  }
}

VulkanCommandList::CopyRange VulkanCommandList::rangeOf(const CommandArguments &arguments) {
  const BufferView &from = arguments.buffers[0], &to = arguments.buffers[1];
  // Copies of nothing are all alike.
  if (from.size == 0)
    return {};
  return {vulkanMemory(from).serial(), vulkanMemory(to).serial(), from.offset, to.offset, from.size};
}

VulkanCommandList::~VulkanCommandList() {
  std::erase(stream->running, this);
  for (Recording &recording : recordings)
    stream->releaseRecording(recording);
  stream->releaseRecording(profiled);
}

//===-- Life ----------------------------------------------------------------------------------===//

Status VulkanStream::create(Ref<VulkanDevice> device, Ref<VulkanStream> &stream) {
  auto created = Ref<VulkanStream>::adopt(new VulkanStream(std::move(device)));
  VX_RETURN_IF_ERROR(created->initialise());
  stream = std::move(created);
  return okStatus();
}

Status VulkanStream::initialise() {
  const api::DeviceFunctions &vk = device->functions();
  api::CommandPoolCreateInfo poolInfo{};
  poolInfo.sType = api::StructureTypeCommandPoolCreateInfo;
  poolInfo.flags = api::CommandPoolCreateResetCommandBufferBit;
  poolInfo.queueFamilyIndex = device->queueFamily();
  VX_RETURN_IF_ERROR(
      device->check(vk.CreateCommandPool(device->handle(), &poolInfo, nullptr, &pool), "vkCreateCommandPool"));

  VX_RETURN_IF_ERROR(device->createTimeline(timeline));

  VX_RETURN_IF_ERROR(
      device->allocateFor(sizeof(vx_fault_record), VulkanDevice::Use::Kernels, fault).addContext("fault record"));
  if (!fault->host())
    VX_RETURN_IF_ERROR(
        device->allocateFor(sizeof(vx_fault_record), VulkanDevice::Use::Staging, faultCopy).addContext("fault record"));
  return resetFault();
}

VulkanStream::~VulkanStream() {
  const api::DeviceFunctions &vk = device->functions();
  // Work that is still running must not lose what it uses. A lost device has stopped by itself.
  if (timeline)
    (void)waitFor(queued()).ok();
  if (device->isHung())
    return;
  if (pool)
    vk.DestroyCommandPool(device->handle(), pool, nullptr);
  if (timeline)
    vk.DestroySemaphore(device->handle(), timeline, nullptr);
}

Status VulkanStream::allocateCommands(api::CommandBuffer &commands) {
  api::CommandBufferAllocateInfo info{};
  info.sType = api::StructureTypeCommandBufferAllocateInfo;
  info.commandPool = pool;
  info.level = api::CommandBufferLevelPrimary;
  info.commandBufferCount = 1;
  return device->check(device->functions().AllocateCommandBuffers(device->handle(), &info, &commands),
                       "vkAllocateCommandBuffers");
}

Status VulkanStream::begin(api::CommandBuffer commands) {
  api::CommandBufferBeginInfo info{};
  info.sType = api::StructureTypeCommandBufferBeginInfo;
  VX_RETURN_IF_ERROR(device->check(device->functions().BeginCommandBuffer(commands, &info), "vkBeginCommandBuffer"));
  barrier(commands, DeviceWork, DeviceWork);
  return okStatus();
}

Status VulkanStream::end(api::CommandBuffer commands) {
  // The host may read results once it has waited for the semaphore.
  barrier(commands, DeviceWork, api::PipelineStageHostBit);
  return device->check(device->functions().EndCommandBuffer(commands), "vkEndCommandBuffer");
}

void VulkanStream::barrier(api::CommandBuffer commands, api::Flags before, api::Flags behind) {
  api::MemoryBarrier barrier{};
  barrier.sType = api::StructureTypeMemoryBarrier;
  if (before & api::PipelineStageComputeShaderBit)
    barrier.srcAccessMask |= api::AccessShaderWriteBit;
  if (before & api::PipelineStageTransferBit)
    barrier.srcAccessMask |= api::AccessTransferWriteBit;
  if (behind & api::PipelineStageComputeShaderBit)
    barrier.dstAccessMask |= api::AccessShaderReadBit | api::AccessShaderWriteBit;
  if (behind & api::PipelineStageTransferBit)
    barrier.dstAccessMask |= api::AccessTransferReadBit | api::AccessTransferWriteBit;
  if (behind & api::PipelineStageHostBit)
    barrier.dstAccessMask |= api::AccessHostReadBit;
  device->functions().CmdPipelineBarrier(commands, before, behind, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void VulkanStream::enqueue(api::CommandBuffer commands, uint64_t &finishedAt) {
  held.push_back(commands);
  finishedAt = queued();
}

Status VulkanStream::flush() {
  if (held.empty())
    return okStatus();
  Status status = device->submit(held, timeline, submitted + 1);
  submitted += status.ok();
  held.clear();
  return describe(std::move(status));
}

Status VulkanStream::waitFor(uint64_t value) {
  if (value > submitted)
    VX_RETURN_IF_ERROR(flush());
  // What the device refused is not waited for.
  value = std::min(value, submitted);
  if (value > finished) {
    VX_RETURN_IF_ERROR(describe(device->wait(timeline, value)));
    finished = value;
  }
  if (finished == queued())
    forgetFinished();
  return okStatus();
}

void VulkanStream::forgetFinished() {
  running.clear();
  for (Transfer &transfer : transfers)
    transfer.memories = {};
}

Status VulkanStream::describe(Status status) const {
  std::vector<std::string_view> descriptions;
  for (const VulkanCommandList *list : running)
    for (const CommandShape &command : list->shape.commands)
      if (command.kind == CommandKind::Dispatch)
        descriptions.push_back(list->executable->kernels[command.kernel].description);
  return hal::nameKernels(std::move(status), descriptions);
}

Status VulkanStream::idle(bool &answer) {
  if (finished < submitted) {
    uint64_t value = 0;
    VX_RETURN_IF_ERROR(
        describe(device->check(device->functions().GetSemaphoreCounterValue(device->handle(), timeline, &value),
                               "vkGetSemaphoreCounterValue")));
    finished = std::max(finished, std::min(value, submitted));
  }
  answer = finished == queued();
  if (answer)
    forgetFinished();
  return okStatus();
}

Status VulkanStream::wait() {
  const bool wasLost = device->isLost();
  Status status = waitFor(queued());
  return status.ok() || wasLost ? device->checkHealth() : std::move(status);
}

//===-- Transfers -----------------------------------------------------------------------------===//

Status VulkanStream::takeTransfer(Transfer *&transfer) {
  bool nothingQueued = false;
  VX_RETURN_IF_ERROR(idle(nothingQueued));
  for (Transfer &candidate : transfers)
    if (candidate.finishedAt <= finished) {
      transfer = &candidate;
      return okStatus();
    }
  if (transfers.size() < MaxTransfers) {
    Transfer created;
    VX_RETURN_IF_ERROR(allocateCommands(created.commands));
    transfer = &transfers.emplace_back(created);
    return okStatus();
  }
  transfer = &*std::min_element(transfers.begin(), transfers.end(),
                                [](const Transfer &a, const Transfer &b) { return a.finishedAt < b.finishedAt; });
  return waitFor(transfer->finishedAt);
}

Status VulkanStream::enqueue(Transfer &transfer, std::array<hal::Memory *, 2> memories) {
  VX_RETURN_IF_ERROR(end(transfer.commands));
  for (size_t i = 0; i < memories.size(); ++i)
    transfer.memories[i] = Ref<hal::Memory>(memories[i]);
  enqueue(transfer.commands, transfer.finishedAt);
  return okStatus();
}

Status VulkanStream::takeStaging(uint64_t size, uint64_t &offset, uint64_t &piece) {
  piece = std::min(size, MaxStaging);
  if (stagingFreeAt <= finished)
    stagingUsed = 0;
  offset = (stagingUsed + VX_BUFFER_ALIGNMENT - 1) / VX_BUFFER_ALIGNMENT * VX_BUFFER_ALIGNMENT;
  if (!staging || offset + piece > staging->size()) {
    VX_RETURN_IF_ERROR(waitFor(stagingFreeAt));
    // Larger, so that what did not fit beside this transfer does so the next time.
    const uint64_t wanted = std::min(std::max(offset + piece, MinStaging), MaxStaging);
    if (!staging || staging->size() < wanted) {
      staging = nullptr;
      VX_RETURN_IF_ERROR(
          device->allocateFor(wanted, VulkanDevice::Use::Staging, staging).addContext("memory for transfers"));
    }
    offset = 0;
  }
  stagingUsed = offset + piece;
  return okStatus();
}

Status VulkanStream::upload(const BufferView &destination, const void *data) {
  VX_RETURN_IF_ERROR(device->checkHealth());
  if (destination.size == 0)
    return okStatus();
  bool nothingQueued = false;
  VX_RETURN_IF_ERROR(idle(nothingQueued));
  if (uint8_t *host = hostBytes(destination); host && nothingQueued) {
    std::memcpy(host, data, destination.size);
    return okStatus();
  }
  for (uint64_t done = 0; done < destination.size;) {
    Transfer *transfer = nullptr;
    VX_RETURN_IF_ERROR(takeTransfer(transfer));
    uint64_t offset = 0, piece = 0;
    VX_RETURN_IF_ERROR(takeStaging(destination.size - done, offset, piece));
    std::memcpy(static_cast<uint8_t *>(staging->host()) + offset, static_cast<const uint8_t *>(data) + done, piece);
    VX_RETURN_IF_ERROR(begin(transfer->commands));
    const api::BufferCopy copy{offset, destination.offset + done, piece};
    device->functions().CmdCopyBuffer(transfer->commands, staging->buffer(), vulkanMemory(destination).buffer(), 1,
                                      &copy);
    VX_RETURN_IF_ERROR(enqueue(*transfer, {staging.get(), destination.memory}));
    stagingFreeAt = transfer->finishedAt;
    done += piece;
  }
  return okStatus();
}

Status VulkanStream::download(const BufferView &source, void *data) {
  if (const uint8_t *host = source.size ? hostBytes(source) : nullptr; host || source.size == 0) {
    VX_RETURN_IF_ERROR(wait());
    if (host)
      std::memcpy(data, host, source.size);
    return okStatus();
  }
  VX_RETURN_IF_ERROR(device->checkHealth());
  for (uint64_t done = 0; done < source.size;) {
    Transfer *transfer = nullptr;
    VX_RETURN_IF_ERROR(takeTransfer(transfer));
    uint64_t offset = 0, piece = 0;
    VX_RETURN_IF_ERROR(takeStaging(source.size - done, offset, piece));
    VX_RETURN_IF_ERROR(begin(transfer->commands));
    const api::BufferCopy copy{source.offset + done, offset, piece};
    device->functions().CmdCopyBuffer(transfer->commands, vulkanMemory(source).buffer(), staging->buffer(), 1, &copy);
    VX_RETURN_IF_ERROR(enqueue(*transfer, {source.memory, staging.get()}));
    stagingFreeAt = transfer->finishedAt;
    VX_RETURN_IF_ERROR(wait());
    std::memcpy(static_cast<uint8_t *>(data) + done, static_cast<const uint8_t *>(staging->host()) + offset, piece);
    done += piece;
  }
  return okStatus();
}

Status VulkanStream::copy(const BufferView &source, const BufferView &destination) {
  VX_RETURN_IF_ERROR(device->checkHealth());
  if (source.size == 0)
    return okStatus();
  Transfer *transfer = nullptr;
  VX_RETURN_IF_ERROR(takeTransfer(transfer));
  VX_RETURN_IF_ERROR(begin(transfer->commands));
  const api::BufferCopy range{source.offset, destination.offset, source.size};
  device->functions().CmdCopyBuffer(transfer->commands, vulkanMemory(source).buffer(),
                                    vulkanMemory(destination).buffer(), 1, &range);
  return enqueue(*transfer, {source.memory, destination.memory});
}

Status VulkanStream::fillZero(const BufferView &destination) {
  VX_RETURN_IF_ERROR(device->checkHealth());
  if (destination.size == 0)
    return okStatus();
  bool nothingQueued = false;
  VX_RETURN_IF_ERROR(idle(nothingQueued));
  if (uint8_t *host = hostBytes(destination); host && nothingQueued) {
    std::memset(host, 0, destination.size);
    return okStatus();
  }
  // A fill covers whole words only; the bytes before and behind come from zeros in the staging memory.
  const uint64_t first = destination.offset;
  const uint64_t last = destination.offset + destination.size;
  const uint64_t wordsFirst = std::min((first + 3) / 4 * 4, last);
  const uint64_t wordsLast = std::max(last / 4 * 4, wordsFirst);
  const bool edges = wordsFirst > first || last > wordsLast;
  Transfer *transfer = nullptr;
  VX_RETURN_IF_ERROR(takeTransfer(transfer));
  uint64_t zeros = 0, zeroBytes = 0;
  if (edges) {
    VX_RETURN_IF_ERROR(takeStaging(sizeof(uint64_t), zeros, zeroBytes));
    std::memset(static_cast<uint8_t *>(staging->host()) + zeros, 0, zeroBytes);
  }
  VX_RETURN_IF_ERROR(begin(transfer->commands));
  const api::DeviceFunctions &vk = device->functions();
  const api::Buffer buffer = vulkanMemory(destination).buffer();
  if (wordsLast > wordsFirst)
    vk.CmdFillBuffer(transfer->commands, buffer, wordsFirst, wordsLast - wordsFirst, 0);
  if (wordsFirst > first) {
    const api::BufferCopy copy{zeros, first, wordsFirst - first};
    vk.CmdCopyBuffer(transfer->commands, staging->buffer(), buffer, 1, &copy);
  }
  if (last > wordsLast) {
    const api::BufferCopy copy{zeros, wordsLast, last - wordsLast};
    vk.CmdCopyBuffer(transfer->commands, staging->buffer(), buffer, 1, &copy);
  }
  VX_RETURN_IF_ERROR(enqueue(*transfer, {edges ? staging.get() : nullptr, destination.memory}));
  if (edges)
    stagingFreeAt = transfer->finishedAt;
  return okStatus();
}

Status VulkanStream::resetFault() {
  if (faultIsKnown && knownFault.count == 0)
    return okStatus();
  VX_RETURN_IF_ERROR(fillZero({fault.get(), 0, sizeof(vx_fault_record)}));
  knownFault = {};
  faultIsKnown = true;
  return okStatus();
}

Status VulkanStream::readFault(vx_fault_record &record) {
  VX_RETURN_IF_ERROR(wait());
  if (!faultIsKnown) {
    std::memcpy(&knownFault, faultCopy ? faultCopy->host() : fault->host(), sizeof(knownFault));
    faultIsKnown = true;
  }
  record = knownFault;
  return okStatus();
}

//===-- Segments ------------------------------------------------------------------------------===//

Status VulkanStream::record(const hal::SegmentShape &shape, const Ref<hal::Executable> &executable,
                            Ref<hal::CommandList> &list) {
  list = nullptr;
  VX_RETURN_IF_ERROR(device->checkHealth());
  Ref<VulkanExecutable> code(static_cast<VulkanExecutable *>(executable.get()));
  for (const CommandShape &command : shape.commands)
    if (command.kind == CommandKind::Dispatch && (!code || command.kernel >= code->kernels.size()))
      return failure(VX_INVALID_ARGUMENT, "asked for kernel {}, but the code has {}", command.kernel,
                     code ? code->kernels.size() : 0);
  auto created = makeRef<VulkanCommandList>(Ref<VulkanStream>(this), shape, std::move(code));
  // Errors of too little memory belong here rather than to the first replay.
  if (!shape.commands.empty())
    VX_RETURN_IF_ERROR(makeRecording(*created, created->recordings.emplace_back(), false));
  list = std::move(created);
  return okStatus();
}

Status VulkanStream::makeRecording(VulkanCommandList &list, VulkanCommandList::Recording &recording, bool timed) {
  if (!recording.commands)
    VX_RETURN_IF_ERROR(allocateCommands(recording.commands));
  if (list.parameterBytes > 0 && !recording.parameters)
    VX_RETURN_IF_ERROR(device->allocateFor(list.parameterBytes, VulkanDevice::Use::Parameters, recording.parameters)
                           .addContext(fmt::format("parameters of {} commands", list.shape.commands.size())));
  if (timed && !recording.timestamps) {
    api::QueryPoolCreateInfo info{};
    info.sType = api::StructureTypeQueryPoolCreateInfo;
    info.queryType = api::QueryTypeTimestamp;
    info.queryCount = static_cast<uint32_t>(list.shape.commands.size() + 1);
    VX_RETURN_IF_ERROR(
        device->check(device->functions().CreateQueryPool(device->handle(), &info, nullptr, &recording.timestamps),
                      "vkCreateQueryPool"));
  }
  return okStatus();
}

void VulkanStream::releaseRecording(VulkanCommandList::Recording &recording) {
  const api::DeviceFunctions &vk = device->functions();
  (void)waitFor(recording.finishedAt).ok();
  if (device->isHung())
    return;
  if (recording.commands)
    vk.FreeCommandBuffers(device->handle(), pool, 1, &recording.commands);
  if (recording.timestamps)
    vk.DestroyQueryPool(device->handle(), recording.timestamps, nullptr);
  recording = {};
}

bool VulkanCommandList::Recording::holds(const hal::SegmentShape &shape,
                                         std::span<const CommandArguments> arguments) const {
  if (!recorded)
    return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (shape.commands[i].kind == CommandKind::Copy ? copies[i] != rangeOf(arguments[i])
                                                    : grids[i] != IndirectGrid && grids[i] != arguments[i].workgroups)
      return false;
  return true;
}

Status VulkanStream::pickRecording(VulkanCommandList &list, std::span<const CommandArguments> arguments,
                                   VulkanCommandList::Recording *&recording) {
  bool nothingQueued = false;
  VX_RETURN_IF_ERROR(idle(nothingQueued));
  recording = nullptr;
  for (VulkanCommandList::Recording &candidate : list.recordings) {
    if (candidate.finishedAt > finished)
      continue;
    if (candidate.holds(list.shape, arguments)) {
      recording = &candidate;
      return okStatus();
    }
    // Of those that are free, an empty one before the one that was of use longest ago.
    if (!recording || (recording->recorded && candidate.finishedAt < recording->finishedAt))
      recording = &candidate;
  }
  if ((!recording || recording->recorded) && list.recordings.size() < MaxRecordings)
    recording = &list.recordings.emplace_back();
  if (recording)
    return makeRecording(list, *recording, false);
  recording = &*std::min_element(list.recordings.begin(), list.recordings.end(),
                                 [](const VulkanCommandList::Recording &a, const VulkanCommandList::Recording &b) {
                                   return a.finishedAt < b.finishedAt;
                                 });
  return waitFor(recording->finishedAt);
}

Status VulkanStream::recordCommands(VulkanCommandList &list, VulkanCommandList::Recording &recording,
                                    std::span<const CommandArguments> arguments) {
  const api::DeviceFunctions &vk = device->functions();
  const api::CommandBuffer commands = recording.commands;
  if (recording.recorded)
    for (size_t i = 0; i < arguments.size(); ++i)
      if (list.shape.commands[i].kind == CommandKind::Dispatch && recording.grids[i] != arguments[i].workgroups)
        ++list.places[i].gridChanges;
  recording.recorded = false;
  recording.copies.assign(arguments.size(), {});
  recording.grids.assign(arguments.size(), VulkanCommandList::IndirectGrid);
  const api::Flags stages = list.hasCopies ? DeviceWork : api::PipelineStageComputeShaderBit;
  VX_RETURN_IF_ERROR(begin(commands));
  if (recording.timestamps) {
    vk.CmdResetQueryPool(commands, recording.timestamps, 0, static_cast<uint32_t>(list.shape.commands.size() + 1));
    vk.CmdWriteTimestamp(commands, api::PipelineStageBottomOfPipeBit, recording.timestamps, 0);
  }
  api::Pipeline bound = nullptr;
  for (size_t i = 0; i < list.shape.commands.size(); ++i) {
    const CommandShape &command = list.shape.commands[i];
    // A time is that of one command only when no other overlaps it.
    if (i > 0 && (command.barrier || recording.timestamps))
      barrier(commands, stages, stages);
    if (command.kind == CommandKind::Dispatch) {
      const VulkanExecutable::Kernel &kernel = list.executable->kernels[command.kernel];
      if (kernel.pipeline != bound) {
        vk.CmdBindPipeline(commands, api::PipelineBindPointCompute, kernel.pipeline);
        bound = kernel.pipeline;
      }
      const uint64_t block = recording.parameters->address() + list.places[i].block;
      vk.CmdPushConstants(commands, device->pipelineLayout(), api::ShaderStageComputeBit, 0, sizeof(block), &block);
      if (list.places[i].gridChanges > MaxGridChanges) {
        vk.CmdDispatchIndirect(commands, recording.parameters->buffer(), list.places[i].grid);
      } else {
        recording.grids[i] = arguments[i].workgroups;
        const api::DispatchIndirectCommand grid = gridOf(arguments[i].workgroups);
        vk.CmdDispatch(commands, grid.x, grid.y, grid.z);
      }
    } else if (const BufferView &source = arguments[i].buffers[0]; source.size > 0) {
      const BufferView &destination = arguments[i].buffers[1];
      const api::BufferCopy copy{source.offset, destination.offset, source.size};
      vk.CmdCopyBuffer(commands, vulkanMemory(source).buffer(), vulkanMemory(destination).buffer(), 1, &copy);
      recording.copies[i] = VulkanCommandList::rangeOf(arguments[i]);
    }
    if (recording.timestamps)
      vk.CmdWriteTimestamp(commands, api::PipelineStageBottomOfPipeBit, recording.timestamps,
                           static_cast<uint32_t>(i + 1));
  }
  if (faultCopy) {
    barrier(commands, api::PipelineStageComputeShaderBit, api::PipelineStageTransferBit);
    const api::BufferCopy copy{0, 0, sizeof(vx_fault_record)};
    vk.CmdCopyBuffer(commands, fault->buffer(), faultCopy->buffer(), 1, &copy);
  }
  VX_RETURN_IF_ERROR(end(commands));
  recording.recorded = true;
  return okStatus();
}

Status VulkanStream::writeParameters(const VulkanCommandList &list, const VulkanCommandList::Recording &recording,
                                     std::span<const CommandArguments> arguments) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const CommandShape &command = list.shape.commands[i];
    if (command.kind != CommandKind::Dispatch)
      continue;
    const CommandArguments &argument = arguments[i];
    constexpr uint64_t gridLimit = uint64_t(VX_GRID_X) * VX_GRID_X;
    if (argument.workgroups > gridLimit)
      return failure(VX_UNSUPPORTED, "kernel '{}' needs {} workgroups, but a dispatch has at most {}",
                     list.executable->kernels[command.kernel].name, argument.workgroups, gridLimit);

    // Places in an array are counted in 32 bits by drivers, whatever the shader says: beyond is the array's begin.
    constexpr uint64_t tensorLimit = UINT32_MAX;
    for (uint32_t b = 0; b < command.bufferCount; ++b)
      if (argument.buffers[b].size > tensorLimit)
        return failure(VX_UNSUPPORTED, "kernel '{}' has a tensor of {} bytes, but on Vulkan one is of at most {}",
                       list.executable->kernels[command.kernel].name, argument.buffers[b].size, tensorLimit);

    auto *bytes = static_cast<uint8_t *>(recording.parameters->host());
    hal::writeParameterBlock(reinterpret_cast<uint64_t *>(bytes + list.places[i].block), fault->address(), command,
                             argument);
    *reinterpret_cast<api::DispatchIndirectCommand *>(bytes + list.places[i].grid) = gridOf(argument.workgroups);
  }
  return okStatus();
}

Status VulkanStream::replay(hal::CommandList &commandList, std::span<const CommandArguments> arguments,
                            int64_t *timings) {
  auto &list = static_cast<VulkanCommandList &>(commandList);
  VX_RETURN_IF_ERROR(device->checkHealth());
  if (arguments.size() != list.shape.commands.size())
    return failure(VX_INTERNAL, "a segment of {} commands was given arguments for {}", list.shape.commands.size(),
                   arguments.size());
  if (arguments.empty())
    return okStatus();

  const bool timed = timings && device->timestampPeriod() > 0;
  VulkanCommandList::Recording *recording = nullptr;
  if (timed) {
    recording = &list.profiled;
    VX_RETURN_IF_ERROR(makeRecording(list, *recording, true));
  } else {
    VX_RETURN_IF_ERROR(pickRecording(list, arguments, recording));
  }
  VX_RETURN_IF_ERROR(writeParameters(list, *recording, arguments));

  if (!recording->holds(list.shape, arguments))
    VX_RETURN_IF_ERROR(recordCommands(list, *recording, arguments));

  if (std::find(running.begin(), running.end(), &list) == running.end())
    running.push_back(&list);
  faultIsKnown = false;
  enqueue(recording->commands, recording->finishedAt);
  VX_RETURN_IF_ERROR(flush());
  if (timings) {
    VX_RETURN_IF_ERROR(wait());
    if (timed)
      return readTimings(list, timings);
    std::fill_n(timings, arguments.size(), -1);
  }
  return okStatus();
}

Status VulkanStream::readTimings(const VulkanCommandList &list, int64_t *timings) {
  std::vector<uint64_t> ticks(list.shape.commands.size() + 1);
  VX_RETURN_IF_ERROR(device->check(device->functions().GetQueryPoolResults(
                                       device->handle(), list.profiled.timestamps, 0,
                                       static_cast<uint32_t>(ticks.size()), ticks.size() * sizeof(uint64_t),
                                       ticks.data(), sizeof(uint64_t), api::QueryResult64Bit | api::QueryResultWaitBit),
                                   "vkGetQueryPoolResults"));
  for (size_t i = 0; i + 1 < ticks.size(); ++i) {
    const uint64_t passed = (ticks[i + 1] - ticks[i]) & device->timestampMask();
    timings[i] = static_cast<int64_t>(static_cast<double>(passed) * device->timestampPeriod());
  }
  return okStatus();
}

} // namespace vx::vulkan
