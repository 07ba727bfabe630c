// Devices that have no more memory, and what an instance drops for a call then, without a limit of its own.
#include "derived_program.h"
#include "gpu/gpu_driver_test.h"

#include <optional>

namespace vx::test {

using namespace derived;

template <typename Traits>
class GpuMemory : public GpuTest<Traits> {
protected:
  static constexpr uint64_t Unit = Count * sizeof(int32_t); // of a derived value, an input, a result

  // All derived values are there and the weight is 3.
  void SetUp() override {
    GpuTest<Traits>::SetUp();
    driver.emplace(this->options);
    hal::Driver *const drivers[] = {&*driver};
    DeviceRequest request;
    ASSERT_OK(parseDeviceRequest(Traits::backend, nullptr, drivers, request));
    request.noFallback = true;
    Ref<Module> module;
    ASSERT_OK(Module::load(Builder().write(fmt::format("memory_{}.vxm", Traits::backend)), module));
    ASSERT_OK(Instance::create(module, request, drivers, instance));
    ASSERT_OK(instance->writeVariable("weight", *vectorValue(all(3))));
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue(all(0))}, outputs, AddWeight));
    outputs.clear();
    expectRead(*instance, 3, 2);
    expect(*instance, Mix, 1, 1, [](int32_t) { return 4; });
    // Code, constants, and what streams have for themselves.
    fixed = this->gpu->allocated - instance->usedMemory();
  }
  void TearDown() override {
    instance = nullptr;
    driver.reset();
    GpuTest<Traits>::TearDown();
  }
  // The pools of the device have room for so much beside the variables.
  void leave(uint64_t room) { this->gpu->mostAllocated = fixed + 2 * Unit + room; }
  bool has(size_t derived) const { return static_cast<bool>(instance->derived(derived).buffer.memory); }
  Status run(uint32_t function) {
    std::vector<Ref<Value>> outputs;
    return runMain(*instance, {vectorValue(all(0))}, outputs, function);
  }
  std::string noMemory() const {
    return fmt::format("asked for {} bytes, but device 'Stand-in 0' has 1000 of 1099511627776 bytes free ({} failed "
                       "with {} (out of memory))",
                       Unit, this->names.MemAllocFromPoolAsync.name, Traits::outOfMemory);
  }

  std::optional<typename Traits::Driver> driver;
  Ref<Instance> instance;
  uint64_t fixed = 0;
};

TYPED_TEST_SUITE(GpuMemory, Vendors, VendorName);

TYPED_TEST(GpuMemory, derivedValuesThatNobodyUsesMakeRoom) {
  // Two derived values, an input and a result: the value that only another one is computed from goes.
  this->leave(4 * this->Unit);
  for (int again = 0; again < 2; ++again) {
    expectRead(*this->instance, 3, 0);
    expect(*this->instance, Mix, 1, 0, [](int32_t) { return 4; });
    EXPECT_FALSE(this->has(0));
    EXPECT_TRUE(this->has(1) && this->has(2));
  }
  // One: the two functions' go for one another.
  this->leave(3 * this->Unit);
  for (int again = 0; again < 2; ++again) {
    expectRead(*this->instance, 3, again == 0 ? 0 : 2);
    EXPECT_TRUE(this->has(1));
    EXPECT_FALSE(this->has(0) || this->has(2));
    expect(*this->instance, Mix, 1, 1, [](int32_t) { return 4; });
    EXPECT_TRUE(this->has(2));
    EXPECT_FALSE(this->has(0) || this->has(1));
  }
}

TYPED_TEST(GpuMemory, aCallThatDoesNotFitSaysWhatTheDeviceSaysAndChangesNothing) {
  this->leave(3 * this->Unit - 1);
  for (int again = 0; again < 2; ++again)
    EXPECT_FAILS(this->run(Read), VX_OUT_OF_MEMORY, "result: " + this->noMemory());
  // One that needs no derived value.
  ASSERT_OK(this->run(AddWeight));
  this->leave(2 * this->Unit - 1);
  EXPECT_FAILS(this->run(Read), VX_OUT_OF_MEMORY, "'twice', derived from 'weight': result: " + this->noMemory());
  this->leave(3 * this->Unit);
  ASSERT_OK(this->run(Read));
  EXPECT_TRUE(this->has(1));
}

TYPED_TEST(GpuMemory, whatACallUsesIsNotDropped) {
  VariableAccesses::Ticket reader = this->instance->takeVariables(Read);
  const hal::Memory *memory = this->instance->derived(1).buffer.memory.get();
  this->leave(3 * this->Unit);
  EXPECT_FAILS(this->run(Mix), VX_OUT_OF_MEMORY, "result: " + this->noMemory());
  EXPECT_EQ(this->instance->derived(1).buffer.memory.get(), memory);
  reader = {};
  ASSERT_OK(this->run(Mix));
  EXPECT_FALSE(this->has(1));
}

TYPED_TEST(GpuMemory, nothingIsDroppedForMoreThanTheDeviceEverGives) {
  const uint64_t size = this->instance->device().info().maxAllocation + 1;
  Ref<hal::Memory> memory;
  EXPECT_FAILS(
      this->instance->allocate(size, memory), VX_OUT_OF_MEMORY,
      fmt::format("asked for {} bytes, but device 'Stand-in 0' allows at most {} in one buffer", size, size - 1));
  EXPECT_TRUE(this->has(0) && this->has(1) && this->has(2));
  // Nor for a device that is lost.
  this->gpu->fail(this->names.MemAllocFromPoolAsync.name, 702);
  EXPECT_EQ(this->instance->allocate(64, memory).code(), VX_DEVICE_LOST);
  EXPECT_TRUE(this->has(0) && this->has(1) && this->has(2));
  this->gpu->failures.clear();
}

} // namespace vx::test
