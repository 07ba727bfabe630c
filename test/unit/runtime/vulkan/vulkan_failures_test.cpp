// How the Vulkan driver fails, over a library that stands in for the loader and the driver below it.
#include "vulkan_driver.h"

#include "gather.spv.h"
#include "scale_add.spv.h"
#include "stand_in_vulkan.h"

#include "programs.h"
#include "runtime_test.h"

#include <cstdlib>
#include <dlfcn.h>
#include <functional>

namespace vx::test {

using hal::BufferView;
using hal::CommandArguments;
using hal::CommandKind;
using hal::RefusalCode;

class VulkanFailures : public testing::Test {
protected:
  void SetUp() override {
    const char *path = std::getenv("VX_TEST_STAND_IN_VULKAN");
    ASSERT_NE(path, nullptr);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    auto function = reinterpret_cast<VulkanStandInFunction>(dlsym(library, "vx_stand_in_vulkan"));
    ASSERT_NE(function, nullptr);
    stand = function();
    libraryPath = path;
    reset();
    liveBefore = stand->live.size();
  }

  // Everything that was made was given back.
  void TearDown() override {
    close();
    EXPECT_EQ(stand->live.size(), liveBefore);
    EXPECT_EQ(stand->count("no such object is given back"), 0);
  }

  void reset() {
    const VulkanStandIn fresh;
    stand->failures.clear();
    stand->missing.clear();
    stand->layers.clear();
    stand->extensions.clear();
    stand->report.clear();
    stand->loaderVersion = fresh.loaderVersion;
    stand->deviceCount = fresh.deviceCount;
    stand->deviceVersion = fresh.deviceVersion;
    stand->hasBufferDeviceAddress = stand->hasInt64 = stand->hasTimelineSemaphore = true;
    stand->queueFlags = fresh.queueFlags;
    stand->heapUsage = 0;
    stand->type = fresh.type;
    stand->hostPageSize = fresh.hostPageSize;
    stand->hostMemoryTypes = fresh.hostMemoryTypes;
    stand->memoryTypes = fresh.memoryTypes;
    stand->addressOffset = stand->importedOffset = stand->bufferPadding = 0;
    stand->heapFlags = fresh.heapFlags;
    stand->maxAllocation = fresh.maxAllocation;
    stand->maxBuffer = fresh.maxBuffer;
    stand->hasSparseBinding = fresh.hasSparseBinding;
  }

  // A library is opened once for its names, so each driver gets names of its own.
  std::unique_ptr<vulkan::VulkanDriver> makeDriver(bool validation = false) {
    static int number = 0;
    vulkan::DriverOptions options;
    options.library.library.names = {libraryPath, std::to_string(++number)};
    options.library.validation = validation;
    return std::make_unique<vulkan::VulkanDriver>(options);
  }

  // Why there are no devices.
  hal::Refusal refusal(bool validation = false) {
    auto asked = makeDriver(validation);
    std::vector<hal::DeviceInfo> devices;
    hal::Refusal refusal = asked->enumerate(devices);
    EXPECT_TRUE(devices.empty());
    return refusal;
  }

  static hal::CodeImage image(std::vector<hal::KernelImage> &kernels) {
    static const std::vector<std::string> nodes = {"scale_1 (Mul)", "add_1 (Add)"};
    kernels = {{"scale and add", "scale_add", 2, 2, {64, 1, 1}, scale_add_spirv, nodes},
               {"gather rows", "gather", 3, 2, {64, 1, 1}, gather_spirv, {}}};
    hal::CodeImage image;
    image.file = "m.vxm";
    image.variant = "baseline";
    image.kernels = kernels;
    return image;
  }

  void open(uint32_t index = 0) {
    close();
    driver = makeDriver();
    ASSERT_OK(driver->open(index, {}, device));
    std::vector<hal::KernelImage> kernels;
    ASSERT_OK(device->load(image(kernels), code));
    ASSERT_OK(device->createStream(stream));
  }

  // What a driver has opened is given back before the driver.
  void close() {
    stream = nullptr;
    code = nullptr;
    device = nullptr;
  }

  void fail(const char *function, vulkan::api::Result result, int number = -1) {
    stand->fail(function, result, 0, number);
  }

  VulkanStandIn *stand = nullptr;
  std::string libraryPath;
  size_t liveBefore = 0;
  std::unique_ptr<vulkan::VulkanDriver> driver;
  Ref<hal::Device> device;
  Ref<hal::Executable> code;
  Ref<hal::Stream> stream;
};

//===-- The loader ----------------------------------------------------------------------------===//

TEST_F(VulkanFailures, loaderLacksFunctions) {
  stand->missing = {"vkCreateInstance"};
  hal::Refusal why = refusal();
  EXPECT_EQ(why.code, RefusalCode::NoLibrary);
  EXPECT_EQ(why.reason, fmt::format("'{}' has no function 'vkCreateInstance'", libraryPath));
  stand->missing = {"vkEnumeratePhysicalDevices"};
  why = refusal();
  EXPECT_EQ(why.code, RefusalCode::NoLibrary);
  EXPECT_EQ(why.reason, "the Vulkan loader has no function 'vkEnumeratePhysicalDevices'");
}

TEST_F(VulkanFailures, loaderTooOld) {
  stand->loaderVersion = vulkan::api::makeVersion(1, 1);
  const hal::Refusal why = refusal();
  EXPECT_EQ(why.code, RefusalCode::NoLibrary);
  EXPECT_EQ(why.reason, "the Vulkan loader is of version 1.1, expected 1.2");
}

TEST_F(VulkanFailures, noInstance) {
  fail("vkCreateInstance", vulkan::api::ErrorIncompatibleDriver);
  EXPECT_EQ(refusal().reason, "the Vulkan loader found no driver (vkCreateInstance: incompatible driver)");
  fail("vkCreateInstance", vulkan::api::ErrorInitializationFailed);
  const hal::Refusal why = refusal();
  EXPECT_EQ(why.code, RefusalCode::NoDevice);
  EXPECT_EQ(why.reason, "vkCreateInstance failed with ERROR_INITIALIZATION_FAILED");
}

TEST_F(VulkanFailures, noValidation) {
  hal::Refusal why = refusal(/*validation=*/true);
  EXPECT_EQ(why.code, RefusalCode::NoLibrary);
  EXPECT_EQ(why.reason, "validation was asked for, but the layer 'VK_LAYER_KHRONOS_validation' is not installed");
  stand->layers = {"VK_LAYER_KHRONOS_validation"};
  stand->missing = {"vkCreateDebugUtilsMessengerEXT"};
  EXPECT_EQ(refusal(true).reason, "the validation layer's reports could not be asked for");
  stand->missing.clear();
  fail("vkCreateDebugUtilsMessengerEXT", vulkan::api::ErrorOutOfHostMemory);
  EXPECT_EQ(refusal(true).reason, "the validation layer's reports could not be asked for");
}

TEST_F(VulkanFailures, whatValidationReportsFailsTheCall) {
  stand->layers = {"VK_LAYER_KHRONOS_validation"};
  driver = makeDriver(/*validation=*/true);
  ASSERT_OK(driver->open(0, {}, device));
  stand->report = "VUID-1: this may not be";
  Ref<hal::Memory> memory;
  EXPECT_OK(device->allocate(16, hal::MemoryKind::Device, memory)); // during which the layer reports
  EXPECT_FAILS(device->allocate(16, hal::MemoryKind::Device, memory), VX_INTERNAL,
               "Vulkan validation: VUID-1: this may not be");
  EXPECT_OK(device->allocate(16, hal::MemoryKind::Device, memory));
}

//===-- Devices -------------------------------------------------------------------------------===//

TEST_F(VulkanFailures, noDevice) {
  fail("vkEnumeratePhysicalDevices", vulkan::api::ErrorOutOfHostMemory);
  hal::Refusal why = refusal();
  EXPECT_EQ(why.code, RefusalCode::NoDevice);
  EXPECT_EQ(why.reason, "vkEnumeratePhysicalDevices failed with ERROR_OUT_OF_HOST_MEMORY");
  stand->failures.clear();
  stand->deviceCount = 0;
  why = refusal();
  EXPECT_EQ(why.code, RefusalCode::NoDevice);
  EXPECT_EQ(why.reason, "the Vulkan drivers found no device");
}

TEST_F(VulkanFailures, devicesThatLackSomething) {
  stand->deviceVersion = vulkan::api::makeVersion(1, 1);
  EXPECT_EQ(refusal().reason,
            "device 'Stand-in 0' cannot be used: it has Vulkan 1.1, expected 1.2; device 'Stand-in 1' "
            "cannot be used: it has Vulkan 1.1, expected 1.2");
  reset();
  stand->deviceCount = 1;
  stand->hasBufferDeviceAddress = stand->hasInt64 = stand->hasTimelineSemaphore = false;
  stand->queueFlags = vulkan::api::QueueGraphicsBit;
  EXPECT_EQ(refusal().reason, "device 'Stand-in 0' cannot be used: it lacks bufferDeviceAddress, shaderInt64, "
                              "timelineSemaphore, a compute queue");
}

TEST_F(VulkanFailures, deviceThatDoesNotOpen) {
  driver = makeDriver();
  Ref<hal::Device> opened;
  fail("vkCreateDevice", vulkan::api::ErrorFeatureNotPresent);
  EXPECT_FAILS(driver->open(1, {}, opened), VX_INTERNAL,
               "device 'Stand-in 1': vkCreateDevice failed with ERROR_FEATURE_NOT_PRESENT on device 'Stand-in 1'");
  stand->failures.clear();
  for (const char *function : {"vkCreatePipelineLayout", "vkCreatePipelineCache"}) {
    fail(function, vulkan::api::ErrorOutOfHostMemory);
    EXPECT_FAILS(driver->open(0, {}, opened), VX_OUT_OF_MEMORY,
                 fmt::format("device 'Stand-in 0': {}: device 'Stand-in 0' has no memory left "
                             "(ERROR_OUT_OF_HOST_MEMORY)",
                             function));
    stand->failures.clear();
  }
  ASSERT_OK(driver->open(1, {}, opened));
  EXPECT_FAILS(driver->open(2, {}, opened), VX_NO_DEVICE, "asked for device 'vulkan:2', but there are 2");
}

TEST_F(VulkanFailures, driverLacksAFunction) {
  driver = makeDriver();
  stand->missing = {"vkQueueSubmit"};
  Ref<hal::Device> opened;
  EXPECT_FAILS(driver->open(0, {}, opened), VX_UNSUPPORTED,
               "device 'Stand-in 0': the Vulkan driver has no function 'vkQueueSubmit'");
}

//===-- Memory --------------------------------------------------------------------------------===//

TEST_F(VulkanFailures, allocationLargerThanTheCard) {
  stand->maxAllocation = 1 << 20;
  open();
  Ref<hal::Memory> memory;
  EXPECT_FAILS(device->allocate((1 << 20) + 1, hal::MemoryKind::Device, memory), VX_OUT_OF_MEMORY,
               "asked for 1048577 bytes, but device 'Stand-in 0' allows at most 1048576 in one buffer");
  EXPECT_OK(device->allocate(1 << 10, hal::MemoryKind::Device, memory));
}

// What is larger than the memory that a device gives at once lies over several, for kernels alone.
TEST_F(VulkanFailures, bufferOverSeveralMemories) {
  constexpr uint64_t memorySize = (16 << 20) + 100, size = (5 << 23) + 4;
  stand->maxAllocation = memorySize;
  stand->hasSparseBinding = true;
  open();
  EXPECT_EQ(device->info().maxAllocation, memorySize) << "a queue that binds no memory";
  stand->queueFlags |= vulkan::api::QueueSparseBindingBit;
  stand->maxBuffer = 64 << 20;
  open();
  EXPECT_EQ(device->info().maxAllocation, 64u << 20);
  Ref<hal::Memory> memory;
  stand->forget();
  ASSERT_OK(device->allocate(size, hal::MemoryKind::Device, memory));
  EXPECT_EQ(stand->count("vkAllocateMemory"), 3);
  EXPECT_EQ(memory->size(), size);
  const int32_t sent = 77;
  int32_t received = 0;
  ASSERT_OK(stream->upload({memory.get(), size - 4, 4}, &sent));
  ASSERT_OK(stream->download({memory.get(), size - 4, 4}, &received));
  EXPECT_EQ(received, sent);

  Ref<hal::Memory> other; // while the first one is in use
  EXPECT_FAILS(device->allocate(size, hal::MemoryKind::Staging, other), VX_OUT_OF_MEMORY,
               "asked for 41943044 bytes, but device 'Stand-in 0' allows at most 16777316 in one buffer");
  EXPECT_FAILS(device->allocate((64 << 20) + 1, hal::MemoryKind::Device, other), VX_OUT_OF_MEMORY,
               "asked for 67108865 bytes, but device 'Stand-in 0' allows at most 67108864 in one buffer");
  const size_t before = stand->live.size();
  stand->fail("vkAllocateMemory", vulkan::api::ErrorOutOfDeviceMemory, /*after=*/2);
  EXPECT_FAILS(device->allocate(size, hal::MemoryKind::Device, other), VX_OUT_OF_MEMORY,
               "asked for 41943044 bytes, but device 'Stand-in 0' has 1073741824 bytes in all");
  stand->failures.clear();
  for (const char *function : {"vkQueueBindSparse", "vkCreateSemaphore", "vkWaitSemaphores"}) {
    fail(function, vulkan::api::ErrorUnknown);
    EXPECT_FAILS(
        device->allocate(size, hal::MemoryKind::Device, other), VX_INTERNAL,
        fmt::format("asked for 41943044 bytes: {} failed with ERROR_UNKNOWN on device 'Stand-in 0'", function));
    stand->failures.clear();
  }
  EXPECT_EQ(stand->live.size(), before);
}

TEST_F(VulkanFailures, fullHeap) {
  for (bool told : {false, true}) {
    stand->extensions.clear();
    if (told)
      stand->extensions = {"VK_EXT_memory_budget"};
    open();
    stand->heapUsage = stand->heapSize - 1000;
    fail("vkAllocateMemory", vulkan::api::ErrorOutOfDeviceMemory);
    Ref<hal::Memory> memory;
    EXPECT_FAILS(device->allocate(5000, hal::MemoryKind::Device, memory), VX_OUT_OF_MEMORY,
                 fmt::format("asked for 5000 bytes, but device 'Stand-in 0' has {}",
                             told ? "1000 of 1073741824 bytes free" : "1073741824 bytes in all"));
    stand->failures.clear();
    EXPECT_OK(device->allocate(500, hal::MemoryKind::Device, memory));
  }
}

// Where the host sees all of the memory, kernels read weights in the file.
TEST_F(VulkanFailures, weightsAreReadInTheFile) {
  ModuleBuilder builder;
  addAffine(builder, 32768);
  ASSERT_TRUE(builder.addVulkanTarget());
  const std::string path = builder.write("vulkan_weights.vxm");
  struct Case {
    const char *title;
    std::function<void()> change;
    std::string weights; // what the report says
  };
  const std::string copied = "weights: 0 bytes read in place from the file, 131072 bytes copied: ";
  const std::string all = "weights: 131072 bytes read in place from the file";
  const auto hostVisible = [this] {
    stand->type = vulkan::api::PhysicalDeviceTypeOther;
    stand->memoryTypes.push_back(vulkan::api::MemoryPropertyDeviceLocalBit | vulkan::api::MemoryPropertyHostVisibleBit |
                                 vulkan::api::MemoryPropertyHostCoherentBit);
  };
  const Case cases[] = {
      {"integrated", [] {}, all},
      {"software", [this] { stand->type = vulkan::api::PhysicalDeviceTypeCpu; }, all},
      {"all memory is visible", hostVisible, all},
      {"memory elsewhere", [&] { hostVisible(), stand->heapFlags = 0; }, ""},
      {"padding", [this] { stand->bufferPadding = 256; }, copied + "a buffer of 131072 bytes takes 131328"},
      {"a card", [this] { stand->type = vulkan::api::PhysicalDeviceTypeDiscreteGpu; }, ""},
      {"no extension", [this] { stand->extensions.clear(); }, copied + "the device has no VK_EXT_external_memory_host"},
      {"no function", [this] { stand->missing = {"vkGetMemoryHostPointerPropertiesEXT"}; },
       copied + "the device has no VK_EXT_external_memory_host"},
      {"large pages", [this] { stand->hostPageSize = uint64_t(1) << 40; },
       copied + "the device reads memory of the host in units of 1099511627776 bytes"},
      {"no kind of memory", [this] { stand->hostMemoryTypes = 0; },
       copied + "no kind of memory fits pages of the host"},
      {"refused", [this] { fail("vkGetMemoryHostPointerPropertiesEXT", vulkan::api::ErrorUnknown); },
       copied + "vkGetMemoryHostPointerPropertiesEXT failed with ERROR_UNKNOWN on device 'Stand-in 0'"},
      {"odd address", [this] { stand->importedOffset = 4; }, copied + "device 'Stand-in 0' placed a buffer at 0x"},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(one.title);
    reset();
    stand->extensions = {"VK_EXT_external_memory_host"};
    stand->type = vulkan::api::PhysicalDeviceTypeIntegratedGpu;
    one.change();
    driver = makeDriver();
    hal::Driver *const drivers[] = {driver.get()};
    DeviceRequest request;
    ASSERT_OK(parseDeviceRequest("vulkan", nullptr, drivers, request));
    request.noFallback = true;
    Ref<Module> module;
    ASSERT_OK(Module::load(path, module));
    stand->forget();
    Ref<Instance> instance;
    ASSERT_OK(Instance::create(module, request, drivers, instance));
    EXPECT_EQ(stand->count("vkimported"), one.weights == all || stand->importedOffset ? 1 : 0);
    const std::string text = instance->report().text();
    const size_t begin = text.find("weights: ");
    const std::string said = begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
    EXPECT_TRUE(stand->importedOffset ? said.starts_with(one.weights) : said == one.weights) << said;
    EXPECT_EQ(instance->loaded().constantBytes(), one.weights == all ? 0u : 131072u);
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue({1, 2, 3})}, outputs));
    EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{10, 13, 16}));
  }
}

TEST_F(VulkanFailures, pagesThatTheDeviceDoesNotTake) {
  stand->extensions = {"VK_EXT_external_memory_host"};
  stand->maxAllocation = 100000;
  open();
  EXPECT_EQ(device->info().maxMappedFile, 100000u);
  const std::unique_ptr<void, decltype(&std::free)> pages(std::aligned_alloc(4096, 131072), std::free);
  const auto *begin = static_cast<const uint8_t *>(pages.get());
  const std::tuple<const uint8_t *, uint64_t, std::string> cases[] = {
      {begin, 131072, "the device allows at most 100000 bytes in one memory"},
      {begin + 64, 4096, "the device reads memory of the host in units of 4096 bytes"},
      {begin, 64, "the device reads memory of the host in units of 4096 bytes"},
      {begin + 4096, 8192, ""}};
  for (const auto &[data, size, why] : cases) {
    Ref<hal::Memory> memory;
    std::string reason;
    ASSERT_OK(device->mapFile(data, size, memory, reason));
    EXPECT_EQ(reason, why);
    EXPECT_EQ(bool(memory), why.empty());
    if (memory)
      EXPECT_EQ(memory->host(), data);
  }
}

// The other calls that an allocation needs say how much was asked for, too; and a stream's own memory what it is for.
TEST_F(VulkanFailures, noMemoryInOtherCalls) {
  open();
  Ref<hal::Memory> memory;
  for (const char *function : {"vkCreateBuffer", "vkBindBufferMemory", "vkMapMemory"}) {
    fail(function, vulkan::api::ErrorOutOfDeviceMemory);
    EXPECT_FAILS(device->allocate(5000, hal::MemoryKind::Staging, memory), VX_OUT_OF_MEMORY,
                 fmt::format("asked for 5000 bytes: {}: device 'Stand-in 0' has no memory left "
                             "(ERROR_OUT_OF_DEVICE_MEMORY)",
                             function));
    stand->failures.clear();
  }
  fail("vkAllocateMemory", vulkan::api::ErrorOutOfDeviceMemory);
  Ref<hal::Stream> other;
  Status status = device->createStream(other);
  EXPECT_EQ(status.code(), VX_OUT_OF_MEMORY);
  EXPECT_EQ(status.message().find("fault record: asked for 104 bytes, but device 'Stand-in 0' has "), 0u)
      << status.message();
}

// What was given back serves the next allocation of its size, or is freed when there is too little for another one.
TEST_F(VulkanFailures, memoryIsUsedAgain) {
  open();
  Ref<hal::Memory> memory;
  ASSERT_OK(device->allocate(10000, hal::MemoryKind::Device, memory));
  const uint64_t address = memory->address();
  memory = nullptr;
  stand->forget();
  ASSERT_OK(device->allocate(9999, hal::MemoryKind::Device, memory));
  EXPECT_EQ(memory->address(), address);
  EXPECT_EQ(memory->size(), 9999u);
  EXPECT_EQ(stand->count("vkAllocateMemory"), 0);
  Ref<hal::Memory> other;
  ASSERT_OK(device->allocate(9999, hal::MemoryKind::Device, other));
  EXPECT_NE(other->address(), address);
  EXPECT_EQ(stand->count("vkAllocateMemory"), 1);
  memory = other = nullptr;

  const size_t before = stand->live.size();
  fail("vkAllocateMemory", vulkan::api::ErrorOutOfDeviceMemory);
  EXPECT_EQ(device->allocate(50000, hal::MemoryKind::Device, memory).code(), VX_OUT_OF_MEMORY);
  EXPECT_EQ(stand->live.size(), before - 4) << "two buffers and their memory";
}

// So does a large one, which takes the driver the longest.
TEST_F(VulkanFailures, muchMemoryIsUsedAgain) {
  open();
  constexpr uint64_t size = uint64_t(48) << 20;
  Ref<hal::Memory> memory, other;
  ASSERT_OK(device->allocate(size, hal::MemoryKind::Device, memory));
  ASSERT_OK(device->allocate(size, hal::MemoryKind::Device, other));
  memory = nullptr;
  stand->forget();
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_OK(device->allocate(size, hal::MemoryKind::Device, memory));
    memory = nullptr;
  }
  EXPECT_EQ(stand->count("vkAllocateMemory"), 0);
  EXPECT_EQ(stand->count("vkFreeMemory"), 0);
}

TEST_F(VulkanFailures, memoryThatIsNotAsWanted) {
  stand->memoryTypes = {vulkan::api::MemoryPropertyDeviceLocalBit};
  driver = makeDriver();
  ASSERT_OK(driver->open(0, {}, device));
  Ref<hal::Memory> memory;
  EXPECT_FAILS(device->allocate(100, hal::MemoryKind::Staging, memory), VX_UNSUPPORTED,
               "device 'Stand-in 0' has no memory of the kind needed for 100 bytes");
  EXPECT_OK(device->allocate(100, hal::MemoryKind::Device, memory));
  stand->addressOffset = 8;
  Status status = device->allocate(5000, hal::MemoryKind::Device, memory);
  EXPECT_EQ(status.code(), VX_UNSUPPORTED);
  EXPECT_EQ(status.message().find("device 'Stand-in 0' placed a buffer at 0x"), 0u) << status.message();
  EXPECT_TRUE(status.message().ends_with("8, which is not a multiple of 64")) << status.message();
}

TEST_F(VulkanFailures, everyCallForMemoryNamesItself) {
  open();
  Ref<hal::Memory> memory;
  for (const char *function : {"vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory"}) {
    fail(function, vulkan::api::ErrorTooManyObjects);
    EXPECT_FAILS(
        device->allocate(100, hal::MemoryKind::Staging, memory), VX_INTERNAL,
        fmt::format("asked for 100 bytes: {} failed with ERROR_TOO_MANY_OBJECTS on device 'Stand-in 0'", function));
    stand->failures.clear();
    EXPECT_OK(device->allocate(100, hal::MemoryKind::Staging, memory));
  }
}

//===-- Code ----------------------------------------------------------------------------------===//

TEST_F(VulkanFailures, workgroupsThatAreTooLarge) {
  open();
  std::vector<hal::KernelImage> kernels;
  hal::CodeImage asked = image(kernels);
  kernels[1].workgroupSize[2] = 65;
  EXPECT_FAILS(device->load(asked, code), VX_UNSUPPORTED,
               "m.vxm: kernel 'gather rows' of variant 'baseline': its workgroup has 65 threads along dimension 2, but "
               "device 'Stand-in 0' allows 64");
  kernels[1].workgroupSize[2] = 64;
  EXPECT_FAILS(device->load(asked, code), VX_UNSUPPORTED,
               "m.vxm: kernel 'gather rows' of variant 'baseline': its workgroup has 4096 threads, but device "
               "'Stand-in 0' allows 1024");
}

TEST_F(VulkanFailures, codeThatTheDriverRefuses) {
  open();
  std::vector<hal::KernelImage> kernels;
  for (const char *function : {"vkCreateShaderModule", "vkCreateComputePipelines"}) {
    fail(function, vulkan::api::ErrorInvalidShader);
    EXPECT_FAILS(device->load(image(kernels), code), VX_INTERNAL,
                 fmt::format("m.vxm: kernel 'scale and add' of variant 'baseline': {} failed with "
                             "ERROR_INVALID_SHADER_NV on device 'Stand-in 0'",
                             function));
    stand->failures.clear();
  }
}

//===-- Work ----------------------------------------------------------------------------------===//

// One dispatch of the first kernel, ready to be replayed.
struct OneVulkanDispatch {
  Ref<hal::CommandList> list;
  Ref<hal::Memory> memories[2];
  std::vector<BufferView> views;
  std::vector<int64_t> scalars = {1, 1};
  CommandArguments arguments;

  Status record(hal::Device &device, hal::Stream &stream, const Ref<hal::Executable> &code) {
    const int32_t one = 1;
    for (Ref<hal::Memory> &memory : memories) {
      VX_RETURN_IF_ERROR(device.allocate(4, hal::MemoryKind::Device, memory));
      views.push_back({memory.get(), 0, 4});
      VX_RETURN_IF_ERROR(stream.upload(views.back(), &one));
    }
    arguments.buffers = views.data();
    arguments.scalars = scalars.data();
    arguments.workgroups = 1;
    return stream.record({{{CommandKind::Dispatch, true, 0, 2, 2}}}, code, list);
  }
  Status replay(hal::Stream &stream, int64_t *timings = nullptr) {
    return stream.replay(*list, {&arguments, 1}, timings);
  }
};

TEST_F(VulkanFailures, everyCallOfAStreamNamesItself) {
  open();
  Ref<hal::Stream> other;
  for (const char *function : {"vkCreateCommandPool", "vkCreateSemaphore", "vkAllocateCommandBuffers"}) {
    fail(function, vulkan::api::ErrorUnknown);
    EXPECT_FAILS(device->createStream(other), VX_INTERNAL,
                 fmt::format("{} failed with ERROR_UNKNOWN on device 'Stand-in 0'", function));
    stand->failures.clear();
  }
  for (const char *function : {"vkAllocateCommandBuffers", "vkBeginCommandBuffer", "vkEndCommandBuffer"}) {
    ASSERT_OK(device->createStream(other));
    // Those that the stream has for transfers are there already.
    OneVulkanDispatch one;
    ASSERT_OK(one.record(*device, *other, code));
    fail(function, vulkan::api::ErrorUnknown);
    // The command buffer is there when the segment is recorded, and filled when its grids are known.
    Ref<hal::CommandList> list;
    Status status = other->record({{{CommandKind::Dispatch, true, 0, 2, 2}}}, code, list);
    if (status.ok())
      status = one.replay(*other);
    EXPECT_FAILS(std::move(status), VX_INTERNAL,
                 fmt::format("{} failed with ERROR_UNKNOWN on device 'Stand-in 0'", function));
    stand->failures.clear();
    EXPECT_OK(one.replay(*other));
  }
  int64_t timings[1];
  for (const char *function : {"vkCreateQueryPool", "vkQueueSubmit", "vkWaitSemaphores", "vkGetQueryPoolResults"}) {
    OneVulkanDispatch one;
    ASSERT_OK(one.record(*device, *stream, code));
    fail(function, vulkan::api::ErrorUnknown);
    EXPECT_FAILS(one.replay(*stream, timings), VX_INTERNAL,
                 fmt::format("{} failed with ERROR_UNKNOWN on device 'Stand-in 0'", function));
    stand->failures.clear();
    EXPECT_OK(one.replay(*stream, timings));
  }
  OneVulkanDispatch one;
  ASSERT_OK(one.record(*device, *stream, code));
  ASSERT_OK(one.replay(*stream));
  fail("vkGetSemaphoreCounterValue", vulkan::api::ErrorUnknown);
  EXPECT_FAILS(one.replay(*stream), VX_INTERNAL,
               "vkGetSemaphoreCounterValue failed with ERROR_UNKNOWN on device 'Stand-in 0'");
}

TEST_F(VulkanFailures, tensorThatIsTooLarge) {
  open();
  OneVulkanDispatch one;
  ASSERT_OK(one.record(*device, *stream, code));
  one.views[1].size = uint64_t(1) << 32;
  EXPECT_FAILS(one.replay(*stream), VX_UNSUPPORTED,
               "kernel 'scale and add' has a tensor of 4294967296 bytes, but on Vulkan one is of at most 4294967295");
  one.views[1].size = (uint64_t(1) << 32) - 1;
  EXPECT_OK(one.replay(*stream));
}

// A call hands its uploads over together with its kernels, and no fault costs no transfer.
TEST_F(VulkanFailures, oneSubmissionForACall) {
  open();
  OneVulkanDispatch one;
  ASSERT_OK(one.record(*device, *stream, code));
  for (int call = 0; call < 3; ++call) {
    stand->forget();
    const int32_t two = 2;
    EXPECT_OK(stream->resetFault());
    for (const BufferView &view : one.views)
      EXPECT_OK(stream->upload(view, &two));
    EXPECT_OK(one.replay(*stream));
    vx_fault_record fault{};
    EXPECT_OK(stream->readFault(fault));
    EXPECT_EQ(fault.count, 0u);
    EXPECT_EQ(stand->count("vkQueueSubmit"), 1);
    EXPECT_EQ(stand->count("vkWaitSemaphores"), 1);
    // The uploads, and what the second and third call find recorded.
    EXPECT_EQ(stand->count("vkBeginCommandBuffer"), call == 0 ? 3 : 2);
    int32_t result = 0;
    EXPECT_OK(stream->download(one.views[1], &result));
    EXPECT_EQ(result, 2 * 1 + 2);
  }
}

// Sizes that alternate keep their recordings; a grid that is never the same twice is read from memory in the end.
TEST_F(VulkanFailures, gridsThatChange) {
  open();
  OneVulkanDispatch one;
  ASSERT_OK(one.record(*device, *stream, code));
  auto replays = [&](uint64_t workgroups) {
    one.arguments.workgroups = workgroups;
    EXPECT_OK(one.replay(*stream));
    EXPECT_OK(stream->wait());
  };
  for (uint64_t workgroups : {1, 2, 3})
    replays(workgroups);
  stand->forget();
  for (uint64_t workgroups : {2, 1, 3, 3, 2, 1})
    replays(workgroups);
  EXPECT_EQ(stand->count("vkBeginCommandBuffer"), 0);
  for (uint64_t workgroups = 4; workgroups < 40; ++workgroups)
    replays(workgroups);
  stand->forget();
  for (uint64_t workgroups = 40; workgroups < 60; ++workgroups)
    replays(workgroups);
  EXPECT_EQ(stand->count("vkBeginCommandBuffer"), 0);
}

TEST_F(VulkanFailures, replaysThatNoDriverCanDo) {
  open();
  OneVulkanDispatch one;
  ASSERT_OK(one.record(*device, *stream, code));
  const uint64_t limit = uint64_t(VX_GRID_X) * VX_GRID_X;
  one.arguments.workgroups = limit + 1;
  EXPECT_FAILS(
      one.replay(*stream), VX_UNSUPPORTED,
      fmt::format("kernel 'scale and add' needs {} workgroups, but a dispatch has at most {}", limit + 1, limit));
  EXPECT_FAILS(stream->replay(*one.list, {}, nullptr), VX_INTERNAL,
               "a segment of 1 commands was given arguments for 0");
  Ref<hal::CommandList> list;
  EXPECT_FAILS(stream->record({{{CommandKind::Dispatch, true, 7, 2, 2}}}, code, list), VX_INVALID_ARGUMENT,
               "asked for kernel 7, but the code has 2");
}

TEST_F(VulkanFailures, workThatHangs) {
  driver = makeDriver();
  hal::DeviceOptions options;
  options.waitLimitMs = 20;
  ASSERT_OK(driver->open(0, options, device));
  std::vector<hal::KernelImage> kernels;
  ASSERT_OK(device->load(image(kernels), code));
  ASSERT_OK(device->createStream(stream));
  OneVulkanDispatch one;
  ASSERT_OK(one.record(*device, *stream, code));
  ASSERT_OK(one.replay(*stream));
  fail("vkWaitSemaphores", vulkan::api::Timeout);
  EXPECT_FAILS(stream->wait(), VX_DEVICE_LOST,
               "device 'Stand-in 0' was lost: its work was not done after 20 ms; running since the last wait: 'scale "
               "and add' (scale_1 (Mul), add_1 (Add))");
  EXPECT_FAILS(stream->wait(), VX_DEVICE_LOST, "device 'Stand-in 0' was lost in an earlier call");
  // What the kernel may still use is not given back.
  const size_t before = stand->live.size();
  one = {};
  code = nullptr;
  stream = nullptr;
  device = nullptr;
  EXPECT_EQ(stand->live.size(), before);
  liveBefore = before;
}

TEST_F(VulkanFailures, lostDeviceIsNamedWithWhatRanAndOtherDevicesGoOn) {
  open(0);
  Ref<hal::Device> otherDevice;
  Ref<hal::Executable> otherCode;
  Ref<hal::Stream> otherStream;
  ASSERT_OK(driver->open(1, {}, otherDevice));
  std::vector<hal::KernelImage> kernels;
  ASSERT_OK(otherDevice->load(image(kernels), otherCode));
  ASSERT_OK(otherDevice->createStream(otherStream));
  OneVulkanDispatch one, other;
  ASSERT_OK(one.record(*device, *stream, code));
  ASSERT_OK(other.record(*otherDevice, *otherStream, otherCode));
  ASSERT_OK(one.replay(*stream));
  fail("vkWaitSemaphores", vulkan::api::ErrorDeviceLost, /*number=*/0);
  EXPECT_FAILS(stream->wait(), VX_DEVICE_LOST,
               "device 'Stand-in 0' was lost: vkWaitSemaphores failed with ERROR_DEVICE_LOST; running since the last "
               "wait: 'scale and add' (scale_1 (Mul), add_1 (Add))");
  const char *lost = "device 'Stand-in 0' was lost in an earlier call";
  EXPECT_FAILS(stream->wait(), VX_DEVICE_LOST, lost);
  EXPECT_FAILS(one.replay(*stream), VX_DEVICE_LOST, lost);
  int32_t value = 0;
  EXPECT_FAILS(stream->upload(one.views[0], &value), VX_DEVICE_LOST, lost);
  EXPECT_FAILS(stream->download(one.views[0], &value), VX_DEVICE_LOST, lost);
  EXPECT_FAILS(stream->fillZero(one.views[0]), VX_DEVICE_LOST, lost);
  Ref<hal::Stream> stopped;
  EXPECT_FAILS(device->createStream(stopped), VX_DEVICE_LOST, lost);
  Ref<hal::Memory> memory;
  EXPECT_FAILS(device->allocate(8, hal::MemoryKind::Device, memory), VX_DEVICE_LOST, lost);
  ASSERT_OK(other.replay(*otherStream));
  ASSERT_OK(otherStream->download(other.views[1], &value));
  EXPECT_EQ(value, 2);
  stand->failures.clear();
}

} // namespace vx::test
