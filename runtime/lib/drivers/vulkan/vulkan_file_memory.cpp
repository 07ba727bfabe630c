// Pages of a file that kernels read where the host has them (VK_EXT_external_memory_host).
#include "vulkan_device.h"

#include <bit>

namespace vx::vulkan {

Status VulkanDevice::mapFile(const void *data, uint64_t size, Ref<hal::Memory> &memory, std::string &reason) {
  memory = nullptr;
  VX_RETURN_IF_ERROR(checkHealth());
  const uint64_t unit = physical.hostPageSize;
  if (!mapDeviceMemory || !unit || !vk.GetMemoryHostPointerPropertiesEXT)
    reason = "the device has no VK_EXT_external_memory_host";
  else if (reinterpret_cast<uintptr_t>(data) % unit != 0 || size % unit != 0)
    reason = fmt::format("the device reads memory of the host in units of {} bytes", unit);
  else if (size > physical.maxAllocation)
    reason = fmt::format("the device allows at most {} bytes in one memory", physical.maxAllocation);
  if (!reason.empty())
    return okStatus();
  Block block;
  Status status = importPages(const_cast<void *>(data), size, block);
  if (status.code() == VX_DEVICE_LOST)
    return status;
  if (status.ok())
    memory = makeRef<VulkanMemory>(Ref<VulkanDevice>(this), block, size);
  else
    reason = status.message();
  return okStatus();
}

Status VulkanDevice::importPages(void *pages, uint64_t size, Block &block) {
  constexpr api::Flags handleType = api::ExternalMemoryHandleTypeHostAllocationBit;
  api::MemoryHostPointerProperties properties{};
  properties.sType = api::StructureTypeMemoryHostPointerProperties;
  VX_RETURN_IF_ERROR(check(vk.GetMemoryHostPointerPropertiesEXT(device, handleType, pages, &properties),
                           "vkGetMemoryHostPointerPropertiesEXT"));
  api::ExternalMemoryBufferCreateInfo external{};
  external.sType = api::StructureTypeExternalMemoryBufferCreateInfo;
  external.handleTypes = handleType;
  api::BufferCreateInfo bufferInfo{};
  bufferInfo.sType = api::StructureTypeBufferCreateInfo;
  bufferInfo.pNext = &external;
  bufferInfo.size = size;
  bufferInfo.usage =
      api::BufferUsageTransferSrcBit | api::BufferUsageStorageBufferBit | api::BufferUsageShaderDeviceAddressBit;
  bufferInfo.sharingMode = api::SharingModeExclusive;
  VX_RETURN_IF_ERROR(check(vk.CreateBuffer(device, &bufferInfo, nullptr, &block.buffer), "vkCreateBuffer"));
  api::MemoryRequirements requirements{};
  vk.GetBufferMemoryRequirements(device, block.buffer, &requirements);

  auto import = [&]() -> Status {
    const uint32_t types = properties.memoryTypeBits & requirements.memoryTypeBits;
    if (requirements.size > size)
      return failure(VX_UNSUPPORTED, "a buffer of {} bytes takes {}", size, requirements.size);
    if (types == 0)
      return failure(VX_UNSUPPORTED, "no kind of memory fits pages of the host");
    api::ImportMemoryHostPointerInfo importInfo{};
    importInfo.sType = api::StructureTypeImportMemoryHostPointerInfo;
    importInfo.handleType = handleType;
    importInfo.pHostPointer = pages;
    api::MemoryAllocateFlagsInfo flagsInfo{};
    flagsInfo.sType = api::StructureTypeMemoryAllocateFlagsInfo;
    flagsInfo.pNext = &importInfo;
    flagsInfo.flags = api::MemoryAllocateDeviceAddressBit;
    api::MemoryAllocateInfo info{};
    info.sType = api::StructureTypeMemoryAllocateInfo;
    info.pNext = &flagsInfo;
    info.allocationSize = size;
    info.memoryTypeIndex = static_cast<uint32_t>(std::countr_zero(types));
    api::DeviceMemory imported = nullptr;
    VX_RETURN_IF_ERROR(check(vk.AllocateMemory(device, &info, nullptr, &imported), "vkAllocateMemory"));
    block.memories.push_back(imported);
    VX_RETURN_IF_ERROR(check(vk.BindBufferMemory(device, block.buffer, imported, 0), "vkBindBufferMemory"));
    api::BufferDeviceAddressInfo addressInfo{};
    addressInfo.sType = api::StructureTypeBufferDeviceAddressInfo;
    addressInfo.buffer = block.buffer;
    block.address = vk.GetBufferDeviceAddress(device, &addressInfo);
    if (block.address == 0 || block.address % VX_BUFFER_ALIGNMENT != 0)
      return failure(VX_UNSUPPORTED, "device '{}' placed a buffer at {:#x}, which is not a multiple of {}",
                     physical.info.name, block.address, VX_BUFFER_ALIGNMENT);
    return okStatus();
  };
  Status status = import();
  if (!status.ok() && !isHung())
    destroy(block.buffer, block.memories);
  block.capacity = size;
  block.host = pages;
  block.serial = nextSerial.fetch_add(1, std::memory_order_relaxed);
  return status;
}

} // namespace vx::vulkan
