// A device for checks over any other one: around each allocation stand gaps that hold a pattern. A write there shows
// after the call, and a read in the results.
#ifndef VX_RUNTIME_EXEC_GUARDED_DEVICE_H
#define VX_RUNTIME_EXEC_GUARDED_DEVICE_H

#include "hal/device.h"

#include <mutex>
#include <set>

namespace vx {

class GuardedMemory;

// Thread-safe.
class GuardedDevice final : public hal::Device {
public:
  // Whether VX_CHECK_ARENA is set and not "0".
  static bool wanted();

  static Status create(Ref<hal::Device> device, Ref<GuardedDevice> &result);

  // Remembers who uses an allocation of this device, for messages: "kernel 'k0' (add_3)". A writer counts for more than
  // a reader.
  void noteUser(hal::Memory &memory, std::string user, bool writes);

  // Compares the gaps around all allocations, and around those that were freed, with the pattern. The streams that work
  // on them must be idle. VX_INVALID_MODULE names the first byte that differs and who uses the buffer beside it.
  Status check();

  const hal::DeviceInfo &info() const override { return deviceInfo; }
  Status allocate(uint64_t size, hal::MemoryKind kind, Ref<hal::Memory> &memory) override;
  Status load(const hal::CodeImage &image, Ref<hal::Executable> &executable) override {
    return device->load(image, executable);
  }
  Status createStream(Ref<hal::Stream> &stream) override;

private:
  friend class GuardedMemory;

  // Fails where a gap has changed. `mutex` is held.
  Status compare(const GuardedMemory &memory);
  void forget(GuardedMemory &memory);

  Ref<hal::Device> device;
  hal::DeviceInfo deviceInfo;
  std::mutex mutex;
  Ref<hal::Stream> transfer;
  std::set<GuardedMemory *> allocations;
  Status freed = okStatus(); // what the gaps of a freed allocation showed
};

} // namespace vx

#endif
