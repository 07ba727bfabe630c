// What only the CUDA driver does.
#include "gpu/gpu_driver_test.h"

#include <filesystem>
#include <fstream>

namespace vx::test {

class CudaDriver : public GpuTest<Cuda> {
protected:
  void SetUp() override {
    GpuTest<Cuda>::SetUp();
    folder = scratchPath(testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    GpuTest<Cuda>::TearDown();
  }

  std::string folder;
};

//===-- Devices -------------------------------------------------------------------------------===//

TEST_F(CudaDriver, devicesAndTheirFacts) {
  cuda::CudaDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  EXPECT_EQ(driver.enumerate(devices).code, RefusalCode::None);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].details, "compute capability 9.0, 132 multiprocessors, driver of CUDA 12.2");
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
  EXPECT_TRUE(has("shared_memory=49152"));
}

TEST_F(CudaDriver, codeOfOneGenerationIsForThatOneOnly) {
  gpu->capability = 100;
  cuda::CudaDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  driver.enumerate(devices);
  const std::vector<std::string> &features = devices.at(0).features;
  EXPECT_EQ(std::find(features.begin(), features.end(), "sm_90a"), features.end());
  EXPECT_NE(std::find(features.begin(), features.end(), "sm_100a"), features.end());
}

TEST_F(CudaDriver, deviceThatCannotBeLookedAt) {
  gpu->deviceCount = 1;
  for (const char *function : {"cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem", "cuDeviceGetAttribute"}) {
    gpu->fail(function, 3);
    EXPECT_EQ(refusal().reason,
              fmt::format("device 0: {} failed with CUDA_ERROR_OTHER (as the test wanted)", function));
    gpu->failures.clear();
  }
}

TEST_F(CudaDriver, deviceThatLacksSomething) {
  gpu->deviceCount = 1;
  gpu->isUnified = false;
  EXPECT_EQ(refusal().reason, "device 0: 'Stand-in 0' lacks unified addressing");
  gpu->hasPools = false;
  EXPECT_EQ(refusal().reason, "device 0: 'Stand-in 0' lacks memory pools");
}

TEST_F(CudaDriver, contextThatDoesNotOpen) {
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  gpu->fail("cuDevicePrimaryCtxRetain", 2);
  EXPECT_FAILS(driver.open(1, {}, device), VX_OUT_OF_MEMORY,
               "device 'Stand-in 1': cuDevicePrimaryCtxRetain failed with CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_EQ(gpu->count("cuDevicePrimaryCtxRetain 1"), 1);
}

//===-- Code ----------------------------------------------------------------------------------===//

TEST_F(CudaDriver, assemblerErrorsHaveItsLog) {
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(0, {}, device));
  gpu->jitLog = "ptxas application ptx input, line 5; fatal : Parsing error near 'x'\n";
  gpu->fail("cuLinkAddData", 218);
  Ref<hal::Executable> code;
  Status status = load(*device, "sm_80", code);
  EXPECT_EQ(status.message(), "code 'sm_80' of 'm.vxm': kernel 'scale and add': cuLinkAddData failed with "
                              "CUDA_ERROR_OTHER (as the test wanted): ptxas application ptx input, line 5; fatal : "
                              "Parsing error near 'x'");
  gpu->failures.clear();
  gpu->fail("cuLinkComplete", 218);
  status = load(*device, "sm_80", code);
  EXPECT_EQ(status.message().find("code 'sm_80' of 'm.vxm': cuLinkComplete failed with "), 0u) << status.message();
}

TEST_F(CudaDriver, generationIsNamedToTheAssembler) {
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(0, {}, device));
  Ref<hal::Executable> code;
  ASSERT_OK(load(*device, "sm_80", code));
  EXPECT_EQ(gpu->count("cuLinkCreate 0"), 1);
  ASSERT_OK(load(*device, "sm_90a", code));
  EXPECT_EQ(gpu->count("cuLinkCreate 65626"), 1);
}

TEST_F(CudaDriver, assembledCodeIsKeptOnDisk) {
  options.cacheFolder = folder;
  auto loadOnce = [&](const char *variant) {
    cuda::CudaDriver driver(options);
    Ref<hal::Device> device;
    ASSERT_OK(driver.open(0, {}, device));
    Ref<hal::Executable> code;
    ASSERT_OK(load(*device, variant, code));
  };
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 1);
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 1) << "taken from the disk";
  // Another variant, another driver, another GPU: assembled anew.
  loadOnce("sm_90a");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 2);
  gpu->version = 12030;
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 3);
  gpu->capability = 89;
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 4);
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
  EXPECT_EQ(gpu->count("cuLinkComplete"), 5);
  // A folder that cannot be written is no error.
  options.cacheFolder = "/proc/nothing";
  loadOnce("sm_80");
}

} // namespace vx::test
