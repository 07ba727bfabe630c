#include "hal/gpu/gpu_device.h"

#include "hal/gpu/gpu_stream.h"
#include "hal/kernel_names.h"

#include <algorithm>
#include <mutex>

namespace vx::hal::gpu {

GpuMemory::~GpuMemory() {
  Scope scope(owner->api());
  if (host())
    owner->api().freeHost(host());
  else
    owner->api().free(address());
}

// The pages that are locked now, of all devices.
struct LockedPages {
  std::mutex mutex;
  std::vector<GpuFileMemory *> all;

  static LockedPages &get() {
    static auto &instance = *new LockedPages(); // memory may go at the very end of the process
    return instance;
  }
};

GpuFileMemory::GpuFileMemory(Ref<GpuDevice> owner, uint64_t address, uint64_t size, const void *pages, bool isLocked)
    : Memory(address, size, const_cast<void *>(pages)), owner(std::move(owner)), isLocked(isLocked) {
  if (!isLocked)
    return;
  LockedPages &locked = LockedPages::get();
  std::lock_guard lock(locked.mutex);
  locked.all.push_back(this);
}

GpuFileMemory::GpuFileMemory(Ref<GpuFileMemory> of, uint64_t size, const void *pages)
    : Memory(of->address() +
                 static_cast<uint64_t>(static_cast<const uint8_t *>(pages) - static_cast<const uint8_t *>(of->host())),
             size, const_cast<void *>(pages)),
      whole(std::move(of)), isLocked(false) {}

Ref<GpuFileMemory> GpuFileMemory::findLocked(const AddressSpace &space, const void *pages, uint64_t size) {
  LockedPages &locked = LockedPages::get();
  std::lock_guard lock(locked.mutex);
  const auto begin = reinterpret_cast<uintptr_t>(pages);
  for (GpuFileMemory *one : locked.all) {
    const auto first = reinterpret_cast<uintptr_t>(one->host());
    if (one->owner->info().addressSpace == space && begin >= first && begin - first <= one->size() &&
        size <= one->size() - (begin - first) && one->retainIfHeld())
      return makeRef<GpuFileMemory>(Ref<GpuFileMemory>::adopt(one), size, pages);
  }
  return nullptr;
}

GpuFileMemory::~GpuFileMemory() {
  if (!isLocked)
    return;
  LockedPages &locked = LockedPages::get();
  std::lock_guard lock(locked.mutex);
  std::erase(locked.all, this);
  Scope scope(owner->api());
  owner->api().unmapHost(host());
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

Status GpuDevice::mapFile(const void *data, uint64_t size, Ref<Memory> &memory, std::string &reason) {
  memory = nullptr;
  VX_RETURN_IF_ERROR(checkHealth());
  if (Ref<GpuFileMemory> part = GpuFileMemory::findLocked(deviceInfo.addressSpace, data, size)) {
    memory = std::move(part);
    return okStatus();
  }
  Scope scope(*vendor);
  uint64_t address = 0;
  bool isLocked = false;
  Status status = vendor->mapHost(data, size, address, isLocked);
  if (status.code() == VX_DEVICE_LOST)
    return status;
  if (status.ok())
    memory = makeRef<GpuFileMemory>(Ref<GpuDevice>(this), address, size, data, isLocked);
  else
    reason = status.message();
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
