// An in-order queue of work: recorded command lists, transfers, and the fault record.
#ifndef VX_DRIVERS_VULKAN_VULKAN_STREAM_H
#define VX_DRIVERS_VULKAN_VULKAN_STREAM_H

#include "vulkan_device.h"

#include <vector>

namespace vx::vulkan {

class VulkanStream;

// A recorded segment. Its parameter blocks and grids lie in memory that the host writes at each replay; the command
// buffer holds only their places. A copy has its range in the command buffer, so another range needs a new recording.
//
// There are several recordings of one segment, so that a replay can be prepared while earlier ones are still running.
class VulkanCommandList final : public hal::CommandList {
public:
  VulkanCommandList(Ref<VulkanStream> stream, const hal::SegmentShape &shape, Ref<VulkanExecutable> executable);
  ~VulkanCommandList() override;

private:
  friend class VulkanStream;

  // Where a dispatch's parameters are in the parameter memory.
  struct Place {
    uint64_t block = 0;
    uint64_t grid = 0;
  };
  struct CopyRange {
    uint64_t source = 0; // serial number of the memory
    uint64_t destination = 0;
    uint64_t sourceOffset = 0;
    uint64_t destinationOffset = 0;
    uint64_t size = 0;

    bool operator==(const CopyRange &) const = default;
  };
  struct Recording {
    api::CommandBuffer commands = nullptr;
    Ref<VulkanMemory> parameters; // null when the segment has no dispatch
    api::QueryPool timestamps = nullptr;
    std::vector<CopyRange> copies; // what the command buffer holds
    bool recorded = false;
    uint64_t finishedAt = 0; // the stream's counter when the last replay is done
  };

  const Ref<VulkanStream> stream;
  const hal::SegmentShape shape;
  const Ref<VulkanExecutable> executable;
  std::vector<Place> places; // one per command
  uint64_t parameterBytes = 0;
  std::vector<Recording> recordings;
  Recording profiled; // with timestamps; made when timings are first asked for
};

class VulkanStream final : public hal::Stream {
public:
  static Status create(Ref<VulkanDevice> device, Ref<VulkanStream> &stream);
  ~VulkanStream() override;

  Status record(const hal::SegmentShape &shape, const Ref<hal::Executable> &executable,
                Ref<hal::CommandList> &list) override;
  Status replay(hal::CommandList &list, std::span<const hal::CommandArguments> arguments, int64_t *timings) override;
  Status upload(const hal::BufferView &destination, const void *data) override;
  Status download(const hal::BufferView &source, void *data) override;
  Status copy(const hal::BufferView &source, const hal::BufferView &destination) override;
  Status fillZero(const hal::BufferView &destination) override;
  Status resetFault() override;
  Status readFault(vx_fault_record &fault) override;
  Status wait() override;

private:
  friend class VulkanCommandList;

  // A command buffer for one transfer, used again when it is finished.
  struct Transfer {
    api::CommandBuffer commands = nullptr;
    uint64_t finishedAt = 0;
  };

  explicit VulkanStream(Ref<VulkanDevice> device) : device(std::move(device)) {}
  Status initialise();

  Status allocateCommands(api::CommandBuffer &commands);
  Status begin(api::CommandBuffer commands);
  Status end(api::CommandBuffer commands);
  // Makes all work before it, of the host and of the device, visible to all work behind it.
  void fullBarrier(api::CommandBuffer commands);
  Status submit(api::CommandBuffer commands, uint64_t &finishedAt);
  Status waitFor(uint64_t value);
  // Names the kernels that may have been running to an error of the device.
  Status describe(Status status) const;
  // True when nothing is queued any more.
  Status idle(bool &answer);

  Status takeTransfer(Transfer *&transfer);
  // Memory that `host()` reaches, for up to `size` bytes of a transfer; the caller has waited for its earlier use.
  Status growStaging(uint64_t size);

  Status makeRecording(VulkanCommandList &list, VulkanCommandList::Recording &recording, bool timed);
  Status pickRecording(VulkanCommandList &list, VulkanCommandList::Recording *&recording);
  Status recordCommands(VulkanCommandList &list, VulkanCommandList::Recording &recording,
                        std::span<const hal::CommandArguments> arguments);
  Status writeParameters(const VulkanCommandList &list, const VulkanCommandList::Recording &recording,
                         std::span<const hal::CommandArguments> arguments) const;
  Status readTimings(const VulkanCommandList &list, int64_t *timings);
  void releaseRecording(VulkanCommandList::Recording &recording);

  const Ref<VulkanDevice> device;
  api::CommandPool pool = nullptr;
  api::Semaphore timeline = nullptr;
  uint64_t submitted = 0; // the timeline's value when all submitted work is done
  uint64_t finished = 0;  // the greatest value seen
  std::vector<Transfer> transfers;
  Ref<VulkanMemory> staging;
  uint64_t stagingFreeAt = 0;
  Ref<VulkanMemory> fault;
  std::vector<const VulkanCommandList *> running; // replayed since nothing was queued
};

} // namespace vx::vulkan

#endif
