// Devices that have no more memory, and what an instance drops for a call then, without a limit of its own.
#include "derived_program.h"
#include "gpu/gpu_driver_test.h"

#include "exec/transfer_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

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

// A device of an address space, which does nothing.
class Stranger final : public hal::Device {
public:
  explicit Stranger(hal::AddressSpace space) { facts.addressSpace = space; }
  const hal::DeviceInfo &info() const override { return facts; }
  Status allocate(uint64_t, hal::MemoryKind, Ref<hal::Memory> &) override { return okStatus(); }
  Status load(const hal::CodeImage &, Ref<hal::Executable> &) override { return okStatus(); }
  Status createStream(Ref<hal::Stream> &) override { return okStatus(); }

private:
  hal::DeviceInfo facts;
};

// The host copies the bytes of other inputs to page-locked memory of the stream, and the device copies from there.
TYPED_TEST(GpuMemory, theDeviceCopiesFromTransferMemoryByItself) {
  const auto sources = [this] {
    std::vector<uint64_t> found;
    for (const auto &[source, size] : std::exchange(this->gpu->copies, {}))
      if (size == this->Unit)
        found.push_back(source);
    return found;
  };
  const auto runWith = [](Instance &instance, const Ref<Value> &x) {
    std::vector<Ref<Value>> outputs;
    EXPECT_OK(runMain(instance, {x}, outputs, Mix)); // x + weight + state
    return outputs;
  };
  const int64_t dims[] = {Count};
  void *data = nullptr;
  ASSERT_OK(allocateTransferMemory(this->instance->context(), 2 * this->Unit, data));
  auto *numbers = static_cast<int32_t *>(data) + Count;
  Ref<Value> x;
  ASSERT_OK(Value::wrapTensor(VX_I32, dims, numbers, this->Unit, nullptr, nullptr, x));
  const auto address = reinterpret_cast<uint64_t>(numbers);
  runWith(*this->instance, x); // makes the memory of the call
  const int allocations = this->gpu->count(this->names.MemHostAlloc.name);
  (void)sources();
  for (int32_t turn = 1; turn < 3; ++turn) {
    std::fill_n(numbers, Count, turn);
    const std::vector<Ref<Value>> outputs = runWith(*this->instance, x);
    EXPECT_EQ(sources(), (std::vector<uint64_t>{address}));
    EXPECT_EQ(elementsOf(*outputs[0]), std::vector<int32_t>(Count, turn + 3));
    (void)sources(); // the result's
  }
  EXPECT_EQ(this->gpu->count(this->names.MemHostAlloc.name), allocations) << "no memory for transfers";
  runWith(*this->instance, vectorValue(all(1)));
  const std::vector<uint64_t> staged = sources();
  ASSERT_EQ(staged.size(), 1u);
  EXPECT_NE(staged[0], address);
  // A vendor's other device copies from it, too.
  {
    hal::Driver *const drivers[] = {&*this->driver};
    DeviceRequest request;
    ASSERT_OK(parseDeviceRequest(fmt::format("{}:1", TypeParam::backend).c_str(), nullptr, drivers, request));
    Ref<Module> module;
    ASSERT_OK(Module::load(Builder().write(fmt::format("memory_{}.vxm", TypeParam::backend)), module));
    Ref<Instance> other;
    ASSERT_OK(Instance::create(module, request, drivers, other));
    runWith(*other, x);
    const std::vector<uint64_t> fromFirst = sources();
    EXPECT_EQ(std::count(fromFirst.begin(), fromFirst.end(), address), 1);
  }
  // Another vendor's does not, nor one that shares its addresses with nobody.
  using Kind = hal::AddressSpace::Kind;
  for (const Kind kind : {Kind::Own, Kind::Cuda, Kind::Rocm}) {
    const Stranger stranger({kind, 5});
    EXPECT_EQ(static_cast<bool>(findTransferMemory(data, 4, stranger).memory),
              kind == this->instance->device().info().addressSpace.kind);
  }
  x = nullptr;
  EXPECT_TRUE(freeTransferMemory(data));
  // The next one is not asked of the driver.
  this->gpu->forget();
  ASSERT_OK(allocateTransferMemory(this->instance->context(), 2 * this->Unit, data));
  EXPECT_TRUE(freeTransferMemory(data));
  EXPECT_EQ(this->gpu->count(this->names.MemHostAlloc.name), 0);
}

// The device goes on with ordinary memory, so that nothing of a call is another one.
TYPED_TEST(GpuMemory, transferMemoryIsOrdinaryWhereTheDriverHasNone) {
  const auto isLocked = [this](void *data) {
    return static_cast<bool>(findTransferMemory(data, this->Unit, this->instance->device()).memory);
  };
  void *kept = nullptr, *data = nullptr;
  ASSERT_OK(allocateTransferMemory(this->instance->context(), 3 * this->Unit, kept));
  EXPECT_TRUE(freeTransferMemory(kept));
  // Memory that is kept for others makes room first.
  this->gpu->forget();
  this->gpu->fail(this->names.MemHostAlloc.name, 2);
  ASSERT_OK(allocateTransferMemory(this->instance->context(), this->Unit, data));
  EXPECT_FALSE(isLocked(data));
  EXPECT_EQ(this->gpu->count(this->names.MemFreeHost.name), 1);
  std::fill_n(static_cast<int32_t *>(data), Count, 1);
  const int64_t dims[] = {Count};
  Ref<Value> x;
  ASSERT_OK(Value::wrapTensor(VX_I32, dims, data, this->Unit, nullptr, nullptr, x));
  std::vector<Ref<Value>> outputs;
  this->gpu->failures.clear();
  ASSERT_OK(runMain(*this->instance, {x}, outputs, Mix));
  EXPECT_EQ(elementsOf(*outputs[0]), std::vector<int32_t>(Count, 4));
  x = nullptr;
  outputs.clear();
  EXPECT_TRUE(freeTransferMemory(data));
  // A device that is lost is not asked.
  ASSERT_OK(allocateTransferMemory(this->instance->context(), this->Unit, data));
  EXPECT_TRUE(isLocked(data));
  EXPECT_TRUE(freeTransferMemory(data));
  (void)this->instance->context()->noted(Status(VX_DEVICE_LOST, "lost"));
  ASSERT_OK(allocateTransferMemory(this->instance->context(), this->Unit, data));
  EXPECT_FALSE(isLocked(data));
  EXPECT_TRUE(freeTransferMemory(data));
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
