// What the tests of the drivers of CUDA and HIP share: a vendor's stand-in, and a device of it with kernels.
#ifndef VX_TEST_UNIT_RUNTIME_GPU_GPU_DRIVER_TEST_H
#define VX_TEST_UNIT_RUNTIME_GPU_GPU_DRIVER_TEST_H

#include "gpu/stand_in.h"
#include "runtime_test.h"

#ifdef VX_DRIVER_CUDA
#include "cuda_driver.h"
#endif
#ifdef VX_DRIVER_ROCM
#include "hip_driver.h"
#endif

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace vx::test {

using hal::BufferView;
using hal::CommandArguments;
using hal::CommandKind;
using hal::RefusalCode;

// What differs between the vendors in a test: names, and what the stand-ins take for code, a multiple of 4 bytes.
#ifdef VX_DRIVER_CUDA
struct Cuda {
  using Driver = cuda::CudaDriver;
  using Options = cuda::DriverOptions;
  using Vendor = cuda::Vendor;
  static constexpr const char *backend = "cuda";
  static constexpr const char *standIn = "VX_TEST_STAND_IN_CUDA";
  static constexpr const char *libraryVariable = "VX_CUDA_LIBRARY";
  static constexpr int version = 12020, oldVersion = 11040;
  static constexpr const char *oldText = "11.4", *wantedText = "11.6";
  static constexpr const char *variant = "sm_80", *common = "sm_80";
  static constexpr size_t zeroBehindCode = 0;
  static constexpr const char *scaleAdd = ".entry scale_add    ", *gather = ".entry gather   ";
  static constexpr const char *outOfMemory = "CUDA_ERROR_OUT_OF_MEMORY", *noDevice = "CUDA_ERROR_NO_DEVICE";
  static constexpr const char *illegalAddress = "CUDA_ERROR_ILLEGAL_ADDRESS", *timeOut = "CUDA_ERROR_LAUNCH_TIMEOUT";
  static constexpr const char *otherError = "CUDA_ERROR_OTHER";
  static constexpr const char *invalidHandle = "CUDA_ERROR_INVALID_HANDLE";
};
#endif
#ifdef VX_DRIVER_ROCM
struct Hip {
  using Driver = hip::HipDriver;
  using Options = hip::DriverOptions;
  using Vendor = hip::Vendor;
  static constexpr const char *backend = "rocm";
  static constexpr const char *standIn = "VX_TEST_STAND_IN_HIP";
  static constexpr const char *libraryVariable = "VX_HIP_LIBRARY";
  static constexpr int version = 60200000, oldVersion = 50222804;
  static constexpr const char *oldText = "5.2", *wantedText = "5.5";
  static constexpr const char *variant = "gfx942", *common = "shared_memory=65536";
  static constexpr size_t zeroBehindCode = 1; // the stand-in takes a text for a code object
  static constexpr const char *scaleAdd = "scale_add  ", *gather = "gather ";
  static constexpr const char *outOfMemory = "hipErrorOutOfMemory", *noDevice = "hipErrorNoDevice";
  static constexpr const char *illegalAddress = "hipErrorIllegalAddress", *timeOut = "hipErrorLaunchTimeOut";
  static constexpr const char *otherError = "hipErrorOther";
  static constexpr const char *invalidHandle = "hipErrorInvalidHandle";
};
#endif
// Those of this build.
#if defined(VX_DRIVER_CUDA) && defined(VX_DRIVER_ROCM)
using Vendors = testing::Types<Cuda, Hip>;
#elif defined(VX_DRIVER_CUDA)
using Vendors = testing::Types<Cuda>;
#else
using Vendors = testing::Types<Hip>;
#endif
struct VendorName {
  template <typename Traits>
  static std::string GetName(int) {
    return Traits::backend;
  }
};

// Everything that a test needs to run kernels.
struct Opened {
  Ref<hal::Device> device;
  Ref<hal::Executable> code;
  Ref<hal::Stream> stream;

  BufferView allocate(std::vector<int32_t> values, Ref<hal::Memory> &memory) const {
    const uint64_t size = values.size() * sizeof(int32_t);
    EXPECT_TRUE(device->allocate(size, hal::MemoryKind::Device, memory).ok());
    BufferView view = {memory.get(), 0, size};
    EXPECT_TRUE(stream->upload(view, values.data()).ok());
    return view;
  }
  std::vector<int32_t> read(const BufferView &view) const {
    std::vector<int32_t> values(view.size / sizeof(int32_t));
    EXPECT_TRUE(stream->download(view, values.data()).ok());
    return values;
  }
};

template <typename VendorTraits>
class GpuTest : public testing::Test {
protected:
  using Traits = VendorTraits;

  void SetUp() override {
    const char *path = std::getenv(Traits::standIn);
    ASSERT_NE(path, nullptr) << Traits::standIn;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    auto function = reinterpret_cast<StandInFunction>(dlsym(library, "vx_stand_in"));
    ASSERT_NE(function, nullptr);
    gpu = function();
    gpu->forget();
    gpu->failures.clear();
    gpu->deviceCount = 2;
    gpu->version = Traits::version;
    gpu->totalMemory = uint64_t(1) << 40;
    gpu->mostAllocated = UINT64_MAX;
    gpu->capability = 90;
    gpu->hasPools = gpu->isUnified = true;
    gpu->sharesMemory = gpu->readsPages = false;
    gpu->jitLog.clear();
    gpu->jitInfo.clear();
    gpu->linksAtOnce = gpu->mostOpenLinks = gpu->openLinks = 0;
    gpu->launchStreams.clear();
    gpu->copies.clear();
    gpu->foreignStream = nullptr;
    liveBefore = gpu->live.size();
    options.library.names = {path};
  }

  // Everything that was made was given back.
  void TearDown() override {
    EXPECT_EQ(gpu->live.size(), liveBefore);
    EXPECT_EQ(gpu->count("no device is current"), 0);
    EXPECT_EQ(gpu->count("no such object is given back"), 0);
  }

  static std::span<const uint8_t> bytes(const char *text) {
    return {reinterpret_cast<const uint8_t *>(text), std::strlen(text) + Traits::zeroBehindCode};
  }

  static Status load(hal::Device &device, std::string_view variant, Ref<hal::Executable> &code) {
    static const std::vector<std::string> nodes = {"scale_1 (Mul)", "add_1 (Add)"};
    hal::KernelImage kernels[2];
    kernels[0].name = "scale and add";
    kernels[0].entry = "scale_add";
    kernels[0].bufferCount = kernels[0].scalarCount = 2;
    kernels[0].workgroupSize[0] = 64;
    kernels[0].code = bytes(Traits::scaleAdd);
    kernels[0].nodes = nodes;
    kernels[1].name = "gather rows";
    kernels[1].entry = "gather";
    kernels[1].bufferCount = 3;
    kernels[1].scalarCount = 2;
    kernels[1].workgroupSize[0] = 64;
    kernels[1].code = bytes(Traits::gather);
    hal::CodeImage image;
    image.file = "m.vxm";
    image.variant = variant;
    image.bytes = kernels[0].code;
    image.kernels = kernels;
    return device.load(image, code);
  }

  void open(Opened &opened, uint32_t index = 0) {
    typename Traits::Driver driver(options);
    ASSERT_OK(driver.open(index, {}, opened.device));
    ASSERT_OK(load(*opened.device, Traits::variant, opened.code));
    ASSERT_OK(opened.device->createStream(opened.stream));
  }

  // Why there are no devices.
  hal::Refusal refusal() const {
    typename Traits::Driver driver(options);
    std::vector<hal::DeviceInfo> devices;
    hal::Refusal refusal = driver.enumerate(devices);
    EXPECT_TRUE(devices.empty());
    // Opening says the same.
    Ref<hal::Device> device;
    EXPECT_FAILS(driver.open(0, {}, device), VX_NO_DEVICE, refusal.reason);
    return refusal;
  }

  typename Traits::Options options;
  // The functions' names.
  const typename Traits::Vendor::Functions names;
  GpuStandIn *gpu = nullptr;
  size_t liveBefore = 0;
};

} // namespace vx::test

#endif
