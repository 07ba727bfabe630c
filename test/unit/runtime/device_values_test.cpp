// Tensors in the memory of a device, without an instance.
#include "programs.h"
#include "runtime_test.h"

#include "api/drivers.h"
#include "exec/device_values.h"

#include <numeric>

namespace vx::test {

namespace {

Status place(const Ref<Value> &value, const char *device, Ref<Value> &placed) {
  return copyToDevice(value, device, allDrivers(), placed);
}

class DeviceValues : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (const std::string missing = missingLibrary(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
  }
  static bool isCpu() { return std::string_view(GetParam()) == "cpu"; }
  static std::string first() { return std::string(GetParam()) + ":0"; }
};

} // namespace

TEST_P(DeviceValues, haveEqualBytesAfterEachWay) {
  std::vector<int32_t> numbers(9000000); // so many that freed memory is unmapped
  std::iota(numbers.begin(), numbers.end(), -2);
  const Ref<Value> x = vectorValue(numbers);
  EXPECT_EQ(deviceOf(*x), "cpu:0");
  Ref<Value> there, again, back, twice;
  ASSERT_OK(place(x, GetParam(), there));
  EXPECT_EQ(deviceOf(*there), first());
  EXPECT_EQ(there->typeString(), "i32[9000000]");
  EXPECT_EQ(there == x, isCpu());
  ASSERT_OK(place(there, first().c_str(), again)); // is there already
  EXPECT_EQ(again, there);
  ASSERT_OK(place(there, "cpu", back));
  EXPECT_EQ(deviceOf(*back), "cpu:0");
  EXPECT_TRUE(elementsOf(*back) == numbers);
  for (const char *other : {"cpu", "vulkan", "cuda", "rocm"}) {
    std::vector<hal::DeviceInfo> devices;
    if (hal::Driver *driver = findDriver(allDrivers(), other);
        !driver || driver->enumerate(devices).code != hal::RefusalCode::None)
      continue;
    ASSERT_OK(place(there, other, twice));
    EXPECT_EQ(deviceOf(*twice), std::string(other) + ":0");
    ASSERT_OK(place(twice, GetParam(), again));
    EXPECT_TRUE(elementsOf(*again) == numbers) << other;
  }
  // What is left of a value that came from there lives by itself.
  there = nullptr;
  twice = nullptr;
  again = nullptr;
  EXPECT_TRUE(elementsOf(*back) == numbers);
}

TEST_P(DeviceValues, goIntoCalls) {
  ModuleBuilder builder;
  addAffine(builder, 64); // 3 x + 7
  builder.addCpuTarget();
  builder.addVulkanTarget();
  for (const char *backend : {"cuda", "rocm"})
    builder.addStandInTarget(backend);
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write("device_values.vxm"), GetParam(), instance));
  Ref<Value> there;
  ASSERT_OK(place(vectorValue({1, 2, 3}), GetParam(), there));
  EXPECT_EQ(isReadInPlace(*there, instance->device()), instance->device().info().addressSpace.isShared());
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {there}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{10, 13, 16}));
  EXPECT_EQ(deviceOf(*outputs[0]), first());
  Ref<Value> same, back;
  ASSERT_OK(place(outputs[0], GetParam(), same));
  EXPECT_EQ(same, outputs[0]);
  ASSERT_OK(place(outputs[0], "cpu", back));
  EXPECT_EQ(elementsOf(*back), (std::vector<int32_t>{10, 13, 16}));
}

TEST_P(DeviceValues, withoutElementsStay) {
  const Ref<Value> empty = vectorValue({});
  Ref<Value> placed;
  ASSERT_OK(place(empty, GetParam(), placed));
  EXPECT_EQ(placed, empty);
}

TEST_P(DeviceValues, areTensorsOfNumbers) {
  Ref<Value> list, text, placed;
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {vectorValue({1})}, list));
  const std::string_view word = "a";
  const int64_t dims[] = {1};
  ASSERT_OK(Value::strings(dims, {&word, 1}, text));
  EXPECT_EQ(place(list, GetParam(), placed).message(), "expected a tensor, got sequence of i32");
  const Status status = place(text, GetParam(), placed);
  EXPECT_EQ(status.message(), isCpu() ? "ok" : "expected a tensor of numbers or bools, got string[1]");
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceValues, testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &info) { return std::string(info.param); });

TEST(DeviceOfValues, isOneThatThereIs) {
  const Ref<Value> x = vectorValue({1});
  Ref<Value> placed;
  for (const char *automatic : {static_cast<const char *>(nullptr), "", "auto"})
    EXPECT_OK(place(x, automatic, placed));
  for (const auto &[device, code, text] :
       {std::tuple("cpu:9", VX_NO_DEVICE, "device 'cpu:9' is not there: cpu: there is no device 9, but 1 of them"),
        std::tuple("npu", VX_INVALID_ARGUMENT, "device 'npu' is unknown, known are: "),
        std::tuple("cpu:x", VX_INVALID_ARGUMENT, "device 'cpu:x': expected a number after the colon, got 'x'"),
        std::tuple("null", VX_UNSUPPORTED, "device 'null' keeps no values")}) {
    const Status status = place(x, device, placed);
    EXPECT_EQ(status.code(), code) << device;
    EXPECT_TRUE(status.message().starts_with(text)) << status.message();
  }
}

} // namespace vx::test
