// Derived values of variables: computed when a call first reads them, and again when the variables have changed.
#include "drivers/null/driver.h"
#include "programs.h"
#include "runtime_test.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace vx::test {

namespace {

using format::ElementType;
using format::Role;

constexpr int64_t Count = 4096;

enum Function : uint32_t { Read, AddWeight, Both, Mix, AddState, Fail };

// Sizes that every program begins with; i64: 0 elements, 1 bytes, 2 workgroups, 3 one, 4 two, 5 minus four.
BlockPtr sizes() {
  return block(instruction(Op::ConstI64, {0}, Count), instruction(Op::ConstI64, {1}, Count * 4),
               instruction(Op::ConstI64, {2}, Count / 64), instruction(Op::ConstI64, {3}, 1),
               instruction(Op::ConstI64, {4}, 2), instruction(Op::ConstI64, {5}, -4));
}

class Builder : public ModuleBuilder {
public:
  // Variables `weight` and `part`, the begin of its storage (parameters), and `state`; `base` is 0, 1, 2, ... Derived:
  //   scaled = base + 2 weight, twice = 2 scaled, mixed = weight + state
  // Functions of x:
  //   read = x + twice, add_weight: weight += x, both = x + twice - 4 weight, mix = x + mixed, add_state: state += x,
  //   fail: would store weight, but an index is out of range
  Builder() {
    addFaultSites(4);
    std::vector<int32_t> numbers;
    for (int32_t i = 0; i < Count; ++i)
      numbers.push_back(i);
    base = addConstant("base", ElementType::I32, {Count}, numbers.data(), numbers.size() * sizeof(int32_t));
    weight = addVariable("weight", ElementType::I32, {Count}, Count * 4);
    part = addVariable("part", ElementType::I32, {16}, 64);
    state = addVariable("state", ElementType::I32, {Count}, Count * 4);
    module.variables[part]->storage = 0;
    module.variables[state]->storage = 1;
    module.storages.erase(module.storages.begin() + 1);
    module.variables[weight]->role = module.variables[part]->role = Role::Parameter;

    for (const char *name : {"read", "add_weight", "both", "mix", "add_state", "fail"}) {
      format::FunctionT &one = function(name);
      one.inputs.push_back(argument("x", ElementType::I32, constantExpr(Count)));
      one.outputs.push_back(argument("y", ElementType::I32, constantExpr(Count)));
    }
    // Buffers: 0 x, 1 the result, 2 and 3 operands.
    sum("read", instruction(Op::MoveBuffer, {3, 0}), instruction(Op::Derived, {2}, 1), 3);
    addTo("add_weight", weight);
    sum("both", instruction(Op::MoveBuffer, {3, 0}), instruction(Op::Derived, {2}, 1), 3,
        instruction(Op::Variable, {3}, weight));
    sum("mix", instruction(Op::MoveBuffer, {3, 0}), instruction(Op::Derived, {2}, 2), 3);
    addTo("add_state", state);
    addTo("fail", weight, true);
    sum("scaled", instruction(Op::Constant, {3}, base), instruction(Op::Variable, {2}, weight), 4);
    sum("twice", instruction(Op::Derived, {3}, 0), instruction(Op::Derived, {2}, 0), 3);
    sum("mixed", instruction(Op::Variable, {3}, weight), instruction(Op::Variable, {2}, state), 3);
    addDerivedTo(addCpuTarget());
    if (addVulkanTarget())
      addDerivedTo(*module.targets.back());
  }

  uint32_t base, weight, part, state;

private:
  // `first` puts something into buffer 3, `second` into buffer 2: buffer 1 = buffer 3 + i64[scale] * buffer 2, and
  // - 4 * buffer 3 again where `third` puts something there.
  void sum(const std::string &name, InstructionPtr first, InstructionPtr second, uint32_t scale,
           InstructionPtr third = nullptr) {
    BlockPtr body = sizes();
    body->instructions.push_back(std::move(first));
    body->instructions.push_back(std::move(second));
    body->instructions.push_back(instruction(Op::Allocate, {1, 1}));
    body->instructions.push_back(segment(copy(3, 1), dispatch(ScaleAdd, 2, {2, 1}, {0, scale})));
    if (third) {
      body->instructions.push_back(std::move(third));
      body->instructions.push_back(segment(dispatch(ScaleAdd, 2, {3, 1}, {0, 5})));
    }
    program(name, 6, 4, 0, std::move(body)).results.push_back(tensorResult(1, {0}));
  }
  void addTo(const std::string &name, uint32_t variable, bool fails = false) {
    BlockPtr body = sizes();
    body->instructions.push_back(instruction(Op::Variable, {1}, variable));
    if (fails) {
      body->instructions.push_back(instruction(Op::Allocate, {2, 1}));
      body->instructions.push_back(segment(dispatch(Gather, 2, {0, 0, 2}, {0, 3})));
      body->instructions.push_back(instruction(Op::CheckFaults));
    }
    body->instructions.push_back(segment(dispatch(ScaleAdd, 2, {0, 1}, {0, 3})));
    format::ProgramT &added = program(name, 6, 4, 0, std::move(body));
    added.stores = {variable};
    added.results.push_back(tensorResult(1, {0}));
  }
  static void addDerivedTo(format::TargetT &target) {
    for (const auto &[name, number] : {std::pair("scaled", 6u), std::pair("twice", 7u), std::pair("mixed", 8u)}) {
      auto derived = std::make_unique<format::DerivedT>();
      derived->name = name;
      derived->program = number;
      derived->type = std::make_unique<format::ValueTypeT>();
      derived->type->element_type = ElementType::I32;
      derived->type->dims.push_back(constantExpr(Count));
      target.derived.push_back(std::move(derived));
    }
  }
};

Status makeSharing(const Ref<Instance> &share, const Ref<Module> &module, const char *device, Ref<Instance> &result) {
  DeviceRequest request;
  VX_RETURN_IF_ERROR(parseDeviceRequest(device, nullptr, allDrivers(), request));
  request.noFallback = true;
  request.threads = 2;
  return Instance::create(module, request, allDrivers(), result, {{}, share});
}

std::vector<int32_t> all(int32_t value) { return std::vector<int32_t>(Count, value); }

// Runs a function with x everywhere. `derived` is how many values the call computed before it ran.
Status run(Instance &instance, uint32_t function, int32_t x, std::vector<int32_t> &y, int &derived) {
  std::unique_ptr<CallState> call;
  VX_RETURN_IF_ERROR(instance.takeCall(function, call));
  Ref<Value> input = vectorValue(all(x));
  Value *inputs[] = {input.get()};
  std::vector<Ref<Value>> outputs;
  Status status = call->run(inputs, outputs);
  std::string report;
  VX_RETURN_IF_ERROR(call->report(report));
  derived = std::stoi(report.substr(report.find("\"derived\":") + 10));
  if (status.ok())
    y = elementsOf(*outputs[0]);
  instance.returnCall(std::move(call));
  return status;
}

// `wanted` of each i, after `derived` values were computed.
void expect(Instance &instance, uint32_t function, int32_t x, int derived,
            const std::function<int32_t(int32_t)> &wanted) {
  std::vector<int32_t> y, right;
  int computed = -1;
  ASSERT_OK(run(instance, function, x, y, computed));
  for (int32_t i = 0; i < Count; ++i)
    right.push_back(wanted(i));
  EXPECT_EQ(computed, derived);
  EXPECT_EQ(y, right);
}

void expectRead(Instance &instance, int32_t weight, int derived) {
  expect(instance, Read, 5, derived, [&](int32_t i) { return 5 + 2 * (i + 2 * weight); });
}

} // namespace

class DerivedOfVariables : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
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
INSTANTIATE_TEST_SUITE_P(Devices, DerivedOfVariables, testing::Values("cpu", "vulkan"),
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
  format::ProgramT &program = *builder.module.programs[6];
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
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { b.module.programs[6]->stores = {0}; }),
            "target 'cpu': derived value 0 'scaled': program 6 'scaled' stores 1 variables, wanted are none");
  EXPECT_EQ(
      messageAfter([&](ModuleBuilder &b) { b.module.programs[6]->body->instructions.push_back(segment(copy(3, 2))); }),
      "target 'cpu': derived value 0 'scaled': program 6 'scaled': instruction 10 Segment: command 0: copies to "
      "a buffer that is read-only");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) {
              b.module.programs[6]->body->instructions.push_back(instruction(Op::Variable, {2}, 3));
            }),
            "program 6 'scaled': instruction 10 Variable: variable 3 does not exist, there are 3");
  EXPECT_EQ(messageAfter(
                [&](ModuleBuilder &b) { std::swap(b.module.targets[0]->derived[0], b.module.targets[0]->derived[1]); }),
            "target 'cpu': derived value 0 'twice': program 7 'twice': instruction 6 Derived: derived value 0 does "
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
