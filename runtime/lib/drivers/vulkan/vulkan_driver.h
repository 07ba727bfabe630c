// Finds and opens Vulkan devices.
#ifndef VX_DRIVERS_VULKAN_VULKAN_DRIVER_H
#define VX_DRIVERS_VULKAN_VULKAN_DRIVER_H

#include "vulkan_library.h"
#include "vulkan_physical_device.h"

#include "hal/listed_driver.h"

namespace vx::vulkan {

struct DriverOptions {
  LibraryOptions library;
  // Uses device memory through the host's mapping where there is one. Off, every transfer is staged, as on a discrete
  // GPU, which lets tests run that path anywhere.
  bool mapDeviceMemory = true;
};

class VulkanDriver final : public hal::ListedDriver {
public:
  explicit VulkanDriver(DriverOptions options) : options(std::move(options)) {}

  std::string_view name() const override { return "vulkan"; }
  std::string_view target() const override { return "vulkan"; }

private:
  hal::Refusal find(std::vector<hal::DeviceInfo> &devices) override;
  Status openFound(uint32_t index, const hal::DeviceOptions &deviceOptions, Ref<hal::Device> &device) override;

  const DriverOptions options;
  Library *library = nullptr;
  std::vector<PhysicalDevice> physicalDevices;
};

// The driver of this process, with options from the environment.
hal::Driver &driver();

} // namespace vx::vulkan

#endif
