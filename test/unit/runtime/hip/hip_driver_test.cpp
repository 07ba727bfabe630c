// What only the HIP driver does.
#include "gpu/gpu_driver_test.h"

namespace vx::test {

using HipDriver = GpuTest<Hip>;

TEST_F(HipDriver, devicesAndTheirFacts) {
  hip::HipDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  EXPECT_EQ(driver.enumerate(devices).code, RefusalCode::None);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].details, "gfx942, 304 compute units, HIP 6.2");
  EXPECT_EQ(devices[0].features, (std::vector<std::string>{"gfx942", "wavefront=64", "shared_memory=65536"}));
  EXPECT_EQ(devices[1].features.front(), "gfx1100");
}

TEST_F(HipDriver, deviceThatCannotBeLookedAt) {
  gpu->fail("hipGetDeviceProperties", 3);
  EXPECT_EQ(refusal().reason, "device 0: hipGetDeviceProperties failed with hipErrorOther (as the test wanted); device "
                              "1: hipGetDeviceProperties failed with hipErrorOther (as the test wanted)");
}

TEST_F(HipDriver, eachKernelIsLoadedByItself) {
  Opened opened;
  open(opened);
  EXPECT_EQ(gpu->count("hipModuleLoadData"), 2);
  gpu->fail("hipModuleLoadData", 3, /*after=*/1);
  EXPECT_FAILS(
      load(*opened.device, "gfx942", opened.code), VX_INTERNAL,
      "code 'gfx942' of 'm.vxm': kernel 'gather rows': hipModuleLoadData failed with hipErrorOther (as the test "
      "wanted)");
}

} // namespace vx::test
