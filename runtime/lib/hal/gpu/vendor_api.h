// The part of the GPU interface (api.h) that is the same over each vendor's table of functions. A vendor adds to what
// vendor_library.h wants of it:
//   MemoryPoolProps                     whose `locationId` is the device
//   nodeParams(launch, parameters)      what makes a kernel's node; `parameters` is what it points to
//   StreamNonBlocking, EventDefault, EventDisableTiming, HostAllocPortable, HostAllocDeviceMap, HostRegisterReadOnly,
//   PoolAttributeReleaseThreshold       the flags, by the CUDA driver's names
#ifndef VX_RUNTIME_HAL_GPU_VENDOR_API_H
#define VX_RUNTIME_HAL_GPU_VENDOR_API_H

#include "hal/gpu/api.h"
#include "hal/gpu/vendor_library.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace vx::hal::gpu {

template <typename Vendor>
class VendorApi : public Api {
public:
  bool isLost() const override { return lost.load(std::memory_order_relaxed) || isHung(); }

  //===-- Memory ------------------------------------------------------------------------------===//

  Status allocate(uint64_t size, uint64_t &address) override {
    VX_RETURN_IF_ERROR(call(vendor.MemAllocFromPoolAsync, &address, size, pool, allocations));
    Status status = synchronize(allocations);
    if (!status.ok())
      free(address);
    return status;
  }
  void free(uint64_t address) override { give(vendor.MemFreeAsync, address, allocations); }
  void trim() override {
    give(vendor.StreamSynchronize, allocations);
    give(vendor.MemPoolTrimTo, pool, 0U);
  }
  Status memoryInfo(uint64_t &available, uint64_t &total) override {
    size_t freeBytes = 0, totalBytes = 0;
    VX_RETURN_IF_ERROR(call(vendor.MemGetInfo, &freeBytes, &totalBytes));
    available = freeBytes;
    total = totalBytes;
    return okStatus();
  }
  Status allocateHost(uint64_t size, void *&host, uint64_t &address) override {
    VX_RETURN_IF_ERROR(call(vendor.MemHostAlloc, &host, size, Vendor::HostAllocPortable | Vendor::HostAllocDeviceMap));
    Status status = call(vendor.MemHostGetDevicePointer, &address, host, 0U);
    if (!status.ok())
      freeHost(host);
    return status;
  }
  void freeHost(void *host) override { give(vendor.MemFreeHost, host); }
  Status mapHost(const void *host, uint64_t size, uint64_t &address, bool &isLocked) override {
    void *pages = const_cast<void *>(host);
    Status status = call(vendor.MemHostRegister, pages, size, Vendor::HostRegisterReadOnly);
    isLocked = status.ok();
    if (isLocked) {
      status = call(vendor.MemHostGetDevicePointer, &address, pages, 0U);
      if (!status.ok())
        unmapHost(host);
    } else if (readsPages && !isLost()) {
      address = reinterpret_cast<uint64_t>(host);
      status = okStatus();
    }
    return status;
  }
  void unmapHost(const void *host) override { give(vendor.MemHostUnregister, const_cast<void *>(host)); }

  //===-- Streams and events ------------------------------------------------------------------===//

  Status createStream(Handle &stream) override { return call(vendor.StreamCreate, &stream, Vendor::StreamNonBlocking); }
  void destroyStream(Handle stream) override { give(vendor.StreamDestroy, stream); }
  Status synchronize(Handle stream) override {
    return waitLimit.count() ? waitWithLimit(vendor.StreamQuery, stream) : call(vendor.StreamSynchronize, stream);
  }
  Status createEvent(bool timed, Handle &event) override {
    return call(vendor.EventCreate, &event, timed ? Vendor::EventDefault : Vendor::EventDisableTiming);
  }
  void destroyEvent(Handle event) override { give(vendor.EventDestroy, event); }
  Status recordEvent(Handle event, Handle stream) override { return call(vendor.EventRecord, event, stream); }
  Status waitForEvent(Handle event) override {
    return waitLimit.count() ? waitWithLimit(vendor.EventQuery, event) : call(vendor.EventSynchronize, event);
  }
  Status elapsed(Handle begin, Handle end, double &nanoseconds) override {
    float milliseconds = 0;
    VX_RETURN_IF_ERROR(call(vendor.EventElapsedTime, &milliseconds, begin, end));
    nanoseconds = static_cast<double>(milliseconds) * 1e6;
    return okStatus();
  }

  //===-- Work --------------------------------------------------------------------------------===//

  Status fillZero(uint64_t address, uint64_t size, Handle stream) override {
    return call(vendor.MemsetAsync, address, uint8_t(0), size, stream);
  }
  Status launch(const Launch &launch, Handle stream) override {
    uint64_t block = launch.block;
    void *parameters[] = {&block};
    return call(vendor.LaunchKernel, launch.function, launch.gridX, launch.gridY, 1U, launch.threads, 1U, 1U, 0U,
                stream, parameters, nullptr);
  }

  //===-- Code --------------------------------------------------------------------------------===//

  void unload(Handle module) override { give(vendor.ModuleUnload, module); }

  //===-- Graphs ------------------------------------------------------------------------------===//

  Status createGraph(Handle &graph) override { return call(vendor.GraphCreate, &graph, 0U); }
  void destroyGraph(Handle graph) override { give(vendor.GraphDestroy, graph); }
  Status addKernel(Handle graph, std::span<const Handle> after, const Launch &launch, Handle &node) override {
    uint64_t block = launch.block;
    void *parameters[] = {&block};
    const auto params = Vendor::nodeParams(launch, parameters);
    return call(vendor.GraphAddKernelNode, &node, graph, after.data(), after.size(), &params);
  }
  Status addJoin(Handle graph, std::span<const Handle> after, Handle &node) override {
    return call(vendor.GraphAddEmptyNode, &node, graph, after.data(), after.size());
  }
  Status instantiate(Handle graph, Handle &executable) override {
    return call(vendor.GraphInstantiate, &executable, graph, 0ULL);
  }
  void destroyExecutable(Handle executable) override { give(vendor.GraphExecDestroy, executable); }
  Status setKernel(Handle executable, Handle node, const Launch &launch) override {
    uint64_t block = launch.block;
    void *parameters[] = {&block};
    const auto params = Vendor::nodeParams(launch, parameters);
    return call(vendor.GraphExecKernelNodeSetParams, executable, node, &params);
  }
  Status setEnabled(Handle executable, Handle node, bool enabled) override {
    return call(vendor.GraphNodeSetEnabled, executable, node, enabled ? 1U : 0U);
  }
  Status launchGraph(Handle executable, Handle stream) override { return call(vendor.GraphLaunch, executable, stream); }

protected:
  VendorApi(std::shared_ptr<const VendorLibrary<Vendor>> given, const typename Vendor::PhysicalDevice &physical,
            const DeviceOptions &options)
      : library(std::move(given)), vendor(library->functions()), deviceName(physical.info.name),
        readsPages(physical.readsPages), waitLimit(options.waitLimitMs), hung(physical.hung) {}

  // A wait took too long. Whatever the device's work may still use stays as it is, since giving it back would wait too.
  bool isHung() const { return hung->load(std::memory_order_relaxed); }

  // Calls a function of the table; a failure has its name and the vendor's words.
  template <typename Function, typename... Arguments>
  Status call(const Function &function, Arguments... arguments) {
    return check(function, function(arguments...));
  }
  template <typename Function>
  Status check(const Function &function, typename Vendor::Result result) {
    if (result == Vendor::Result::Success)
      return okStatus();
    if (Vendor::isFatal(result)) {
      lost.store(true, std::memory_order_relaxed);
      return failure(VX_DEVICE_LOST, "device '{}' was lost: {}", deviceName, library->failed(function.name, result));
    }
    return failure(result == Vendor::Result::ErrorOutOfMemory ? VX_OUT_OF_MEMORY : VX_INTERNAL, "{}",
                   library->failed(function.name, result));
  }

  // Calls a function that gives something back.
  template <typename Function, typename... Arguments>
  void give(const Function &function, Arguments... arguments) {
    if (!isHung())
      (void)function(arguments...);
  }

  // A pool of our own, since how much the common one keeps is not ours to say. Needs the device's context.
  Status createPool(int ordinal) {
    VX_RETURN_IF_ERROR(createStream(allocations));
    typename Vendor::MemoryPoolProps props;
    props.locationId = ordinal;
    VX_RETURN_IF_ERROR(call(vendor.MemPoolCreate, &pool, &props));
    uint64_t keepAll = UINT64_MAX;
    return call(vendor.MemPoolSetAttribute, pool, Vendor::PoolAttributeReleaseThreshold, &keepAll);
  }
  void destroyPool() {
    if (allocations)
      give(vendor.StreamSynchronize, allocations);
    if (pool)
      give(vendor.MemPoolDestroy, pool);
    if (allocations)
      give(vendor.StreamDestroy, allocations);
  }

  // The function of a kernel in loaded code.
  Status findFunction(Handle module, const KernelImage &kernel, Handle &function) {
    const std::string entry(kernel.entry);
    const auto result = vendor.ModuleGetFunction(&function, module, entry.c_str());
    if (result == Vendor::Result::ErrorNotFound)
      return failure(VX_INVALID_MODULE, "code has no function '{}' for kernel '{}'", entry, kernel.name);
    return check(vendor.ModuleGetFunction, result);
  }

  const std::shared_ptr<const VendorLibrary<Vendor>> library;
  const typename Vendor::Functions &vendor;
  const std::string deviceName;

private:
  const bool readsPages;

  // Asks again and again, in ever longer steps, up to a millisecond.
  template <typename Function>
  Status waitWithLimit(const Function &query, Handle object) {
    using Clock = std::chrono::steady_clock;
    if (isHung())
      return failure(VX_DEVICE_LOST, "device '{}' was lost in an earlier call", deviceName);
    const Clock::time_point end = Clock::now() + waitLimit;
    for (std::chrono::microseconds step{0};; step = std::min(2 * step + std::chrono::microseconds(1), longestStep)) {
      const auto result = query(object);
      if (result != Vendor::Result::ErrorNotReady)
        return check(query, result);
      if (Clock::now() >= end)
        break;
      std::this_thread::sleep_for(step);
    }
    hung->store(true, std::memory_order_relaxed);
    return failure(VX_DEVICE_LOST, "device '{}' was lost: its work was not done after {} ms", deviceName,
                   waitLimit.count());
  }

  static constexpr std::chrono::microseconds longestStep{1000};
  const std::chrono::milliseconds waitLimit;
  const std::shared_ptr<std::atomic<bool>> hung;
  Handle pool = nullptr;
  Handle allocations = nullptr; // a stream that orders what the pool gives and takes
  std::atomic<bool> lost{false};
};

} // namespace vx::hal::gpu

#endif
