// Inputs that stay in the memory of a device, from call to call.
#include "programs.h"
#include "runtime_test.h"

#include "exec/device_values.h"
#include "exec/transfer_memory.h"

#include <cstring>
#include <numeric>

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

// Memory of the host from which the device copies by itself, or reads in place.
TEST_P(Upload, inputsMayBeInTransferMemory) {
  constexpr uint64_t size = 1 << 17;
  void *data = nullptr;
  ASSERT_OK(allocateTransferMemory(instance->context(), size, data));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % VX_BUFFER_ALIGNMENT, 0u);
  // At any offset, also one that no kernel could read at.
  const int64_t dims[] = {3};
  for (const size_t offset : {0u, 4u, 64u, unsigned(size - 12)}) {
    auto *numbers = reinterpret_cast<int32_t *>(static_cast<std::byte *>(data) + offset);
    for (int32_t turn = 0; turn < 3; ++turn) {
      std::iota(numbers, numbers + 3, turn);
      Ref<Value> x;
      ASSERT_OK(Value::wrapTensor(VX_I32, dims, numbers, 12, nullptr, nullptr, x));
      std::vector<Ref<Value>> outputs;
      ASSERT_OK(runMain(*instance, {x}, outputs));
      EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{3 * turn + 7, 3 * (turn + 1) + 7, 3 * (turn + 2) + 7}));
      EXPECT_EQ(deviceOf(*x), "cpu:0");
    }
  }
  EXPECT_TRUE(freeTransferMemory(data));
  EXPECT_FALSE(freeTransferMemory(data));
  EXPECT_FALSE(freeTransferMemory(&data));
}

TEST_P(Upload, transferMemoryIsFoundByItsAddresses) {
  constexpr uint64_t size = 1 << 17;
  hal::Device &device = instance->device();
  void *first = nullptr, *second = nullptr;
  ASSERT_OK(allocateTransferMemory(instance->context(), size, first));
  ASSERT_OK(allocateTransferMemory(instance->context(), size, second));
  EXPECT_NE(first, second);
  for (void *data : {first, second}) {
    const auto *bytes = static_cast<const std::byte *>(data);
    EXPECT_EQ(static_cast<bool>(findTransferMemory(bytes, size, device).memory), !isCpu());
    if (isCpu())
      continue;
    const TransferMemory part = findTransferMemory(bytes + 100, 28, device);
    ASSERT_TRUE(part.memory);
    EXPECT_EQ(part.offset, 100u);
    EXPECT_EQ(part.memory->host(), data);
    EXPECT_TRUE(findTransferMemory(bytes + size, 0, device).memory);
    EXPECT_FALSE(findTransferMemory(bytes + 1, size, device).memory);
    EXPECT_FALSE(findTransferMemory(bytes + size - 1, 2, device).memory);
    // No device of another kind copies from it.
    Ref<Instance> other;
    ModuleBuilder builder;
    addAffine(builder, 64);
    builder.addCpuTarget();
    EXPECT_OK(makeInstance(builder.write("upload_cpu.vxm"), "cpu", other));
    EXPECT_FALSE(findTransferMemory(bytes, size, other->device()).memory);
  }
  EXPECT_FALSE(findTransferMemory(&first, 8, device).memory);
  EXPECT_TRUE(freeTransferMemory(first));
  EXPECT_FALSE(findTransferMemory(first, size, device).memory);
  // What is free is used again, for about the same size.
  if (!isCpu()) {
    void *again = nullptr, *small = nullptr;
    ASSERT_OK(allocateTransferMemory(instance->context(), 1000, small));
    ASSERT_OK(allocateTransferMemory(instance->context(), size - 1000, again));
    EXPECT_NE(small, first);
    EXPECT_EQ(again, first);
    EXPECT_FALSE(findTransferMemory(static_cast<std::byte *>(again) + 1, size - 1000, device).memory)
        << "bytes that nobody asked for";
    EXPECT_TRUE(freeTransferMemory(again) && freeTransferMemory(small));
  }
  // It outlives the instance.
  instance = nullptr;
  std::memset(second, 1, size);
  EXPECT_TRUE(freeTransferMemory(second));
}

INSTANTIATE_TEST_SUITE_P(Devices, Upload, testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &info) { return std::string(info.param); });

} // namespace vx::test
