// Finds and opens AMD GPUs through the HIP runtime.
#ifndef VX_DRIVERS_HIP_HIP_DRIVER_H
#define VX_DRIVERS_HIP_HIP_DRIVER_H

#include "hip_library.h"

#include "hal/driver.h"

#include <mutex>
#include <string>
#include <vector>

namespace vx::hip {

struct DriverOptions {
  // Newest first.
  hal::LibraryNames library = {{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}, "VX_HIP_LIBRARY"};

  static DriverOptions fromEnvironment();
};

// What is known of a GPU before it is opened.
struct PhysicalDevice {
  int ordinal = 0;
  hal::DeviceInfo info;
};

class HipDriver final : public hal::Driver {
public:
  explicit HipDriver(DriverOptions options) : options(std::move(options)) {}

  std::string_view name() const override { return "rocm"; }
  std::string_view target() const override { return "rocm"; }
  hal::Refusal enumerate(std::vector<hal::DeviceInfo> &devices) override;
  Status open(uint32_t index, const hal::DeviceOptions &deviceOptions, Ref<hal::Device> &device) override;

private:
  // Looks once; the list does not change in a process.
  const hal::Refusal &find();
  std::string inspect(int ordinal, PhysicalDevice &device) const;

  const DriverOptions options;
  std::mutex mutex;
  bool looked = false;
  hal::Refusal refusal;
  Library *library = nullptr;
  std::vector<PhysicalDevice> physicalDevices;
};

// The driver of the process.
hal::Driver &driver();

} // namespace vx::hip

#endif
