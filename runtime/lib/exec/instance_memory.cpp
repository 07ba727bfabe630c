#include "exec/instance_memory.h"

#include "base/log.h"
#include "exec/instance.h"

#include <algorithm>
#include <utility>

namespace vx {

// What is told when a variable is freed, which is none of the calls'.
class InstanceMemory::VariableCounter final : public hal::MemoryCounter {
public:
  explicit VariableCounter(Ref<InstanceMemory> memory) : memory(std::move(memory)) {}
  void freed(uint64_t size) override { memory->variableFreed(size); }

private:
  const Ref<InstanceMemory> memory;
};

Status HostBytes::add(uint64_t size) {
  if (!memory)
    return okStatus();
  VX_RETURN_IF_ERROR(memory->take(size));
  bytes += size;
  return okStatus();
}

void HostBytes::clear() {
  if (bytes > 0)
    memory->giveBack(bytes);
  bytes = 0;
}

static void logDropped(uint64_t size, uint64_t dropped) {
  if (dropped > 0)
    log(VX_LOG_WARNING, "memory is short: {} bytes were asked for, and {} bytes that were kept for later calls dropped",
        size, dropped);
}

Status InstanceMemory::allocate(hal::Device &device, uint64_t size, Ref<hal::Memory> &memory) {
  return allocate(device, size, Purpose::call, memory);
}

Status InstanceMemory::allocateVariable(hal::Device &device, uint64_t size, Ref<hal::Memory> &memory) {
  return allocate(device, size, Purpose::variable, memory);
}

Status InstanceMemory::allocate(hal::Device &device, uint64_t size, Purpose purpose, Ref<hal::Memory> &memory) {
  memory = nullptr;
  uint64_t dropped = 0;
  Status status = allocateByDropping(device, size, purpose, memory, dropped);
  logDropped(size, dropped);
  return status;
}

Status InstanceMemory::take(uint64_t size) {
  uint64_t dropped = 0;
  Status status = okStatus();
  while (status.ok() && !reserve(size, Purpose::host))
    if (!makeRoom(size, Purpose::host, dropped))
      status = refusal(size, Purpose::host);
  logDropped(size, dropped);
  return status;
}

// Another thread may have taken memory or lowered the limit meanwhile.
static uint64_t remaining(uint64_t most, uint64_t used) { return most > used ? most - used : 0; }

Status InstanceMemory::refusal(uint64_t size, Purpose purpose) const {
  const uint64_t calls = ofCalls.load(std::memory_order_relaxed), device = used();
  const bool isAboveLimit = purpose != Purpose::host && (device > allowed() || size > allowed() - device);
  if (purpose != Purpose::variable && !isAboveLimit)
    return failure(VX_OUT_OF_MEMORY,
                   "expected at most {} more bytes, got {}: calls have {} bytes, and their memory limit is {} bytes",
                   remaining(allowedCalls(), calls), size, calls, allowedCalls());
  return failure(VX_OUT_OF_MEMORY,
                 "expected at most {} more bytes, got {}: {} bytes are in use, and the instance's memory limit is {} "
                 "bytes",
                 remaining(limit, device), size, device, limit);
}

Status InstanceMemory::allocateByDropping(hal::Device &device, uint64_t size, Purpose purpose, Ref<hal::Memory> &memory,
                                          uint64_t &dropped) {
  // Others may take the room that is made here.
  while (!reserve(size, purpose))
    if (!makeRoom(size, purpose, dropped))
      return refusal(size, purpose);
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
    unreserve(size, purpose);
    return status;
  }
  memory->countIn(purpose == Purpose::variable ? Ref<hal::MemoryCounter>(makeRef<VariableCounter>(Ref(this)))
                                               : Ref<hal::MemoryCounter>(this));
  return okStatus();
}

bool InstanceMemory::reserve(std::atomic<uint64_t> &count, uint64_t size, uint64_t most) {
  uint64_t before = count.load(std::memory_order_relaxed);
  do
    if (before > most || size > most - before)
      return false;
  while (!count.compare_exchange_weak(before, before + size, std::memory_order_relaxed));
  return true;
}

bool InstanceMemory::reserve(uint64_t size, Purpose purpose) {
  const bool isOnDevice = purpose != Purpose::host;
  if (isOnDevice && !reserve(counted, size, allowed()))
    return false;
  if (purpose == Purpose::variable || reserve(ofCalls, size, allowedCalls()))
    return true;
  if (isOnDevice)
    variableFreed(size);
  return false;
}

void InstanceMemory::unreserve(uint64_t size, Purpose purpose) {
  if (purpose != Purpose::host)
    variableFreed(size);
  if (purpose != Purpose::variable)
    giveBack(size);
}

bool InstanceMemory::makeRoom(uint64_t size, Purpose purpose, uint64_t &dropped) {
  const uint64_t most = purpose == Purpose::host ? UINT64_MAX : allowed(),
                 mostOfCalls = purpose == Purpose::variable ? UINT64_MAX : allowedCalls();
  if (size > most || size > mostOfCalls)
    return false;
  auto above = [size](uint64_t now, uint64_t limit) { return now > limit - size ? now - (limit - size) : 0; };
  auto missing = [&] {
    return std::max(above(used(), most), above(ofCalls.load(std::memory_order_relaxed), mostOfCalls));
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
