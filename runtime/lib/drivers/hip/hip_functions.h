// The HIP runtime behind the interface that all GPU drivers share.
#ifndef VX_DRIVERS_HIP_HIP_FUNCTIONS_H
#define VX_DRIVERS_HIP_HIP_FUNCTIONS_H

#include "hip_driver.h"

#include "hal/gpu/api.h"

#include <atomic>
#include <memory>

namespace vx::hip {

using hal::gpu::Handle;

class HipFunctions final : public hal::gpu::Api {
public:
  // `library` and `physical` live until the process ends.
  static Status open(const Library &library, const PhysicalDevice &physical, std::unique_ptr<HipFunctions> &functions);
  ~HipFunctions() override;

  bool isLost() const override { return lost.load(std::memory_order_relaxed); }
  void enter() override;
  void leave() override;

  Status allocate(uint64_t size, uint64_t &address) override;
  void free(uint64_t address) override;
  void trim() override;
  Status memoryInfo(uint64_t &available, uint64_t &total) override;
  Status allocateHost(uint64_t size, void *&host, uint64_t &address) override;
  void freeHost(void *host) override;

  Status createStream(Handle &stream) override;
  void destroyStream(Handle stream) override;
  Status synchronize(Handle stream) override;
  Status createEvent(bool timed, Handle &event) override;
  void destroyEvent(Handle event) override;
  Status recordEvent(Handle event, Handle stream) override;
  Status waitForEvent(Handle event) override;
  Status elapsed(Handle begin, Handle end, double &nanoseconds) override;

  Status copy(const hal::gpu::Transfer &transfer, Handle stream) override;
  Status fillZero(uint64_t address, uint64_t size, Handle stream) override;
  Status launch(const hal::gpu::Launch &launch, Handle stream) override;

  Status load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) override;
  void unload(Handle module) override;

  Status createGraph(Handle &graph) override;
  void destroyGraph(Handle graph) override;
  Status addKernel(Handle graph, std::span<const Handle> after, const hal::gpu::Launch &launch, Handle &node) override;
  Status addCopy(Handle graph, std::span<const Handle> after, const hal::gpu::Transfer &transfer,
                 Handle &node) override;
  Status addJoin(Handle graph, std::span<const Handle> after, Handle &node) override;
  Status instantiate(Handle graph, Handle &executable) override;
  void destroyExecutable(Handle executable) override;
  Status setKernel(Handle executable, Handle node, const hal::gpu::Launch &launch) override;
  Status setCopy(Handle executable, Handle node, const hal::gpu::Transfer &transfer) override;
  Status setEnabled(Handle executable, Handle node, bool enabled) override;
  Status launchGraph(Handle executable, Handle stream) override;

private:
  HipFunctions(const Library &library, const PhysicalDevice &physical) : hip(library.functions()), physical(physical) {}

  Status initialise();
  Status check(api::Result result, const char *call);

  const api::Functions &hip;
  const PhysicalDevice &physical;
  api::MemoryPool pool = nullptr;
  api::Stream allocations = nullptr; // orders what the pool gives and takes
  std::atomic<bool> lost{false};
};

} // namespace vx::hip

#endif
