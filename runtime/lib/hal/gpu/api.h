// What the drivers of CUDA and HIP have in common: the few functions of a vendor's driver that streams, memories and
// replays are made of. Each driver gives its own over the vendor's library; devices and streams are written once, in
// this folder.
#ifndef VX_RUNTIME_HAL_GPU_API_H
#define VX_RUNTIME_HAL_GPU_API_H

#include "hal/device.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace vx::hal::gpu {

// An object of the vendor's: a stream, an event, a function, a graph, a node.
using Handle = void *;

// One start of a kernel, whose only argument is the address of its parameter block.
struct Launch {
  Handle function = nullptr;
  uint32_t gridX = 1;
  uint32_t gridY = 1;
  uint32_t threads = 1;
  uint64_t block = 0;
};

// A copy between addresses of the device's; page-locked host memory has such an address too.
struct Transfer {
  uint64_t destination = 0;
  uint64_t source = 0;
  uint64_t size = 0;

  bool operator==(const Transfer &) const = default;
};

// Loaded code of a module: `functions` are in the order of the image's kernels.
struct LoadedCode {
  std::vector<Handle> modules;
  std::vector<Handle> functions;
};

// What is known of a GPU before it is opened.
struct GpuFacts {
  int ordinal = 0; // the library's own number
  DeviceInfo info;
  // Whether a wait for it took too long in this process.
  // Kernels read all memory of the host at the host's addresses.
  bool readsPages = false;
  std::shared_ptr<std::atomic<bool>> hung = std::make_shared<std::atomic<bool>>(false);
};

// The vendor's driver for one open device. All functions but the two of the scope want the device's context to be
// current on the calling thread (Scope). Thread-safe, as far as the objects given are. Errors have the driver's own
// words; one after which the device can do nothing more is VX_DEVICE_LOST, and `isLost` stays true.
class Api {
public:
  virtual ~Api() = default;

  virtual bool isLost() const = 0;
  virtual void enter() = 0;
  virtual void leave() = 0;

  // Memory of the device, usable by all streams as soon as the function returns.
  virtual Status allocate(uint64_t size, uint64_t &address) = 0;
  virtual void free(uint64_t address) = 0;
  // Gives memory that is kept for later allocations back.
  virtual void trim() = 0;
  virtual Status memoryInfo(uint64_t &available, uint64_t &total) = 0;
  // Page-locked memory of the host that kernels may read and write at `address`.
  virtual Status allocateHost(uint64_t size, void *&host, uint64_t &address) = 0;
  virtual void freeHost(void *host) = 0;
  // Lets kernels read whole pages of the host at `address`; nobody writes to them.
  virtual Status mapHost(const void *host, uint64_t size, uint64_t &address, bool &isLocked) = 0;
  virtual void unmapHost(const void *host) = 0; // of pages that are locked

  virtual Status createStream(Handle &stream) = 0;
  virtual void destroyStream(Handle stream) = 0;
  virtual Status synchronize(Handle stream) = 0;
  virtual Status createEvent(bool timed, Handle &event) = 0;
  virtual void destroyEvent(Handle event) = 0;
  virtual Status recordEvent(Handle event, Handle stream) = 0;
  virtual Status waitForEvent(Handle event) = 0;
  virtual Status elapsed(Handle begin, Handle end, double &nanoseconds) = 0;

  virtual Status copy(const Transfer &transfer, Handle stream) = 0;
  virtual Status fillZero(uint64_t address, uint64_t size, Handle stream) = 0;
  virtual Status launch(const Launch &launch, Handle stream) = 0;

  // Makes the image's code ready, or fails with the vendor's log.
  virtual Status load(const CodeImage &image, LoadedCode &code) = 0;
  virtual void unload(Handle module) = 0;

  virtual Status createGraph(Handle &graph) = 0;
  virtual void destroyGraph(Handle graph) = 0;
  virtual Status addKernel(Handle graph, std::span<const Handle> after, const Launch &launch, Handle &node) = 0;
  virtual Status addCopy(Handle graph, std::span<const Handle> after, const Transfer &transfer, Handle &node) = 0;
  // A node that does nothing but wait.
  virtual Status addJoin(Handle graph, std::span<const Handle> after, Handle &node) = 0;
  virtual Status instantiate(Handle graph, Handle &executable) = 0;
  virtual void destroyExecutable(Handle executable) = 0;
  // Changes of an instantiated graph; launches that are queued already keep what they had.
  virtual Status setKernel(Handle executable, Handle node, const Launch &launch) = 0;
  virtual Status setCopy(Handle executable, Handle node, const Transfer &transfer) = 0;
  virtual Status setEnabled(Handle executable, Handle node, bool enabled) = 0;
  virtual Status launchGraph(Handle executable, Handle stream) = 0;
};

// Makes the device's context current on this thread for as long as it lives.
class Scope {
public:
  explicit Scope(Api &api) : api(api) { api.enter(); }
  ~Scope() { api.leave(); }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

private:
  Api &api;
};

} // namespace vx::hal::gpu

#endif
