#include "vulkan_physical_device.h"

#include <algorithm>
#include <cstring>

namespace vx::vulkan {

static constexpr const char *HostMemoryExtension = "VK_EXT_external_memory_host";
static constexpr const char *MemoryBudgetExtension = "VK_EXT_memory_budget";
static constexpr const char *CooperativeMatrixExtension = "VK_KHR_cooperative_matrix";

static std::vector<api::ExtensionProperties> deviceExtensions(const Library &library, api::PhysicalDevice handle) {
  const api::InstanceFunctions &vk = library.functions();
  uint32_t count = 0;
  std::vector<api::ExtensionProperties> extensions;
  if (vk.EnumerateDeviceExtensionProperties(handle, nullptr, &count, nullptr) != api::Success)
    return extensions;
  extensions.resize(count);
  api::Result result = vk.EnumerateDeviceExtensionProperties(handle, nullptr, &count, extensions.data());
  extensions.resize(result == api::Success || result == api::Incomplete ? count : 0);
  return extensions;
}

static bool hasExtension(const std::vector<api::ExtensionProperties> &extensions, const char *name) {
  return std::any_of(extensions.begin(), extensions.end(), [&](const api::ExtensionProperties &extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

static void inspectFeatures(const Library &library, PhysicalDevice &device, bool version13, bool cooperativeMatrix) {
  device.features = std::make_unique<FeatureChain>();
  FeatureChain &chain = *device.features;
  void **next = &chain.core.pNext;
  auto link = [&next](auto &structure, api::StructureType type) {
    structure.sType = type;
    *next = &structure;
    next = &structure.pNext;
  };
  chain.core.sType = api::StructureTypePhysicalDeviceFeatures2;
  link(chain.storage16, api::StructureTypePhysicalDevice16BitStorageFeatures);
  link(chain.storage8, api::StructureTypePhysicalDevice8BitStorageFeatures);
  link(chain.float16Int8, api::StructureTypePhysicalDeviceShaderFloat16Int8Features);
  link(chain.bufferDeviceAddress, api::StructureTypePhysicalDeviceBufferDeviceAddressFeatures);
  link(chain.timelineSemaphore, api::StructureTypePhysicalDeviceTimelineSemaphoreFeatures);
  link(chain.memoryModel, api::StructureTypePhysicalDeviceVulkanMemoryModelFeatures);
  link(chain.atomicInt64, api::StructureTypePhysicalDeviceShaderAtomicInt64Features);
  if (version13) {
    link(chain.subgroupSizeControl, api::StructureTypePhysicalDeviceSubgroupSizeControlFeatures);
    link(chain.integerDotProduct, api::StructureTypePhysicalDeviceShaderIntegerDotProductFeatures);
  }
  if (cooperativeMatrix)
    link(chain.cooperativeMatrix, api::StructureTypePhysicalDeviceCooperativeMatrixFeatures);
  library.functions().GetPhysicalDeviceFeatures2(device.handle, &chain.core);

  // What kernels do not use stays off: it may cost speed.
  const api::PhysicalDeviceFeatures core = chain.core.features;
  chain.core.features = {};
  chain.core.features.shaderFloat64 = core.shaderFloat64;
  chain.core.features.shaderInt64 = core.shaderInt64;
  chain.core.features.shaderInt16 = core.shaderInt16;
  chain.core.features.sparseBinding = core.sparseBinding;
  chain.storage16.uniformAndStorageBuffer16BitAccess = 0;
  chain.storage16.storageInputOutput16 = 0;
  chain.storage16.storagePushConstant16 = 0;
  chain.storage8.uniformAndStorageBuffer8BitAccess = 0;
  chain.storage8.storagePushConstant8 = 0;
  chain.bufferDeviceAddress.bufferDeviceAddressCaptureReplay = 0;
  chain.bufferDeviceAddress.bufferDeviceAddressMultiDevice = 0;
  chain.cooperativeMatrix.cooperativeMatrixRobustBufferAccess = 0;
}

static void nameFeatures(PhysicalDevice &device, const api::PhysicalDeviceSubgroupProperties &subgroup,
                         const api::PhysicalDeviceSubgroupSizeControlProperties &sizes,
                         const api::PhysicalDeviceFloatControlsProperties &floats, uint32_t version) {
  std::vector<std::string> &names = device.info.features;
  const FeatureChain &chain = *device.features;
  auto add = [&names](bool present, const char *name) {
    if (present)
      names.emplace_back(name);
  };
  add(version >= api::makeVersion(1, 2), "vulkan1.2");
  add(version >= api::makeVersion(1, 3), "vulkan1.3");
  add(chain.bufferDeviceAddress.bufferDeviceAddress, "bda");
  add(chain.core.features.shaderInt64, "int64");
  add(chain.core.features.shaderInt16, "int16");
  add(chain.float16Int8.shaderInt8, "int8");
  add(chain.core.features.shaderFloat64, "float64");
  add(chain.float16Int8.shaderFloat16, "float16");
  add(chain.storage16.storageBuffer16BitAccess, "storage16");
  add(chain.storage8.storageBuffer8BitAccess, "storage8");
  add(chain.atomicInt64.shaderBufferInt64Atomics, "int64_atomics");
  add(chain.memoryModel.vulkanMemoryModel, "vulkan_memory_model");
  add(chain.integerDotProduct.shaderIntegerDotProduct, "integer_dot");
  add(chain.cooperativeMatrix.cooperativeMatrix, "cooperative_matrix");
  add(chain.subgroupSizeControl.subgroupSizeControl, "subgroup_size_control");
  // Whether NaN, infinity and the sign of zero survive arithmetic, for each width.
  add(floats.shaderSignedZeroInfNanPreserveFloat16, "nan_preserve_16");
  add(floats.shaderSignedZeroInfNanPreserveFloat32, "nan_preserve_32");
  add(floats.shaderSignedZeroInfNanPreserveFloat64, "nan_preserve_64");
  if (subgroup.supportedStages & api::ShaderStageComputeBit) {
    add(subgroup.supportedOperations & api::SubgroupFeatureBasicBit, "subgroup_basic");
    add(subgroup.supportedOperations & api::SubgroupFeatureVoteBit, "subgroup_vote");
    add(subgroup.supportedOperations & api::SubgroupFeatureArithmeticBit, "subgroup_arithmetic");
    add(subgroup.supportedOperations & api::SubgroupFeatureBallotBit, "subgroup_ballot");
    add(subgroup.supportedOperations & api::SubgroupFeatureShuffleBit, "subgroup_shuffle");
    add(subgroup.supportedOperations & api::SubgroupFeatureShuffleRelativeBit, "subgroup_shuffle_relative");
  }
  names.push_back(fmt::format("subgroup_size={}", subgroup.subgroupSize));
  if (chain.subgroupSizeControl.subgroupSizeControl) {
    names.push_back(fmt::format("subgroup_size_min={}", sizes.minSubgroupSize));
    names.push_back(fmt::format("subgroup_size_max={}", sizes.maxSubgroupSize));
  }
  add(device.limits.maxComputeSharedMemorySize >= 32 << 10, "workgroup_memory_32k");
  names.push_back(fmt::format("shared_memory={}", device.limits.maxComputeSharedMemorySize));
  names.push_back(fmt::format("workgroup_threads={}", device.limits.maxComputeWorkGroupInvocations));
}

static const char *typeName(api::PhysicalDeviceType type) {
  switch (type) {
  case api::PhysicalDeviceTypeDiscreteGpu:
    return "discrete";
  case api::PhysicalDeviceTypeIntegratedGpu:
    return "integrated";
  case api::PhysicalDeviceTypeVirtualGpu:
    return "virtual";
  case api::PhysicalDeviceTypeCpu:
    return "software";
  case api::PhysicalDeviceTypeOther:
    break;
  }
  return "other";
}

static bool findQueueFamily(const Library &library, PhysicalDevice &device) {
  uint32_t count = 0;
  library.functions().GetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
  std::vector<api::QueueFamilyProperties> families(count);
  library.functions().GetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
  // The first family with compute is the device's main one; it runs everything.
  for (uint32_t i = 0; i < count; ++i)
    if (families[i].queueFlags & api::QueueComputeBit && families[i].queueCount > 0) {
      device.queueFamily = i;
      device.timestampBits = families[i].timestampValidBits;
      device.bindsSparse = families[i].queueFlags & api::QueueSparseBindingBit;
      return true;
    }
  return false;
}

static constexpr api::Flags sharedMemory =
    api::MemoryPropertyDeviceLocalBit | api::MemoryPropertyHostVisibleBit | api::MemoryPropertyHostCoherentBit;

// True where the host sees all of the device's memory.
static bool sharesMemory(const PhysicalDevice &device) {
  if (device.type == api::PhysicalDeviceTypeIntegratedGpu || device.type == api::PhysicalDeviceTypeCpu)
    return true;
  const auto &memory = device.memory;
  return std::all_of(memory.memoryHeaps, memory.memoryHeaps + memory.memoryHeapCount,
                     [](const auto &heap) { return heap.flags & api::MemoryHeapDeviceLocalBit; }) &&
         std::any_of(memory.memoryTypes, memory.memoryTypes + memory.memoryTypeCount,
                     [](const auto &type) { return (type.propertyFlags & sharedMemory) == sharedMemory; });
}

PhysicalDevice inspect(const Library &library, api::PhysicalDevice handle) {
  PhysicalDevice device;
  device.handle = handle;

  // Plain Vulkan 1.1 questions first: a device of an older version must not be asked the others.
  api::PhysicalDeviceProperties2 properties{};
  properties.sType = api::StructureTypePhysicalDeviceProperties2;
  library.functions().GetPhysicalDeviceProperties2(handle, &properties);
  device.info.name = properties.properties.deviceName;
  device.type = properties.properties.deviceType;
  const uint32_t deviceVersion = properties.properties.apiVersion;
  const uint32_t version = std::min(deviceVersion, library.apiVersion());
  if (version < api::makeVersion(1, 2)) {
    device.refusal =
        fmt::format("it has Vulkan {}.{}, expected 1.2", api::versionMajor(version), api::versionMinor(version));
    return device;
  }
  const bool version13 = version >= api::makeVersion(1, 3);

  const std::vector<api::ExtensionProperties> available = deviceExtensions(library, handle);
  const bool cooperativeMatrix = hasExtension(available, CooperativeMatrixExtension);
  if (cooperativeMatrix)
    device.extensions.push_back(CooperativeMatrixExtension);
  device.hasMemoryBudget = hasExtension(available, MemoryBudgetExtension);
  if (device.hasMemoryBudget)
    device.extensions.push_back(MemoryBudgetExtension);
  const bool importsHostMemory = hasExtension(available, HostMemoryExtension);
  if (importsHostMemory)
    device.extensions.push_back(HostMemoryExtension);

  api::PhysicalDeviceSubgroupProperties subgroup{};
  subgroup.sType = api::StructureTypePhysicalDeviceSubgroupProperties;
  api::PhysicalDeviceMaintenance3Properties maintenance3{};
  maintenance3.sType = api::StructureTypePhysicalDeviceMaintenance3Properties;
  api::PhysicalDeviceDriverProperties driverProperties{};
  driverProperties.sType = api::StructureTypePhysicalDeviceDriverProperties;
  api::PhysicalDeviceSubgroupSizeControlProperties sizes{};
  sizes.sType = api::StructureTypePhysicalDeviceSubgroupSizeControlProperties;
  api::PhysicalDeviceFloatControlsProperties floats{};
  floats.sType = api::StructureTypePhysicalDeviceFloatControlsProperties;
  floats.pNext = &subgroup;
  properties.pNext = &floats;
  subgroup.pNext = &maintenance3;
  maintenance3.pNext = &driverProperties;
  api::PhysicalDeviceMaintenance4Properties maintenance4{};
  maintenance4.sType = api::StructureTypePhysicalDeviceMaintenance4Properties;
  maintenance4.maxBufferSize = UINT64_MAX;
  api::PhysicalDeviceExternalMemoryHostProperties hostMemory{};
  hostMemory.sType = api::StructureTypePhysicalDeviceExternalMemoryHostProperties;
  if (importsHostMemory)
    floats.pNext = &hostMemory;
  hostMemory.pNext = &subgroup;
  if (version13) {
    driverProperties.pNext = &sizes;
    sizes.pNext = &maintenance4;
  }
  library.functions().GetPhysicalDeviceProperties2(handle, &properties);
  device.hostPageSize = importsHostMemory ? std::max<uint64_t>(hostMemory.minImportedHostPointerAlignment, 1) : 0;
  device.limits = properties.properties.limits;
  device.maxAllocation = maintenance3.maxMemoryAllocationSize;

  api::PhysicalDeviceMemoryProperties2 memory{};
  memory.sType = api::StructureTypePhysicalDeviceMemoryProperties2;
  library.functions().GetPhysicalDeviceMemoryProperties2(handle, &memory);
  device.memory = memory.memoryProperties;
  device.memory.memoryTypeCount = std::min(device.memory.memoryTypeCount, api::MaxMemoryTypes);
  device.memory.memoryHeapCount = std::min(device.memory.memoryHeapCount, api::MaxMemoryHeaps);
  for (uint32_t i = 0; i < device.memory.memoryHeapCount; ++i)
    if (device.memory.memoryHeaps[i].flags & api::MemoryHeapDeviceLocalBit)
      device.info.totalMemory += device.memory.memoryHeaps[i].size;
  device.info.isSoftware = device.type == api::PhysicalDeviceTypeCpu;
  device.info.sharesMemory = sharesMemory(device);
  device.info.maxMappedFile = device.maxAllocation;
  device.info.details =
      fmt::format("{}, Vulkan {}.{}.{}, driver {} {}", typeName(device.type), api::versionMajor(deviceVersion),
                  api::versionMinor(deviceVersion), api::versionPatch(deviceVersion), driverProperties.driverName,
                  driverProperties.driverInfo);

  device.info.driver = fmt::format("{} {}", driverProperties.driverName, driverProperties.driverInfo);
  device.info.maxWorkgroupThreads = device.limits.maxComputeWorkGroupInvocations;
  device.info.maxWorkgroupMemory = device.limits.maxComputeSharedMemorySize;
  inspectFeatures(library, device, version13, cooperativeMatrix);
  nameFeatures(device, subgroup, sizes, floats, version);

  std::string missing;
  auto want = [&missing](bool present, const char *name) {
    if (!present)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  want(device.features->bufferDeviceAddress.bufferDeviceAddress, "bufferDeviceAddress");
  want(device.features->core.features.shaderInt64, "shaderInt64");
  want(device.features->timelineSemaphore.timelineSemaphore, "timelineSemaphore");
  want(findQueueFamily(library, device), "a compute queue");
  device.bindsSparse = device.bindsSparse && device.features->core.features.sparseBinding;
  device.info.maxAllocation = std::max(
      device.maxAllocation, device.bindsSparse ? std::min({device.limits.sparseAddressSpaceSize,
                                                           maintenance4.maxBufferSize, device.info.totalMemory})
                                               : 0);
  if (!missing.empty())
    device.refusal = fmt::format("it lacks {}", missing);
  return device;
}

} // namespace vx::vulkan
