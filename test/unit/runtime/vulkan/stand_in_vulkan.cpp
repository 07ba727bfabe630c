// A libvulkan of the tests, over host memory. Work is done when it is submitted, and a pipeline runs the CPU kernel of
// the same name (../test_kernels.c). Every call is recorded, and any can be made to fail.
#include "stand_in_vulkan.h"

#include "gpu/cpu_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>

using namespace vx::vulkan::api;
using vx::test::Kernel;
using vx::test::VulkanStandIn;

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT VulkanStandIn *vx_stand_in_vulkan() {
  static auto &instance = *new VulkanStandIn();
  return &instance;
}

// What the handles are.
namespace vx::vulkan::api {
struct InstanceHandle {};
struct PhysicalDeviceHandle {
  int index = 0;
};
struct QueueHandle {
  int index = 0;
};
struct DeviceHandle {
  int index = 0;
  QueueHandle queue;
};
struct DeviceMemoryHandle {
  uint8_t *bytes = nullptr;
  uint64_t size = 0;
  bool isImported = false; // the host's
};
struct BufferHandle {
  uint64_t size = 0;
  uint8_t *bytes = nullptr;
  bool isImported = false;
  // What a sparse buffer gets once it lies over memory as a whole.
  std::unique_ptr<uint8_t, decltype(&std::free)> sparse{nullptr, std::free};
};
struct PipelineHandle {
  Kernel kernel = nullptr;
};
struct CommandBufferHandle {
  std::vector<std::function<void()>> work;
  Kernel kernel = nullptr;
  uint64_t block = 0;
};
struct CommandPoolHandle {
  std::vector<std::unique_ptr<CommandBufferHandle>> buffers;
};
} // namespace vx::vulkan::api

namespace {

PhysicalDeviceHandle physicalDevices[2] = {{0}, {1}};
const DebugUtilsMessengerCreateInfo *messenger = nullptr;
DebugUtilsMessengerCreateInfo messengerCopy;

int deviceOf(Device device) { return device->index; }
int deviceOf(Queue queue) { return queue->index; }
int deviceOf(PhysicalDevice device) { return device->index; }
template <typename Other>
int deviceOf(const Other &) {
  return -1;
}

template <typename First, typename... Rest>
Result record(const char *name, const First &first, const Rest &...) {
  VulkanStandIn &stand = *vx_stand_in_vulkan();
  if (messenger && !stand.report.empty()) {
    DebugUtilsMessengerCallbackData data{};
    data.pMessage = stand.report.c_str();
    messenger->pfnUserCallback(0, 0, &data, messenger->pUserData);
    stand.report.clear();
  }
  return static_cast<Result>(stand.record(std::string("vk") + name, "", deviceOf(first)));
}

template <typename T>
void make(T *&handle) {
  handle = vx_stand_in_vulkan()->made(new T());
}
template <typename T>
void drop(T *handle) {
  if (!handle)
    return;
  vx_stand_in_vulkan()->givenBack(handle);
  delete handle;
}

// The two calls by which a list is asked for.
template <typename T>
Result list(const std::vector<T> &all, uint32_t *count, T *places) {
  if (places)
    std::copy_n(all.begin(), std::min<size_t>(*count, all.size()), places);
  *count = static_cast<uint32_t>(all.size());
  return Success;
}

template <typename Properties>
std::vector<Properties> named(const std::vector<std::string> &names, char (Properties::*name)[256]) {
  std::vector<Properties> all;
  for (const std::string &text : names)
    std::strcpy(all.emplace_back(Properties{}).*name, text.c_str());
  return all;
}

// The structure of a chain that `first` starts, or null.
template <typename Structure>
Structure *inChain(void *first, StructureType type) {
  struct Link {
    StructureType sType;
    void *pNext;
  };
  for (auto *link = static_cast<Link *>(first); link; link = static_cast<Link *>(link->pNext))
    if (link->sType == type)
      return reinterpret_cast<Structure *>(link);
  return nullptr;
}

//===-- Functions without bodies of their own -------------------------------------------------===//

template <size_t Size>
struct Name {
  char text[Size];
  constexpr Name(const char (&given)[Size]) { std::copy_n(given, Size, text); }
  constexpr bool startsWith(std::string_view begin) const { return std::string_view(text, Size).starts_with(begin); }
};

// It is recorded, makes or destroys an object that nothing is known of, and answers what the test wants.
template <Name name, typename Function>
struct Plain;
template <Name name, typename R, typename... Arguments>
struct Plain<name, R (*)(Arguments...)> {
  static R call(Arguments... arguments) {
    const Result answer = record(name.text, arguments...);
    if constexpr (std::is_same_v<R, Result>) {
      if constexpr (name.startsWith("Create") && requires { makeLast(arguments...); })
        if (answer == Success)
          makeLast(arguments...);
      return answer;
    } else if constexpr (std::is_same_v<R, void>) {
      if constexpr (name.startsWith("Destroy") && sizeof...(Arguments) == 3)
        dropSecond(arguments...);
    } else {
      return {};
    }
  }
  template <typename T>
  static void makeLast(Device, const void *, const void *, T **handle) {
    *handle = reinterpret_cast<T *>(vx_stand_in_vulkan()->made(new char));
  }
  template <typename T>
  static void dropSecond(Device, T *handle, const void *) {
    if (!handle)
      return;
    vx_stand_in_vulkan()->givenBack(handle);
    delete reinterpret_cast<char *>(handle);
  }
};

//===-- Functions with bodies -----------------------------------------------------------------===//

#define CALL(NAME, ...)                                                                                                \
  if (Result answer = record(#NAME, __VA_ARGS__); answer != Success)                                                   \
  return answer

namespace body {

Result EnumerateInstanceVersion(uint32_t *version) {
  CALL(EnumerateInstanceVersion, version);
  *version = vx_stand_in_vulkan()->loaderVersion;
  return Success;
}
Result EnumerateInstanceLayerProperties(uint32_t *count, LayerProperties *places) {
  CALL(EnumerateInstanceLayerProperties, count);
  return list(named(vx_stand_in_vulkan()->layers, &LayerProperties::layerName), count, places);
}
Result CreateInstance(const InstanceCreateInfo *, const void *, Instance *instance) {
  CALL(CreateInstance, instance);
  static InstanceHandle only;
  *instance = &only;
  return Success;
}
Result CreateDebugUtilsMessengerEXT(Instance instance, const DebugUtilsMessengerCreateInfo *info, const void *,
                                    DebugUtilsMessenger *) {
  CALL(CreateDebugUtilsMessengerEXT, instance);
  messengerCopy = *info;
  messenger = &messengerCopy;
  return Success;
}
Result EnumeratePhysicalDevices(Instance instance, uint32_t *count, PhysicalDevice *places) {
  CALL(EnumeratePhysicalDevices, instance);
  std::vector<PhysicalDevice> all;
  for (uint32_t i = 0; i < vx_stand_in_vulkan()->deviceCount; ++i)
    all.push_back(&physicalDevices[i]);
  return list(all, count, places);
}
void GetPhysicalDeviceProperties2(PhysicalDevice device, PhysicalDeviceProperties2 *properties) {
  const VulkanStandIn &stand = *vx_stand_in_vulkan();
  PhysicalDeviceProperties &core = properties->properties;
  std::strcpy(core.deviceName, device->index == 0 ? "Stand-in 0" : "Stand-in 1");
  core.apiVersion = stand.deviceVersion;
  core.deviceType = stand.type;
  core.limits.maxComputeWorkGroupInvocations = stand.workgroupThreads;
  std::copy_n(stand.workgroupSize, 3, core.limits.maxComputeWorkGroupSize);
  core.limits.maxComputeSharedMemorySize = 32768;
  core.limits.sparseAddressSpaceSize = uint64_t(1) << 40;
  core.limits.timestampPeriod = 1;
  if (auto *found = inChain<PhysicalDeviceMaintenance3Properties>(properties->pNext,
                                                                  StructureTypePhysicalDeviceMaintenance3Properties))
    found->maxMemoryAllocationSize = stand.maxAllocation;
  if (auto *found = inChain<PhysicalDeviceMaintenance4Properties>(properties->pNext,
                                                                  StructureTypePhysicalDeviceMaintenance4Properties))
    found->maxBufferSize = stand.maxBuffer;
  if (auto *found = inChain<PhysicalDeviceExternalMemoryHostProperties>(
          properties->pNext, StructureTypePhysicalDeviceExternalMemoryHostProperties))
    found->minImportedHostPointerAlignment = stand.hostPageSize;
}
void GetPhysicalDeviceFeatures2(PhysicalDevice, PhysicalDeviceFeatures2 *features) {
  const VulkanStandIn &stand = *vx_stand_in_vulkan();
  features->features.shaderInt64 = stand.hasInt64;
  features->features.sparseBinding = stand.hasSparseBinding;
  if (auto *found = inChain<PhysicalDeviceBufferDeviceAddressFeatures>(
          features->pNext, StructureTypePhysicalDeviceBufferDeviceAddressFeatures))
    found->bufferDeviceAddress = stand.hasBufferDeviceAddress;
  if (auto *found = inChain<PhysicalDeviceTimelineSemaphoreFeatures>(
          features->pNext, StructureTypePhysicalDeviceTimelineSemaphoreFeatures))
    found->timelineSemaphore = stand.hasTimelineSemaphore;
}
void GetPhysicalDeviceMemoryProperties2(PhysicalDevice, PhysicalDeviceMemoryProperties2 *memory) {
  const VulkanStandIn &stand = *vx_stand_in_vulkan();
  PhysicalDeviceMemoryProperties &properties = memory->memoryProperties;
  properties.memoryTypeCount = static_cast<uint32_t>(stand.memoryTypes.size());
  for (size_t i = 0; i < stand.memoryTypes.size(); ++i)
    properties.memoryTypes[i] = {stand.memoryTypes[i], 0};
  properties.memoryHeapCount = 1;
  properties.memoryHeaps[0] = {stand.heapSize, stand.heapFlags};
  if (auto *found = inChain<PhysicalDeviceMemoryBudgetProperties>(memory->pNext,
                                                                  StructureTypePhysicalDeviceMemoryBudgetProperties)) {
    found->heapBudget[0] = stand.heapSize;
    found->heapUsage[0] = stand.heapUsage;
  }
}
void GetPhysicalDeviceQueueFamilyProperties(PhysicalDevice, uint32_t *count, QueueFamilyProperties *places) {
  QueueFamilyProperties family{};
  family.queueFlags = vx_stand_in_vulkan()->queueFlags;
  family.queueCount = 1;
  family.timestampValidBits = 64;
  list(std::vector{family}, count, places);
}
Result EnumerateDeviceExtensionProperties(PhysicalDevice device, const char *, uint32_t *count,
                                          ExtensionProperties *places) {
  CALL(EnumerateDeviceExtensionProperties, device);
  return list(named(vx_stand_in_vulkan()->extensions, &ExtensionProperties::extensionName), count, places);
}
Result CreateDevice(PhysicalDevice physical, const DeviceCreateInfo *, const void *, Device *device) {
  CALL(CreateDevice, physical);
  make(*device);
  (*device)->index = (*device)->queue.index = physical->index;
  return Success;
}
void DestroyDevice(Device device, const void *) { drop(device); }
void GetDeviceQueue(Device device, uint32_t, uint32_t, Queue *queue) { *queue = &device->queue; }

Result AllocateMemory(Device device, const MemoryAllocateInfo *info, const void *, DeviceMemory *memory) {
  CALL(AllocateMemory, device);
  if (info->allocationSize > vx_stand_in_vulkan()->maxAllocation)
    return ErrorOutOfDeviceMemory;
  auto *imported =
      inChain<ImportMemoryHostPointerInfo>(const_cast<void *>(info->pNext), StructureTypeImportMemoryHostPointerInfo);
  if (imported && (imported->handleType != ExternalMemoryHandleTypeHostAllocationBit || info->memoryTypeIndex != 1))
    return ErrorUnknown;
  make(*memory);
  (*memory)->size = info->allocationSize;
  if (imported) {
    record("imported", device);
    (*memory)->isImported = true;
    (*memory)->bytes = static_cast<uint8_t *>(imported->pHostPointer);
    return Success;
  }
  (*memory)->bytes = static_cast<uint8_t *>(std::aligned_alloc(256, (info->allocationSize + 255) / 256 * 256));
  return Success;
}
Result GetMemoryHostPointerPropertiesEXT(Device device, Flags, const void *, MemoryHostPointerProperties *properties) {
  CALL(GetMemoryHostPointerPropertiesEXT, device);
  properties->memoryTypeBits = vx_stand_in_vulkan()->hostMemoryTypes;
  return Success;
}
void FreeMemory(Device, DeviceMemory memory, const void *) {
  if (memory && !memory->isImported)
    std::free(memory->bytes);
  drop(memory);
}
Result MapMemory(Device device, DeviceMemory memory, DeviceSize, DeviceSize, Flags, void **host) {
  CALL(MapMemory, device);
  *host = memory->bytes;
  return Success;
}
Result CreateBuffer(Device device, const BufferCreateInfo *info, const void *, Buffer *buffer) {
  CALL(CreateBuffer, device);
  make(*buffer);
  (*buffer)->size = info->size;
  if (info->flags & BufferCreateSparseBindingBit)
    (*buffer)->sparse.reset(static_cast<uint8_t *>(std::aligned_alloc(256, (info->size + 255) / 256 * 256)));
  return Success;
}
void DestroyBuffer(Device, Buffer buffer, const void *) { drop(buffer); }
void GetBufferMemoryRequirements(Device, Buffer buffer, MemoryRequirements *requirements) {
  *requirements = {buffer->size + vx_stand_in_vulkan()->bufferPadding, 256, ~uint32_t(0)};
}
Result BindBufferMemory(Device device, Buffer buffer, DeviceMemory memory, DeviceSize) {
  CALL(BindBufferMemory, device);
  buffer->bytes = memory->bytes;
  buffer->isImported = memory->isImported;
  return Success;
}
// Each part of the buffer is to lie over a memory that has room for it.
Result QueueBindSparse(Queue queue, uint32_t, const BindSparseInfo *info, Fence) {
  CALL(QueueBindSparse, queue);
  const SparseBufferMemoryBindInfo &binds = *info->pBufferBinds;
  uint64_t end = 0;
  std::set<DeviceMemory> used;
  for (uint32_t i = 0; i < binds.bindCount; ++i) {
    const SparseMemoryBind &bind = binds.pBinds[i];
    if (bind.resourceOffset != end || bind.resourceOffset % 256 != 0 || !used.insert(bind.memory).second ||
        bind.memoryOffset + bind.size > bind.memory->size)
      return ErrorInitializationFailed;
    end += bind.size;
  }
  if (!binds.buffer->sparse || end < binds.buffer->size)
    return ErrorInitializationFailed;
  binds.buffer->bytes = binds.buffer->sparse.get();
  return Success;
}
DeviceAddress GetBufferDeviceAddress(Device, const BufferDeviceAddressInfo *info) {
  const VulkanStandIn &stand = *vx_stand_in_vulkan();
  return reinterpret_cast<uint64_t>(info->buffer->bytes) + stand.addressOffset +
         (info->buffer->isImported ? stand.importedOffset : 0);
}

Result CreateComputePipelines(Device device, PipelineCache, uint32_t, const ComputePipelineCreateInfo *info,
                              const void *, Pipeline *pipeline) {
  CALL(CreateComputePipelines, device);
  make(*pipeline);
  (*pipeline)->kernel = vx::test::findKernel(info->stage.pName);
  return Success;
}
void DestroyPipeline(Device, Pipeline pipeline, const void *) { drop(pipeline); }
Result CreateCommandPool(Device device, const CommandPoolCreateInfo *, const void *, CommandPool *pool) {
  CALL(CreateCommandPool, device);
  make(*pool);
  return Success;
}
void DestroyCommandPool(Device, CommandPool pool, const void *) { drop(pool); }
Result AllocateCommandBuffers(Device device, const CommandBufferAllocateInfo *info, CommandBuffer *commands) {
  CALL(AllocateCommandBuffers, device);
  *commands = info->commandPool->buffers.emplace_back(std::make_unique<CommandBufferHandle>()).get();
  return Success;
}
Result BeginCommandBuffer(CommandBuffer commands, const CommandBufferBeginInfo *info) {
  CALL(BeginCommandBuffer, info);
  commands->work.clear();
  return Success;
}
void CmdBindPipeline(CommandBuffer commands, int32_t, Pipeline pipeline) { commands->kernel = pipeline->kernel; }
void CmdPushConstants(CommandBuffer commands, PipelineLayout, Flags, uint32_t, uint32_t, const void *values) {
  std::memcpy(&commands->block, values, sizeof(commands->block));
}
void CmdDispatch(CommandBuffer commands, uint32_t x, uint32_t y, uint32_t) {
  commands->work.push_back(
      [kernel = commands->kernel, block = commands->block, x, y] { vx::test::runKernel(kernel, block, x, y); });
}
void CmdDispatchIndirect(CommandBuffer commands, Buffer buffer, DeviceSize offset) {
  commands->work.push_back([kernel = commands->kernel, block = commands->block, place = buffer->bytes + offset] {
    const auto *grid = reinterpret_cast<const DispatchIndirectCommand *>(place);
    vx::test::runKernel(kernel, block, grid->x, grid->y);
  });
}
void CmdCopyBuffer(CommandBuffer commands, Buffer source, Buffer destination, uint32_t, const BufferCopy *range) {
  commands->work.push_back([source, destination, copy = *range] {
    std::memmove(destination->bytes + copy.dstOffset, source->bytes + copy.srcOffset, copy.size);
  });
}
void CmdFillBuffer(CommandBuffer commands, Buffer buffer, DeviceSize offset, DeviceSize size, uint32_t) {
  commands->work.push_back([place = buffer->bytes + offset, size] { std::memset(place, 0, size); });
}
// Nothing is known to be done before it has been waited for.
Result GetSemaphoreCounterValue(Device device, Semaphore, uint64_t *value) {
  CALL(GetSemaphoreCounterValue, device);
  *value = 0;
  return Success;
}
Result QueueSubmit(Queue queue, uint32_t, const SubmitInfo *info, Fence) {
  CALL(QueueSubmit, queue);
  for (uint32_t i = 0; i < info->commandBufferCount; ++i)
    for (const std::function<void()> &work : info->pCommandBuffers[i]->work)
      work();
  return Success;
}

} // namespace body

// A function by its name: with a body, or plain.
VoidFunction find(const char *name) {
  if (vx_stand_in_vulkan()->missing.count(name))
    return nullptr;
#define WITH_BODY(NAME)                                                                                                \
  if (std::strcmp(name, "vk" #NAME) == 0)                                                                              \
    return reinterpret_cast<VoidFunction>(body::NAME);
  WITH_BODY(EnumerateInstanceVersion)
  WITH_BODY(EnumerateInstanceLayerProperties)
  WITH_BODY(CreateInstance)
  WITH_BODY(CreateDebugUtilsMessengerEXT)
  WITH_BODY(EnumeratePhysicalDevices)
  WITH_BODY(GetPhysicalDeviceProperties2)
  WITH_BODY(GetPhysicalDeviceFeatures2)
  WITH_BODY(GetPhysicalDeviceMemoryProperties2)
  WITH_BODY(GetPhysicalDeviceQueueFamilyProperties)
  WITH_BODY(EnumerateDeviceExtensionProperties)
  WITH_BODY(CreateDevice)
  WITH_BODY(DestroyDevice)
  WITH_BODY(GetDeviceQueue)
  WITH_BODY(AllocateMemory)
  WITH_BODY(GetMemoryHostPointerPropertiesEXT)
  WITH_BODY(FreeMemory)
  WITH_BODY(MapMemory)
  WITH_BODY(CreateBuffer)
  WITH_BODY(DestroyBuffer)
  WITH_BODY(GetBufferMemoryRequirements)
  WITH_BODY(BindBufferMemory)
  WITH_BODY(QueueBindSparse)
  WITH_BODY(GetBufferDeviceAddress)
  WITH_BODY(CreateComputePipelines)
  WITH_BODY(DestroyPipeline)
  WITH_BODY(CreateCommandPool)
  WITH_BODY(DestroyCommandPool)
  WITH_BODY(AllocateCommandBuffers)
  WITH_BODY(BeginCommandBuffer)
  WITH_BODY(CmdBindPipeline)
  WITH_BODY(CmdPushConstants)
  WITH_BODY(CmdDispatch)
  WITH_BODY(CmdDispatchIndirect)
  WITH_BODY(CmdCopyBuffer)
  WITH_BODY(CmdFillBuffer)
  WITH_BODY(GetSemaphoreCounterValue)
  WITH_BODY(QueueSubmit)
#undef WITH_BODY
#define PLAIN(R, NAME, ...)                                                                                            \
  if (std::strcmp(name, "vk" #NAME) == 0)                                                                              \
    return reinterpret_cast<VoidFunction>(Plain<#NAME, R (*)(__VA_ARGS__)>::call);
  VX_VULKAN_GLOBAL_FUNCTIONS(PLAIN)
  VX_VULKAN_INSTANCE_FUNCTIONS(PLAIN)
  VX_VULKAN_DEVICE_FUNCTIONS(PLAIN)
#undef PLAIN
  return nullptr;
}

VoidFunction getDeviceProcAddr(Device, const char *name) { return find(name); }

} // namespace

EXPORT VoidFunction vkGetInstanceProcAddr(Instance, const char *name) {
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0)
    return reinterpret_cast<VoidFunction>(getDeviceProcAddr);
  return find(name);
}
