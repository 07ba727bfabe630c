// An open device of a vendor's driver (hal/gpu/api.h) with its memory and its loaded code.
#ifndef VX_RUNTIME_HAL_GPU_GPU_DEVICE_H
#define VX_RUNTIME_HAL_GPU_GPU_DEVICE_H

#include "hal/gpu/api.h"

#include <memory>
#include <string>
#include <vector>

namespace vx::hal::gpu {

class GpuDevice;

class GpuMemory final : public Memory {
public:
  GpuMemory(Ref<GpuDevice> owner, uint64_t address, uint64_t size, void *host)
      : Memory(address, size, host), owner(std::move(owner)) {}
  ~GpuMemory() override;

private:
  const Ref<GpuDevice> owner;
};

// Pages of a file, which kernels read where the host has them. Pages are locked once for a GPU, so what lies within
// such pages is a part of them, for as long as somebody has it.
class GpuFileMemory final : public Memory {
public:
  GpuFileMemory(Ref<GpuDevice> owner, uint64_t address, uint64_t size, const void *pages, bool isLocked);
  GpuFileMemory(Ref<GpuFileMemory> whole, uint64_t size, const void *pages);
  ~GpuFileMemory() override;

  // The part of pages that are locked already; null where they are not.
  static Ref<GpuFileMemory> findLocked(const AddressSpace &space, const void *pages, uint64_t size);

private:
  const Ref<GpuDevice> owner;
  const Ref<GpuFileMemory> whole;
  const bool isLocked;
};

class GpuExecutable final : public Executable {
public:
  struct Kernel {
    std::string name;
    std::string description; // of describeKernel
    Handle function = nullptr;
    uint32_t threads = 1;
  };

  explicit GpuExecutable(Ref<GpuDevice> owner) : owner(std::move(owner)) {}
  ~GpuExecutable() override;

  std::vector<Kernel> kernels;
  std::vector<Handle> modules;

private:
  const Ref<GpuDevice> owner;
};

class GpuDevice final : public Device {
public:
  GpuDevice(DeviceInfo info, std::unique_ptr<Api> api) : deviceInfo(std::move(info)), vendor(std::move(api)) {}

  const DeviceInfo &info() const override { return deviceInfo; }
  Status allocate(uint64_t size, MemoryKind kind, Ref<Memory> &memory) override;
  Status freeMemory(std::optional<uint64_t> &bytes) override;
  Status mapFile(const void *data, uint64_t size, Ref<Memory> &memory, std::string &reason) override;
  Status load(const CodeImage &image, Ref<Executable> &executable) override;
  Status createStream(Ref<Stream> &stream) override;

  Status allocateFor(uint64_t size, MemoryKind kind, Ref<GpuMemory> &memory);
  Api &api() const { return *vendor; }
  // Fails when the device was lost in an earlier call.
  Status checkHealth() const;

private:
  const DeviceInfo deviceInfo;
  const std::unique_ptr<Api> vendor;
};

} // namespace vx::hal::gpu

#endif
