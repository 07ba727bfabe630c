// The driver's own Vulkan declarations against the Khronos headers, where those are installed.
#if __has_include(<vulkan/vulkan_core.h>)
#include "vulkan_api.h"

#include <gtest/gtest.h>

#include <vulkan/vulkan_core.h>

namespace api = vx::vulkan::api;

#define SAME_SIZE(NAME, KHRONOS) static_assert(sizeof(api::NAME) == sizeof(KHRONOS), #KHRONOS)
#define SAME_FIELD(NAME, KHRONOS, FIELD)                                                                               \
  static_assert(offsetof(api::NAME, FIELD) == offsetof(KHRONOS, FIELD), #KHRONOS "." #FIELD);                          \
  static_assert(sizeof(api::NAME::FIELD) == sizeof(KHRONOS::FIELD), #KHRONOS "." #FIELD)

SAME_SIZE(ApplicationInfo, VkApplicationInfo);
SAME_FIELD(ApplicationInfo, VkApplicationInfo, apiVersion);
SAME_SIZE(InstanceCreateInfo, VkInstanceCreateInfo);
SAME_FIELD(InstanceCreateInfo, VkInstanceCreateInfo, pApplicationInfo);
SAME_FIELD(InstanceCreateInfo, VkInstanceCreateInfo, ppEnabledExtensionNames);
SAME_SIZE(LayerProperties, VkLayerProperties);
SAME_SIZE(ExtensionProperties, VkExtensionProperties);
SAME_SIZE(PhysicalDeviceLimits, VkPhysicalDeviceLimits);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, maxStorageBufferRange);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, maxPushConstantsSize);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, maxMemoryAllocationCount);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, maxComputeSharedMemorySize);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, maxComputeWorkGroupCount);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, maxComputeWorkGroupInvocations);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, maxComputeWorkGroupSize);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, minMemoryMapAlignment);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, timestampPeriod);
SAME_FIELD(PhysicalDeviceLimits, VkPhysicalDeviceLimits, nonCoherentAtomSize);
SAME_SIZE(PhysicalDeviceProperties, VkPhysicalDeviceProperties);
SAME_FIELD(PhysicalDeviceProperties, VkPhysicalDeviceProperties, deviceType);
SAME_FIELD(PhysicalDeviceProperties, VkPhysicalDeviceProperties, deviceName);
SAME_FIELD(PhysicalDeviceProperties, VkPhysicalDeviceProperties, limits);
SAME_FIELD(PhysicalDeviceProperties, VkPhysicalDeviceProperties, sparseProperties);
SAME_SIZE(PhysicalDeviceProperties2, VkPhysicalDeviceProperties2);
SAME_SIZE(PhysicalDeviceSubgroupProperties, VkPhysicalDeviceSubgroupProperties);
SAME_FIELD(PhysicalDeviceSubgroupProperties, VkPhysicalDeviceSubgroupProperties, supportedOperations);
SAME_SIZE(PhysicalDeviceMaintenance3Properties, VkPhysicalDeviceMaintenance3Properties);
SAME_FIELD(PhysicalDeviceMaintenance3Properties, VkPhysicalDeviceMaintenance3Properties, maxMemoryAllocationSize);
SAME_SIZE(ExternalMemoryBufferCreateInfo, VkExternalMemoryBufferCreateInfo);
SAME_FIELD(ExternalMemoryBufferCreateInfo, VkExternalMemoryBufferCreateInfo, handleTypes);
SAME_SIZE(ImportMemoryHostPointerInfo, VkImportMemoryHostPointerInfoEXT);
SAME_FIELD(ImportMemoryHostPointerInfo, VkImportMemoryHostPointerInfoEXT, handleType);
SAME_FIELD(ImportMemoryHostPointerInfo, VkImportMemoryHostPointerInfoEXT, pHostPointer);
SAME_SIZE(MemoryHostPointerProperties, VkMemoryHostPointerPropertiesEXT);
SAME_FIELD(MemoryHostPointerProperties, VkMemoryHostPointerPropertiesEXT, memoryTypeBits);
SAME_SIZE(PhysicalDeviceExternalMemoryHostProperties, VkPhysicalDeviceExternalMemoryHostPropertiesEXT);
SAME_FIELD(PhysicalDeviceExternalMemoryHostProperties, VkPhysicalDeviceExternalMemoryHostPropertiesEXT,
           minImportedHostPointerAlignment);
SAME_SIZE(PhysicalDeviceMaintenance4Properties, VkPhysicalDeviceMaintenance4Properties);
SAME_FIELD(PhysicalDeviceMaintenance4Properties, VkPhysicalDeviceMaintenance4Properties, maxBufferSize);
SAME_SIZE(PhysicalDeviceSubgroupSizeControlProperties, VkPhysicalDeviceSubgroupSizeControlProperties);
SAME_SIZE(PhysicalDeviceFeatures, VkPhysicalDeviceFeatures);
SAME_FIELD(PhysicalDeviceFeatures, VkPhysicalDeviceFeatures, shaderFloat64);
SAME_FIELD(PhysicalDeviceFeatures, VkPhysicalDeviceFeatures, shaderInt64);
SAME_FIELD(PhysicalDeviceFeatures, VkPhysicalDeviceFeatures, shaderInt16);
SAME_FIELD(PhysicalDeviceFeatures, VkPhysicalDeviceFeatures, sparseBinding);
SAME_SIZE(PhysicalDeviceFeatures2, VkPhysicalDeviceFeatures2);
SAME_SIZE(PhysicalDevice16BitStorageFeatures, VkPhysicalDevice16BitStorageFeatures);
SAME_SIZE(PhysicalDevice8BitStorageFeatures, VkPhysicalDevice8BitStorageFeatures);
SAME_SIZE(PhysicalDeviceShaderFloat16Int8Features, VkPhysicalDeviceShaderFloat16Int8Features);
SAME_SIZE(PhysicalDeviceBufferDeviceAddressFeatures, VkPhysicalDeviceBufferDeviceAddressFeatures);
SAME_SIZE(PhysicalDeviceTimelineSemaphoreFeatures, VkPhysicalDeviceTimelineSemaphoreFeatures);
SAME_SIZE(PhysicalDeviceVulkanMemoryModelFeatures, VkPhysicalDeviceVulkanMemoryModelFeatures);
SAME_SIZE(PhysicalDeviceShaderAtomicInt64Features, VkPhysicalDeviceShaderAtomicInt64Features);
SAME_SIZE(PhysicalDeviceSubgroupSizeControlFeatures, VkPhysicalDeviceSubgroupSizeControlFeatures);
SAME_SIZE(PhysicalDeviceShaderIntegerDotProductFeatures, VkPhysicalDeviceShaderIntegerDotProductFeatures);
SAME_SIZE(PhysicalDeviceMemoryProperties2, VkPhysicalDeviceMemoryProperties2);
SAME_FIELD(PhysicalDeviceMemoryProperties, VkPhysicalDeviceMemoryProperties, memoryHeaps);
SAME_SIZE(PhysicalDeviceMemoryBudgetProperties, VkPhysicalDeviceMemoryBudgetPropertiesEXT);
SAME_SIZE(QueueFamilyProperties, VkQueueFamilyProperties);
SAME_SIZE(DeviceQueueCreateInfo, VkDeviceQueueCreateInfo);
SAME_SIZE(DeviceCreateInfo, VkDeviceCreateInfo);
SAME_SIZE(MemoryAllocateInfo, VkMemoryAllocateInfo);
SAME_SIZE(MemoryAllocateFlagsInfo, VkMemoryAllocateFlagsInfo);
SAME_SIZE(MemoryRequirements, VkMemoryRequirements);
SAME_SIZE(BufferCreateInfo, VkBufferCreateInfo);
SAME_FIELD(BufferCreateInfo, VkBufferCreateInfo, pQueueFamilyIndices);
SAME_SIZE(BufferDeviceAddressInfo, VkBufferDeviceAddressInfo);
SAME_SIZE(ShaderModuleCreateInfo, VkShaderModuleCreateInfo);
SAME_SIZE(PipelineShaderStageCreateInfo, VkPipelineShaderStageCreateInfo);
SAME_SIZE(ComputePipelineCreateInfo, VkComputePipelineCreateInfo);
SAME_FIELD(ComputePipelineCreateInfo, VkComputePipelineCreateInfo, layout);
SAME_SIZE(PushConstantRange, VkPushConstantRange);
SAME_SIZE(PipelineLayoutCreateInfo, VkPipelineLayoutCreateInfo);
SAME_SIZE(PipelineCacheCreateInfo, VkPipelineCacheCreateInfo);
SAME_SIZE(CommandPoolCreateInfo, VkCommandPoolCreateInfo);
SAME_SIZE(CommandBufferAllocateInfo, VkCommandBufferAllocateInfo);
SAME_SIZE(CommandBufferBeginInfo, VkCommandBufferBeginInfo);
SAME_SIZE(BufferCopy, VkBufferCopy);
SAME_SIZE(MemoryBarrier, VkMemoryBarrier);
SAME_SIZE(DispatchIndirectCommand, VkDispatchIndirectCommand);
SAME_SIZE(QueryPoolCreateInfo, VkQueryPoolCreateInfo);
SAME_SIZE(PhysicalDeviceDriverProperties, VkPhysicalDeviceDriverProperties);
SAME_SIZE(SemaphoreCreateInfo, VkSemaphoreCreateInfo);
SAME_SIZE(SemaphoreTypeCreateInfo, VkSemaphoreTypeCreateInfo);
SAME_SIZE(TimelineSemaphoreSubmitInfo, VkTimelineSemaphoreSubmitInfo);
SAME_SIZE(SparseMemoryBind, VkSparseMemoryBind);
SAME_FIELD(SparseMemoryBind, VkSparseMemoryBind, memoryOffset);
SAME_SIZE(SparseBufferMemoryBindInfo, VkSparseBufferMemoryBindInfo);
SAME_FIELD(SparseBufferMemoryBindInfo, VkSparseBufferMemoryBindInfo, pBinds);
SAME_SIZE(BindSparseInfo, VkBindSparseInfo);
SAME_FIELD(BindSparseInfo, VkBindSparseInfo, pBufferBinds);
SAME_FIELD(BindSparseInfo, VkBindSparseInfo, pSignalSemaphores);
SAME_SIZE(SemaphoreWaitInfo, VkSemaphoreWaitInfo);
SAME_SIZE(SubmitInfo, VkSubmitInfo);
SAME_SIZE(DebugUtilsMessengerCallbackData, VkDebugUtilsMessengerCallbackDataEXT);
SAME_FIELD(DebugUtilsMessengerCallbackData, VkDebugUtilsMessengerCallbackDataEXT, pMessage);
SAME_SIZE(DebugUtilsMessengerCreateInfo, VkDebugUtilsMessengerCreateInfoEXT);
SAME_FIELD(DebugUtilsMessengerCreateInfo, VkDebugUtilsMessengerCreateInfoEXT, pfnUserCallback);

static void expectSame(const char *what, int64_t ours, int64_t khronos) { EXPECT_EQ(ours, khronos) << what; }
#define SAME(OURS, KHRONOS) expectSame(#KHRONOS, api::OURS, KHRONOS)

// A number that is off by one would reach the driver as another structure, result or flag.
TEST(VulkanApi, constantsEqualTheKhronosHeaders) {
  SAME(StructureTypeApplicationInfo, VK_STRUCTURE_TYPE_APPLICATION_INFO);
  SAME(StructureTypeInstanceCreateInfo, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  SAME(StructureTypeDeviceQueueCreateInfo, VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  SAME(StructureTypeDeviceCreateInfo, VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  SAME(StructureTypeSubmitInfo, VK_STRUCTURE_TYPE_SUBMIT_INFO);
  SAME(StructureTypeMemoryAllocateInfo, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  SAME(StructureTypeQueryPoolCreateInfo, VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  SAME(StructureTypePhysicalDeviceDriverProperties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  SAME(StructureTypeBufferCreateInfo, VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  SAME(StructureTypeShaderModuleCreateInfo, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  SAME(StructureTypePipelineCacheCreateInfo, VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  SAME(StructureTypePipelineShaderStageCreateInfo, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  SAME(StructureTypeComputePipelineCreateInfo, VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  SAME(StructureTypePipelineLayoutCreateInfo, VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  SAME(StructureTypeCommandPoolCreateInfo, VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  SAME(StructureTypeCommandBufferAllocateInfo, VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  SAME(StructureTypeCommandBufferBeginInfo, VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  SAME(StructureTypeMemoryBarrier, VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  SAME(StructureTypeSemaphoreCreateInfo, VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  SAME(StructureTypePhysicalDeviceFeatures2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  SAME(StructureTypePhysicalDeviceProperties2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  SAME(StructureTypePhysicalDeviceMemoryProperties2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  SAME(StructureTypeMemoryAllocateFlagsInfo, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  SAME(StructureTypePhysicalDevice16BitStorageFeatures, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  SAME(StructureTypePhysicalDeviceSubgroupProperties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  SAME(StructureTypeDebugUtilsMessengerCallbackData, VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT);
  SAME(StructureTypeDebugUtilsMessengerCreateInfo, VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  SAME(StructureTypePhysicalDeviceMaintenance4Properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  SAME(StructureTypeBindSparseInfo, VK_STRUCTURE_TYPE_BIND_SPARSE_INFO);
  SAME(StructureTypePhysicalDeviceMaintenance3Properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  SAME(StructureTypePhysicalDevice8BitStorageFeatures, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  SAME(StructureTypePhysicalDeviceShaderAtomicInt64Features,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES);
  SAME(StructureTypePhysicalDeviceShaderFloat16Int8Features,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  SAME(StructureTypePhysicalDeviceTimelineSemaphoreFeatures,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
  SAME(StructureTypeSemaphoreTypeCreateInfo, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  SAME(StructureTypeTimelineSemaphoreSubmitInfo, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  SAME(StructureTypeSemaphoreWaitInfo, VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  SAME(StructureTypePhysicalDeviceVulkanMemoryModelFeatures,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
  SAME(StructureTypePhysicalDeviceSubgroupSizeControlProperties,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  SAME(StructureTypePhysicalDeviceSubgroupSizeControlFeatures,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  SAME(StructureTypePhysicalDeviceMemoryBudgetProperties,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  SAME(StructureTypeBufferDeviceAddressInfo, VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
  SAME(StructureTypePhysicalDeviceBufferDeviceAddressFeatures,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
  SAME(StructureTypePhysicalDeviceShaderIntegerDotProductFeatures,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  SAME(ErrorOutOfHostMemory, VK_ERROR_OUT_OF_HOST_MEMORY);
  SAME(ErrorOutOfDeviceMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  SAME(ErrorInitializationFailed, VK_ERROR_INITIALIZATION_FAILED);
  SAME(ErrorDeviceLost, VK_ERROR_DEVICE_LOST);
  SAME(ErrorMemoryMapFailed, VK_ERROR_MEMORY_MAP_FAILED);
  SAME(ErrorLayerNotPresent, VK_ERROR_LAYER_NOT_PRESENT);
  SAME(ErrorExtensionNotPresent, VK_ERROR_EXTENSION_NOT_PRESENT);
  SAME(ErrorFeatureNotPresent, VK_ERROR_FEATURE_NOT_PRESENT);
  SAME(ErrorIncompatibleDriver, VK_ERROR_INCOMPATIBLE_DRIVER);
  SAME(ErrorTooManyObjects, VK_ERROR_TOO_MANY_OBJECTS);
  SAME(ErrorFragmentedPool, VK_ERROR_FRAGMENTED_POOL);
  SAME(ErrorUnknown, VK_ERROR_UNKNOWN);
  SAME(ErrorOutOfPoolMemory, VK_ERROR_OUT_OF_POOL_MEMORY);
  SAME(ErrorInvalidShader, VK_ERROR_INVALID_SHADER_NV);
  SAME(NotReady, VK_NOT_READY);
  SAME(Timeout, VK_TIMEOUT);
  SAME(Incomplete, VK_INCOMPLETE);
  SAME(PhysicalDeviceTypeIntegratedGpu, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
  SAME(PhysicalDeviceTypeDiscreteGpu, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
  SAME(PhysicalDeviceTypeVirtualGpu, VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU);
  SAME(PhysicalDeviceTypeCpu, VK_PHYSICAL_DEVICE_TYPE_CPU);
  SAME(QueueComputeBit, VK_QUEUE_COMPUTE_BIT);
  SAME(QueueGraphicsBit, VK_QUEUE_GRAPHICS_BIT);
  SAME(QueueSparseBindingBit, VK_QUEUE_SPARSE_BINDING_BIT);
  SAME(BufferCreateSparseBindingBit, VK_BUFFER_CREATE_SPARSE_BINDING_BIT);
  SAME(MemoryPropertyDeviceLocalBit, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  SAME(MemoryPropertyHostVisibleBit, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
  SAME(MemoryPropertyHostCoherentBit, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  SAME(MemoryPropertyHostCachedBit, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  SAME(MemoryHeapDeviceLocalBit, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT);
  SAME(MemoryAllocateDeviceAddressBit, VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT);
  SAME(BufferUsageTransferSrcBit, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  SAME(BufferUsageTransferDstBit, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  SAME(BufferUsageStorageBufferBit, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  SAME(BufferUsageIndirectBufferBit, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  SAME(BufferUsageShaderDeviceAddressBit, VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  SAME(ShaderStageComputeBit, VK_SHADER_STAGE_COMPUTE_BIT);
  SAME(PipelineStageTopOfPipeBit, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
  SAME(PipelineStageBottomOfPipeBit, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  SAME(QueryTypeTimestamp, VK_QUERY_TYPE_TIMESTAMP);
  SAME(QueryResult64Bit, VK_QUERY_RESULT_64_BIT);
  SAME(QueryResultWaitBit, VK_QUERY_RESULT_WAIT_BIT);
  SAME(PipelineStageDrawIndirectBit, VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT);
  SAME(PipelineStageComputeShaderBit, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  SAME(PipelineStageTransferBit, VK_PIPELINE_STAGE_TRANSFER_BIT);
  SAME(PipelineStageHostBit, VK_PIPELINE_STAGE_HOST_BIT);
  SAME(AccessIndirectCommandReadBit, VK_ACCESS_INDIRECT_COMMAND_READ_BIT);
  SAME(AccessShaderReadBit, VK_ACCESS_SHADER_READ_BIT);
  SAME(AccessShaderWriteBit, VK_ACCESS_SHADER_WRITE_BIT);
  SAME(AccessTransferReadBit, VK_ACCESS_TRANSFER_READ_BIT);
  SAME(AccessTransferWriteBit, VK_ACCESS_TRANSFER_WRITE_BIT);
  SAME(AccessHostReadBit, VK_ACCESS_HOST_READ_BIT);
  SAME(AccessHostWriteBit, VK_ACCESS_HOST_WRITE_BIT);
  SAME(CommandPoolCreateResetCommandBufferBit, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  SAME(CommandBufferUsageSimultaneousUseBit, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  SAME(CommandBufferLevelPrimary, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  SAME(PipelineBindPointCompute, VK_PIPELINE_BIND_POINT_COMPUTE);
  SAME(SharingModeExclusive, VK_SHARING_MODE_EXCLUSIVE);
  SAME(SemaphoreTypeTimeline, VK_SEMAPHORE_TYPE_TIMELINE);
  SAME(DebugUtilsMessageSeverityWarningBit, VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT);
  SAME(DebugUtilsMessageSeverityErrorBit, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT);
  SAME(DebugUtilsMessageTypeGeneralBit, VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT);
  SAME(DebugUtilsMessageTypeValidationBit, VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT);
  SAME(DebugUtilsMessageTypePerformanceBit, VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT);
  SAME(SubgroupFeatureBasicBit, VK_SUBGROUP_FEATURE_BASIC_BIT);
  SAME(SubgroupFeatureVoteBit, VK_SUBGROUP_FEATURE_VOTE_BIT);
  SAME(SubgroupFeatureArithmeticBit, VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
  SAME(SubgroupFeatureBallotBit, VK_SUBGROUP_FEATURE_BALLOT_BIT);
  SAME(SubgroupFeatureShuffleBit, VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
  SAME(SubgroupFeatureShuffleRelativeBit, VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT);
  EXPECT_EQ(api::makeVersion(1, 2), VK_API_VERSION_1_2);
}

#endif
