// Derived values of variables: computed when a call first reads them, and again when the variables have changed.
#include "derived_program.h"
#include "drivers/null/driver.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace vx::test {

using namespace derived;

class DerivedOfVariables : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (const std::string missing = missingLibrary(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
    path = Builder().write("derived_variables.vxm");
    ASSERT_OK(Module::load(path, module));
    ASSERT_OK(makeSharing(nullptr, module, GetParam(), first));
  }
  static void write(Instance &instance, const char *name, int32_t value, int64_t count = Count) {
    EXPECT_OK(instance.writeVariable(name, *vectorValue(std::vector<int32_t>(static_cast<size_t>(count), value))));
  }
  static void add(Instance &instance, uint32_t function, int32_t what) {
    std::vector<int32_t> y;
    int derived = -1;
    ASSERT_OK(run(instance, function, what, y, derived));
    EXPECT_EQ(derived, 0); // who stores a variable reads it as it is
  }

  std::string path;
  Ref<Module> module;
  Ref<Instance> first;
};
INSTANTIATE_TEST_SUITE_P(Devices, DerivedOfVariables,
                         testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &device) { return std::string(device.param); });

TEST_P(DerivedOfVariables, areComputedAtTheFirstUseAndOnceAfterEachChange) {
  EXPECT_FALSE(first->derived(1).buffer.memory);
  expectRead(*first, 0, 2);
  expectRead(*first, 0, 0);
  const hal::Memory *memory = first->derived(1).buffer.memory.get();
  write(*first, "weight", 3);
  write(*first, "weight", 4);
  expectRead(*first, 4, 2);
  expectRead(*first, 4, 0);
  add(*first, AddWeight, 10);
  expectRead(*first, 14, 2);
  expectRead(*first, 14, 0);
  EXPECT_EQ(first->derived(1).buffer.memory.get(), memory); // the same place each time
  // What else is derived from it, and a state, is computed when it is needed itself.
  expect(*first, Mix, 1, 1, [](int32_t) { return 15; });
  add(*first, AddState, 100);
  expectRead(*first, 14, 0);
  expect(*first, Mix, 1, 1, [](int32_t) { return 115; });
  expect(*first, Mix, 1, 0, [](int32_t) { return 115; });
  // A program may read a variable as it is, too.
  write(*first, "weight", 7);
  expect(*first, Both, 1, 2, [](int32_t i) { return 1 + 2 * i; });
  expect(*first, Both, 1, 0, [](int32_t i) { return 1 + 2 * i; });
}

// A variable that has bytes of another one changes it.
TEST_P(DerivedOfVariables, bytesCountAndNotNames) {
  write(*first, "weight", 1);
  expectRead(*first, 1, 2);
  write(*first, "part", 9, 16);
  expect(*first, Read, 5, 2, [](int32_t i) { return 5 + 2 * (i + 2 * (i < 16 ? 9 : 1)); });
  write(*first, "state", 9);
  expect(*first, Read, 5, 0, [](int32_t i) { return 5 + 2 * (i + 2 * (i < 16 ? 9 : 1)); });
}

// Nobody knows how much a failed call has done.
TEST_P(DerivedOfVariables, aFailedCallThatStoresMayHaveChanged) {
  write(*first, "weight", 2);
  expectRead(*first, 2, 2);
  std::vector<int32_t> y;
  int derived = -1;
  EXPECT_EQ(run(*first, Fail, 1, y, derived).code(), VX_FAULT);
  expectRead(*first, 2, 2);
  expectRead(*first, 2, 0);
  // One that is refused before it runs has done nothing.
  std::vector<Ref<Value>> outputs;
  EXPECT_EQ(runMain(*first, {vectorValue({1})}, outputs, AddWeight).code(), VX_INVALID_ARGUMENT);
  EXPECT_EQ(first->writeVariable("weight", *vectorValue({1})).code(), VX_INVALID_ARGUMENT);
  expectRead(*first, 2, 0);
}

// Instances that share parameters have what is derived from them once, and each its own of what a state decides too.
TEST_P(DerivedOfVariables, areSharedWithTheirVariables) {
  Ref<Instance> second, third;
  ASSERT_OK(makeSharing(first, module, GetParam(), second));
  ASSERT_OK(makeSharing(nullptr, module, GetParam(), third));
  write(*first, "weight", 3);
  expectRead(*second, 3, 2);
  expectRead(*first, 3, 0);
  expectRead(*third, 0, 2);
  EXPECT_EQ(first->derived(1).buffer.memory.get(), second->derived(1).buffer.memory.get());
  EXPECT_NE(first->derived(1).buffer.memory.get(), third->derived(1).buffer.memory.get());
  add(*second, AddWeight, 1);
  expectRead(*first, 4, 2);
  expectRead(*second, 4, 0);
  write(*first, "weight", 6);
  expectRead(*second, 6, 2);
  expectRead(*third, 0, 0);

  write(*second, "state", 100);
  expect(*first, Mix, 0, 1, [](int32_t) { return 6; });
  expect(*second, Mix, 0, 1, [](int32_t) { return 106; });
  write(*first, "state", 200);
  expect(*second, Mix, 0, 0, [](int32_t) { return 106; });
  expect(*first, Mix, 0, 1, [](int32_t) { return 206; });
  write(*second, "weight", 7);
  expect(*first, Mix, 0, 1, [](int32_t) { return 207; });
  expect(*second, Mix, 0, 1, [](int32_t) { return 107; });
  // They outlive the instance that had them first.
  expectRead(*first, 7, 2);
  first = nullptr;
  expectRead(*second, 7, 0);
  write(*second, "weight", 8);
  expectRead(*second, 8, 2);
}

// Who computes a value waits for those who read it, and for who writes its variables; who reads one that is fresh waits
// for nobody.
TEST_P(DerivedOfVariables, computingWaitsForReadersOfTheValueAndWritersOfTheVariable) {
  auto read = [&] {
    return std::async(std::launch::async, [&] {
      std::vector<int32_t> y;
      int derived = -1;
      EXPECT_OK(run(*first, Read, 0, y, derived));
      return derived;
    });
  };
  auto waits = [](std::future<int> &call) {
    return call.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout;
  };
  VariableAccesses::Ticket writer = first->takeVariables(AddWeight);
  std::future<int> call = read();
  EXPECT_TRUE(waits(call));
  writer = {};
  EXPECT_EQ(call.get(), 2);
  writer = first->takeVariables(AddWeight);
  EXPECT_EQ(read().get(), 0);
  writer = {};
  VariableAccesses::Ticket reader = first->takeVariables(Read);
  call = read();
  EXPECT_TRUE(waits(call));
  reader = {};
  EXPECT_EQ(call.get(), 2);
}

// Both functions of many threads see the weight of one moment, in each element, however often it changes.
TEST_P(DerivedOfVariables, callsOfManyThreadsSeeOneMoment) {
  Ref<Instance> second;
  ASSERT_OK(makeSharing(first, module, GetParam(), second));
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0, computed = 0;
  std::vector<std::thread> writers, readers;
  writers.emplace_back([&] {
    for (int i = 0; !done; ++i)
      write(i % 2 ? *first : *second, "weight", i % 1000);
  });
  writers.emplace_back([&] {
    for (int i = 0; !done; ++i)
      add(i % 2 ? *first : *second, AddWeight, 1);
  });
  for (int thread = 0; thread < 4; ++thread)
    readers.emplace_back([&, thread] {
      Instance &instance = thread % 2 ? *first : *second;
      for (int i = 0; i < 50; ++i) {
        const bool both = (i + thread / 2) % 2;
        std::vector<int32_t> y;
        int derived = 0;
        EXPECT_OK(run(instance, both ? Both : Read, 0, y, derived));
        computed += derived;
        for (int32_t k = 0; k < Count && !y.empty(); ++k)
          wrong += y[static_cast<size_t>(k)] != 2 * k + (both ? 0 : y[0]);
      }
    });
  for (std::thread &thread : readers)
    thread.join();
  done = true;
  for (std::thread &thread : writers)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(computed, 0);
}

// What the null device is asked to do: nothing but the call's own work while nothing has changed.
TEST(DerivedOfVariable, costsNothingWhileNothingChanges) {
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(Builder().write("derived_variables.vxm"), "null", instance));
  auto work = [&](int calls) {
    std::vector<Ref<Value>> outputs;
    const drivers::NullCounters before = drivers::nullCounters();
    for (int i = 0; i < calls; ++i)
      EXPECT_OK(runMain(*instance, {vectorValue(all(1))}, outputs, Read));
    drivers::NullCounters after = drivers::nullCounters();
    after.allocations -= before.allocations;
    after.recordings -= before.recordings;
    after.dispatches -= before.dispatches;
    return after;
  };
  // Two values and the call itself; a place for each and for the input, and the output.
  drivers::NullCounters counters = work(1);
  EXPECT_EQ(counters.dispatches, 3u);
  EXPECT_EQ(counters.recordings, 3u);
  EXPECT_EQ(counters.allocations, 4u);
  counters = work(10);
  EXPECT_EQ(counters.dispatches, 10u);
  EXPECT_EQ(counters.recordings, 0u);
  EXPECT_EQ(counters.allocations, 10u); // the outputs
  for (int change = 0; change < 3; ++change) {
    ASSERT_OK(instance->writeVariable("weight", *vectorValue(all(change))));
    counters = work(10);
    EXPECT_EQ(counters.dispatches, 12u);
    EXPECT_EQ(counters.recordings, 0u);
    EXPECT_EQ(counters.allocations, 10u);
  }
}

TEST(DerivedOfVariable, aFailureIsTheCallsAndNamesTheVariable) {
  Builder builder;
  // `scaled` takes the weights as indices of `base` but for its last element, which vector of equal ones may not name.
  format::ProgramT &program = *builder.module.programs[7];
  program.body = sizes();
  program.body->instructions.push_back(instruction(Op::ConstI64, {5}, Count - 1));
  program.body->instructions.push_back(instruction(Op::Constant, {3}, builder.base));
  program.body->instructions.push_back(instruction(Op::Variable, {2}, builder.weight));
  program.body->instructions.push_back(instruction(Op::Allocate, {1, 1}));
  program.body->instructions.push_back(segment(dispatch(Gather, 2, {3, 2, 1}, {0, 5})));
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write("derived_fault.vxm"), "cpu", instance, 1));
  std::vector<int32_t> y;
  int derived = -1;
  ASSERT_OK(instance->writeVariable("weight", *vectorValue(all(Count))));
  for (int again = 0; again < 2; ++again) {
    EXPECT_FAILS(run(*instance, Read, 1, y, derived), VX_FAULT,
                 fmt::format("'scaled', derived from 'weight': node_3 (Gather): index at [0] is {}, allowed is [0, {})",
                             Count, Count - 1));
    EXPECT_EQ(derived, 0);
  }
  // Who does not need it is not concerned.
  expect(*instance, Mix, 1, 1, [](int32_t) { return 1 + Count; });
  ASSERT_OK(instance->writeVariable("weight", *vectorValue(all(7))));
  expect(*instance, Read, 1, 2, [](int32_t) { return 1 + 2 * 7; });
}

TEST(DerivedOfVariable, everyDiagnosticOfTheLoader) {
  auto messageAfter = [](const std::function<void(ModuleBuilder &)> &damage) {
    Builder builder;
    damage(builder);
    std::string path = builder.write("damaged_derived.vxm");
    Ref<Module> module;
    Status status = Module::load(path, module);
    EXPECT_EQ(status.code(), VX_INVALID_MODULE);
    return std::string(status.message().substr(std::min(status.message().size(), path.size() + 2)));
  };
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { b.module.programs[7]->stores = {0}; }),
            "target 'cpu': derived value 0 'scaled': program 7 'scaled' stores 1 variables, expected none");
  EXPECT_EQ(
      messageAfter([&](ModuleBuilder &b) { b.module.programs[7]->body->instructions.push_back(segment(copy(3, 2))); }),
      "target 'cpu': derived value 0 'scaled': program 7 'scaled': instruction 10 Segment: command 0: copies to "
      "a buffer that is read-only");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) {
              b.module.programs[7]->body->instructions.push_back(instruction(Op::Variable, {2}, 3));
            }),
            "program 7 'scaled': instruction 10 Variable: variable 3 does not exist, there are 3");
  EXPECT_EQ(messageAfter(
                [&](ModuleBuilder &b) { std::swap(b.module.targets[0]->derived[0], b.module.targets[0]->derived[1]); }),
            "target 'cpu': derived value 0 'twice': program 8 'twice': instruction 6 Derived: derived value 0 does "
            "not exist here, there are 0");
}

TEST(VariableAccesses, derivedValuesAreFreshUntilAVariableIsWritten) {
  hal::Memory a(64, 256, nullptr);
  auto version = std::make_shared<VariableVersion>();
  DerivedVersion derived({version});
  AccessSet reads, derives, writes;
  reads.read(derived);
  derives.write(derived);
  derives.read({&a, 0, 16});
  writes.write({&a, 0, 16});
  writes.change(*version);
  VariableAccesses accesses;
  EXPECT_FALSE(accesses.take(reads).isFresh());
  {
    VariableAccesses::Ticket ticket = accesses.take(derives);
    accesses.noteComputed(derived);
    EXPECT_TRUE(accesses.isFresh(derived));
    // Who holds less than before lets others in.
    std::future<bool> reader = std::async(std::launch::async, [&] { return accesses.take(reads).isFresh(); });
    EXPECT_EQ(reader.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    ticket.reduceTo(reads);
    EXPECT_TRUE(reader.get());
    // While the value is read the variable may be written, and the value stays what it is.
    EXPECT_TRUE(accesses.take(reads).isFresh());
    VariableAccesses::Ticket writer = accesses.take(writes);
    EXPECT_TRUE(accesses.take(reads).isFresh());
    writer = {};
    EXPECT_FALSE(accesses.take(reads).isFresh());
    std::future<void> deriver = std::async(std::launch::async, [&] { accesses.take(derives); });
    EXPECT_EQ(deriver.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    ticket = {};
    deriver.get();
  }
}

} // namespace vx::test
