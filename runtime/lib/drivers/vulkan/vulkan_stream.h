// An in-order queue of work: recorded command lists, transfers, and the fault record.
#ifndef VX_DRIVERS_VULKAN_VULKAN_STREAM_H
#define VX_DRIVERS_VULKAN_VULKAN_STREAM_H

#include "vulkan_device.h"

#include <array>
#include <vector>

namespace vx::vulkan {

class VulkanStream;

// A recorded segment. Its parameter blocks lie in memory that the host writes at each replay; the command buffer holds
// only their places. It holds the grid of each dispatch and the range of each copy, so others need a new recording,
// except that a grid that keeps changing is read from memory too. (Devices fetch such a grid only when the commands
// before it are done, which costs small kernels more than their own time.)
//
// There are several recordings of one segment: a replay can be prepared while earlier ones are still running, and sizes
// that alternate keep a recording each.
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
    uint32_t gridChanges = 0; // how often a recording was made anew for another grid
  };
  struct CopyRange {
    uint64_t source = 0; // serial number of the memory
    uint64_t destination = 0;
    uint64_t sourceOffset = 0;
    uint64_t destinationOffset = 0;
    uint64_t size = 0;

    bool operator==(const CopyRange &) const = default;
  };
  static CopyRange rangeOf(const hal::CommandArguments &arguments);

  struct Recording {
    api::CommandBuffer commands = nullptr;
    Ref<VulkanMemory> parameters; // null when the segment has no dispatch
    api::QueryPool timestamps = nullptr;
    // What the command buffer holds, for each command.
    std::vector<CopyRange> copies;
    std::vector<uint64_t> grids; // workgroups
    bool recorded = false;
    uint64_t finishedAt = 0; // the stream's counter when the last replay is done

    // The command buffer does what these arguments ask for.
    bool holds(const hal::SegmentShape &shape, std::span<const hal::CommandArguments> arguments) const;
  };
  static constexpr uint64_t IndirectGrid = UINT64_MAX; // of no command buffer, but of the parameter memory

  const Ref<VulkanStream> stream;
  const hal::SegmentShape shape;
  const Ref<VulkanExecutable> executable;
  std::vector<Place> places; // one per command
  uint64_t parameterBytes = 0;
  bool hasCopies = false;
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
    std::array<Ref<hal::Memory>, 2> memories; // kept alive until it is finished
  };

  explicit VulkanStream(Ref<VulkanDevice> device) : device(std::move(device)) {}
  Status initialise();

  Status allocateCommands(api::CommandBuffer &commands);
  Status begin(api::CommandBuffer commands);
  Status end(api::CommandBuffer commands);
  // Lets the stages `behind` see what the stages `before` have written.
  void barrier(api::CommandBuffer commands, api::Flags before, api::Flags behind);
  // Queues the commands. They are handed to the device together with those of the next replay or wait: handing over
  // takes as long as a small kernel.
  void enqueue(api::CommandBuffer commands, uint64_t &finishedAt);
  // The timeline's value when all queued work is done.
  uint64_t queued() const { return held.empty() ? submitted : submitted + 1; }
  Status flush();
  Status waitFor(uint64_t value);
  // Names the kernels that may have been running to an error of the device.
  Status describe(Status status) const;
  // True when nothing is queued any more.
  Status idle(bool &answer);

  // What was kept for work that is done now.
  void forgetFinished();

  Status takeTransfer(Transfer *&transfer);
  // Ends the transfer's commands, which use these memories, and queues them.
  Status enqueue(Transfer &transfer, std::array<hal::Memory *, 2> memories);
  // A part of the staging memory for the next `piece` of the `size` bytes of a transfer. The caller sets
  // `stagingFreeAt`.
  Status takeStaging(uint64_t size, uint64_t &offset, uint64_t &piece);

  Status makeRecording(VulkanCommandList &list, VulkanCommandList::Recording &recording, bool timed);
  // One that is not in use; if there is one, one that already holds what is asked for.
  Status pickRecording(VulkanCommandList &list, std::span<const hal::CommandArguments> arguments,
                       VulkanCommandList::Recording *&recording);
  Status recordCommands(VulkanCommandList &list, VulkanCommandList::Recording &recording,
                        std::span<const hal::CommandArguments> arguments);
  Status writeParameters(const VulkanCommandList &list, const VulkanCommandList::Recording &recording,
                         std::span<const hal::CommandArguments> arguments) const;
  Status readTimings(const VulkanCommandList &list, int64_t *timings);
  void releaseRecording(VulkanCommandList::Recording &recording);

  const Ref<VulkanDevice> device;
  api::CommandPool pool = nullptr;
  api::Semaphore timeline = nullptr;
  std::vector<api::CommandBuffer> held; // queued here and not yet handed to the device
  uint64_t submitted = 0;               // the timeline's value when all that was handed over is done
  uint64_t finished = 0;                // the greatest value seen
  std::vector<Transfer> transfers;
  Ref<VulkanMemory> staging;
  uint64_t stagingFreeAt = 0;
  uint64_t stagingUsed = 0; // bytes, by transfers that may still be queued
  Ref<VulkanMemory> fault;
  Ref<VulkanMemory> faultCopy; // made by each replay, when the host does not see `fault` itself
  vx_fault_record knownFault = {};
  bool faultIsKnown = false;                      // nothing that could have changed the record was queued since
  std::vector<const VulkanCommandList *> running; // replayed since nothing was queued
};

} // namespace vx::vulkan

#endif
