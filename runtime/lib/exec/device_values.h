// Tensors in the memory of a device, without an instance.
#ifndef VX_RUNTIME_EXEC_DEVICE_VALUES_H
#define VX_RUNTIME_EXEC_DEVICE_VALUES_H

#include "exec/value.h"
#include "hal/driver.h"

#include <span>
#include <string_view>

namespace vx {

// "cuda:0"; "cpu:0" for memory of the host.
std::string_view deviceOf(const Value &value);

// A device that is there, by "cpu", "cuda:1", ..., or null or "auto" for the first one of the order.
struct FoundDevice {
  std::string device; // "cuda:1"
  hal::DeviceInfo info;
};
Status describeDevice(const char *device, std::span<hal::Driver *const> drivers, FoundDevice &found);

// The bytes of such a device that are free now. VX_UNSUPPORTED where it does not tell.
Status freeMemoryOf(const char *device, std::span<hal::Driver *const> drivers, uint64_t &bytes);

// Copies a tensor to a device: `device` is "cpu", "cuda:1", ..., or null or "auto" for the first one of the order. A
// tensor that is on the device is returned as it is, and so is one without elements.
Status copyToDevice(const Ref<Value> &value, const char *device, std::span<hal::Driver *const> drivers,
                    Ref<Value> &placed);

} // namespace vx

#endif
