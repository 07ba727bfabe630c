#include "vulkan_driver.h"

#include "vulkan_device.h"

namespace vx::vulkan {

using hal::Refusal;
using hal::RefusalCode;

// Better devices have smaller numbers.
static constexpr int LastRank = 4;
static int rank(api::PhysicalDeviceType type) {
  switch (type) {
  case api::PhysicalDeviceTypeDiscreteGpu:
    return 0;
  case api::PhysicalDeviceTypeIntegratedGpu:
    return 1;
  case api::PhysicalDeviceTypeVirtualGpu:
    return 2;
  case api::PhysicalDeviceTypeOther:
    return 3;
  case api::PhysicalDeviceTypeCpu:
    return LastRank;
  }
  return 3;
}

Refusal VulkanDriver::find(std::vector<hal::DeviceInfo> &devices) {
  Refusal refusal;
  library = Library::open(options.library, refusal);
  if (!library)
    return refusal;

  uint32_t count = 0;
  std::vector<api::PhysicalDevice> handles;
  api::Result result = library->functions().EnumeratePhysicalDevices(library->instance(), &count, nullptr);
  if (result == api::Success && count > 0) {
    handles.resize(count);
    result = library->functions().EnumeratePhysicalDevices(library->instance(), &count, handles.data());
    if (result == api::Incomplete)
      result = api::Success;
    handles.resize(count);
  }
  if (result != api::Success)
    return {RefusalCode::NoDevice, fmt::format("vkEnumeratePhysicalDevices failed with {}", resultName(result))};
  if (handles.empty())
    return {RefusalCode::NoDevice, "the Vulkan drivers found no device"};

  std::string reasons;
  for (api::PhysicalDevice handle : handles) {
    PhysicalDevice device = inspect(*library, handle);
    if (device.refusal.empty())
      physicalDevices.push_back(std::move(device));
    else
      reasons += fmt::format("{}device '{}' cannot be used: {}", reasons.empty() ? "" : "; ", device.info.name,
                             device.refusal);
  }
  if (physicalDevices.empty())
    return {RefusalCode::NoDevice, reasons};
  // Equal devices stay in the order in which the loader names them.
  std::vector<PhysicalDevice> sorted;
  for (int wanted = 0; wanted <= LastRank; ++wanted)
    for (PhysicalDevice &device : physicalDevices)
      if (rank(device.type) == wanted)
        sorted.push_back(std::move(device));
  physicalDevices = std::move(sorted);
  for (const PhysicalDevice &device : physicalDevices)
    devices.push_back(device.info);
  return {};
}

Status VulkanDriver::openFound(uint32_t index, const hal::DeviceOptions &deviceOptions, Ref<hal::Device> &device) {
  Ref<VulkanDevice> opened;
  VX_RETURN_IF_ERROR(
      VulkanDevice::open(*library, physicalDevices[index], options.mapDeviceMemory, deviceOptions, opened));
  device = std::move(opened);
  return okStatus();
}

hal::Driver &driver() {
  // Never destroyed, like the library under it.
  static auto &instance = *new VulkanDriver({LibraryOptions::fromEnvironment(), true});
  return instance;
}

} // namespace vx::vulkan
