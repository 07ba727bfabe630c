// What a device is to the runtime: memory, code, and streams that replay recorded command lists.
//
// A call uses one stream. The interpreter describes each Segment of a program once (SegmentShape) and gets a
// CommandList, which it replays with new parameters (CommandArguments) as often as it likes: another caller's buffers,
// sizes and grids need no new recording.
#ifndef VX_RUNTIME_HAL_DEVICE_H
#define VX_RUNTIME_HAL_DEVICE_H

#include "base/ref.h"
#include "base/status.h"
#include "base/stop_request.h"
#include "vx/abi/kernel.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vx::hal {

// Whose addresses a device's memory has: devices of one space use one another's memory, since they are one GPU that was
// opened several times, as do others in the process who know that GPU by the vendor's library.
struct AddressSpace {
  enum class Kind : int32_t { Own, Cuda, Rocm }; // Own: nobody else's
  Kind kind = Kind::Own;
  int32_t ordinal = 0; // the vendor's number of the GPU

  bool isShared() const { return kind != Kind::Own; }
  auto operator<=>(const AddressSpace &) const = default;
};

struct DeviceInfo {
  std::string name;
  // Free text for reports: the driver's version, "software" for a software device.
  std::string details;
  // The version of the driver below, as the driver tells it: "CUDA 12.4"; empty: there is none.
  std::string driver;
  // The most threads of a workgroup, and the most bytes of its memory; 0: no limit, or not known.
  uint32_t maxWorkgroupThreads = 0;
  uint64_t maxWorkgroupMemory = 0;
  // A CPU that plays a GPU. It is slower than the CPU itself, so it is taken when it is asked for by name, or when
  // nothing else is left.
  bool isSoftware = false;
  // What variants may require. CPU: LLVM's feature names ("avx2"). Vulkan: "int64", "float16", "storage16", ...
  std::vector<std::string> features;
  uint64_t totalMemory = 0;
  // The most bytes in one allocation.
  uint64_t maxAllocation = UINT64_MAX;
  // CPU threads of an open CPU device, else 0.
  uint32_t threads = 0;
  // A device that looks for accesses outside of allocations: each buffer of a program is an allocation of its own
  // there, also what is a slice of the arena elsewhere.
  bool separatesBuffers = false;
  // `importHost` takes memory whose address is a multiple of VX_BUFFER_ALIGNMENT.
  bool readsHostMemory = false;
  // Its memory is the host's, so that copies of weights gain nothing: `mapFile` is asked first.
  bool sharesMemory = false;
  // The most bytes of one such range.
  uint64_t maxMappedFile = UINT64_MAX;
  AddressSpace addressSpace;
};

enum class MemoryKind {
  Device,  // fast for kernels; `host()` may be null
  Staging, // `host()` is not null; kernels may use it too
};

// Is told of allocations that are counted when they are freed. Thread-safe.
class MemoryCounter : public RefCounted {
public:
  virtual void freed(uint64_t size) = 0;
};

// One allocation. Its address is a multiple of VX_BUFFER_ALIGNMENT. An allocation of 0 bytes has some address that
// nothing reads. Destruction frees it: the caller makes sure that no stream still uses it. Drivers derive from it to
// add their handle.
class Memory : public RefCounted {
public:
  Memory(uint64_t address, uint64_t size, void *host) : deviceAddress(address), byteSize(size), hostPointer(host) {}
  ~Memory() override {
    if (counter)
      counter->freed(byteSize);
  }

  // Once, before anybody else has the memory.
  void countIn(Ref<MemoryCounter> by) { counter = std::move(by); }

  uint64_t address() const { return deviceAddress; }
  uint64_t size() const { return byteSize; }
  // Where the host sees the same bytes, coherently; null when it does not.
  void *host() const { return hostPointer; }
  // Somebody else's, which is read only.
  virtual bool isForeign() const { return false; }

private:
  uint64_t deviceAddress;
  uint64_t byteSize;
  void *hostPointer;
  Ref<MemoryCounter> counter;
};

// A range of an allocation, borrowed. The runtime has checked that it is inside.
struct BufferView {
  Memory *memory = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;

  uint64_t address() const { return memory ? memory->address() + offset : 0; }
};

// One kernel of a code image.
struct KernelImage {
  std::string_view name;  // for messages
  std::string_view entry; // symbol (cpu) or entry point (vulkan)
  uint32_t bufferCount = 0;
  uint32_t scalarCount = 0;
  uint32_t workgroupSize[3] = {1, 1, 1};
  std::span<const uint8_t> code;      // vulkan: this kernel's SPIR-V, a multiple of 4 bytes; else empty
  std::span<const std::string> nodes; // of the user's model that it computes, for messages
};

// The code of one variant. Borrowed: it is valid during Device::load, and its bytes as long as the module, which
// outlives the executable. Its hash has been checked.
struct CodeImage {
  std::string_view file; // of the module, for messages
  std::string_view variant;
  std::string_view triple;
  std::span<const uint8_t> bytes; // the whole section, 4096-byte aligned
  std::span<const KernelImage> kernels;
};

// Loaded code: kernels in the order of the image.
class Executable : public RefCounted {};

enum class CommandKind : uint8_t { Dispatch, Copy };

// What is the same at every replay of a command.
struct CommandShape {
  CommandKind kind = CommandKind::Dispatch;
  // Waits for all commands before it in the segment, with memory effects visible. Commands without it may overlap the
  // ones before, back to the last barrier. The start of a replay always waits for earlier work of the stream.
  bool barrier = false;
  uint32_t kernel = 0;      // Dispatch: index in the executable
  uint32_t bufferCount = 0; // Dispatch
  uint32_t scalarCount = 0; // Dispatch
};

struct SegmentShape {
  std::vector<CommandShape> commands;
};

// What may differ from replay to replay. The pointers are borrowed until Stream::replay returns; the memory that the
// views name must live until the stream has been waited for.
struct CommandArguments {
  // Dispatch: bufferCount views. Copy: source and destination, of equal size and not overlapping.
  const BufferView *buffers = nullptr;
  const int64_t *scalars = nullptr; // Dispatch
  BufferView workspace;             // Dispatch: no memory when it has none
  uint64_t workgroups = 0;          // Dispatch: 0 runs nothing; see VX_GRID_X for the grid
  uint32_t faultSite = 0;           // Dispatch: what the kernel adds its own site number to
};

// A recorded segment. It belongs to the stream that recorded it and keeps the executable alive.
class CommandList : public RefCounted {};

// An in-order queue of one call. Thread-compatible. Errors of queued work may be reported by any later function.
class Stream : public RefCounted {
public:
  // Records the commands; their parameters are not known yet.
  virtual Status record(const SegmentShape &shape, const Ref<Executable> &executable, Ref<CommandList> &list) = 0;

  // Queues the commands with `arguments`, one per command. The driver writes each dispatch's parameter block
  // (vx/abi/kernel.h), with the stream's fault record as word 0. A list may be queued again before its earlier replay
  // is finished: the driver keeps their parameters apart or waits. When `timings` is not null it has one place per
  // command for nanoseconds; the driver waits for the work, fills in what it measured, and writes -1 elsewhere.
  virtual Status replay(CommandList &list, std::span<const CommandArguments> arguments, int64_t *timings) = 0;

  // Queues a copy from host memory. `data` has been read when this returns.
  virtual Status upload(const BufferView &destination, const void *data) = 0;

  // Waits for all queued work, then copies to host memory.
  virtual Status download(const BufferView &source, void *data) = 0;

  // Queues a copy between memories of the device; equal sizes, no overlap.
  virtual Status copy(const BufferView &source, const BufferView &destination) = 0;

  // Queues a fill with zeros. The size need not be a multiple of 4.
  virtual Status fillZero(const BufferView &destination) = 0;

  // Queues the zeroing of the stream's fault record; done at the start of each call.
  virtual Status resetFault() = 0;

  // Waits for all queued work and reads the fault record.
  virtual Status readFault(vx_fault_record &fault) = 0;

  // Waits for all queued work. After an error the stream is empty and usable again unless the device is lost.
  virtual Status wait() = 0;

  // From now on `replay` ends with the request's status between two commands, where it asks for that; null: no more. A
  // device that has the commands queued at once does them all.
  virtual void endWhere(const StopRequest * /*request*/) {}

  // From now on work is queued in a stream of the caller's, an object of the device's own API that outlives its use
  // here; null: in the stream's own again. Waits for what is queued. VX_UNSUPPORTED on a device without such objects.
  virtual Status useCallerStream(void *handle) {
    if (!handle)
      return okStatus();
    return Status(VX_UNSUPPORTED, "it takes no stream of the caller's");
  }
};

// An open device. Thread-safe. Memory, executables and streams keep alive what they need of it.
class Device : public RefCounted {
public:
  virtual const DeviceInfo &info() const = 0;

  // Allocates `size` bytes, uninitialised. VX_OUT_OF_MEMORY with the size asked for and the limit or what the device
  // said.
  virtual Status allocate(uint64_t size, MemoryKind kind, Ref<Memory> &memory) = 0;

  // The bytes that are free now; none where the device does not tell.
  virtual Status freeMemory(std::optional<uint64_t> &bytes) {
    bytes = std::nullopt;
    return okStatus();
  }

  // Lets kernels read host memory in place: `data` is aligned to VX_BUFFER_ALIGNMENT and outlives the memory. Success
  // with a null `memory` means that the device cannot, and the caller uploads instead. Kernels never write to it.
  virtual Status importHost(const void * /*data*/, uint64_t /*size*/, Ref<Memory> &memory) {
    memory = nullptr;
    return okStatus();
  }

  // Lets kernels read bytes of a file in place, for as long as `memory` lives: whole pages of a mapping that outlives
  // the memory and that nobody writes to. Asked of devices that share the host's memory. Success with a null `memory`
  // means that the device cannot, for `reason`, and the caller copies instead.
  virtual Status mapFile(const void * /*data*/, uint64_t /*size*/, Ref<Memory> &memory, std::string &reason) {
    memory = nullptr;
    reason = "the driver has no way to read memory of the host in place";
    return okStatus();
  }

  // The same as `importHost` for kernels that write to it. Everybody else leaves the memory alone until the
  // stream is idle.
  virtual Status importHostForWriting(void * /*data*/, uint64_t /*size*/, Ref<Memory> &memory) {
    memory = nullptr;
    return okStatus();
  }

  virtual Status load(const CodeImage &image, Ref<Executable> &executable) = 0;

  virtual Status createStream(Ref<Stream> &stream) = 0;
};

} // namespace vx::hal

#endif
