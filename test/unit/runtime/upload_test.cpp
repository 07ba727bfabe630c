// Inputs that stay in the memory of a device, from call to call.
#include "programs.h"
#include "runtime_test.h"

namespace vx::test {

namespace {

class Upload : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (const std::string missing = missingLibrary(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
    ModuleBuilder builder;
    addAffine(builder, 64); // 3 x + 7
    builder.addCpuTarget();
    builder.addVulkanTarget();
    for (const char *backend : {"cuda", "rocm"})
      builder.addStandInTarget(backend);
    EXPECT_OK(makeInstance(builder.write("upload.vxm"), GetParam(), instance));
  }
  static bool isCpu() { return std::string_view(GetParam()) == "cpu"; }

  Ref<Instance> instance;
};

} // namespace

TEST_P(Upload, isReadInPlaceByEveryCall) {
  const Ref<Value> x = vectorValue({1, 2, 3});
  Ref<Value> placed;
  ASSERT_OK(instance->upload(x, placed));
  EXPECT_EQ(placed->typeString(), "i32[3]");
  // A tensor of the runtime begins where a CPU reads it.
  EXPECT_EQ(placed == x, isCpu());
  EXPECT_TRUE(isCpu() || isReadInPlace(*placed, instance->device()));
  EXPECT_FALSE(isReadInPlace(*x, instance->device()));
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {placed}, outputs));
    EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{10, 13, 16}));
  }
  EXPECT_EQ(elementsOf(*placed), (std::vector<int32_t>{1, 2, 3}));
}

TEST_P(Upload, ofWhatIsThereIsTheSame) {
  Ref<Value> placed, again, empty = vectorValue({});
  ASSERT_OK(instance->upload(vectorValue({1, 2, 3}), placed));
  ASSERT_OK(instance->upload(placed, again));
  EXPECT_EQ(placed, again);
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {placed}, outputs));
  ASSERT_OK(instance->upload(outputs[0], again));
  EXPECT_EQ(outputs[0], again);
  ASSERT_OK(instance->upload(empty, again));
  EXPECT_EQ(empty, again);
}

TEST_P(Upload, takesTensorsOfNumbersOnly) {
  Ref<Value> list, text, placed;
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {vectorValue({1})}, list));
  const std::string_view word = "a";
  const int64_t dims[] = {1};
  ASSERT_OK(Value::strings(dims, {&word, 1}, text));
  EXPECT_EQ(instance->upload(list, placed).message(), "expected a tensor of numbers or bools, got sequence of i32");
  EXPECT_EQ(instance->upload(text, placed).message(), "expected a tensor of numbers or bools, got string[1]");
}

INSTANTIATE_TEST_SUITE_P(Devices, Upload, testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &info) { return std::string(info.param); });

} // namespace vx::test
