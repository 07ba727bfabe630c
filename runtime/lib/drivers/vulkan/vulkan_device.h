// An open Vulkan device with its memory and its loaded code.
#ifndef VX_DRIVERS_VULKAN_VULKAN_DEVICE_H
#define VX_DRIVERS_VULKAN_VULKAN_DEVICE_H

#include "vulkan_physical_device.h"

#include "hal/driver.h"
#include "vx/base/free_blocks.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vx::vulkan {

class VulkanDevice;

inline std::atomic<uint64_t> nextSerial{1};

// A buffer with its own memory, which is several where the device gives less at once. Its serial number tells it from
// every other one of the process, which its address and its handle do not: the driver uses those again.
struct Block {
  api::Buffer buffer = nullptr;
  std::vector<api::DeviceMemory> memories;
  uint64_t address = 0;
  uint64_t capacity = 0;
  uint64_t serial = 0;
  void *host = nullptr; // null where the host does not see it
  bool isForKernels = false;
};

// A block that goes back to the driver.
struct DestroyBlock {
  VulkanDevice *device = nullptr;
  void operator()(const Block *block) const;
};

class VulkanMemory final : public hal::Memory {
public:
  VulkanMemory(Ref<VulkanDevice> owner, const Block &block, uint64_t size);
  ~VulkanMemory() override;

  api::Buffer buffer() const { return block.buffer; }
  uint64_t serial() const { return block.serial; }

private:
  const Ref<VulkanDevice> owner;
  const Block block;
};

// One pipeline per kernel.
class VulkanExecutable final : public hal::Executable {
public:
  struct Kernel {
    std::string name;
    std::string description; // of describeKernel
    api::Pipeline pipeline = nullptr;
    uint32_t bufferCount = 0;
    uint32_t scalarCount = 0;
  };

  explicit VulkanExecutable(Ref<VulkanDevice> owner) : owner(std::move(owner)) {}
  ~VulkanExecutable() override;

  std::vector<Kernel> kernels;

private:
  const Ref<VulkanDevice> owner;
};

class VulkanDevice final : public hal::Device {
public:
  // What memory is for; it decides which of the device's memory types are tried, in order.
  enum class Use {
    Kernels,    // MemoryKind::Device
    Staging,    // MemoryKind::Staging: transfers, read and written by the host
    Parameters, // written by the host and read once by the device
  };

  // `library` and `physical` live until the process ends.
  static Status open(Library &library, const PhysicalDevice &physical, bool mapDeviceMemory,
                     const hal::DeviceOptions &options, Ref<VulkanDevice> &device);
  ~VulkanDevice() override;

  const hal::DeviceInfo &info() const override { return physical.info; }
  Status allocate(uint64_t size, hal::MemoryKind kind, Ref<hal::Memory> &memory) override;
  Status freeMemory(std::optional<uint64_t> &bytes) override;
  Status mapFile(const void *data, uint64_t size, Ref<hal::Memory> &memory, std::string &reason) override;
  Status load(const hal::CodeImage &image, Ref<hal::Executable> &executable) override;
  Status createStream(Ref<hal::Stream> &stream) override;

  Status allocateFor(uint64_t size, Use use, Ref<VulkanMemory> &memory);
  // What a memory had. Nothing on the device uses it any more.
  void giveBack(const Block &block);
  Status createTimeline(api::Semaphore &timeline);
  // Submits the commands in order; `signal` gets `value` when all of them are done. Thread-safe.
  Status submit(const std::vector<api::CommandBuffer> &commands, api::Semaphore signal, uint64_t value);

  // Turns a Vulkan result into a status and remembers that the device is lost.
  Status check(api::Result result, const char *call);
  // Fails when the device was lost before, or when the validation layer has reported something since the last look.
  Status checkHealth();

  // Waits until `semaphore` has `value`, or until the limit.
  Status wait(api::Semaphore semaphore, uint64_t value);
  // A wait took too long. Whatever the device's work may still use stays as it is.
  bool isHung() const { return hung.load(std::memory_order_relaxed); }
  bool isLost() const { return lost.load(std::memory_order_relaxed); }

  const api::DeviceFunctions &functions() const { return vk; }
  api::Device handle() const { return device; }
  api::PipelineLayout pipelineLayout() const { return layout; }
  uint32_t queueFamily() const { return physical.queueFamily; }
  // Nanoseconds per step of a timestamp and the mask of its valid bits; 0 when commands cannot be timed.
  double timestampPeriod() const { return physical.timestampBits ? physical.limits.timestampPeriod : 0; }
  uint64_t timestampMask() const {
    return physical.timestampBits >= 64 ? UINT64_MAX : (uint64_t(1) << physical.timestampBits) - 1;
  }

private:
  friend DestroyBlock;
  VulkanDevice(Library &library, const PhysicalDevice &physical, bool mapDeviceMemory,
               const hal::DeviceOptions &options)
      : library(library), physical(physical), mapDeviceMemory(mapDeviceMemory), waitLimitMs(options.waitLimitMs) {}

  Status initialise();
  Status loadKernel(const hal::CodeImage &image, const hal::KernelImage &kernel, VulkanExecutable::Kernel &loaded);
  Status makeBlock(uint64_t size, Use use, Block &block);
  // As many memories of one type as `size` takes of `step` at the most.
  api::Result allocateMemories(uint64_t size, uint64_t step, uint32_t type, std::vector<api::DeviceMemory> &memories);
  // Lays a sparse buffer over them, and waits for that.
  Status bindMemories(api::Buffer buffer, uint64_t size, uint64_t step, const std::vector<api::DeviceMemory> &memories);
  // The buffer and the memory of pages that the host has, or what the device says.
  Status importPages(void *pages, uint64_t size, Block &block);
  void destroy(api::Buffer buffer, const std::vector<api::DeviceMemory> &memories);
  // Memory types that fit `use`, best first.
  std::vector<uint32_t> memoryTypes(Use use, uint32_t allowed) const;
  // "1024 of 2048 bytes are free" for the heap, or as much as the device tells.
  std::string describeHeap(uint32_t heap) const;
  // The bytes of a heap that are free; none where the device does not tell.
  std::optional<uint64_t> freeBytes(uint32_t heap) const;

  Library &library;
  const PhysicalDevice &physical;
  const bool mapDeviceMemory;
  const uint32_t waitLimitMs;
  api::DeviceFunctions vk;
  api::Device device = nullptr;
  api::Queue queue = nullptr;
  std::mutex queueMutex;
  api::PipelineLayout layout = nullptr;
  api::PipelineCache pipelineCache = nullptr;
  // Blocks for kernels that were given back. A call allocates its results anew, for which the driver takes as long as
  // for many a model: 17 us a MiB on an H200.
  FreeBlocks<std::unique_ptr<const Block, DestroyBlock>> freeBlocks{{.idleBytes = uint64_t(256) << 20, .blocks = 512}};
  std::atomic<bool> lost{false};
  std::atomic<bool> hung{false};
};

} // namespace vx::vulkan

#endif
