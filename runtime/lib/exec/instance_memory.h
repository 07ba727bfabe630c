// The device memory of an instance: how much there is, and what goes where it is not enough.
#ifndef VX_RUNTIME_EXEC_INSTANCE_MEMORY_H
#define VX_RUNTIME_EXEC_INSTANCE_MEMORY_H

#include "exec/device_module.h"
#include "exec/host_bytes.h"
#include "exec/variable_accesses.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace vx {

class Instance;

// A derived value of variables, kept by all instances that have these variables.
struct DerivedValue {
  explicit DerivedValue(std::vector<std::shared_ptr<const VariableVersion>> variables)
      : version(std::move(variables)) {}

  DerivedVersion version;
  KeptBuffer buffer; // for who has a ticket to read or write it; no memory until it is computed first, and once dropped
};

// Shared by all instances that share variables. Thread-safe.
class InstanceMemory final : public hal::MemoryCounter {
public:
  // `limit` in bytes; 0: none.
  InstanceMemory(uint64_t limit, std::shared_ptr<VariableAccesses> accesses)
      : limit(limit), accesses(std::move(accesses)) {}

  // Allocates memory for kernels, which is counted until it is freed. Where it would pass the limit, or the device has
  // no more, what places of calls that nobody has keep for their next run is dropped, and then derived values that no
  // call uses, the least recently used first. VX_OUT_OF_MEMORY with what was asked for, what is in use and the limit,
  // or what the device said.
  Status allocate(hal::Device &device, uint64_t size, Ref<hal::Memory> &memory);
  // The same for variables, which the limit of calls leaves out.
  Status allocateVariable(hal::Device &device, uint64_t size, Ref<hal::Memory> &memory);

  uint64_t used() const { return counted.load(std::memory_order_relaxed); }
  // 0: none.
  uint64_t limitBytes() const { return limit; }
  uint64_t allowed() const { return limit ? limit : UINT64_MAX; }
  void freed(uint64_t size) override {
    variableFreed(size);
    giveBack(size);
  }

  // Whether several instances have the variables.
  bool isShared() {
    const std::lock_guard lock(mutex);
    return instances.size() > 1;
  }

  // Of all that calls take on the device and the host, for what is asked for from now on; 0: none.
  void limitCalls(uint64_t bytes) { callLimit.store(bytes, std::memory_order_relaxed); }
  uint64_t callLimitBytes() const { return callLimit.load(std::memory_order_relaxed); }
  // Host memory of calls, which is counted until it is given back.
  Status take(uint64_t size);
  void giveBack(uint64_t size) { ofCalls.fetch_sub(size, std::memory_order_relaxed); }

  // What may be dropped: a derived value, and what is idle in an instance, from `join` to `leave`.
  void add(const std::shared_ptr<DerivedValue> &value);
  void join(Instance &instance);
  void leave(Instance &instance);

private:
  class VariableCounter;
  enum class Purpose : uint8_t { variable, call, host };
  void variableFreed(uint64_t size) { counted.fetch_sub(size, std::memory_order_relaxed); }
  static bool reserve(std::atomic<uint64_t> &count, uint64_t size, uint64_t most);
  uint64_t allowedCalls() const {
    const uint64_t bytes = callLimit.load(std::memory_order_relaxed);
    return bytes ? bytes : UINT64_MAX;
  }
  bool reserve(uint64_t size, Purpose purpose);
  void unreserve(uint64_t size, Purpose purpose);
  Status refusal(uint64_t size, Purpose purpose) const;
  Status allocate(hal::Device &device, uint64_t size, Purpose purpose, Ref<hal::Memory> &memory);
  // Drops so much that `size` more bytes fit into the limit; false where that cannot be, and then no derived value.
  bool makeRoom(uint64_t size, Purpose purpose, uint64_t &dropped);
  Status allocateByDropping(hal::Device &device, uint64_t size, Purpose purpose, Ref<hal::Memory> &memory,
                            uint64_t &dropped);
  // How many bytes of it there were.
  uint64_t dropIdle();
  // Drops at least `bytes`, or all that there is, if it is not `onlyIfEnough`. How many bytes there were.
  uint64_t dropDerived(uint64_t bytes, bool onlyIfEnough);

  const uint64_t limit;
  const std::shared_ptr<VariableAccesses> accesses;
  std::atomic<uint64_t> counted = 0; // on the device
  std::atomic<uint64_t> ofCalls = 0, callLimit = 0;
  std::mutex mutex;
  std::vector<std::weak_ptr<DerivedValue>> derivedValues;
  std::vector<Instance *> instances;
};

} // namespace vx

#endif
