// The part of the Vulkan 1.2 API that this driver uses, in our own declarations: a build needs no SDK. Names and
// layouts are those of the Vulkan specification without the "Vk" prefix; fields that nobody reads here are kept as
// unnamed arrays of the right size. test/unit/runtime/vulkan/vulkan_api_test.cpp compares each layout with the Khronos
// headers where those are installed.
#ifndef VX_DRIVERS_VULKAN_VULKAN_API_H
#define VX_DRIVERS_VULKAN_VULKAN_API_H

#include <cstddef>
#include <cstdint>

namespace vx::vulkan::api {

using Flags = uint32_t;
using Bool32 = uint32_t;
using DeviceSize = uint64_t;
using DeviceAddress = uint64_t;

// Dispatchable handles are pointers, the others are 64-bit numbers (on the 64-bit platforms that vx builds for, a
// pointer to a distinct type has the same representation and keeps them apart).
using Instance = struct InstanceHandle *;
using PhysicalDevice = struct PhysicalDeviceHandle *;
using Device = struct DeviceHandle *;
using Queue = struct QueueHandle *;
using CommandBuffer = struct CommandBufferHandle *;
using DeviceMemory = struct DeviceMemoryHandle *;
using Buffer = struct BufferHandle *;
using ShaderModule = struct ShaderModuleHandle *;
using PipelineCache = struct PipelineCacheHandle *;
using PipelineLayout = struct PipelineLayoutHandle *;
using Pipeline = struct PipelineHandle *;
using CommandPool = struct CommandPoolHandle *;
using Semaphore = struct SemaphoreHandle *;
using Fence = struct FenceHandle *;
using QueryPool = struct QueryPoolHandle *;
using DebugUtilsMessenger = struct DebugUtilsMessengerHandle *;
static_assert(sizeof(void *) == 8, "Vulkan's handles are declared here for 64-bit platforms");

constexpr uint32_t makeVersion(uint32_t major, uint32_t minor) { return major << 22 | minor << 12; }
constexpr uint32_t versionMajor(uint32_t version) { return version >> 22 & 0x7f; }
constexpr uint32_t versionMinor(uint32_t version) { return version >> 12 & 0x3ff; }
constexpr uint32_t versionPatch(uint32_t version) { return version & 0xfff; }

enum Result : int32_t {
  Success = 0,
  NotReady = 1,
  Timeout = 2,
  Incomplete = 5,
  ErrorOutOfHostMemory = -1,
  ErrorOutOfDeviceMemory = -2,
  ErrorInitializationFailed = -3,
  ErrorDeviceLost = -4,
  ErrorMemoryMapFailed = -5,
  ErrorLayerNotPresent = -6,
  ErrorExtensionNotPresent = -7,
  ErrorFeatureNotPresent = -8,
  ErrorIncompatibleDriver = -9,
  ErrorTooManyObjects = -10,
  ErrorFragmentedPool = -12,
  ErrorUnknown = -13,
  ErrorOutOfPoolMemory = -1000069000,
  ErrorInvalidShader = -1000012000,
};

enum StructureType : int32_t {
  StructureTypeApplicationInfo = 0,
  StructureTypeInstanceCreateInfo = 1,
  StructureTypeDeviceQueueCreateInfo = 2,
  StructureTypeDeviceCreateInfo = 3,
  StructureTypeSubmitInfo = 4,
  StructureTypeMemoryAllocateInfo = 5,
  StructureTypeBindSparseInfo = 7,
  StructureTypeQueryPoolCreateInfo = 11,
  StructureTypeBufferCreateInfo = 12,
  StructureTypeShaderModuleCreateInfo = 16,
  StructureTypePipelineCacheCreateInfo = 17,
  StructureTypePipelineShaderStageCreateInfo = 18,
  StructureTypeComputePipelineCreateInfo = 29,
  StructureTypePipelineLayoutCreateInfo = 30,
  StructureTypeCommandPoolCreateInfo = 39,
  StructureTypeCommandBufferAllocateInfo = 40,
  StructureTypeCommandBufferBeginInfo = 42,
  StructureTypeMemoryBarrier = 46,
  StructureTypeSemaphoreCreateInfo = 9,
  StructureTypePhysicalDeviceFeatures2 = 1000059000,
  StructureTypePhysicalDeviceProperties2 = 1000059001,
  StructureTypePhysicalDeviceMemoryProperties2 = 1000059006,
  StructureTypeMemoryAllocateFlagsInfo = 1000060000,
  StructureTypeExternalMemoryBufferCreateInfo = 1000072000,
  StructureTypePhysicalDevice16BitStorageFeatures = 1000083000,
  StructureTypePhysicalDeviceSubgroupProperties = 1000094000,
  StructureTypeDebugUtilsMessengerCallbackData = 1000128003,
  StructureTypeDebugUtilsMessengerCreateInfo = 1000128004,
  StructureTypePhysicalDeviceMaintenance3Properties = 1000168000,
  StructureTypePhysicalDevice8BitStorageFeatures = 1000177000,
  StructureTypeImportMemoryHostPointerInfo = 1000178000,
  StructureTypeMemoryHostPointerProperties = 1000178001,
  StructureTypePhysicalDeviceExternalMemoryHostProperties = 1000178002,
  StructureTypePhysicalDeviceShaderAtomicInt64Features = 1000180000,
  StructureTypePhysicalDeviceShaderFloat16Int8Features = 1000082000,
  StructureTypePhysicalDeviceDriverProperties = 1000196000,
  StructureTypePhysicalDeviceFloatControlsProperties = 1000197000,
  StructureTypePhysicalDeviceTimelineSemaphoreFeatures = 1000207000,
  StructureTypeSemaphoreTypeCreateInfo = 1000207002,
  StructureTypeTimelineSemaphoreSubmitInfo = 1000207003,
  StructureTypeSemaphoreWaitInfo = 1000207004,
  StructureTypePhysicalDeviceVulkanMemoryModelFeatures = 1000211000,
  StructureTypePhysicalDeviceSubgroupSizeControlProperties = 1000225000,
  StructureTypePhysicalDeviceSubgroupSizeControlFeatures = 1000225002,
  StructureTypePhysicalDeviceMemoryBudgetProperties = 1000237000,
  StructureTypeBufferDeviceAddressInfo = 1000244001,
  StructureTypeValidationFeatures = 1000247000,
  StructureTypePhysicalDeviceBufferDeviceAddressFeatures = 1000257000,
  StructureTypePhysicalDeviceShaderIntegerDotProductFeatures = 1000280000,
  StructureTypePhysicalDeviceMaintenance4Properties = 1000413001,
  StructureTypePhysicalDeviceCooperativeMatrixFeatures = 1000506000,
};

enum PhysicalDeviceType : int32_t {
  PhysicalDeviceTypeOther = 0,
  PhysicalDeviceTypeIntegratedGpu = 1,
  PhysicalDeviceTypeDiscreteGpu = 2,
  PhysicalDeviceTypeVirtualGpu = 3,
  PhysicalDeviceTypeCpu = 4,
};

constexpr Flags QueueComputeBit = 0x2;
constexpr Flags QueueGraphicsBit = 0x1;
constexpr Flags QueueSparseBindingBit = 0x8;
constexpr Flags MemoryPropertyDeviceLocalBit = 0x1;
constexpr Flags MemoryPropertyHostVisibleBit = 0x2;
constexpr Flags MemoryPropertyHostCoherentBit = 0x4;
constexpr Flags MemoryPropertyHostCachedBit = 0x8;
constexpr Flags MemoryHeapDeviceLocalBit = 0x1;
constexpr Flags MemoryAllocateDeviceAddressBit = 0x2;
constexpr Flags BufferCreateSparseBindingBit = 0x1;
constexpr Flags ExternalMemoryHandleTypeHostAllocationBit = 0x80;
constexpr Flags BufferUsageTransferSrcBit = 0x1;
constexpr Flags BufferUsageTransferDstBit = 0x2;
constexpr Flags BufferUsageStorageBufferBit = 0x20;
constexpr Flags BufferUsageIndirectBufferBit = 0x100;
constexpr Flags BufferUsageShaderDeviceAddressBit = 0x20000;
constexpr Flags ShaderStageComputeBit = 0x20;
constexpr Flags PipelineStageTopOfPipeBit = 0x1;
constexpr Flags PipelineStageBottomOfPipeBit = 0x2000;
constexpr Flags PipelineStageDrawIndirectBit = 0x2;
constexpr Flags PipelineStageComputeShaderBit = 0x800;
constexpr Flags PipelineStageTransferBit = 0x1000;
constexpr Flags PipelineStageHostBit = 0x4000;
constexpr Flags AccessIndirectCommandReadBit = 0x1;
constexpr Flags AccessShaderReadBit = 0x20;
constexpr Flags AccessShaderWriteBit = 0x40;
constexpr Flags AccessTransferReadBit = 0x800;
constexpr Flags AccessTransferWriteBit = 0x1000;
constexpr Flags AccessHostReadBit = 0x2000;
constexpr Flags AccessHostWriteBit = 0x4000;
constexpr Flags CommandPoolCreateResetCommandBufferBit = 0x2;
constexpr Flags CommandBufferUsageSimultaneousUseBit = 0x4;
constexpr int32_t CommandBufferLevelPrimary = 0;
constexpr int32_t PipelineBindPointCompute = 1;
constexpr int32_t SharingModeExclusive = 0;
constexpr int32_t SemaphoreTypeTimeline = 1;
constexpr int32_t QueryTypeTimestamp = 2;
constexpr Flags QueryResult64Bit = 0x1;
constexpr Flags QueryResultWaitBit = 0x2;
constexpr Flags DebugUtilsMessageSeverityWarningBit = 0x100;
constexpr Flags DebugUtilsMessageSeverityErrorBit = 0x1000;
constexpr Flags DebugUtilsMessageTypeGeneralBit = 0x1;
constexpr Flags DebugUtilsMessageTypeValidationBit = 0x2;
constexpr Flags DebugUtilsMessageTypePerformanceBit = 0x4;

constexpr Flags SubgroupFeatureBasicBit = 0x1;
constexpr Flags SubgroupFeatureVoteBit = 0x2;
constexpr Flags SubgroupFeatureArithmeticBit = 0x4;
constexpr Flags SubgroupFeatureBallotBit = 0x8;
constexpr Flags SubgroupFeatureShuffleBit = 0x10;
constexpr Flags SubgroupFeatureShuffleRelativeBit = 0x20;

using VoidFunction = void (*)();

struct ApplicationInfo {
  StructureType sType;
  const void *pNext;
  const char *pApplicationName;
  uint32_t applicationVersion;
  const char *pEngineName;
  uint32_t engineVersion;
  uint32_t apiVersion;
};

struct InstanceCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  const ApplicationInfo *pApplicationInfo;
  uint32_t enabledLayerCount;
  const char *const *ppEnabledLayerNames;
  uint32_t enabledExtensionCount;
  const char *const *ppEnabledExtensionNames;
};

struct LayerProperties {
  char layerName[256];
  uint32_t specVersion;
  uint32_t implementationVersion;
  char description[256];
};

struct ExtensionProperties {
  char extensionName[256];
  uint32_t specVersion;
};

struct PhysicalDeviceLimits {
  uint32_t images[5];
  uint32_t maxTexelBufferElements;
  uint32_t maxUniformBufferRange;
  uint32_t maxStorageBufferRange;
  uint32_t maxPushConstantsSize;
  uint32_t maxMemoryAllocationCount;
  uint32_t maxSamplerAllocationCount;
  DeviceSize bufferImageGranularity;
  DeviceSize sparseAddressSpaceSize;
  uint32_t descriptors[16];
  uint32_t vertexAndGeometry[18];
  uint32_t fragment[4];
  uint32_t maxComputeSharedMemorySize;
  uint32_t maxComputeWorkGroupCount[3];
  uint32_t maxComputeWorkGroupInvocations;
  uint32_t maxComputeWorkGroupSize[3];
  uint32_t rasterisation[13];
  size_t minMemoryMapAlignment;
  DeviceSize bufferOffsetAlignments[3];
  uint32_t texelsAndFramebuffers[14];
  uint32_t sampleCounts[7];
  uint32_t timestampComputeAndGraphics;
  float timestampPeriod;
  uint32_t distancesAndPoints[8];
  float granularity[2];
  Bool32 lines[2];
  DeviceSize optimalBufferCopyOffsetAlignment;
  DeviceSize optimalBufferCopyRowPitchAlignment;
  DeviceSize nonCoherentAtomSize;
};

struct PhysicalDeviceProperties {
  uint32_t apiVersion;
  uint32_t driverVersion;
  uint32_t vendorID;
  uint32_t deviceID;
  PhysicalDeviceType deviceType;
  char deviceName[256];
  uint8_t pipelineCacheUUID[16];
  PhysicalDeviceLimits limits;
  Bool32 sparseProperties[5];
};

struct PhysicalDeviceProperties2 {
  StructureType sType;
  void *pNext;
  PhysicalDeviceProperties properties;
};

struct PhysicalDeviceSubgroupProperties {
  StructureType sType;
  void *pNext;
  uint32_t subgroupSize;
  Flags supportedStages;
  Flags supportedOperations;
  Bool32 quadOperationsInAllStages;
};

struct PhysicalDeviceMaintenance3Properties {
  StructureType sType;
  void *pNext;
  uint32_t maxPerSetDescriptors;
  DeviceSize maxMemoryAllocationSize;
};

struct PhysicalDeviceMaintenance4Properties {
  StructureType sType;
  void *pNext;
  DeviceSize maxBufferSize;
};

struct PhysicalDeviceSubgroupSizeControlProperties {
  StructureType sType;
  void *pNext;
  uint32_t minSubgroupSize;
  uint32_t maxSubgroupSize;
  uint32_t maxComputeWorkgroupSubgroups;
  Flags requiredSubgroupSizeStages;
};

struct PhysicalDeviceFloatControlsProperties {
  StructureType sType;
  void *pNext;
  int32_t denormBehaviorIndependence;
  int32_t roundingModeIndependence;
  Bool32 shaderSignedZeroInfNanPreserveFloat16;
  Bool32 shaderSignedZeroInfNanPreserveFloat32;
  Bool32 shaderSignedZeroInfNanPreserveFloat64;
  Bool32 shaderDenormPreserveFloat16;
  Bool32 shaderDenormPreserveFloat32;
  Bool32 shaderDenormPreserveFloat64;
  Bool32 shaderDenormFlushToZeroFloat16;
  Bool32 shaderDenormFlushToZeroFloat32;
  Bool32 shaderDenormFlushToZeroFloat64;
  Bool32 shaderRoundingModeRTEFloat16;
  Bool32 shaderRoundingModeRTEFloat32;
  Bool32 shaderRoundingModeRTEFloat64;
  Bool32 shaderRoundingModeRTZFloat16;
  Bool32 shaderRoundingModeRTZFloat32;
  Bool32 shaderRoundingModeRTZFloat64;
};

struct PhysicalDeviceDriverProperties {
  StructureType sType;
  void *pNext;
  int32_t driverID;
  char driverName[256];
  char driverInfo[256];
  uint8_t conformanceVersion[4];
};

struct PhysicalDeviceFeatures {
  Bool32 graphics[39];
  Bool32 shaderFloat64;
  Bool32 shaderInt64;
  Bool32 shaderInt16;
  Bool32 shaderResources[2];
  Bool32 sparseBinding;
  Bool32 others[10];
};

struct PhysicalDeviceFeatures2 {
  StructureType sType;
  void *pNext;
  PhysicalDeviceFeatures features;
};

struct PhysicalDevice16BitStorageFeatures {
  StructureType sType;
  void *pNext;
  Bool32 storageBuffer16BitAccess;
  Bool32 uniformAndStorageBuffer16BitAccess;
  Bool32 storagePushConstant16;
  Bool32 storageInputOutput16;
};

struct PhysicalDevice8BitStorageFeatures {
  StructureType sType;
  void *pNext;
  Bool32 storageBuffer8BitAccess;
  Bool32 uniformAndStorageBuffer8BitAccess;
  Bool32 storagePushConstant8;
};

struct PhysicalDeviceShaderFloat16Int8Features {
  StructureType sType;
  void *pNext;
  Bool32 shaderFloat16;
  Bool32 shaderInt8;
};

struct PhysicalDeviceBufferDeviceAddressFeatures {
  StructureType sType;
  void *pNext;
  Bool32 bufferDeviceAddress;
  Bool32 bufferDeviceAddressCaptureReplay;
  Bool32 bufferDeviceAddressMultiDevice;
};

struct PhysicalDeviceTimelineSemaphoreFeatures {
  StructureType sType;
  void *pNext;
  Bool32 timelineSemaphore;
};

struct PhysicalDeviceVulkanMemoryModelFeatures {
  StructureType sType;
  void *pNext;
  Bool32 vulkanMemoryModel;
  Bool32 vulkanMemoryModelDeviceScope;
  Bool32 vulkanMemoryModelAvailabilityVisibilityChains;
};

struct PhysicalDeviceShaderAtomicInt64Features {
  StructureType sType;
  void *pNext;
  Bool32 shaderBufferInt64Atomics;
  Bool32 shaderSharedInt64Atomics;
};

struct PhysicalDeviceSubgroupSizeControlFeatures {
  StructureType sType;
  void *pNext;
  Bool32 subgroupSizeControl;
  Bool32 computeFullSubgroups;
};

struct PhysicalDeviceShaderIntegerDotProductFeatures {
  StructureType sType;
  void *pNext;
  Bool32 shaderIntegerDotProduct;
};

struct PhysicalDeviceCooperativeMatrixFeatures {
  StructureType sType;
  void *pNext;
  Bool32 cooperativeMatrix;
  Bool32 cooperativeMatrixRobustBufferAccess;
};

struct MemoryType {
  Flags propertyFlags;
  uint32_t heapIndex;
};

struct MemoryHeap {
  DeviceSize size;
  Flags flags;
};

constexpr uint32_t MaxMemoryTypes = 32;
constexpr uint32_t MaxMemoryHeaps = 16;

struct PhysicalDeviceMemoryProperties {
  uint32_t memoryTypeCount;
  MemoryType memoryTypes[MaxMemoryTypes];
  uint32_t memoryHeapCount;
  MemoryHeap memoryHeaps[MaxMemoryHeaps];
};

struct PhysicalDeviceMemoryProperties2 {
  StructureType sType;
  void *pNext;
  PhysicalDeviceMemoryProperties memoryProperties;
};

struct PhysicalDeviceMemoryBudgetProperties {
  StructureType sType;
  void *pNext;
  DeviceSize heapBudget[MaxMemoryHeaps];
  DeviceSize heapUsage[MaxMemoryHeaps];
};

struct QueueFamilyProperties {
  Flags queueFlags;
  uint32_t queueCount;
  uint32_t timestampValidBits;
  uint32_t minImageTransferGranularity[3];
};

struct DeviceQueueCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  uint32_t queueFamilyIndex;
  uint32_t queueCount;
  const float *pQueuePriorities;
};

struct DeviceCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  uint32_t queueCreateInfoCount;
  const DeviceQueueCreateInfo *pQueueCreateInfos;
  uint32_t enabledLayerCount;
  const char *const *ppEnabledLayerNames;
  uint32_t enabledExtensionCount;
  const char *const *ppEnabledExtensionNames;
  const PhysicalDeviceFeatures *pEnabledFeatures;
};

struct MemoryAllocateInfo {
  StructureType sType;
  const void *pNext;
  DeviceSize allocationSize;
  uint32_t memoryTypeIndex;
};

struct MemoryAllocateFlagsInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  uint32_t deviceMask;
};

// Of VK_EXT_external_memory_host.
struct ExternalMemoryBufferCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags handleTypes;
};

struct ImportMemoryHostPointerInfo {
  StructureType sType;
  const void *pNext;
  Flags handleType;
  void *pHostPointer;
};

struct MemoryHostPointerProperties {
  StructureType sType;
  void *pNext;
  uint32_t memoryTypeBits;
};

struct PhysicalDeviceExternalMemoryHostProperties {
  StructureType sType;
  void *pNext;
  DeviceSize minImportedHostPointerAlignment;
};

struct MemoryRequirements {
  DeviceSize size;
  DeviceSize alignment;
  uint32_t memoryTypeBits;
};

struct BufferCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  DeviceSize size;
  Flags usage;
  int32_t sharingMode;
  uint32_t queueFamilyIndexCount;
  const uint32_t *pQueueFamilyIndices;
};

struct BufferDeviceAddressInfo {
  StructureType sType;
  const void *pNext;
  Buffer buffer;
};

struct ShaderModuleCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  size_t codeSize;
  const uint32_t *pCode;
};

struct PipelineShaderStageCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  Flags stage;
  ShaderModule module;
  const char *pName;
  const void *pSpecializationInfo;
};

struct ComputePipelineCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  PipelineShaderStageCreateInfo stage;
  PipelineLayout layout;
  Pipeline basePipelineHandle;
  int32_t basePipelineIndex;
};

struct PushConstantRange {
  Flags stageFlags;
  uint32_t offset;
  uint32_t size;
};

struct PipelineLayoutCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  uint32_t setLayoutCount;
  const void *pSetLayouts;
  uint32_t pushConstantRangeCount;
  const PushConstantRange *pPushConstantRanges;
};

struct PipelineCacheCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  size_t initialDataSize;
  const void *pInitialData;
};

struct CommandPoolCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  uint32_t queueFamilyIndex;
};

struct CommandBufferAllocateInfo {
  StructureType sType;
  const void *pNext;
  CommandPool commandPool;
  int32_t level;
  uint32_t commandBufferCount;
};

struct CommandBufferBeginInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  const void *pInheritanceInfo;
};

struct BufferCopy {
  DeviceSize srcOffset;
  DeviceSize dstOffset;
  DeviceSize size;
};

struct MemoryBarrier {
  StructureType sType;
  const void *pNext;
  Flags srcAccessMask;
  Flags dstAccessMask;
};

struct DispatchIndirectCommand {
  uint32_t x;
  uint32_t y;
  uint32_t z;
};

struct QueryPoolCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  int32_t queryType;
  uint32_t queryCount;
  Flags pipelineStatistics;
};

struct SemaphoreCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
};

struct SemaphoreTypeCreateInfo {
  StructureType sType;
  const void *pNext;
  int32_t semaphoreType;
  uint64_t initialValue;
};

struct TimelineSemaphoreSubmitInfo {
  StructureType sType;
  const void *pNext;
  uint32_t waitSemaphoreValueCount;
  const uint64_t *pWaitSemaphoreValues;
  uint32_t signalSemaphoreValueCount;
  const uint64_t *pSignalSemaphoreValues;
};

struct SemaphoreWaitInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  uint32_t semaphoreCount;
  const Semaphore *pSemaphores;
  const uint64_t *pValues;
};

struct SubmitInfo {
  StructureType sType;
  const void *pNext;
  uint32_t waitSemaphoreCount;
  const Semaphore *pWaitSemaphores;
  const Flags *pWaitDstStageMask;
  uint32_t commandBufferCount;
  const CommandBuffer *pCommandBuffers;
  uint32_t signalSemaphoreCount;
  const Semaphore *pSignalSemaphores;
};

struct SparseMemoryBind {
  DeviceSize resourceOffset;
  DeviceSize size;
  DeviceMemory memory;
  DeviceSize memoryOffset;
  Flags flags;
};

struct SparseBufferMemoryBindInfo {
  Buffer buffer;
  uint32_t bindCount;
  const SparseMemoryBind *pBinds;
};

struct BindSparseInfo {
  StructureType sType;
  const void *pNext;
  uint32_t waitSemaphoreCount;
  const Semaphore *pWaitSemaphores;
  uint32_t bufferBindCount;
  const SparseBufferMemoryBindInfo *pBufferBinds;
  uint32_t imageOpaqueBindCount;
  const void *pImageOpaqueBinds;
  uint32_t imageBindCount;
  const void *pImageBinds;
  uint32_t signalSemaphoreCount;
  const Semaphore *pSignalSemaphores;
};

struct DebugUtilsMessengerCallbackData {
  StructureType sType;
  const void *pNext;
  Flags flags;
  const char *pMessageIdName;
  int32_t messageIdNumber;
  const char *pMessage;
  uint32_t queueLabelCount;
  const void *pQueueLabels;
  uint32_t cmdBufLabelCount;
  const void *pCmdBufLabels;
  uint32_t objectCount;
  const void *pObjects;
};

using DebugUtilsMessengerCallback = Bool32 (*)(Flags severity, Flags types, const DebugUtilsMessengerCallbackData *data,
                                               void *userData);

enum ValidationFeatureEnable : int32_t { ValidationFeatureEnableSynchronizationValidation = 4 };

struct ValidationFeatures {
  StructureType sType;
  const void *pNext;
  uint32_t enabledCount;
  const ValidationFeatureEnable *pEnabled;
  uint32_t disabledCount;
  const int32_t *pDisabled;
};

struct DebugUtilsMessengerCreateInfo {
  StructureType sType;
  const void *pNext;
  Flags flags;
  Flags messageSeverity;
  Flags messageType;
  DebugUtilsMessengerCallback pfnUserCallback;
  void *pUserData;
};

// The functions, by the name behind "vk". The argument for allocation callbacks is always null here.
#define VX_VULKAN_GLOBAL_FUNCTIONS(X)                                                                                  \
  X(Result, EnumerateInstanceVersion, uint32_t *)                                                                      \
  X(Result, EnumerateInstanceLayerProperties, uint32_t *, LayerProperties *)                                           \
  X(Result, EnumerateInstanceExtensionProperties, const char *, uint32_t *, ExtensionProperties *)                     \
  X(Result, CreateInstance, const InstanceCreateInfo *, const void *, Instance *)

#define VX_VULKAN_INSTANCE_FUNCTIONS(X)                                                                                \
  X(void, DestroyInstance, Instance, const void *)                                                                     \
  X(Result, EnumeratePhysicalDevices, Instance, uint32_t *, PhysicalDevice *)                                          \
  X(void, GetPhysicalDeviceProperties2, PhysicalDevice, PhysicalDeviceProperties2 *)                                   \
  X(void, GetPhysicalDeviceFeatures2, PhysicalDevice, PhysicalDeviceFeatures2 *)                                       \
  X(void, GetPhysicalDeviceMemoryProperties2, PhysicalDevice, PhysicalDeviceMemoryProperties2 *)                       \
  X(void, GetPhysicalDeviceQueueFamilyProperties, PhysicalDevice, uint32_t *, QueueFamilyProperties *)                 \
  X(Result, EnumerateDeviceExtensionProperties, PhysicalDevice, const char *, uint32_t *, ExtensionProperties *)       \
  X(Result, CreateDevice, PhysicalDevice, const DeviceCreateInfo *, const void *, Device *)                            \
  X(VoidFunction, GetDeviceProcAddr, Device, const char *)

// Those of extensions, which a device may lack.
#define VX_VULKAN_EXTENSION_FUNCTIONS(X)                                                                               \
  X(Result, GetMemoryHostPointerPropertiesEXT, Device, Flags, const void *, MemoryHostPointerProperties *)

#define VX_VULKAN_DEVICE_FUNCTIONS(X)                                                                                  \
  X(void, DestroyDevice, Device, const void *)                                                                         \
  X(void, GetDeviceQueue, Device, uint32_t, uint32_t, Queue *)                                                         \
  X(Result, QueueSubmit, Queue, uint32_t, const SubmitInfo *, Fence)                                                   \
  X(Result, QueueBindSparse, Queue, uint32_t, const BindSparseInfo *, Fence)                                           \
  X(Result, DeviceWaitIdle, Device)                                                                                    \
  X(Result, AllocateMemory, Device, const MemoryAllocateInfo *, const void *, DeviceMemory *)                          \
  X(void, FreeMemory, Device, DeviceMemory, const void *)                                                              \
  X(Result, MapMemory, Device, DeviceMemory, DeviceSize, DeviceSize, Flags, void **)                                   \
  X(Result, CreateBuffer, Device, const BufferCreateInfo *, const void *, Buffer *)                                    \
  X(void, DestroyBuffer, Device, Buffer, const void *)                                                                 \
  X(void, GetBufferMemoryRequirements, Device, Buffer, MemoryRequirements *)                                           \
  X(Result, BindBufferMemory, Device, Buffer, DeviceMemory, DeviceSize)                                                \
  X(DeviceAddress, GetBufferDeviceAddress, Device, const BufferDeviceAddressInfo *)                                    \
  X(Result, CreateShaderModule, Device, const ShaderModuleCreateInfo *, const void *, ShaderModule *)                  \
  X(void, DestroyShaderModule, Device, ShaderModule, const void *)                                                     \
  X(Result, CreatePipelineCache, Device, const PipelineCacheCreateInfo *, const void *, PipelineCache *)               \
  X(void, DestroyPipelineCache, Device, PipelineCache, const void *)                                                   \
  X(Result, CreatePipelineLayout, Device, const PipelineLayoutCreateInfo *, const void *, PipelineLayout *)            \
  X(void, DestroyPipelineLayout, Device, PipelineLayout, const void *)                                                 \
  X(Result, CreateComputePipelines, Device, PipelineCache, uint32_t, const ComputePipelineCreateInfo *, const void *,  \
    Pipeline *)                                                                                                        \
  X(void, DestroyPipeline, Device, Pipeline, const void *)                                                             \
  X(Result, CreateCommandPool, Device, const CommandPoolCreateInfo *, const void *, CommandPool *)                     \
  X(void, DestroyCommandPool, Device, CommandPool, const void *)                                                       \
  X(Result, AllocateCommandBuffers, Device, const CommandBufferAllocateInfo *, CommandBuffer *)                        \
  X(void, FreeCommandBuffers, Device, CommandPool, uint32_t, const CommandBuffer *)                                    \
  X(Result, BeginCommandBuffer, CommandBuffer, const CommandBufferBeginInfo *)                                         \
  X(Result, EndCommandBuffer, CommandBuffer)                                                                           \
  X(void, CmdBindPipeline, CommandBuffer, int32_t, Pipeline)                                                           \
  X(void, CmdPushConstants, CommandBuffer, PipelineLayout, Flags, uint32_t, uint32_t, const void *)                    \
  X(void, CmdDispatch, CommandBuffer, uint32_t, uint32_t, uint32_t)                                                    \
  X(void, CmdDispatchIndirect, CommandBuffer, Buffer, DeviceSize)                                                      \
  X(void, CmdCopyBuffer, CommandBuffer, Buffer, Buffer, uint32_t, const BufferCopy *)                                  \
  X(void, CmdFillBuffer, CommandBuffer, Buffer, DeviceSize, DeviceSize, uint32_t)                                      \
  X(void, CmdPipelineBarrier, CommandBuffer, Flags, Flags, Flags, uint32_t, const MemoryBarrier *, uint32_t,           \
    const void *, uint32_t, const void *)                                                                              \
  X(Result, CreateQueryPool, Device, const QueryPoolCreateInfo *, const void *, QueryPool *)                           \
  X(void, DestroyQueryPool, Device, QueryPool, const void *)                                                           \
  X(void, CmdResetQueryPool, CommandBuffer, QueryPool, uint32_t, uint32_t)                                             \
  X(void, CmdWriteTimestamp, CommandBuffer, Flags, QueryPool, uint32_t)                                                \
  X(Result, GetQueryPoolResults, Device, QueryPool, uint32_t, uint32_t, size_t, void *, DeviceSize, Flags)             \
  X(Result, CreateSemaphore, Device, const SemaphoreCreateInfo *, const void *, Semaphore *)                           \
  X(void, DestroySemaphore, Device, Semaphore, const void *)                                                           \
  X(Result, WaitSemaphores, Device, const SemaphoreWaitInfo *, uint64_t)                                               \
  X(Result, GetSemaphoreCounterValue, Device, Semaphore, uint64_t *)

#define VX_VULKAN_DECLARE(R, NAME, ...)                                                                                \
  using NAME##Function = R (*)(__VA_ARGS__);                                                                           \
  NAME##Function NAME = nullptr;

using GetInstanceProcAddrFunction = VoidFunction (*)(Instance, const char *);
using CreateDebugUtilsMessengerFunction = Result (*)(Instance, const DebugUtilsMessengerCreateInfo *, const void *,
                                                     DebugUtilsMessenger *);
using DestroyDebugUtilsMessengerFunction = void (*)(Instance, DebugUtilsMessenger, const void *);

struct GlobalFunctions {
  GetInstanceProcAddrFunction GetInstanceProcAddr = nullptr;
  VX_VULKAN_GLOBAL_FUNCTIONS(VX_VULKAN_DECLARE)
};

struct InstanceFunctions {
  VX_VULKAN_INSTANCE_FUNCTIONS(VX_VULKAN_DECLARE)
};

struct DeviceFunctions {
  VX_VULKAN_DEVICE_FUNCTIONS(VX_VULKAN_DECLARE)
  VX_VULKAN_EXTENSION_FUNCTIONS(VX_VULKAN_DECLARE)
};

#undef VX_VULKAN_DECLARE

} // namespace vx::vulkan::api

#endif
