#include "exec/transfer_memory.h"

#include "base/aligned_memory.h"

#include <map>
#include <mutex>

namespace vx {

namespace {

struct Allocation {
  uint64_t size = 0;
  AlignedMemory own;        // or that of a driver:
  Ref<hal::Memory> memory;  // may be larger
  Ref<DeviceContext> owner; // of `memory`
};

class Allocations {
public:
  void add(void *data, Allocation allocation) {
    std::lock_guard lock(mutex);
    all.emplace(reinterpret_cast<uintptr_t>(data), std::move(allocation));
  }
  // Nothing in it where there is none.
  Allocation remove(void *data) {
    std::lock_guard lock(mutex);
    auto found = all.extract(reinterpret_cast<uintptr_t>(data));
    return found ? std::move(found.mapped()) : Allocation();
  }
  TransferMemory find(const void *bytes, uint64_t size, const hal::Device &device) {
    const auto address = reinterpret_cast<uintptr_t>(bytes);
    std::lock_guard lock(mutex);
    const auto after = all.upper_bound(address);
    if (after == all.begin())
      return {};
    const auto &[begin, allocation] = *std::prev(after);
    const uint64_t offset = address - begin;
    if (!allocation.memory || offset > allocation.size || size > allocation.size - offset)
      return {};
    const hal::Device &owner = allocation.owner->device();
    const hal::AddressSpace space = device.info().addressSpace;
    // A vendor's page-locked memory has one address on all of its devices.
    if (&owner != &device && !(space.isShared() && owner.info().addressSpace.kind == space.kind))
      return {};
    return {allocation.memory, offset};
  }

private:
  std::mutex mutex;
  std::map<uintptr_t, Allocation> all; // by the first byte's address
};

// It outlives all that is destroyed at the end of the process.
Allocations &allocations() {
  static auto *all = new Allocations;
  return *all;
}

// Null where the driver has none.
Ref<hal::Memory> takeFromDriver(DeviceContext &context, uint64_t size) {
  if (context.device().info().readsHostMemory || context.isLost())
    return nullptr;
  Ref<hal::Memory> memory;
  if (std::optional<Ref<hal::Memory>> kept = context.transferMemory().take(size)) {
    memory = std::move(*kept);
  } else {
    const auto attempt = [&] { return context.device().allocate(size, hal::MemoryKind::Staging, memory); };
    Status status = attempt();
    if (!status.ok() && context.transferMemory().dropAll())
      status = attempt();
    if (!status.ok()) {
      log(VX_LOG_INFO, "ordinary memory is used for inputs of {} bytes: {}", size, status.message());
      return nullptr;
    }
  }
  // That of the null device lies anywhere.
  if (reinterpret_cast<uintptr_t>(memory->host()) % VX_BUFFER_ALIGNMENT != 0)
    return nullptr;
  context.transferMemory().noteUsed(memory->size());
  return memory;
}

} // namespace

Status allocateTransferMemory(const Ref<DeviceContext> &context, uint64_t size, void *&data) {
  Allocation allocation;
  allocation.size = size;
  if ((allocation.memory = takeFromDriver(*context, size))) {
    allocation.owner = context;
    data = allocation.memory->host();
  } else {
    allocation.own = allocateAligned(size);
    data = allocation.own.get();
  }
  if (!data)
    return failure(VX_OUT_OF_MEMORY, "asked for {} bytes, but the system has no more memory", size);
  allocations().add(data, std::move(allocation));
  return okStatus();
}

bool freeTransferMemory(void *data) {
  Allocation allocation = allocations().remove(data);
  if (allocation.memory) {
    const uint64_t size = allocation.memory->size();
    allocation.owner->transferMemory().give(std::move(allocation.memory), size);
    return true;
  }
  return allocation.own != nullptr;
}

TransferMemory findTransferMemory(const void *bytes, uint64_t size, const hal::Device &device) {
  return allocations().find(bytes, size, device);
}

} // namespace vx
