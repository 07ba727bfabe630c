#include "exec/instance_memory.h"

#include "base/log.h"
#include "exec/instance.h"

#include <algorithm>
#include <utility>

namespace vx {

Status InstanceMemory::allocate(hal::Device &device, uint64_t size, Ref<hal::Memory> &memory) {
  memory = nullptr;
  uint64_t dropped = 0;
  Status status = allocateByDropping(device, size, memory, dropped);
  if (dropped > 0)
    log(VX_LOG_WARNING, "memory is short: {} bytes were asked for, and {} bytes that were kept for later calls dropped",
        size, dropped);
  return status;
}

Status InstanceMemory::allocateByDropping(hal::Device &device, uint64_t size, Ref<hal::Memory> &memory,
                                          uint64_t &dropped) {
  // Others may take the room that is made here.
  while (!reserve(size))
    if (!makeRoom(size, dropped))
      return failure(VX_OUT_OF_MEMORY,
                     "asked for {} bytes, but {} bytes are in use and the instance's memory limit is {} bytes", size,
                     used(), limit);
  auto attempt = [&] { return device.allocate(size, hal::MemoryKind::Device, memory); };
  Status status = attempt();
  // What is too large for the device does not fit into an empty one.
  const bool mayFit = size <= device.info().maxAllocation;
  auto drop = [&](uint64_t bytes) {
    dropped += bytes;
    return bytes > 0;
  };
  if (status.code() == VX_OUT_OF_MEMORY && mayFit && drop(dropIdle()))
    status = attempt();
  while (status.code() == VX_OUT_OF_MEMORY && mayFit && drop(dropDerived(size, false)))
    status = attempt();
  if (!status.ok()) {
    freed(size);
    return status;
  }
  memory->countIn(Ref<hal::MemoryCounter>(this));
  return okStatus();
}

bool InstanceMemory::reserve(uint64_t size) {
  uint64_t before = used();
  do
    if (before > allowed() || size > allowed() - before)
      return false;
  while (!counted.compare_exchange_weak(before, before + size, std::memory_order_relaxed));
  return true;
}

bool InstanceMemory::makeRoom(uint64_t size, uint64_t &dropped) {
  if (size > allowed())
    return false;
  auto missing = [&] {
    const uint64_t now = used(), most = allowed() - size;
    return now > most ? now - most : 0;
  };
  dropped += dropIdle();
  const uint64_t bytes = missing();
  const uint64_t derived = bytes == 0 ? 0 : dropDerived(bytes, true);
  dropped += derived;
  return bytes == 0 || derived != 0;
}

uint64_t InstanceMemory::dropIdle() {
  std::vector<Ref<hal::Memory>> dropped; // outlives the lock
  std::lock_guard lock(mutex);
  for (Instance *instance : instances)
    instance->takeIdleMemory(dropped);
  uint64_t bytes = 0;
  for (const Ref<hal::Memory> &memory : dropped)
    bytes += memory->size();
  return bytes;
}

uint64_t InstanceMemory::dropDerived(uint64_t bytes, bool onlyIfEnough) {
  std::vector<std::shared_ptr<DerivedValue>> values;
  std::vector<DerivedVersion *> versions;
  {
    std::lock_guard lock(mutex);
    for (const std::weak_ptr<DerivedValue> &weak : derivedValues)
      if (std::shared_ptr<DerivedValue> value = weak.lock()) {
        versions.push_back(&value->version);
        values.push_back(std::move(value));
      }
  }
  std::vector<Ref<hal::Memory>> dropped;
  uint64_t found = 0;
  accesses->dropUnused(versions, [&](std::span<const size_t> unused) -> size_t {
    size_t count = 0;
    for (; count < unused.size() && found < bytes; ++count)
      if (const Ref<hal::Memory> &memory = values[unused[count]]->buffer.memory)
        found += memory->size();
    if (onlyIfEnough && found < bytes) {
      found = 0;
      return 0;
    }
    for (size_t index : unused.first(count))
      dropped.push_back(std::exchange(values[index]->buffer, {}).memory);
    return count;
  });
  return found;
}

void InstanceMemory::add(const std::shared_ptr<DerivedValue> &value) {
  std::lock_guard lock(mutex);
  std::erase_if(derivedValues, [](const std::weak_ptr<DerivedValue> &weak) { return weak.expired(); });
  derivedValues.push_back(value);
}

void InstanceMemory::join(Instance &instance) {
  std::lock_guard lock(mutex);
  instances.push_back(&instance);
}

void InstanceMemory::leave(Instance &instance) {
  std::lock_guard lock(mutex);
  std::erase(instances, &instance);
}

} // namespace vx
