#include "hal/gpu/gpu_device.h"

#include "hal/gpu/gpu_stream.h"
#include "hal/kernel_names.h"

#include <algorithm>

namespace vx::hal::gpu {

GpuMemory::~GpuMemory() {
  Scope scope(owner->api());
  if (host())
    owner->api().freeHost(host());
  else
    owner->api().free(address());
}

GpuExecutable::~GpuExecutable() {
  Scope scope(owner->api());
  for (Handle module : modules)
    owner->api().unload(module);
}

Status GpuDevice::checkHealth() const {
  if (vendor->isLost())
    return failure(VX_DEVICE_LOST, "device '{}' was lost in an earlier call", deviceInfo.name);
  return okStatus();
}

Status GpuDevice::freeMemory(std::optional<uint64_t> &bytes) {
  Scope scope(*vendor);
  uint64_t available = 0, total = 0;
  VX_RETURN_IF_ERROR(vendor->memoryInfo(available, total));
  bytes = available;
  return okStatus();
}

Status GpuDevice::allocate(uint64_t size, MemoryKind kind, Ref<Memory> &memory) {
  memory = nullptr;
  Ref<GpuMemory> allocated;
  VX_RETURN_IF_ERROR(allocateFor(size, kind, allocated));
  memory = std::move(allocated);
  return okStatus();
}

Status GpuDevice::allocateFor(uint64_t size, MemoryKind kind, Ref<GpuMemory> &memory) {
  VX_RETURN_IF_ERROR(checkHealth());
  if (size > deviceInfo.maxAllocation)
    return failure(VX_OUT_OF_MEMORY, "asked for {} bytes, but device '{}' allows at most {} in one buffer", size,
                   deviceInfo.name, deviceInfo.maxAllocation);
  Scope scope(*vendor);
  // An empty allocation still needs an address.
  const uint64_t bytes = std::max<uint64_t>(size, VX_BUFFER_ALIGNMENT);
  uint64_t address = 0;
  void *host = nullptr;
  auto attempt = [&] {
    return kind == MemoryKind::Staging ? vendor->allocateHost(bytes, host, address) : vendor->allocate(bytes, address);
  };
  Status status = attempt();
  if (status.code() == VX_OUT_OF_MEMORY) {
    vendor->trim();
    status = attempt();
  }
  if (status.code() == VX_OUT_OF_MEMORY && kind == MemoryKind::Device) {
    uint64_t available = 0, total = 0;
    VX_RETURN_IF_ERROR(vendor->memoryInfo(available, total));
    return failure(VX_OUT_OF_MEMORY, "asked for {} bytes, but device '{}' has {} of {} bytes free ({})", size,
                   deviceInfo.name, available, total, status.message());
  }
  if (!status.ok())
    return std::move(status).addContext(fmt::format("asked for {} bytes of device '{}'", size, deviceInfo.name));
  memory = makeRef<GpuMemory>(Ref<GpuDevice>(this), address, size, host);
  return okStatus();
}

Status GpuDevice::load(const CodeImage &image, Ref<Executable> &executable) {
  executable = nullptr;
  VX_RETURN_IF_ERROR(checkHealth());
  Scope scope(*vendor);
  auto loaded = makeRef<GpuExecutable>(Ref<GpuDevice>(this));
  LoadedCode code;
  Status status = vendor->load(image, code);
  loaded->modules = std::move(code.modules);
  if (!status.ok())
    return std::move(status).addContext(fmt::format("code '{}' of '{}'", image.variant, image.file));
  for (size_t i = 0; i < image.kernels.size(); ++i) {
    const KernelImage &kernel = image.kernels[i];
    loaded->kernels.push_back({std::string(kernel.name), describeKernel(kernel), code.functions[i],
                               kernel.workgroupSize[0] * kernel.workgroupSize[1] * kernel.workgroupSize[2]});
  }
  executable = std::move(loaded);
  return okStatus();
}

Status GpuDevice::createStream(Ref<Stream> &stream) {
  stream = nullptr;
  VX_RETURN_IF_ERROR(checkHealth());
  Ref<GpuStream> created;
  VX_RETURN_IF_ERROR(GpuStream::create(Ref<GpuDevice>(this), created));
  stream = std::move(created);
  return okStatus();
}

} // namespace vx::hal::gpu
