// The memory limit of instances: what is counted, what is dropped for it, and what is refused.
#include "derived_program.h"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace vx::test {

using namespace derived;

constexpr uint64_t ValueBytes = Count * sizeof(int32_t); // of a variable, a derived value, an input, a result
constexpr uint64_t Variables = 2 * ValueBytes;

static std::string limitMessage(uint64_t size, uint64_t inUse, uint64_t limit) {
  return fmt::format("expected at most {} more bytes, got {}: {} bytes are in use, and the instance's memory limit is "
                     "{} bytes",
                     limit - inUse, size, inUse, limit);
}

class MemoryLimit : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (const std::string missing = missingLibrary(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
    path = Builder().write("memory_limit.vxm");
    ASSERT_OK(Module::load(path, module));
    // An instance without a limit tells whether the device has a place of its own for an input.
    Ref<Instance> free;
    ASSERT_OK(makeSharing(nullptr, module, GetParam(), free));
    EXPECT_EQ(free->usedMemory(), Variables);
    expectRead(*free, 0, 2);
    input = free->usedMemory() - Variables - 2 * ValueBytes;
    EXPECT_TRUE(input == 0 || input == ValueBytes) << input;
  }
  // Beside the variables.
  Status create(uint64_t room) { return makeSharing(nullptr, module, GetParam(), instance, Variables + room); }

  static void write(Instance &instance, const char *name, int32_t value) {
    EXPECT_OK(instance.writeVariable(name, *vectorValue(all(value))));
  }
  bool has(size_t derived) const { return static_cast<bool>(instance->derived(derived).buffer.memory); }
  // The message of a call of `function`.
  std::string refusal(uint32_t function) {
    std::vector<int32_t> y;
    int derived = -1;
    Status status = run(*instance, function, 1, y, derived);
    EXPECT_EQ(status.code(), VX_OUT_OF_MEMORY);
    return std::string(status.message());
  }
  std::string refused(uint64_t inUse, uint64_t room) {
    return limitMessage(ValueBytes, Variables + inUse, Variables + room);
  }

  std::string path;
  Ref<Module> module;
  Ref<Instance> instance;
  uint64_t input = 0;
};
INSTANTIATE_TEST_SUITE_P(Devices, MemoryLimit, testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &device) { return std::string(device.param); });

TEST_P(MemoryLimit, dropsTheLeastRecentlyUsedAndMakesItAgain) {
  // Room for two derived values, an input and a result.
  ASSERT_OK(create(3 * ValueBytes + input));
  write(*instance, "weight", 3);
  write(*instance, "state", 40);
  expectRead(*instance, 3, 2);
  EXPECT_TRUE(has(0) && has(1));
  // For the third one, the one that only another one is computed from goes: it was used last before all others.
  expect(*instance, Mix, 1, 1, [](int32_t) { return 44; });
  EXPECT_FALSE(has(0));
  EXPECT_TRUE(has(1) && has(2));
  EXPECT_EQ(instance->usedMemory(), Variables + 2 * ValueBytes + input);
  // What was computed from it is there, and it is not computed for nobody.
  expectRead(*instance, 3, 0);
  expect(*instance, Mix, 1, 0, [](int32_t) { return 44; });
  // A change needs it again. Now `mixed` was used longest ago.
  write(*instance, "weight", 5);
  expectRead(*instance, 5, 2);
  EXPECT_TRUE(has(0) && has(1));
  EXPECT_FALSE(has(2));
  expect(*instance, Mix, 1, 1, [](int32_t) { return 46; });
  EXPECT_FALSE(has(0));
  expectRead(*instance, 5, 0);
  // By use, and not by when it was computed.
  for (size_t last : {1u, 2u}) {
    expectRead(*instance, 5, has(1) ? 0 : 2);
    expect(*instance, Mix, 1, has(2) ? 0 : 1, [](int32_t) { return 46; });
    if (last == 1)
      expectRead(*instance, 5, 0);
    Ref<hal::Memory> memory;
    ASSERT_OK(instance->allocate(2 * ValueBytes + input, memory));
    EXPECT_TRUE(has(last));
    EXPECT_FALSE(has(3 - last));
  }
  expectRead(*instance, 5, 2);
  expect(*instance, Mix, 1, 1, [](int32_t) { return 46; });
  // It is not only new where its memory is.
  write(*instance, "state", 50);
  expect(*instance, Mix, 1, 1, [](int32_t) { return 56; });
  expectRead(*instance, 5, 0);
}

// A value that only others are computed from is not computed for one of them that is there.
TEST_P(MemoryLimit, whatIsThereNeedsNotWhatItIsComputedFrom) {
  ASSERT_OK(create(4 * ValueBytes + input));
  write(*instance, "weight", 3);
  expect(*instance, Two, 0, 3, [](int32_t i) { return 3 + 2 * (i + 6); });
  Ref<hal::Memory> memory;
  ASSERT_OK(instance->allocate(2 * ValueBytes + input, memory));
  memory = nullptr;
  EXPECT_FALSE(has(0));
  EXPECT_TRUE(has(1) && has(2));
  write(*instance, "state", 10);
  expect(*instance, Two, 0, 1, [](int32_t i) { return 13 + 2 * (i + 6); });
  EXPECT_FALSE(has(0));
  write(*instance, "weight", 4);
  expect(*instance, Two, 0, 3, [](int32_t i) { return 14 + 2 * (i + 8); });
}

// With room for one value beside an input and a result, each function's goes for the other's, and all is as without.
TEST_P(MemoryLimit, whatIsDroppedComesBackWithTheSameBits) {
  ASSERT_OK(create(2 * ValueBytes + input));
  for (int32_t weight : {0, 1, 1, 7}) {
    write(*instance, "weight", weight);
    for (int again = 0; again < 2; ++again) {
      expectRead(*instance, weight, 2);
      EXPECT_FALSE(has(0) || has(2));
      expectRead(*instance, weight, 0);
      expect(*instance, Mix, 1, 1, [&](int32_t) { return 1 + weight; });
      EXPECT_FALSE(has(0) || has(1));
      expect(*instance, Mix, 1, 0, [&](int32_t) { return 1 + weight; });
      EXPECT_EQ(instance->usedMemory(), Variables + ValueBytes + input);
    }
  }
}

TEST_P(MemoryLimit, aCallThatDoesNotFitIsRefusedAndChangesNothing) {
  const uint64_t room = 2 * ValueBytes + input - 1;
  ASSERT_OK(create(room));
  write(*instance, "weight", 2);
  // Where an input takes nothing, computing the value takes as much as the call.
  const std::string message = input ? "result: " + refused(ValueBytes + input, room)
                                    : "'twice', derived from 'weight': result: " + refused(ValueBytes, room);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(refusal(Read), message);
    EXPECT_EQ(has(1), input != 0); // then the value is there the second time
  }
  // A call that needs less works: it needs no derived value.
  std::vector<int32_t> y;
  int derived = -1;
  ASSERT_OK(run(*instance, AddWeight, 4, y, derived));
  EXPECT_EQ(y, all(6));
  EXPECT_EQ(derived, 0);
  EXPECT_EQ(refusal(Read), message);
}

TEST_P(MemoryLimit, aDerivedValueThatDoesNotFitNamesItsVariables) {
  ASSERT_OK(create(2 * ValueBytes - 1));
  EXPECT_EQ(refusal(Read), "'twice', derived from 'weight': result: " + refused(ValueBytes, 2 * ValueBytes - 1));
  std::vector<int32_t> y;
  int derived = -1;
  if (input == 0)
    ASSERT_OK(run(*instance, AddWeight, 4, y, derived));
}

// What a ticket that somebody holds reads stays, however much it is wanted.
TEST_P(MemoryLimit, whatACallUsesIsNotDropped) {
  const uint64_t room = 2 * ValueBytes + input;
  ASSERT_OK(create(room));
  write(*instance, "weight", 2);
  expectRead(*instance, 2, 2);
  const hal::Memory *memory = instance->derived(1).buffer.memory.get();
  VariableAccesses::Ticket reader = instance->takeVariables(Read);
  EXPECT_TRUE(reader.isFresh());
  EXPECT_EQ(refusal(Mix), "result: " + refused(2 * ValueBytes + input, room));
  EXPECT_EQ(instance->derived(1).buffer.memory.get(), memory);
  EXPECT_TRUE(instance->takeVariables(Read).isFresh());
  // Nor does what it computes.
  reader = {};
  VariableAccesses::Ticket deriver = instance->takeDerived(Read);
  EXPECT_EQ(refusal(Mix), "result: " + refused(2 * ValueBytes + input, room));
  deriver = {};
  expect(*instance, Mix, 1, 0, [](int32_t) { return 3; }); // computed before it was refused
  EXPECT_FALSE(has(1));
  EXPECT_FALSE(instance->takeVariables(Read).isFresh());
  expectRead(*instance, 2, 2);
}

// Who waits for a ticket uses nothing yet, and finds out when he gets it.
TEST_P(MemoryLimit, whatACallWaitsToUseIsDropped) {
  ASSERT_OK(create(3 * ValueBytes + input));
  expectRead(*instance, 0, 2);
  expect(*instance, Mix, 1, 1, [](int32_t) { return 1; });
  VariableAccesses::Ticket writer = instance->takeVariables(AddWeight);
  std::thread waiting([&] { expect(*instance, Both, 1, 2, [](int32_t i) { return 1 + 2 * i; }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  Ref<hal::Memory> memory;
  EXPECT_OK(instance->allocate(2 * ValueBytes + input, memory));
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  memory = nullptr;
  writer = {};
  waiting.join();
}

// Where nothing that could be dropped would be enough, nothing is.
TEST_P(MemoryLimit, nothingIsDroppedForNothing) {
  ASSERT_OK(create(3 * ValueBytes + input));
  expectRead(*instance, 0, 2);
  Ref<hal::Memory> memory;
  EXPECT_FAILS(
      instance->allocate(3 * ValueBytes + input + 1, memory), VX_OUT_OF_MEMORY,
      limitMessage(3 * ValueBytes + input + 1, Variables + 2 * ValueBytes, Variables + 3 * ValueBytes + input));
  EXPECT_FALSE(memory);
  EXPECT_TRUE(has(0) && has(1));
  expectRead(*instance, 0, 0);
  EXPECT_FAILS(instance->allocate(UINT64_MAX, memory), VX_OUT_OF_MEMORY,
               limitMessage(UINT64_MAX, Variables + 2 * ValueBytes + input, Variables + 3 * ValueBytes + input));
  // All of it at once.
  ASSERT_OK(instance->allocate(3 * ValueBytes + input, memory));
  EXPECT_FALSE(has(0) || has(1));
  EXPECT_EQ(instance->usedMemory(), Variables + 3 * ValueBytes + input);
  memory = nullptr;
  EXPECT_EQ(instance->usedMemory(), Variables);
  expectRead(*instance, 0, 2);
}

TEST_P(MemoryLimit, variablesThatPassItAreRefused) {
  EXPECT_FAILS(makeSharing(nullptr, module, GetParam(), instance, Variables - 1), VX_OUT_OF_MEMORY,
               fmt::format("{}: the variables take {} bytes, and the instance's memory limit is {} bytes", path,
                           Variables, Variables - 1));
  EXPECT_FALSE(instance);
  ASSERT_OK(makeSharing(nullptr, module, GetParam(), instance, Variables));
  EXPECT_EQ(instance->usedMemory(), Variables);
}

// Instances that share variables have one limit.
TEST_P(MemoryLimit, isOneForAllThatShareVariables) {
  Ref<Instance> second, third;
  ASSERT_OK(create(3 * ValueBytes + input));
  ASSERT_OK(makeSharing(instance, module, GetParam(), second));
  EXPECT_EQ(second->usedMemory(), Variables + ValueBytes); // its own state
  EXPECT_EQ(instance->usedMemory(), Variables + ValueBytes);
  write(*instance, "weight", 3);
  write(*second, "state", 100);
  expectRead(*second, 3, 2);
  expect(*instance, Mix, 0, 1, [](int32_t) { return 3; });
  EXPECT_FALSE(has(1)); // for both
  expect(*second, Mix, 0, 1, [](int32_t) { return 103; });
  EXPECT_FALSE(has(2)); // the other's
  expectRead(*instance, 3, 2);
  // Its state is counted when it is made, and makes room.
  ASSERT_OK(makeSharing(instance, module, GetParam(), third));
  Ref<hal::Memory> rest;
  ASSERT_OK(instance->allocate(ValueBytes + input, rest));
  Ref<Instance> fourth;
  EXPECT_FAILS(makeSharing(instance, module, GetParam(), fourth), VX_OUT_OF_MEMORY,
               fmt::format("{}: variables: {}", path, refused(3 * ValueBytes + input, 3 * ValueBytes + input)));
  rest = nullptr;
  second = third = nullptr;
  EXPECT_EQ(instance->usedMemory(), Variables);
  expectRead(*instance, 3, 2);
}

// Results are counted until the last value is gone, also after the instance.
TEST_P(MemoryLimit, resultsCountUntilTheyAreReleased) {
  const uint64_t room = 5 * ValueBytes - 1;
  ASSERT_OK(create(room));
  std::vector<Ref<Value>> first, second, third;
  for (std::vector<Ref<Value>> *result : {&first, &second, &third})
    ASSERT_OK(runMain(*instance, {vectorValue(all(1))}, *result, AddWeight));
  EXPECT_EQ(instance->usedMemory(), Variables + 3 * ValueBytes + input);
  EXPECT_EQ(refusal(Read), "'twice', derived from 'weight': result: " + refused(4 * ValueBytes, room));
  first.clear();
  third.clear();
  expect(*instance, Read, 1, 1, [](int32_t i) { return 1 + 2 * (i + 6); }); // `scaled` is there
  instance = nullptr;
  EXPECT_EQ(elementsOf(*second[0]), all(2));
}

// Right or refused, and never more than there is.
TEST_P(MemoryLimit, callsOfManyThreads) {
  const uint64_t room = 6 * ValueBytes + 2 * input;
  ASSERT_OK(create(room));
  Ref<Instance> second;
  ASSERT_OK(makeSharing(instance, module, GetParam(), second));
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0, computed = 0, right = 0;
  std::vector<std::thread> threads;
  std::thread writer([&] {
    for (int i = 0; !done; ++i) {
      write(i % 2 ? *instance : *second, "weight", i % 1000);
      wrong += instance->usedMemory() > Variables + room;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      Instance &one = thread % 2 ? *instance : *second;
      for (int i = 0; i < 60; ++i) {
        const uint32_t function = std::array<uint32_t, 3>{Read, Both, Mix}[static_cast<size_t>(i + thread) % 3];
        std::vector<int32_t> y;
        int derived = 0;
        Status status = run(one, function, 0, y, derived);
        computed += derived;
        if (status.ok())
          ++right;
        else
          EXPECT_EQ(status.code(), VX_OUT_OF_MEMORY) << status.message();
        for (int32_t k = 0; k < Count && !y.empty(); ++k)
          wrong += y[static_cast<size_t>(k)] != (function == Mix ? 0 : 2 * k) + (function == Both ? 0 : y[0]);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  done = true;
  writer.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(computed, 0);
  EXPECT_GT(right, 0);
  // Nothing was lost on the way.
  write(*instance, "weight", 3);
  expectRead(*instance, 3, 2);
  second = nullptr;
  std::vector<Ref<hal::Memory>> idle;
  instance->takeIdleMemory(idle);
  idle.clear();
  EXPECT_EQ(instance->usedMemory(), Variables + static_cast<uint64_t>(has(0) + has(1) + has(2)) * ValueBytes);
}

// A larger arena takes the smaller one's room, and one that a released call keeps goes for another call.
TEST_P(MemoryLimit, arenasOfIdleCallsMakeRoom) {
  ModuleBuilder builder;
  addAffine(builder);
  addAffine(builder);
  builder.module.functions[1]->name = "other";
  builder.addCpuTarget();
  builder.addVulkanTarget();
  builder.addStandInTarget("cuda");
  builder.addStandInTarget("rocm");
  ASSERT_OK(Module::load(builder.write("arenas.vxm"), module));
  // An arena and a result of 2000 elements.
  const uint64_t bytes = 2000 * sizeof(int32_t), places = input ? 3 : 2, limit = places * bytes;
  ASSERT_OK(makeSharing(nullptr, module, GetParam(), instance, limit));
  auto affine = [&](uint32_t function, int32_t n) {
    std::vector<Ref<Value>> outputs;
    VX_RETURN_IF_ERROR(
        runMain(*instance, {vectorValue(std::vector<int32_t>(static_cast<size_t>(n), 4))}, outputs, function));
    EXPECT_EQ(elementsOf(*outputs[0]), std::vector<int32_t>(static_cast<size_t>(n), 19));
    return okStatus();
  };
  auto tooLarge = [&](uint64_t n, uint64_t inUse) {
    return "result: " + limitMessage(n * sizeof(int32_t), inUse * n * sizeof(int32_t), limit);
  };
  ASSERT_OK(affine(0, 1000));
  EXPECT_FAILS(affine(0, 2001), VX_OUT_OF_MEMORY, tooLarge(2001, places - 1));
  ASSERT_OK(affine(0, 1500));
  ASSERT_OK(affine(0, 2000));
  EXPECT_EQ(instance->usedMemory(), limit - bytes);
  ASSERT_OK(affine(1, 2000));
  ASSERT_OK(affine(0, 2000));
  EXPECT_FAILS(affine(1, 2001), VX_OUT_OF_MEMORY, tooLarge(2001, places - 1));
  ASSERT_OK(affine(1, 1));
  // One that somebody holds stays.
  std::unique_ptr<CallState> held;
  ASSERT_OK(instance->takeCall(0, held));
  Ref<Value> value = vectorValue(std::vector<int32_t>(1000, 4));
  Value *inputs[] = {value.get()};
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(held->run(inputs, outputs));
  outputs.clear();
  const uint64_t kept = (places - 1) * 1000;
  ASSERT_OK(affine(1, static_cast<int32_t>(1999 - kept / places)));
  EXPECT_EQ(affine(1, 2000).code(), VX_OUT_OF_MEMORY);
  instance->returnCall(std::move(held));
  ASSERT_OK(affine(1, 2000));
}

// The null device has no bytes, but all sizes.
TEST(MemoryLimitOfNull, plansAreTestedWithoutADevice) {
  Ref<Module> module;
  ASSERT_OK(Module::load(Builder().write("memory_limit.vxm"), module));
  Ref<Instance> instance;
  ASSERT_OK(makeSharing(nullptr, module, "null", instance, Variables + 3 * ValueBytes));
  std::vector<int32_t> y;
  int derived = -1;
  for (auto [function, wanted] : {std::pair(Read, 2), {Read, 0}, {Mix, 1}, {Mix, 0}, {Read, 2}, {Mix, 1}}) {
    ASSERT_OK(run(*instance, function, 1, y, derived));
    EXPECT_EQ(derived, wanted);
  }
  ASSERT_OK(makeSharing(nullptr, module, "null", instance, Variables + 3 * ValueBytes - 1));
  EXPECT_FAILS(run(*instance, Read, 1, y, derived), VX_OUT_OF_MEMORY,
               "result: " + limitMessage(ValueBytes, Variables + 2 * ValueBytes, Variables + 3 * ValueBytes - 1));
}

// The limit of calls leaves variables out, and holds for what is asked for from then on.
TEST(MemoryLimitOfNull, callsHaveALimitOfTheirOwn) {
  Ref<Module> module;
  ASSERT_OK(Module::load(Builder().write("memory_limit.vxm"), module));
  Ref<Instance> instance, sharing;
  ASSERT_OK(makeSharing(nullptr, module, "null", instance));
  std::vector<int32_t> y;
  int derived = -1;
  instance->memory().limitCalls(3 * ValueBytes);
  for (auto [function, wanted] : {std::pair(Read, 2), {Read, 0}, {Mix, 1}, {Mix, 0}, {Read, 2}, {Mix, 1}}) {
    ASSERT_OK(run(*instance, function, 1, y, derived));
    EXPECT_EQ(derived, wanted);
  }
  instance->memory().limitCalls(3 * ValueBytes - 1);
  const auto message =
      fmt::format("result: expected at most {} more bytes, got {}: calls have {} bytes, and their memory limit is {} "
                  "bytes",
                  ValueBytes - 1, ValueBytes, 2 * ValueBytes, 3 * ValueBytes - 1);
  EXPECT_FAILS(run(*instance, Read, 1, y, derived), VX_OUT_OF_MEMORY, message);
  // Those that share variables have it together.
  ASSERT_OK(makeSharing(instance, module, "null", sharing));
  EXPECT_FAILS(run(*sharing, Read, 1, y, derived), VX_OUT_OF_MEMORY, message);
  instance->memory().limitCalls(0);
  ASSERT_OK(run(*instance, Read, 1, y, derived));
  // A limit that is lowered below what calls have leaves nothing.
  Ref<hal::Memory> held, more;
  ASSERT_OK(instance->allocate(4 * ValueBytes, held));
  instance->memory().limitCalls(ValueBytes);
  const Status status = instance->allocate(1, more);
  EXPECT_TRUE(status.message().starts_with("expected at most 0 more bytes, got 1: calls have ")) << status.message();
  held = nullptr;
  instance->memory().limitCalls(0);
  ASSERT_OK(run(*instance, Read, 1, y, derived));
  // What the host takes counts there, and not on the device.
  std::vector<Ref<hal::Memory>> idle;
  instance->takeIdleMemory(idle);
  idle.clear();
  const uint64_t before = instance->usedMemory();
  instance->memory().limitCalls(1000 + 3 * ValueBytes);
  {
    HostBytes held(&instance->memory());
    ASSERT_OK(held.add(1000));
    EXPECT_EQ(instance->usedMemory(), before);
    EXPECT_EQ(held.add(1000 + 3 * ValueBytes).code(), VX_OUT_OF_MEMORY);
    EXPECT_EQ(held.add(UINT64_MAX).code(), VX_OUT_OF_MEMORY);
    instance->memory().limitCalls(3 * ValueBytes);
    EXPECT_EQ(run(*instance, Read, 1, y, derived).code(), VX_OUT_OF_MEMORY);
  }
  ASSERT_OK(run(*instance, Read, 1, y, derived));
}

// A program that was built before there was a limit gives a smaller struct.
TEST(MemoryLimitOfAnInstance, optionsOfTheCInterface) {
  const std::string path = Builder().write("memory_limit.vxm");
  vx_module *module = nullptr;
  ASSERT_EQ(vx_module_load(path.c_str(), &module), nullptr);
  vx_instance_options options = {};
  options.device = "cpu";
  options.memory_limit = 100;
  options.struct_size = offsetof(vx_instance_options, memory_limit);
  vx_instance *instance = nullptr;
  ASSERT_EQ(vx_instance_create(module, &options, &instance), nullptr);
  options.struct_size = sizeof(options);
  vx_instance *other = instance;
  auto expectRefused = [&](vx_code code, const std::string &message) {
    vx_status status = vx_instance_create(module, &options, &other);
    EXPECT_EQ(vx_status_code(status), code);
    EXPECT_EQ(vx_status_message(status), "vx_instance_create: " + message);
    EXPECT_EQ(other, nullptr);
    vx_status_release(status);
  };
  expectRefused(VX_OUT_OF_MEMORY,
                path + ": the variables take 32768 bytes, and the instance's memory limit is 100 bytes");
  options.device = nullptr;
  options.share = instance;
  expectRefused(VX_INVALID_ARGUMENT,
                "options set a memory limit of 100 bytes and an instance to share with, which has its own");
  vx_instance_release(instance);
  vx_module_release(module);
}

} // namespace vx::test
