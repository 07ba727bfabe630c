// One physical device: what it has, and whether that is enough.
#ifndef VX_DRIVERS_VULKAN_VULKAN_PHYSICAL_DEVICE_H
#define VX_DRIVERS_VULKAN_VULKAN_PHYSICAL_DEVICE_H

#include "vulkan_library.h"

#include "hal/device.h"

#include <memory>
#include <string>
#include <vector>

namespace vx::vulkan {

// The features that this driver knows, as one chain: filled in by the device, and handed back unchanged when it is
// opened, so that all of them are on. It is linked by address, so it stays where it is.
struct FeatureChain {
  api::PhysicalDeviceFeatures2 core{};
  api::PhysicalDevice16BitStorageFeatures storage16{};
  api::PhysicalDevice8BitStorageFeatures storage8{};
  api::PhysicalDeviceShaderFloat16Int8Features float16Int8{};
  api::PhysicalDeviceBufferDeviceAddressFeatures bufferDeviceAddress{};
  api::PhysicalDeviceTimelineSemaphoreFeatures timelineSemaphore{};
  api::PhysicalDeviceVulkanMemoryModelFeatures memoryModel{};
  api::PhysicalDeviceShaderAtomicInt64Features atomicInt64{};
  api::PhysicalDeviceSubgroupSizeControlFeatures subgroupSizeControl{};
  api::PhysicalDeviceShaderIntegerDotProductFeatures integerDotProduct{};
  api::PhysicalDeviceCooperativeMatrixFeatures cooperativeMatrix{};
};

struct PhysicalDevice {
  api::PhysicalDevice handle = nullptr;
  hal::DeviceInfo info;
  // Why the device cannot be used; empty when it can.
  std::string refusal;

  api::PhysicalDeviceType type = api::PhysicalDeviceTypeOther;
  api::PhysicalDeviceLimits limits{};
  api::PhysicalDeviceMemoryProperties memory{};
  std::unique_ptr<FeatureChain> features;
  std::vector<const char *> extensions; // to be enabled
  uint32_t queueFamily = 0;
  uint32_t timestampBits = 0; // of the queue family; 0: it cannot time commands
  bool hasMemoryBudget = false;
  // What addresses and sizes of the host's memory must be multiples of, to be read in place; 0: they cannot be.
  uint64_t hostPageSize = 0;
  uint64_t maxAllocation = 0; // of one memory
  // A buffer may lie over several memories.
  bool bindsSparse = false;
};

// Asks a device for everything above.
PhysicalDevice inspect(const Library &library, api::PhysicalDevice handle);

} // namespace vx::vulkan

#endif
