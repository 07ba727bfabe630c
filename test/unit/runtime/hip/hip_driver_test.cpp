// The HIP driver over a library that stands in for libamdhip64: which calls it makes, in which order and with what.
#include "hip_driver.h"

#include "../cuda/stand_in.h"

#include "hal/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

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

class Hip : public testing::Test {
protected:
  void SetUp() override {
    const char *path = std::getenv("VX_TEST_STAND_IN");
    ASSERT_NE(path, nullptr);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    auto function = reinterpret_cast<test::StandInFunction>(dlsym(library, "vx_stand_in"));
    ASSERT_NE(function, nullptr);
    hip = function();
    hip->forget();
    hip->failures.clear();
    hip->deviceCount = 2;
    hip->driverVersion = 60200000;
    liveBefore = hip->live;
    options.library.names = {path};
  }

  // Everything that was made was given back.
  void TearDown() override { EXPECT_EQ(hip->live, liveBefore); }

  hip::DriverOptions options;
  test::StandIn *hip = nullptr;
  int64_t liveBefore = 0;
};

hal::Refusal enumerate(const hip::DriverOptions &options) {
  hip::HipDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  hal::Refusal refusal = driver.enumerate(devices);
  EXPECT_TRUE(devices.empty());
  Ref<hal::Device> device;
  Status status = driver.open(0, {}, device);
  EXPECT_EQ(status.code(), VX_NO_DEVICE);
  EXPECT_EQ(status.message(), refusal.reason);
  return refusal;
}

} // namespace

TEST_F(Hip, noLibrary) {
  options.library.names = {"libamdhip64-that-is-not-there.so.9", "libamdhip64-that-is-not-there.so.8"};
  hal::Refusal refusal = enumerate(options);
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason,
            "'libamdhip64-that-is-not-there.so.9', 'libamdhip64-that-is-not-there.so.8' could not be "
            "opened: libamdhip64-that-is-not-there.so.9: cannot open shared object file: No such file or "
            "directory; VX_HIP_LIBRARY names another one");
  // A file that is there but is no library says more.
  options.library.names = {"libamdhip64-that-is-not-there.so.9", "/proc/self/status"};
  const std::string reason = enumerate(options).reason;
  EXPECT_NE(reason.find("'/proc/self/status' could not be opened: /proc/self/status: invalid ELF header"),
            std::string::npos)
      << reason;
}

TEST_F(Hip, libraryOfSomethingElse) {
  options.library.names = {"libm.so.6"};
  EXPECT_EQ(enumerate(options).reason, "'libm.so.6' has no function 'hipRuntimeGetVersion'");
}

TEST_F(Hip, runtimeTooOld) {
  hip->driverVersion = 50222804;
  hal::Refusal refusal = enumerate(options);
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason, "the runtime is of HIP 5.2, want 5.5");
}

TEST_F(Hip, noDevice) {
  hip->fail("hipInit", 100);
  EXPECT_EQ(enumerate(options).reason, "hipInit failed with hipErrorNoDevice (no ROCm-capable device is detected)");
  hip->failures.clear();
  hip->deviceCount = 0;
  EXPECT_EQ(enumerate(options).reason, "the HIP runtime found no device");
}

TEST_F(Hip, devicesAndTheirFacts) {
  hip::HipDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  EXPECT_EQ(driver.enumerate(devices).code, RefusalCode::None);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].details, "gfx942, 304 compute units, HIP 6.2");
  EXPECT_EQ(devices[0].features, (std::vector<std::string>{"gfx942", "wavefront=64", "shared_memory=65536"}));
  EXPECT_EQ(devices[1].features.front(), "gfx1100");
  // The second one is another device.
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(1, {}, device));
  Ref<hal::Memory> memory;
  ASSERT_OK(device->allocate(8, hal::MemoryKind::Device, memory));
  EXPECT_EQ(hip->count("allocated on device 1"), 1);
}

TEST_F(Hip, eachKernelIsLoadedAndOneGraphIsChangedAndNotRebuilt) {
  hip::HipDriver driver(options);
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(0, {}, device));
  static const char codes[2][16] = {"scale_add", "gather"};
  hal::KernelImage kernels[2];
  for (int i = 0; i < 2; ++i) {
    kernels[i].name = kernels[i].entry = codes[i];
    kernels[i].code = {reinterpret_cast<const uint8_t *>(codes[i]), sizeof(codes[i])};
    kernels[i].workgroupSize[0] = 64;
  }
  hal::CodeImage image;
  image.file = "m.vxm";
  image.variant = "gfx942";
  image.kernels = kernels;
  Ref<hal::Executable> code;
  ASSERT_OK(device->load(image, code));
  EXPECT_EQ(hip->count("hipModuleLoadData"), 2);

  Ref<hal::Stream> stream;
  ASSERT_OK(device->createStream(stream));
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{{CommandKind::Dispatch, true, 0, 2, 2}, {CommandKind::Copy, true, 0, 0, 0}}}, code, list));
  Ref<hal::Memory> memories[3];
  BufferView views[3];
  for (int i = 0; i < 3; ++i) {
    std::vector<int32_t> values(200, i);
    ASSERT_OK(device->allocate(800, hal::MemoryKind::Device, memories[i]));
    views[i] = {memories[i].get(), 0, 800};
    ASSERT_OK(stream->upload(views[i], values.data()));
  }
  auto replay = [&](int64_t n, int x, int y) {
    BufferView kernel[] = {views[x], views[y]}, copied[] = {views[y], views[2]};
    int64_t scalars[] = {n, 10};
    CommandArguments arguments[2];
    arguments[0].buffers = kernel;
    arguments[0].scalars = scalars;
    arguments[0].workgroups = static_cast<uint64_t>(n + 63) / 64;
    arguments[1].buffers = copied;
    ASSERT_OK(stream->replay(*list, arguments, nullptr));
  };
  auto first = [&](int view) {
    int32_t value = 0;
    EXPECT_TRUE(stream->download({views[view].memory, 0, 4}, &value).ok());
    return value;
  };
  hip->forget();
  replay(100, 1, 0);
  EXPECT_EQ(hip->count("hipGraphAddKernelNode 0 2 1 64"), 1) << "no node before, 2 workgroups of 64 threads";
  EXPECT_EQ(hip->count("hipGraphAddMemcpyNode1D 1 800"), 1) << "waits for the kernel";
  EXPECT_EQ(first(2), 10);
  hip->forget();
  replay(100, 1, 0);
  EXPECT_EQ(hip->calls, std::vector<std::string>{"hipGraphLaunch"});
  EXPECT_EQ(first(2), 20);
  hip->forget();
  replay(200, 0, 1);
  EXPECT_EQ(hip->count("hipGraphExecKernelNodeSetParams 4 1"), 1);
  EXPECT_EQ(hip->count("hipGraphExecMemcpyNodeSetParams1D 800"), 1);
  EXPECT_EQ(hip->count("hipGraphInstantiate"), 0);
  EXPECT_EQ(first(2), 201);

  hip->fail("hipStreamSynchronize", 700);
  replay(200, 0, 1);
  Status status = stream->wait();
  EXPECT_EQ(status.code(), VX_DEVICE_LOST);
  EXPECT_EQ(status.message(), "device 'Stand-in 0' was lost: hipStreamSynchronize: hipErrorIllegalAddress (an illegal "
                              "memory access was encountered); running since the last wait: 'scale_add'");
  hip->failures.clear();
}
