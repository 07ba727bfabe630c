// The CUDA driver over the stand-in: which calls it makes, in which order and with what, and how it fails.
#include "cuda_driver.h"

#include "stand_in.h"

#include "hal/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

using namespace vx;
using hal::BufferView;
using hal::CommandArguments;
using hal::CommandKind;
using hal::RefusalCode;

namespace {

#define ASSERT_OK(expression)                                                                                          \
  do {                                                                                                                 \
    ::vx::Status assertedOk = (expression);                                                                            \
    ASSERT_TRUE(assertedOk.ok()) << assertedOk.message();                                                              \
  } while (false)

std::string standInPath() {
  const char *path = std::getenv("VX_TEST_STAND_IN");
  return path ? path : "";
}

constexpr char scaleAdd[] = ".entry scale_add";
constexpr char gather[] = ".entry gather   "; // whole words

class Cuda : public testing::Test {
protected:
  void SetUp() override {
    void *library = dlopen(standInPath().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    auto function = reinterpret_cast<test::StandInFunction>(dlsym(library, "vx_stand_in"));
    ASSERT_NE(function, nullptr);
    cuda = function();
    cuda->forget();
    cuda->failures.clear();
    cuda->jitLog.clear();
    cuda->deviceCount = 2;
    cuda->driverVersion = 12020;
    cuda->capability = 90;
    cuda->totalMemory = uint64_t(1) << 40;
    liveBefore = cuda->live;
    folder = testing::TempDir() + "vx_cuda_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    options.library.names = {standInPath()};
  }

  void TearDown() override {
    std::filesystem::remove_all(folder);
    // Everything that was made was given back.
    EXPECT_EQ(cuda->live, liveBefore);
    EXPECT_EQ(cuda->count("no context"), 0);
  }

  // Everything that a test needs to run kernels.
  struct Opened {
    Ref<hal::Device> device;
    Ref<hal::Executable> code;
    Ref<hal::Stream> stream;
  };

  static Status load(hal::Device &device, std::string_view variant, Ref<hal::Executable> &code) {
    hal::KernelImage kernels[2];
    kernels[0].name = "scale and add";
    kernels[0].entry = "scale_add";
    kernels[0].bufferCount = kernels[0].scalarCount = 2;
    kernels[0].workgroupSize[0] = 64;
    kernels[0].code = {reinterpret_cast<const uint8_t *>(scaleAdd), sizeof(scaleAdd) - 1};
    kernels[1].name = "gather rows";
    kernels[1].entry = "gather";
    kernels[1].bufferCount = 3;
    kernels[1].scalarCount = 2;
    kernels[1].workgroupSize[0] = 64;
    kernels[1].code = {reinterpret_cast<const uint8_t *>(gather), sizeof(gather) - 1};
    hal::CodeImage image;
    image.file = "m.vxm";
    image.variant = variant;
    image.bytes = kernels[0].code;
    image.kernels = kernels;
    return device.load(image, code);
  }

  void open(Opened &opened) {
    cuda::CudaDriver driver(options);
    ASSERT_OK(driver.open(0, {}, opened.device));
    ASSERT_OK(load(*opened.device, "sm_80", opened.code));
    ASSERT_OK(opened.device->createStream(opened.stream));
  }

  static BufferView allocate(const Opened &opened, std::vector<int32_t> values, Ref<hal::Memory> &memory) {
    const uint64_t size = values.size() * sizeof(int32_t);
    EXPECT_TRUE(opened.device->allocate(size, hal::MemoryKind::Device, memory).ok());
    BufferView view = {memory.get(), 0, size};
    EXPECT_TRUE(opened.stream->upload(view, values.data()).ok());
    return view;
  }

  static std::vector<int32_t> read(const Opened &opened, const BufferView &view) {
    std::vector<int32_t> values(view.size / sizeof(int32_t));
    EXPECT_TRUE(opened.stream->download(view, values.data()).ok());
    return values;
  }

  cuda::DriverOptions options;
  test::StandIn *cuda = nullptr;
  int64_t liveBefore = 0;
  std::string folder;
};

hal::Refusal enumerate(const cuda::DriverOptions &options) {
  cuda::CudaDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  hal::Refusal refusal = driver.enumerate(devices);
  EXPECT_EQ(devices.empty(), refusal.code != RefusalCode::None);
  // Opening says the same.
  Ref<hal::Device> device;
  if (Status status = driver.open(0, {}, device); !status.ok()) {
    EXPECT_EQ(status.code(), VX_NO_DEVICE);
    EXPECT_EQ(status.message(), refusal.reason);
  }
  return refusal;
}

} // namespace

//===-- Devices
//-------------------------------------------------------------------------------------------------------===//

TEST_F(Cuda, noLibrary) {
  options.library.names = {"libcuda-that-is-not-there.so"};
  hal::Refusal refusal = enumerate(options);
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(
      refusal.reason,
      "'libcuda-that-is-not-there.so' could not be opened: libcuda-that-is-not-there.so: cannot open shared object "
      "file: No such file or directory; VX_CUDA_LIBRARY names another one");
}

TEST_F(Cuda, libraryOfSomethingElse) {
  options.library.names = {"libm.so.6"};
  hal::Refusal refusal = enumerate(options);
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason, "'libm.so.6' has no function 'cuDriverGetVersion'");
}

TEST_F(Cuda, driverTooOld) {
  cuda->driverVersion = 11040;
  hal::Refusal refusal = enumerate(options);
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason, "the driver is of CUDA 11.4, want 11.6");
}

TEST_F(Cuda, noDevice) {
  cuda->fail("cuInit", 100);
  hal::Refusal refusal = enumerate(options);
  EXPECT_EQ(refusal.code, RefusalCode::NoDevice);
  EXPECT_EQ(refusal.reason, "cuInit failed with CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)");
  cuda->failures.clear();
  cuda->deviceCount = 0;
  EXPECT_EQ(enumerate(options).reason, "the CUDA driver found no device");
}

TEST_F(Cuda, devicesAndTheirFacts) {
  cuda::CudaDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  EXPECT_EQ(driver.enumerate(devices).code, RefusalCode::None);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].name, "Stand-in 0");
  EXPECT_EQ(devices[1].name, "Stand-in 1");
  EXPECT_EQ(devices[0].details, "compute capability 9.0, 132 multiprocessors, driver of CUDA 12.2");
  EXPECT_EQ(devices[0].totalMemory, uint64_t(1) << 40);
  auto has = [&](const char *feature) {
    return std::find(devices[0].features.begin(), devices[0].features.end(), feature) != devices[0].features.end();
  };
  EXPECT_TRUE(has("sm_80"));
  EXPECT_TRUE(has("sm_90"));
  EXPECT_TRUE(has("sm_90a"));
  EXPECT_FALSE(has("sm_100"));
  EXPECT_TRUE(has("ptx76"));
  EXPECT_TRUE(has("ptx82"));
  EXPECT_FALSE(has("ptx83"));
  // The second one is another device.
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(1, {}, device));
  EXPECT_EQ(cuda->count("cuDevicePrimaryCtxRetain 1"), 1);
  Status status = driver.open(2, {}, device);
  EXPECT_EQ(status.message(), "asked for device 'cuda:2', but there are 2");
}

TEST_F(Cuda, codeOfOneGenerationIsForThatOneOnly) {
  cuda->capability = 100;
  cuda::CudaDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  driver.enumerate(devices);
  const std::vector<std::string> &features = devices.at(0).features;
  EXPECT_EQ(std::find(features.begin(), features.end(), "sm_90a"), features.end());
  EXPECT_NE(std::find(features.begin(), features.end(), "sm_100a"), features.end());
}

//===-- Memory
//--------------------------------------------------------------------------------------------------------===//

TEST_F(Cuda, outOfMemory) {
  Opened opened;
  open(opened);
  cuda->fail("cuMemAllocFromPoolAsync", 2);
  Ref<hal::Memory> memory;
  Status status = opened.device->allocate(4096, hal::MemoryKind::Device, memory);
  EXPECT_EQ(status.code(), VX_OUT_OF_MEMORY);
  EXPECT_EQ(status.message(), "asked for 4096 bytes, but device 'Stand-in 0' has 1000 of 1099511627776 bytes free "
                              "(cuMemAllocFromPoolAsync failed with CUDA_ERROR_OUT_OF_MEMORY (out of memory))");
  // What the pool had kept was given back before the second try.
  EXPECT_EQ(cuda->count("cuMemPoolTrimTo 0"), 1);
  cuda->failures.clear();
  ASSERT_OK(opened.device->allocate(4096, hal::MemoryKind::Device, memory));
}

TEST_F(Cuda, largeTransfersGoThroughPageLockedMemoryInPieces) {
  Opened opened;
  open(opened);
  const size_t size = (size_t(20) << 20) + 4;
  std::vector<int32_t> values(size / 4);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(i * 2654435761U);
  Ref<hal::Memory> memory;
  BufferView view = allocate(opened, values, memory);
  EXPECT_EQ(cuda->count("cuMemcpyAsync 8388608"), 2);
  EXPECT_EQ(cuda->count("cuMemcpyAsync 3145732"), 0) << "pieces are as large as the staging memory";
  EXPECT_EQ(read(opened, view), values);
}

//===-- Replays
//-------------------------------------------------------------------------------------------------------===//

TEST_F(Cuda, oneGraphIsChangedAndNotRebuilt) {
  Opened opened;
  open(opened);
  Ref<hal::CommandList> list;
  ASSERT_OK(opened.stream->record({{{CommandKind::Dispatch, true, 0, 2, 2}, {CommandKind::Copy, true, 0, 0, 0}}},
                                  opened.code, list));
  Ref<hal::Memory> memories[3];
  BufferView x = allocate(opened, std::vector<int32_t>(200, 3), memories[0]);
  BufferView y = allocate(opened, std::vector<int32_t>(200, 1), memories[1]);
  BufferView z = allocate(opened, std::vector<int32_t>(200, 0), memories[2]);
  auto replay = [&](int64_t n, std::vector<BufferView> kernel, std::vector<BufferView> copied) {
    std::vector<int64_t> scalars = {n, 1};
    CommandArguments arguments[2];
    arguments[0].buffers = kernel.data();
    arguments[0].scalars = scalars.data();
    arguments[0].workgroups = static_cast<uint64_t>(n + 63) / 64;
    arguments[1].buffers = copied.data();
    ASSERT_OK(opened.stream->replay(*list, arguments, nullptr));
  };
  cuda->forget();
  replay(100, {x, y}, {y, z});
  EXPECT_EQ(cuda->count("cuGraphAddKernelNode 0 2 1 64"), 1) << "no node before, 2 workgroups of 64 threads";
  EXPECT_EQ(cuda->count("cuGraphAddMemcpyNode 1 800"), 1) << "waits for the kernel";
  EXPECT_EQ(cuda->count("cuGraphInstantiate"), 1);
  EXPECT_EQ(read(opened, z)[99], 4);
  EXPECT_EQ(read(opened, z)[100], 1);

  // The same again: nothing but the launch.
  cuda->forget();
  replay(100, {x, y}, {y, z});
  EXPECT_EQ(cuda->calls, std::vector<std::string>{"cuGraphLaunch"});

  // Another caller's buffers: the parameter block is copied. Sizes that need as many workgroups change no node.
  cuda->forget();
  replay(120, {y, x}, {y, z});
  EXPECT_EQ(cuda->calls, (std::vector<std::string>{"cuMemcpyAsync 64", "cuEventRecord", "cuGraphLaunch"}));

  // Another grid, another copy.
  cuda->forget();
  replay(200, {x, y}, {x, z});
  EXPECT_EQ(cuda->count("cuGraphExecKernelNodeSetParams 4 1"), 1);
  EXPECT_EQ(cuda->count("cuGraphExecMemcpyNodeSetParams 800"), 1);
  EXPECT_EQ(cuda->count("cuGraphInstantiate"), 0);
  EXPECT_EQ(read(opened, z), read(opened, x));

  // Nothing to copy switches the node off, and on again.
  cuda->forget();
  replay(200, {x, y}, {{x.memory, 0, 0}, {z.memory, 0, 0}});
  EXPECT_EQ(cuda->count("cuGraphNodeSetEnabled 0"), 1);
  replay(200, {x, y}, {y, z});
  EXPECT_EQ(cuda->count("cuGraphNodeSetEnabled 1"), 1);
  EXPECT_EQ(read(opened, z), read(opened, y));

  // A change that the driver refuses makes a new graph.
  cuda->forget();
  cuda->fail("cuGraphExecMemcpyNodeSetParams", 1);
  replay(200, {x, y}, {x, z});
  EXPECT_EQ(cuda->count("cuGraphInstantiate"), 1);
  EXPECT_EQ(read(opened, z), read(opened, x));
}

TEST_F(Cuda, commandsWithoutBarriersDoNotWaitForEachOther) {
  Opened opened;
  open(opened);
  Ref<hal::CommandList> list;
  const hal::CommandShape first = {CommandKind::Dispatch, true, 0, 2, 2},
                          next = {CommandKind::Dispatch, false, 0, 2, 2};
  ASSERT_OK(opened.stream->record({{first, next, next, first, next}}, opened.code, list));
  Ref<hal::Memory> memories[2];
  std::vector<BufferView> views = {allocate(opened, {1}, memories[0]), allocate(opened, {1}, memories[1])};
  std::vector<int64_t> scalars = {1, 1};
  CommandArguments arguments[5];
  for (CommandArguments &one : arguments) {
    one.buffers = views.data();
    one.scalars = scalars.data();
    one.workgroups = 1;
  }
  cuda->forget();
  ASSERT_OK(opened.stream->replay(*list, arguments, nullptr));
  EXPECT_EQ(cuda->count("cuGraphAddKernelNode 0"), 3);
  EXPECT_EQ(cuda->count("cuGraphAddEmptyNode 3"), 1);
  EXPECT_EQ(cuda->count("cuGraphAddKernelNode 1"), 2);
}

TEST_F(Cuda, lostDeviceIsNamedWithWhatRan) {
  Opened opened;
  open(opened);
  Ref<hal::CommandList> list;
  ASSERT_OK(opened.stream->record({{{CommandKind::Dispatch, true, 0, 2, 2}}}, opened.code, list));
  Ref<hal::Memory> memories[2];
  std::vector<BufferView> views = {allocate(opened, {1}, memories[0]), allocate(opened, {1}, memories[1])};
  std::vector<int64_t> scalars = {1, 1};
  CommandArguments arguments;
  arguments.buffers = views.data();
  arguments.scalars = scalars.data();
  arguments.workgroups = 1;
  ASSERT_OK(opened.stream->replay(*list, {&arguments, 1}, nullptr));
  cuda->fail("cuStreamSynchronize", 700);
  Status status = opened.stream->wait();
  EXPECT_EQ(status.code(), VX_DEVICE_LOST);
  EXPECT_EQ(status.message(),
            "device 'Stand-in 0' was lost: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access "
            "was encountered); running since the last wait: 'scale and add'");
  cuda->failures.clear();
  // Later calls there fail cleanly, other devices go on.
  status = opened.stream->replay(*list, {&arguments, 1}, nullptr);
  EXPECT_EQ(status.code(), VX_DEVICE_LOST);
  EXPECT_EQ(status.message(), "device 'Stand-in 0' was lost in an earlier call");
  Ref<hal::Memory> memory;
  EXPECT_EQ(opened.device->allocate(8, hal::MemoryKind::Device, memory).code(), VX_DEVICE_LOST);
  cuda::CudaDriver driver(options);
  Ref<hal::Device> other;
  ASSERT_OK(driver.open(1, {}, other));
  ASSERT_OK(other->allocate(8, hal::MemoryKind::Device, memory));
}

//===-- Code
//----------------------------------------------------------------------------------------------------------===//

TEST_F(Cuda, assemblerErrorsHaveItsLog) {
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(0, {}, device));
  cuda->jitLog = "ptxas application ptx input, line 5; fatal : Parsing error near 'x'\n";
  cuda->fail("cuLinkAddData", 218);
  Ref<hal::Executable> code;
  Status status = load(*device, "sm_80", code);
  EXPECT_EQ(status.message(), "code 'sm_80' of 'm.vxm': kernel 'scale and add': cuLinkAddData failed with "
                              "CUDA_ERROR_OTHER (as the test wanted): ptxas application ptx input, line 5; fatal : "
                              "Parsing error near 'x'");
  cuda->failures.clear();
  cuda->fail("cuLinkComplete", 218);
  status = load(*device, "sm_80", code);
  EXPECT_EQ(status.message().find("code 'sm_80' of 'm.vxm': cuLinkComplete failed with "), 0u) << status.message();
}

TEST_F(Cuda, generationIsNamedToTheAssembler) {
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(0, {}, device));
  Ref<hal::Executable> code;
  ASSERT_OK(load(*device, "sm_80", code));
  EXPECT_EQ(cuda->count("cuLinkCreate 0"), 1);
  ASSERT_OK(load(*device, "sm_90a", code));
  EXPECT_EQ(cuda->count("cuLinkCreate 65626"), 1);
}

TEST_F(Cuda, assembledCodeIsKeptOnDisk) {
  options.cacheFolder = folder;
  auto loadOnce = [&](const char *variant) {
    cuda::CudaDriver driver(options);
    Ref<hal::Device> device;
    ASSERT_OK(driver.open(0, {}, device));
    Ref<hal::Executable> code;
    ASSERT_OK(load(*device, variant, code));
  };
  loadOnce("sm_80");
  EXPECT_EQ(cuda->count("cuLinkComplete"), 1);
  loadOnce("sm_80");
  EXPECT_EQ(cuda->count("cuLinkComplete"), 1) << "taken from the disk";
  // Another variant, another driver, another GPU: assembled anew.
  loadOnce("sm_90a");
  EXPECT_EQ(cuda->count("cuLinkComplete"), 2);
  cuda->driverVersion = 12030;
  loadOnce("sm_80");
  EXPECT_EQ(cuda->count("cuLinkComplete"), 3);
  cuda->capability = 89;
  loadOnce("sm_80");
  EXPECT_EQ(cuda->count("cuLinkComplete"), 4);
  // A damaged file is as good as none.
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    EXPECT_EQ(entry.path().extension(), ".cubin");
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2, std::ios::end);
    file.put('?');
  }
  EXPECT_EQ(files, 4u);
  loadOnce("sm_80");
  EXPECT_EQ(cuda->count("cuLinkComplete"), 5);
  // A folder that cannot be written is no error.
  options.cacheFolder = "/proc/nothing";
  loadOnce("sm_80");
}
