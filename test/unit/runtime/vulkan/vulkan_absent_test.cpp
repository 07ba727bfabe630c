// Every way of having no Vulkan device is a stated reason.
#include "vulkan_driver.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace vx;
using hal::RefusalCode;

TEST(VulkanAbsent, noLibrary) {
  vulkan::DriverOptions options;
  options.library.library.names = {"libvulkan-that-is-not-there.so"};
  vulkan::VulkanDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  hal::Refusal refusal = driver.enumerate(devices);
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason, "'libvulkan-that-is-not-there.so' could not be opened: libvulkan-that-is-not-there.so: "
                            "cannot open shared object file: No such file or directory; VX_VULKAN_LIBRARY names "
                            "another one");
  EXPECT_TRUE(devices.empty());

  Ref<hal::Device> device;
  Status status = driver.open(0, {}, device);
  EXPECT_EQ(status.code(), VX_NO_DEVICE);
  EXPECT_EQ(status.message(), refusal.reason);
  EXPECT_FALSE(device);
}

TEST(VulkanAbsent, libraryOfSomethingElse) {
  vulkan::DriverOptions options;
  options.library.library.names = {"libm.so.6"};
  vulkan::VulkanDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  hal::Refusal refusal = driver.enumerate(devices);
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason, "'libm.so.6' has no function 'vkGetInstanceProcAddr'");
}

// Runs in its own process, which hides every driver from the loader.
TEST(VulkanAbsent, noDriverBelowTheLoader) {
  if (!std::getenv("VX_TEST_NO_ICD"))
    GTEST_SKIP() << "needs an environment that hides the drivers";
  vulkan::VulkanDriver driver({});
  std::vector<hal::DeviceInfo> devices;
  hal::Refusal refusal = driver.enumerate(devices);
  EXPECT_TRUE(devices.empty());
  if (refusal.code == RefusalCode::NoLibrary)
    GTEST_SKIP() << "no Vulkan loader: " << refusal.reason;
  EXPECT_EQ(refusal.code, RefusalCode::NoDevice);
  EXPECT_EQ(refusal.reason, "the Vulkan loader found no driver (vkCreateInstance: incompatible driver)");
}
