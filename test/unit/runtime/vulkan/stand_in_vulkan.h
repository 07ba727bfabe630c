// What a test sees of the library that stands in for Vulkan's loader and the driver below it.
#ifndef VX_TEST_UNIT_RUNTIME_VULKAN_STAND_IN_VULKAN_H
#define VX_TEST_UNIT_RUNTIME_VULKAN_STAND_IN_VULKAN_H

#include "gpu/stand_in.h"

#include "vulkan_api.h"

#include <set>

namespace vx::test {

struct VulkanStandIn : StandIn {
  uint32_t loaderVersion = vulkan::api::makeVersion(1, 3);
  std::vector<std::string> layers, extensions;
  std::set<std::string> missing; // functions that are not there
  std::string report;            // what the validation layer says of the next device function
  uint32_t deviceCount = 2;
  // Of every device.
  uint32_t deviceVersion = vulkan::api::makeVersion(1, 3);
  vulkan::api::PhysicalDeviceType type = vulkan::api::PhysicalDeviceTypeDiscreteGpu;
  bool hasBufferDeviceAddress = true, hasInt64 = true, hasTimelineSemaphore = true;
  vulkan::api::Flags queueFlags = vulkan::api::QueueComputeBit;
  bool hasSparseBinding = false;
  uint32_t workgroupThreads = 1024;
  uint32_t workgroupSize[3] = {1024, 1024, 64};
  uint64_t heapSize = uint64_t(1) << 30, maxAllocation = uint64_t(1) << 30;
  uint64_t maxBuffer = uint64_t(1) << 40;
  uint64_t heapUsage = 0; // told when the extension for it is there
  std::vector<vulkan::api::Flags> memoryTypes = {vulkan::api::MemoryPropertyDeviceLocalBit,
                                                 vulkan::api::MemoryPropertyHostVisibleBit |
                                                     vulkan::api::MemoryPropertyHostCoherentBit};
  // Of VK_EXT_external_memory_host: what addresses and sizes are multiples of, and the kinds of memory that pages may
  // be.
  uint64_t hostPageSize = 4096;
  uint32_t hostMemoryTypes = 2;
  uint64_t addressOffset = 0;  // added to every buffer's address
  uint64_t importedOffset = 0; // and to those of the host's pages
  uint64_t bufferPadding = 0;  // that a buffer takes beside its bytes
  vulkan::api::Flags heapFlags = vulkan::api::MemoryHeapDeviceLocalBit;
};

// The one of the process; the library exports it as "vx_stand_in_vulkan".
using VulkanStandInFunction = VulkanStandIn *(*)();

} // namespace vx::test

#endif
