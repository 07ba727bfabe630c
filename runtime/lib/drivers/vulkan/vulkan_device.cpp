#include "vulkan_device.h"

#include "spirv_entry_points.h"
#include "vulkan_stream.h"

#include "hal/kernel_names.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

namespace vx::vulkan {

// Transfers that fill memory work in units of 4 bytes, and an empty allocation still needs an address.
static constexpr uint64_t MinAllocation = VX_BUFFER_ALIGNMENT;

// A wait asks the device this long before it sleeps.
static constexpr std::chrono::milliseconds SpinTime{1};

VulkanMemory::VulkanMemory(Ref<VulkanDevice> owner, const Block &block, uint64_t size)
    : Memory(block.address, size, block.host), owner(std::move(owner)), block(block) {}

VulkanMemory::~VulkanMemory() { owner->giveBack(block); }

void DestroyBlock::operator()(const Block *block) const {
  if (!device->isHung())
    device->destroy(block->buffer, block->memories);
  delete block;
}

VulkanExecutable::~VulkanExecutable() {
  if (owner->isHung())
    return;
  for (const Kernel &kernel : kernels)
    if (kernel.pipeline)
      owner->functions().DestroyPipeline(owner->handle(), kernel.pipeline, nullptr);
}

Status VulkanDevice::open(Library &library, const PhysicalDevice &physical, bool mapDeviceMemory,
                          const hal::DeviceOptions &options, Ref<VulkanDevice> &device) {
  auto opened = Ref<VulkanDevice>::adopt(new VulkanDevice(library, physical, mapDeviceMemory, options));
  if (Status status = opened->initialise(); !status.ok())
    return std::move(status).addContext(fmt::format("device '{}'", physical.info.name));
  device = std::move(opened);
  return okStatus();
}

Status VulkanDevice::initialise() {
  const float priority = 1.0f;
  api::DeviceQueueCreateInfo queueInfo{};
  queueInfo.sType = api::StructureTypeDeviceQueueCreateInfo;
  queueInfo.queueFamilyIndex = physical.queueFamily;
  queueInfo.queueCount = 1;
  queueInfo.pQueuePriorities = &priority;

  api::DeviceCreateInfo info{};
  info.sType = api::StructureTypeDeviceCreateInfo;
  info.pNext = &physical.features->core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queueInfo;
  info.enabledExtensionCount = static_cast<uint32_t>(physical.extensions.size());
  info.ppEnabledExtensionNames = physical.extensions.data();
  const api::InstanceFunctions &instance = library.functions();
  VX_RETURN_IF_ERROR(check(instance.CreateDevice(physical.handle, &info, nullptr, &device), "vkCreateDevice"));

#define VX_LOAD(R, NAME, ...)                                                                                          \
  vk.NAME = reinterpret_cast<decltype(vk.NAME)>(instance.GetDeviceProcAddr(device, "vk" #NAME));                       \
  if (!vk.NAME)                                                                                                        \
    return failure(VX_UNSUPPORTED, "the Vulkan driver has no function 'vk{}'", #NAME);
  VX_VULKAN_DEVICE_FUNCTIONS(VX_LOAD)
#undef VX_LOAD
#define VX_LOAD(R, NAME, ...)                                                                                          \
  vk.NAME = reinterpret_cast<decltype(vk.NAME)>(instance.GetDeviceProcAddr(device, "vk" #NAME));
  VX_VULKAN_EXTENSION_FUNCTIONS(VX_LOAD)
#undef VX_LOAD

  vk.GetDeviceQueue(device, physical.queueFamily, 0, &queue);

  // Kernels bind nothing: all they get is the address of their parameter block.
  api::PushConstantRange range{};
  range.stageFlags = api::ShaderStageComputeBit;
  range.size = sizeof(uint64_t);
  api::PipelineLayoutCreateInfo layoutInfo{};
  layoutInfo.sType = api::StructureTypePipelineLayoutCreateInfo;
  layoutInfo.pushConstantRangeCount = 1;
  layoutInfo.pPushConstantRanges = &range;
  VX_RETURN_IF_ERROR(check(vk.CreatePipelineLayout(device, &layoutInfo, nullptr, &layout), "vkCreatePipelineLayout"));

  api::PipelineCacheCreateInfo cacheInfo{};
  cacheInfo.sType = api::StructureTypePipelineCacheCreateInfo;
  VX_RETURN_IF_ERROR(
      check(vk.CreatePipelineCache(device, &cacheInfo, nullptr, &pipelineCache), "vkCreatePipelineCache"));
  return checkHealth();
}

VulkanDevice::~VulkanDevice() {
  if (!device || isHung())
    return;
  (void)freeBlocks.dropAll();
  // Opening may have stopped before the functions were there.
  if (vk.DestroyPipelineCache && pipelineCache)
    vk.DestroyPipelineCache(device, pipelineCache, nullptr);
  if (vk.DestroyPipelineLayout && layout)
    vk.DestroyPipelineLayout(device, layout, nullptr);
  if (vk.DestroyDevice)
    vk.DestroyDevice(device, nullptr);
}

Status VulkanDevice::check(api::Result result, const char *call) {
  switch (result) {
  case api::Success:
    return okStatus();
  case api::ErrorDeviceLost:
    lost.store(true, std::memory_order_relaxed);
    return failure(VX_DEVICE_LOST, "device '{}' was lost: {} failed with {}", physical.info.name, call,
                   resultName(result));
  case api::ErrorOutOfHostMemory:
  case api::ErrorOutOfDeviceMemory:
  case api::ErrorOutOfPoolMemory:
    return failure(VX_OUT_OF_MEMORY, "{}: device '{}' has no memory left ({})", call, physical.info.name,
                   resultName(result));
  default:
    return failure(VX_INTERNAL, "{} failed with {} on device '{}'", call, resultName(result), physical.info.name);
  }
}

Status VulkanDevice::checkHealth() {
  if (isLost())
    return failure(VX_DEVICE_LOST, "device '{}' was lost in an earlier call", physical.info.name);
  if (std::string message = library.takeValidationMessage(); !message.empty())
    return failure(VX_INTERNAL, "Vulkan validation: {}", message);
  return okStatus();
}

//===-- Memory --------------------------------------------------------------------------------===//

std::vector<uint32_t> VulkanDevice::memoryTypes(Use use, uint32_t allowed) const {
  constexpr api::Flags hostFlags = api::MemoryPropertyHostVisibleBit | api::MemoryPropertyHostCoherentBit;
  // Memory is one for host and device: mapping costs nothing and saves every copy.
  const bool unified = mapDeviceMemory && (physical.type == api::PhysicalDeviceTypeCpu ||
                                           physical.type == api::PhysicalDeviceTypeIntegratedGpu);
  std::vector<std::pair<int, uint32_t>> ranked;
  for (uint32_t i = 0; i < physical.memory.memoryTypeCount; ++i) {
    if (!(allowed & uint32_t(1) << i))
      continue;
    const api::Flags flags = physical.memory.memoryTypes[i].propertyFlags;
    const bool local = flags & api::MemoryPropertyDeviceLocalBit;
    const bool host = (flags & hostFlags) == hostFlags;
    const bool cached = flags & api::MemoryPropertyHostCachedBit;
    // Lazily allocated, protected and device-coherent memory is not for us.
    constexpr api::Flags known = hostFlags | api::MemoryPropertyDeviceLocalBit | api::MemoryPropertyHostCachedBit;
    if (flags & ~known)
      continue;
    int score = 0;
    switch (use) {
    case Use::Kernels:
      score = (local ? 8 : 0) + (host == unified ? 4 : 0) + (host && cached && unified ? 2 : 0);
      break;
    case Use::Staging:
      if (!host)
        continue;
      score = (cached ? 4 : 0) + (local == unified ? 2 : 0);
      break;
    case Use::Parameters:
      if (!host)
        continue;
      score = (local ? 4 : 0) + (cached ? 0 : 1);
      break;
    }
    ranked.emplace_back(-score, i);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<uint32_t> types;
  for (const auto &[score, type] : ranked)
    types.push_back(type);
  return types;
}

std::optional<uint64_t> VulkanDevice::freeBytes(uint32_t heap) const {
  if (!physical.hasMemoryBudget)
    return std::nullopt;
  api::PhysicalDeviceMemoryBudgetProperties budget{};
  budget.sType = api::StructureTypePhysicalDeviceMemoryBudgetProperties;
  api::PhysicalDeviceMemoryProperties2 memory{};
  memory.sType = api::StructureTypePhysicalDeviceMemoryProperties2;
  memory.pNext = &budget;
  library.functions().GetPhysicalDeviceMemoryProperties2(physical.handle, &memory);
  return budget.heapBudget[heap] > budget.heapUsage[heap] ? budget.heapBudget[heap] - budget.heapUsage[heap] : 0;
}

Status VulkanDevice::freeMemory(std::optional<uint64_t> &bytes) {
  bytes = std::nullopt;
  for (uint32_t heap = 0; heap < physical.memory.memoryHeapCount; ++heap)
    if (physical.memory.memoryHeaps[heap].flags & api::MemoryHeapDeviceLocalBit)
      if (const std::optional<uint64_t> available = freeBytes(heap))
        bytes = bytes.value_or(0) + *available;
  return okStatus();
}

std::string VulkanDevice::describeHeap(uint32_t heap) const {
  if (const std::optional<uint64_t> available = freeBytes(heap))
    return fmt::format("{} of {} bytes free", *available, physical.memory.memoryHeaps[heap].size);
  return fmt::format("{} bytes in all", physical.memory.memoryHeaps[heap].size);
}

Status VulkanDevice::allocate(uint64_t size, hal::MemoryKind kind, Ref<hal::Memory> &memory) {
  memory = nullptr;
  Ref<VulkanMemory> allocated;
  VX_RETURN_IF_ERROR(allocateFor(size, kind == hal::MemoryKind::Device ? Use::Kernels : Use::Staging, allocated));
  memory = std::move(allocated);
  return okStatus();
}

// Sizes that are close to each other share blocks: an eighth is lost at most.
static uint64_t capacityFor(uint64_t size, uint64_t maxAllocation) {
  size = std::max((size + 3) / 4 * 4, MinAllocation);
  const uint64_t step = std::max(std::bit_floor(size) / 8, MinAllocation);
  const uint64_t capacity = (size + step - 1) / step * step;
  return capacity > maxAllocation ? size : capacity;
}

Status VulkanDevice::allocateFor(uint64_t size, Use use, Ref<VulkanMemory> &memory) {
  VX_RETURN_IF_ERROR(checkHealth());
  // The host sees one memory at a time.
  const uint64_t most = use == Use::Kernels ? physical.info.maxAllocation : physical.maxAllocation;
  if (size > most)
    return failure(VX_OUT_OF_MEMORY, "asked for {} bytes, but device '{}' allows at most {} in one buffer", size,
                   physical.info.name, most);
  Block block;
  block.isForKernels = use == Use::Kernels;
  block.capacity = capacityFor(size, physical.maxAllocation);
  if (auto kept = block.isForKernels ? freeBlocks.take(block.capacity) : std::nullopt) {
    block = **kept;
    delete kept->release();
  } else {
    Status status = makeBlock(size, use, block);
    // The memory of free blocks may be what is missing.
    if (status.code() == VX_OUT_OF_MEMORY && freeBlocks.dropAll())
      status = makeBlock(size, use, block);
    VX_RETURN_IF_ERROR(std::move(status));
  }
  if (block.isForKernels)
    freeBlocks.noteUsed(block.capacity);
  memory = makeRef<VulkanMemory>(Ref<VulkanDevice>(this), block, size);
  return okStatus();
}

void VulkanDevice::giveBack(const Block &block) {
  std::unique_ptr<const Block, DestroyBlock> freed(new Block(block), {this});
  if (block.isForKernels && !isLost())
    freeBlocks.give(std::move(freed), block.capacity);
}

void VulkanDevice::destroy(api::Buffer buffer, const std::vector<api::DeviceMemory> &memories) {
  vk.DestroyBuffer(device, buffer, nullptr);
  for (api::DeviceMemory memory : memories)
    vk.FreeMemory(device, memory, nullptr);
}

api::Result VulkanDevice::allocateMemories(uint64_t size, uint64_t step, uint32_t type,
                                           std::vector<api::DeviceMemory> &memories) {
  api::MemoryAllocateFlagsInfo flagsInfo{};
  flagsInfo.sType = api::StructureTypeMemoryAllocateFlagsInfo;
  flagsInfo.flags = api::MemoryAllocateDeviceAddressBit;
  api::MemoryAllocateInfo info{};
  info.sType = api::StructureTypeMemoryAllocateInfo;
  info.pNext = &flagsInfo;
  info.memoryTypeIndex = type;
  for (uint64_t left = size; left > 0; left -= info.allocationSize) {
    info.allocationSize = std::min(left, step);
    api::DeviceMemory memory = nullptr;
    if (api::Result result = vk.AllocateMemory(device, &info, nullptr, &memory); result != api::Success) {
      for (api::DeviceMemory other : memories)
        vk.FreeMemory(device, other, nullptr);
      memories.clear();
      return result;
    }
    memories.push_back(memory);
  }
  return api::Success;
}

Status VulkanDevice::bindMemories(api::Buffer buffer, uint64_t size, uint64_t step,
                                  const std::vector<api::DeviceMemory> &memories) {
  std::vector<api::SparseMemoryBind> binds;
  for (size_t i = 0; i < memories.size(); ++i) {
    api::SparseMemoryBind bind{};
    bind.resourceOffset = i * step;
    bind.size = std::min(size - bind.resourceOffset, step);
    bind.memory = memories[i];
    binds.push_back(bind);
  }
  api::SparseBufferMemoryBindInfo bufferInfo{};
  bufferInfo.buffer = buffer;
  bufferInfo.bindCount = static_cast<uint32_t>(binds.size());
  bufferInfo.pBinds = binds.data();
  api::Semaphore done = nullptr;
  VX_RETURN_IF_ERROR(createTimeline(done));
  const uint64_t reached = 1;
  api::TimelineSemaphoreSubmitInfo timeline{};
  timeline.sType = api::StructureTypeTimelineSemaphoreSubmitInfo;
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &reached;
  api::BindSparseInfo info{};
  info.sType = api::StructureTypeBindSparseInfo;
  info.pNext = &timeline;
  info.bufferBindCount = 1;
  info.pBufferBinds = &bufferInfo;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &done;
  api::Result result;
  {
    std::lock_guard lock(queueMutex);
    result = vk.QueueBindSparse(queue, 1, &info, nullptr);
  }
  Status status = check(result, "vkQueueBindSparse");
  if (status.ok())
    status = wait(done, reached);
  if (!isHung())
    vk.DestroySemaphore(device, done, nullptr);
  return status;
}

Status VulkanDevice::createTimeline(api::Semaphore &timeline) {
  api::SemaphoreTypeCreateInfo typeInfo{};
  typeInfo.sType = api::StructureTypeSemaphoreTypeCreateInfo;
  typeInfo.semaphoreType = api::SemaphoreTypeTimeline;
  api::SemaphoreCreateInfo info{};
  info.sType = api::StructureTypeSemaphoreCreateInfo;
  info.pNext = &typeInfo;
  return check(vk.CreateSemaphore(device, &info, nullptr, &timeline), "vkCreateSemaphore");
}

Status VulkanDevice::makeBlock(uint64_t size, Use use, Block &block) {
  api::BufferCreateInfo bufferInfo{};
  bufferInfo.sType = api::StructureTypeBufferCreateInfo;
  bufferInfo.size = block.capacity;
  const bool isSparse = block.capacity > physical.maxAllocation;
  bufferInfo.flags = isSparse ? api::BufferCreateSparseBindingBit : 0;
  bufferInfo.usage = api::BufferUsageTransferSrcBit | api::BufferUsageTransferDstBit |
                     api::BufferUsageStorageBufferBit | api::BufferUsageShaderDeviceAddressBit |
                     (use == Use::Parameters ? api::BufferUsageIndirectBufferBit : 0);
  bufferInfo.sharingMode = api::SharingModeExclusive;
  api::Buffer buffer = nullptr;
  auto checkSized = [&](api::Result result, const char *call) {
    return check(result, call).addContext(fmt::format("asked for {} bytes", size));
  };
  VX_RETURN_IF_ERROR(checkSized(vk.CreateBuffer(device, &bufferInfo, nullptr, &buffer), "vkCreateBuffer"));

  api::MemoryRequirements requirements{};
  vk.GetBufferMemoryRequirements(device, buffer, &requirements);
  // One memory, but for what is larger than any.
  const uint64_t step =
      isSparse ? physical.maxAllocation / requirements.alignment * requirements.alignment : requirements.size;
  const std::vector<uint32_t> types = memoryTypes(use, requirements.memoryTypeBits);
  std::vector<api::DeviceMemory> memories;
  uint32_t type = 0;
  api::Result result = api::ErrorOutOfDeviceMemory;
  for (uint32_t candidate : types) {
    type = candidate;
    result = allocateMemories(requirements.size, step, candidate, memories);
    // Only a full heap makes the next kind of memory worth a try.
    if (result != api::ErrorOutOfDeviceMemory && result != api::ErrorOutOfHostMemory)
      break;
  }

  Status status;
  void *host = nullptr;
  uint64_t address = 0;
  if (types.empty()) {
    status =
        failure(VX_UNSUPPORTED, "device '{}' has no memory of the kind needed for {} bytes", physical.info.name, size);
  } else if (result == api::ErrorOutOfDeviceMemory || result == api::ErrorOutOfHostMemory) {
    status = failure(VX_OUT_OF_MEMORY, "asked for {} bytes, but device '{}' has {}", size, physical.info.name,
                     describeHeap(physical.memory.memoryTypes[types.front()].heapIndex));
  } else {
    status = checkSized(result, "vkAllocateMemory");
  }
  if (status.ok() && isSparse)
    status =
        bindMemories(buffer, requirements.size, step, memories).addContext(fmt::format("asked for {} bytes", size));
  else if (status.ok())
    status = checkSized(vk.BindBufferMemory(device, buffer, memories.front(), 0), "vkBindBufferMemory");
  constexpr api::Flags hostFlags = api::MemoryPropertyHostVisibleBit | api::MemoryPropertyHostCoherentBit;
  const bool mapped = !isSparse && (physical.memory.memoryTypes[type].propertyFlags & hostFlags) == hostFlags &&
                      (use != Use::Kernels || mapDeviceMemory);
  if (status.ok() && mapped)
    status = checkSized(vk.MapMemory(device, memories.front(), 0, UINT64_MAX, 0, &host), "vkMapMemory");
  if (status.ok()) {
    api::BufferDeviceAddressInfo addressInfo{};
    addressInfo.sType = api::StructureTypeBufferDeviceAddressInfo;
    addressInfo.buffer = buffer;
    address = vk.GetBufferDeviceAddress(device, &addressInfo);
    if (address == 0 || address % VX_BUFFER_ALIGNMENT != 0)
      status = failure(VX_UNSUPPORTED, "device '{}' placed a buffer at {:#x}, which is not a multiple of {}",
                       physical.info.name, address, VX_BUFFER_ALIGNMENT);
  }
  if (!status.ok()) {
    if (!isHung())
      destroy(buffer, memories);
    return status;
  }
  block.buffer = buffer;
  block.memories = std::move(memories);
  block.address = address;
  block.host = host;
  block.serial = nextSerial.fetch_add(1, std::memory_order_relaxed);
  return okStatus();
}

//===-- Code ----------------------------------------------------------------------------------===//

Status VulkanDevice::load(const hal::CodeImage &image, Ref<hal::Executable> &executable) {
  executable = nullptr;
  VX_RETURN_IF_ERROR(checkHealth());
  auto loaded = makeRef<VulkanExecutable>(Ref<VulkanDevice>(this));
  loaded->kernels.resize(image.kernels.size());
  for (size_t i = 0; i < image.kernels.size(); ++i)
    if (Status status = loadKernel(image, image.kernels[i], loaded->kernels[i]); !status.ok())
      return std::move(status).addContext(
          fmt::format("{}: kernel '{}' of variant '{}'", image.file, image.kernels[i].name, image.variant));
  VX_RETURN_IF_ERROR(checkHealth());
  executable = std::move(loaded);
  return okStatus();
}

Status VulkanDevice::loadKernel(const hal::CodeImage &image, const hal::KernelImage &kernel,
                                VulkanExecutable::Kernel &loaded) {
  loaded.name = kernel.name;
  loaded.description = describeKernel(kernel);
  loaded.bufferCount = kernel.bufferCount;
  loaded.scalarCount = kernel.scalarCount;

  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (kernel.workgroupSize[i] > physical.limits.maxComputeWorkGroupSize[i])
      return failure(VX_UNSUPPORTED, "its workgroup has {} threads along dimension {}, but device '{}' allows {}",
                     kernel.workgroupSize[i], i, physical.info.name, physical.limits.maxComputeWorkGroupSize[i]);
    threads *= kernel.workgroupSize[i];
  }
  if (threads > physical.limits.maxComputeWorkGroupInvocations)
    return failure(VX_UNSUPPORTED, "its workgroup has {} threads, but device '{}' allows {}", threads,
                   physical.info.name, physical.limits.maxComputeWorkGroupInvocations);

  // Drivers do not all survive code without the entry point that they are asked for.
  std::vector<uint32_t> words(kernel.code.size() / sizeof(uint32_t));
  if (!words.empty())
    std::memcpy(words.data(), kernel.code.data(), words.size() * sizeof(uint32_t));
  std::vector<std::string> entries;
  if (kernel.code.size() % sizeof(uint32_t) != 0 || !findComputeEntryPoints(words, entries))
    return failure(VX_INVALID_MODULE, "its {} bytes of code are no SPIR-V", kernel.code.size());
  if (std::find(entries.begin(), entries.end(), kernel.entry) == entries.end())
    return failure(VX_INVALID_MODULE, "its SPIR-V has no compute entry point '{}', it has '{}'", kernel.entry,
                   fmt::join(entries, "', '"));

  api::ShaderModuleCreateInfo moduleInfo{};
  moduleInfo.sType = api::StructureTypeShaderModuleCreateInfo;
  moduleInfo.codeSize = words.size() * sizeof(uint32_t);
  moduleInfo.pCode = words.data();
  api::ShaderModule module = nullptr;
  VX_RETURN_IF_ERROR(check(vk.CreateShaderModule(device, &moduleInfo, nullptr, &module), "vkCreateShaderModule"));

  const std::string entry(kernel.entry);
  api::ComputePipelineCreateInfo info{};
  info.sType = api::StructureTypeComputePipelineCreateInfo;
  info.stage.sType = api::StructureTypePipelineShaderStageCreateInfo;
  info.stage.stage = api::ShaderStageComputeBit;
  info.stage.module = module;
  info.stage.pName = entry.c_str();
  info.layout = layout;
  info.basePipelineIndex = -1;
  api::Result result = vk.CreateComputePipelines(device, pipelineCache, 1, &info, nullptr, &loaded.pipeline);
  vk.DestroyShaderModule(device, module, nullptr);
  return check(result, "vkCreateComputePipelines");
}

//===-- Work ----------------------------------------------------------------------------------===//

Status VulkanDevice::createStream(Ref<hal::Stream> &stream) {
  stream = nullptr;
  VX_RETURN_IF_ERROR(checkHealth());
  Ref<VulkanStream> created;
  VX_RETURN_IF_ERROR(VulkanStream::create(Ref<VulkanDevice>(this), created));
  stream = std::move(created);
  return okStatus();
}

Status VulkanDevice::submit(const std::vector<api::CommandBuffer> &commands, api::Semaphore signal, uint64_t value) {
  VX_RETURN_IF_ERROR(checkHealth());
  api::TimelineSemaphoreSubmitInfo timeline{};
  timeline.sType = api::StructureTypeTimelineSemaphoreSubmitInfo;
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  api::SubmitInfo info{};
  info.sType = api::StructureTypeSubmitInfo;
  info.pNext = &timeline;
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &signal;
  api::Result result;
  {
    std::lock_guard lock(queueMutex);
    result = vk.QueueSubmit(queue, 1, &info, nullptr);
  }
  return check(result, "vkQueueSubmit");
}

Status VulkanDevice::wait(api::Semaphore semaphore, uint64_t value) {
  if (isHung())
    return checkHealth();
  // Being woken takes longer than many a model. A software driver needs the processor itself.
  if (physical.type != api::PhysicalDeviceTypeCpu) {
    const auto until = std::chrono::steady_clock::now() + SpinTime;
    do {
      uint64_t reached = 0;
      VX_RETURN_IF_ERROR(check(vk.GetSemaphoreCounterValue(device, semaphore, &reached), "vkGetSemaphoreCounterValue"));
      if (reached >= value)
        return okStatus();
    } while (std::chrono::steady_clock::now() < until);
  }
  api::SemaphoreWaitInfo info{};
  info.sType = api::StructureTypeSemaphoreWaitInfo;
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &value;
  const uint64_t limit = waitLimitMs ? uint64_t(waitLimitMs) * 1000000 : UINT64_MAX;
  const api::Result result = vk.WaitSemaphores(device, &info, limit);
  if (result != api::Timeout)
    return check(result, "vkWaitSemaphores");
  hung.store(true, std::memory_order_relaxed);
  lost.store(true, std::memory_order_relaxed);
  return failure(VX_DEVICE_LOST, "device '{}' was lost: its work was not done after {} ms", physical.info.name,
                 waitLimitMs);
}

} // namespace vx::vulkan
