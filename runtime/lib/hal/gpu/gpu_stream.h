// An in-order queue of work on a vendor's driver: segments as graphs, transfers, and the fault record.
#ifndef VX_RUNTIME_HAL_GPU_GPU_STREAM_H
#define VX_RUNTIME_HAL_GPU_GPU_STREAM_H

#include "hal/gpu/gpu_device.h"

#include <array>
#include <vector>

namespace vx::hal::gpu {

class GpuStream;

// A recorded segment: one graph, made at the first replay and changed in place afterwards. The kernels' parameter
// blocks lie in device memory at places that never change, so another caller's buffers cost one copy, and only when
// they differ from those of the replay before; another grid or another range of a copy changes its node. A change that
// the driver refuses makes a new graph.
//
// Parameters that change and change back, as where a loop's new value and its old one take turns in two places, get a
// second graph with blocks of its own: then neither is changed, and a replay costs its launch only.
class GpuCommandList final : public CommandList {
public:
  GpuCommandList(Ref<GpuStream> stream, const SegmentShape &shape, Ref<GpuExecutable> executable);
  ~GpuCommandList() override;

private:
  friend class GpuStream;

  // A command as the graph has it.
  struct Node {
    Handle handle = nullptr;
    Launch launch;     // Dispatch
    Transfer transfer; // Copy; size 0: the node is off
  };
  // Host memory that a copy of the parameter blocks is queued from.
  struct Slot {
    uint64_t offset = 0;
    Handle event = nullptr; // when the copy is done
    bool used = false;
  };
  static constexpr size_t SlotCount = 4;
  // A graph, and what it was made for.
  struct Recording {
    std::vector<uint64_t> uploaded; // the blocks that the device has
    Ref<GpuMemory> parameters;
    Handle graph = nullptr;
    Handle instance = nullptr;
    std::vector<Node> nodes; // one per command
  };

  const Ref<GpuStream> stream;
  const SegmentShape shape;
  const Ref<GpuExecutable> executable;
  std::vector<uint64_t> places; // of each dispatch's block in the parameter memory, in bytes
  uint64_t parameterBytes = 0;
  std::vector<uint64_t> parameters; // the blocks of this replay
  std::vector<uint64_t> replaced;   // those before the ones that the device has, while there is one recording
  Ref<GpuMemory> hostParameters;    // SlotCount times parameterBytes
  std::array<Slot, SlotCount> slots;
  size_t nextSlot = 0;
  // The one of the last replay first; the second one is made when it is of use.
  std::array<Recording, 2> recordings;
};

class GpuStream final : public Stream {
public:
  static Status create(Ref<GpuDevice> device, Ref<GpuStream> &stream);
  ~GpuStream() override;

  Status record(const SegmentShape &shape, const Ref<Executable> &executable, Ref<CommandList> &list) override;
  Status replay(CommandList &list, std::span<const CommandArguments> arguments, int64_t *timings) override;
  Status upload(const BufferView &destination, const void *data) override;
  Status download(const BufferView &source, void *data) override;
  Status copy(const BufferView &source, const BufferView &destination) override;
  Status fillZero(const BufferView &destination) override;
  Status resetFault() override;
  Status readFault(vx_fault_record &fault) override;
  Status wait() override;
  Status useCallerStream(void *handle) override;

private:
  friend class GpuCommandList;

  // Page-locked memory that transfers pass through, in pieces.
  struct Staging {
    Ref<GpuMemory> memory;
    Handle event = nullptr;
    bool used = false;
  };

  explicit GpuStream(Ref<GpuDevice> device) : device(std::move(device)), api(this->device->api()) {}
  Status initialise();
  Status takeStaging(uint64_t size, Staging *&staging);
  Status synchronize();
  Status downloadPieces(const BufferView &source, void *data);
  // Names the kernels that may have been running to an error of the device, which any call may report.
  Status describe(Status status) const;
  // `work` with the device's context, and its error described.
  template <typename Work>
  Status inScope(Work &&work);

  Status allocateParameters(const GpuCommandList &list, GpuCommandList::Recording &recording);
  Status writeParameters(GpuCommandList &list, std::span<const CommandArguments> arguments);
  void chooseRecording(GpuCommandList &list);
  Status uploadParameters(GpuCommandList &list);
  Status updateGraph(GpuCommandList &list, std::span<const CommandArguments> arguments, bool &updated);
  Status buildGraph(GpuCommandList &list, std::span<const CommandArguments> arguments);
  void destroyGraph(GpuCommandList::Recording &recording);
  Status queue(GpuCommandList &list, std::span<const CommandArguments> arguments, int64_t *timings);
  Status replayTimed(GpuCommandList &list, std::span<const CommandArguments> arguments, int64_t *timings);
  Launch launchOf(const GpuCommandList &list, size_t command, const CommandArguments &arguments) const;

  const Ref<GpuDevice> device;
  Api &api;
  Handle ownStream = nullptr;
  Handle stream = nullptr; // that work is queued in: the own one or the caller's
  bool isIdle = true;      // nothing was queued since the last wait
  std::array<Staging, 2> stagings;
  size_t nextStaging = 0;
  Ref<GpuMemory> fault;
  std::vector<const GpuCommandList *> running; // replayed since the last wait
};

} // namespace vx::hal::gpu

#endif
