// State of instances: many variables at once, what instances of one module share, who waits for whom, and sizes that
// are bound when an instance is made.
#include "programs.h"
#include "runtime_test.h"

#include "drivers/null/driver.h"
#include "vx/runtime/vx.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

namespace vx::test {

namespace {

using format::ElementType;
using format::Role;

// add_V(x: i32[4]) -> V: adds x to variable number `variable` and gives the sum.
void addAdder(ModuleBuilder &builder, uint32_t variable) {
  const std::string name = builder.module.variables[variable]->name;
  format::FunctionT &function = builder.function("add_" + name);
  function.inputs.push_back(argument("x", ElementType::I32, constantExpr(4)));
  function.outputs.push_back(argument("y", ElementType::I32, constantExpr(4)));
  format::ProgramT &program =
      builder.program("add_" + name, 2, 2, 0,
                      block(instruction(Op::ConstI64, {0}, 4), instruction(Op::ConstI64, {1}, 1),
                            instruction(Op::Variable, {1}, variable), segment(dispatch(ScaleAdd, 1, {0, 1}, {0, 1}))));
  program.stores = {variable};
  program.results.push_back(tensorResult(1, {0}));
}

// Variables `weight` (a parameter that starts as 5, 6, 7, 8), `moment` (optimizer) and `mean` (statistic), each with a
// function that adds to it, and a second one that adds to `weight`.
void addState(ModuleBuilder &builder) {
  builder.addFaultSites(4);
  const int32_t start[] = {5, 6, 7, 8};
  const auto constant = static_cast<int32_t>(builder.addConstant("start", ElementType::I32, {4}, start, sizeof(start)));
  builder.addVariable("weight", ElementType::I32, {4}, 16, constant);
  builder.addVariable("moment", ElementType::I32, {4}, 16);
  builder.addVariable("mean", ElementType::I32, {4}, 16);
  builder.module.variables[0]->role = Role::Parameter;
  builder.module.variables[1]->role = Role::Optimizer;
  builder.module.variables[2]->role = Role::Statistic;
  for (uint32_t variable : {0u, 1u, 2u, 0u})
    addAdder(builder, variable);
  builder.module.functions.back()->name = "again";
}

Status makeSharing(const Ref<Module> &module, const Ref<Instance> &share, Ref<Instance> &result,
                   std::vector<BoundSymbol> symbols = {}, uint32_t threads = 1) {
  DeviceRequest request;
  VX_RETURN_IF_ERROR(parseDeviceRequest("cpu", nullptr, allDrivers(), request));
  request.noFallback = true;
  request.threads = threads;
  return Instance::create(module, request, allDrivers(), result, {std::move(symbols), share});
}

class State : public testing::Test {
protected:
  void SetUp() override {
    ModuleBuilder builder;
    addState(builder);
    builder.addCpuTarget();
    path = builder.write("state.vxm");
    ASSERT_OK(Module::load(path, module));
    ASSERT_OK(makeSharing(module, nullptr, first));
  }
  static std::vector<int32_t> valueOf(Instance &instance, std::string_view name) {
    Ref<Value> value;
    EXPECT_OK(instance.readVariable(name, value));
    return elementsOf(*value);
  }
  static void add(Instance &instance, uint32_t function, int32_t what) {
    std::vector<Ref<Value>> outputs;
    EXPECT_OK(runMain(instance, {vectorValue(std::vector<int32_t>(4, what))}, outputs, function));
  }

  const std::vector<int32_t> zeros = {0, 0, 0, 0}, start = {5, 6, 7, 8}, ones = {1, 1, 1, 1};
  std::string path;
  Ref<Module> module;
  Ref<Instance> first;
};

} // namespace

TEST_F(State, manyVariablesAtOnce) {
  std::vector<Ref<Value>> values;
  const std::string_view names[] = {"mean", "weight", "mean"};
  ASSERT_OK(first->readVariables(names, values));
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(elementsOf(*values[0]), zeros);
  EXPECT_EQ(elementsOf(*values[1]), start);
  EXPECT_EQ(elementsOf(*values[2]), zeros);
  Ref<Value> a = vectorValue({1, 2, 3, 4}), b = vectorValue({9, 9, 9, 9});
  const Value *given[] = {a.get(), b.get()};
  const std::string_view two[] = {"moment", "mean"};
  ASSERT_OK(first->writeVariables(two, given));
  EXPECT_EQ(valueOf(*first, "moment"), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(valueOf(*first, "mean"), (std::vector<int32_t>{9, 9, 9, 9}));
  ASSERT_OK(first->writeVariables({}, {}));
}

TEST_F(State, manyVariablesAreWrittenAllOrNone) {
  Ref<Value> right = vectorValue(ones), shape = vectorValue({1, 2}), type;
  const int64_t dims[] = {4};
  const float numbers[] = {1, 2, 3, 4};
  ASSERT_OK(Value::copyTensor(VX_F32, dims, numbers, sizeof(numbers), type));
  Ref<Value> list;
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {}, list));
  auto write = [&](std::string_view second, const Ref<Value> &value) {
    const std::string_view names[] = {"weight", second};
    const Value *values[] = {right.get(), value.get()};
    return first->writeVariables(names, values);
  };
  EXPECT_FAILS(write("moment", shape), VX_INVALID_ARGUMENT, "variable 'moment': expected i32[4], got i32[2]");
  EXPECT_FAILS(write("moment", type), VX_INVALID_ARGUMENT, "variable 'moment': expected i32[4], got f32[4]");
  EXPECT_FAILS(write("moment", list), VX_INVALID_ARGUMENT, "variable 'moment': expected i32[4], got sequence of i32");
  EXPECT_FAILS(write("weight", right), VX_INVALID_ARGUMENT, "variable 'weight' is given twice");
  EXPECT_FAILS(write("bias", right), VX_NOT_FOUND, "variable 'bias' does not exist, there are: weight, moment, mean");
  EXPECT_EQ(valueOf(*first, "weight"), start);
  std::vector<Ref<Value>> values;
  const std::string_view names[] = {"weight", "bias"};
  EXPECT_FAILS(first->readVariables(names, values), VX_NOT_FOUND,
               "variable 'bias' does not exist, there are: weight, moment, mean");
  EXPECT_TRUE(values.empty());
}

// Two variables that each call changes alike are equal whenever somebody reads both.
TEST_F(State, manyVariablesAreReadAsTheyAreAtOneTime) {
  std::atomic<bool> done = false;
  std::thread writer([&] {
    Ref<Value> values[2] = {vectorValue(zeros), vectorValue(ones)};
    const std::string_view names[] = {"weight", "moment", "mean"};
    for (int i = 0; !done; ++i) {
      const Value *value = values[i % 2].get();
      const Value *const all[] = {value, value, value};
      EXPECT_OK(first->writeVariables(names, all));
    }
  });
  std::vector<std::string_view> names; // so many that a write would fall between two of them
  for (int i = 0; i < 64; ++i)
    names.push_back(i % 2 ? "mean" : "weight");
  std::vector<Ref<Value>> values;
  size_t apart = 0;
  for (int i = 0; i < 2000; ++i) {
    EXPECT_OK(first->readVariables(names, values));
    const std::vector<int32_t> read = elementsOf(*values[0]);
    for (const Ref<Value> &value : values)
      apart += read != start && elementsOf(*value) != read;
  }
  done = true;
  writer.join();
  EXPECT_EQ(apart, 0u);
}

TEST_F(State, instancesOfOneDeviceHaveCodeAndConstantsOnce) {
  Ref<Instance> second, other;
  ASSERT_OK(makeSharing(module, nullptr, second));
  EXPECT_EQ(&first->loaded(), &second->loaded());
  EXPECT_NE(first->variable(0).memory.get(), second->variable(0).memory.get());
  // What runs otherwise is loaded for itself.
  ASSERT_OK(makeSharing(module, nullptr, other, {}, 2));
  EXPECT_NE(&first->loaded(), &other->loaded());
  add(*first, 0, 1);
  EXPECT_EQ(valueOf(*second, "weight"), start);
  // The last one takes it along.
  const hal::Device *device = &first->device();
  Ref<hal::Device> kept(const_cast<hal::Device *>(device));
  first = second = nullptr;
  ASSERT_OK(makeSharing(module, nullptr, second));
  EXPECT_NE(&second->device(), device);
  EXPECT_EQ(valueOf(*second, "weight"), start);
  // Another load of the file is another module.
  Ref<Module> again;
  ASSERT_OK(Module::load(path, again));
  ASSERT_OK(makeSharing(again, nullptr, first));
  EXPECT_NE(&first->loaded(), &second->loaded());
}

// By the bytes that a driver allocates: the weights are a megabyte, all else is little.
TEST(Weights, areOnADeviceOnce) {
  constexpr int64_t elements = 1 << 18;
  ModuleBuilder builder;
  addAffine(builder, elements);
  builder.addVariable("state", ElementType::I32, {4}, 16);
  builder.addCpuTarget();
  Ref<Module> module;
  ASSERT_OK(Module::load(builder.write("weights.vxm"), module));
  DeviceRequest request;
  ASSERT_OK(parseDeviceRequest("null", nullptr, allDrivers(), request));
  request.noFallback = true;
  std::vector<Ref<Instance>> instances(3);
  std::vector<uint64_t> taken;
  for (Ref<Instance> &instance : instances) {
    const uint64_t before = drivers::nullCounters().allocatedBytes;
    ASSERT_OK(Instance::create(module, request, allDrivers(), instance, {}));
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue({1, 2, 3})}, outputs));
    taken.push_back(drivers::nullCounters().allocatedBytes - before);
  }
  EXPECT_GE(taken[0], elements * sizeof(int32_t));
  EXPECT_LT(taken[1], elements);
  EXPECT_LT(taken[2], elements);
}

TEST_F(State, instancesThatAreMadeAtOnceShareTheirConstants) {
  first = nullptr;
  for (int round = 0; round < 20; ++round) {
    std::vector<Ref<Instance>> made(4);
    std::vector<std::thread> threads;
    for (Ref<Instance> &one : made)
      threads.emplace_back([&] { EXPECT_OK(makeSharing(module, nullptr, one)); });
    for (std::thread &thread : threads)
      thread.join();
    for (const Ref<Instance> &one : made)
      EXPECT_EQ(&one->loaded(), &made[0]->loaded());
    // They go at once too, while others come.
    threads.clear();
    for (Ref<Instance> &one : made)
      threads.emplace_back([&] {
        one = nullptr;
        EXPECT_OK(makeSharing(module, nullptr, one));
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

TEST_F(State, aLostDeviceIsSharedWithNobodyNew) {
  Ref<Instance> second;
  (void)first->context()->noted(Status(VX_DEVICE_LOST, "gone"));
  ASSERT_OK(makeSharing(module, nullptr, second));
  EXPECT_NE(&first->loaded(), &second->loaded());
  EXPECT_EQ(valueOf(*second, "weight"), start);
}

TEST_F(State, parametersAndStatisticsAreShared) {
  Ref<Instance> second;
  ASSERT_OK(makeSharing(module, first, second));
  EXPECT_EQ(&first->loaded(), &second->loaded());
  for (uint32_t function : {0u, 1u, 2u})
    add(*first, function, 1);
  EXPECT_EQ(valueOf(*second, "weight"), (std::vector<int32_t>{6, 7, 8, 9}));
  EXPECT_EQ(valueOf(*second, "moment"), zeros);
  EXPECT_EQ(valueOf(*second, "mean"), ones);
  // The variables outlive the instance that had them first.
  first = nullptr;
  add(*second, 0, 10);
  EXPECT_EQ(valueOf(*second, "weight"), (std::vector<int32_t>{16, 17, 18, 19}));

  ModuleBuilder builder;
  addAccumulate(builder);
  builder.addCpuTarget();
  const std::string other = builder.write("other.vxm");
  Ref<Module> another;
  ASSERT_OK(Module::load(other, another));
  EXPECT_FAILS(makeSharing(another, second, first), VX_INVALID_ARGUMENT,
               fmt::format("{}: the instance to share with is of another module, '{}'", other, path));
}

// Additions of two functions, two instances and four threads to one variable: none is lost, and the others' variable is
// not waited for.
TEST_F(State, callsThatStoreOneVariableTakeTurns) {
  Ref<Instance> second;
  ASSERT_OK(makeSharing(module, first, second));
  constexpr int times = 300;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      Instance &instance = thread % 2 ? *second : *first;
      const uint32_t function = thread / 2 ? 3 : 0;
      for (int i = 0; i < times; ++i)
        add(instance, function, 1);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(valueOf(*first, "weight"), (std::vector<int32_t>{1205, 1206, 1207, 1208}));
}

// A pool, and a variable that is a part of it: each sees what the other gets, and the rest of the storage begins at
// zero.
TEST(Storages, variablesMaySharePlaces) {
  ModuleBuilder builder;
  const int32_t start[] = {5, 6, 7, 8};
  const auto constant = static_cast<int32_t>(builder.addConstant("start", ElementType::I32, {4}, start, sizeof(start)));
  builder.addVariable("pool", ElementType::I32, {32}, 128);
  builder.addVariable("part", ElementType::I32, {4}, 16, constant);
  builder.module.variables[1]->storage = 0;
  builder.module.variables[1]->offset = constantExpr(64);
  builder.module.storages.pop_back();
  addAdder(builder, 1);
  builder.addFaultSites(4);
  builder.addCpuTarget();
  Ref<Module> module;
  ASSERT_OK(Module::load(builder.write("pool.vxm"), module));
  // Memory that comes again is not zero by chance.
  for (int round = 0; round < 3; ++round) {
    Ref<Instance> instance;
    ASSERT_OK(makeSharing(module, nullptr, instance));
    Ref<Value> value;
    std::vector<int32_t> expected(32);
    std::copy(std::begin(start), std::end(start), expected.begin() + 16);
    ASSERT_OK(instance->readVariable("pool", value));
    EXPECT_EQ(elementsOf(*value), expected);
    ASSERT_OK(instance->writeVariable("pool", *vectorValue(std::vector<int32_t>(32, 3))));
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue({1, 2, 3, 4})}, outputs));
    EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{4, 5, 6, 7}));
  }
}

TEST(VariableAccesses, conflictIsByBytes) {
  hal::Memory a(64, 256, nullptr), b(1024, 256, nullptr);
  auto set = [](std::vector<hal::BufferView> reads, std::vector<hal::BufferView> writes) {
    AccessSet result;
    for (const hal::BufferView &view : reads)
      result.read(view);
    for (const hal::BufferView &view : writes)
      result.write(view);
    return result;
  };
  auto conflict = [](const AccessSet &x, const AccessSet &y) {
    EXPECT_EQ(x.conflictsWith(y), y.conflictsWith(x));
    return x.conflictsWith(y);
  };
  const AccessSet writes = set({}, {{&a, 64, 64}});
  EXPECT_TRUE(conflict(writes, set({{&a, 127, 1}}, {})));
  EXPECT_TRUE(conflict(writes, set({}, {{&a, 0, 256}})));
  EXPECT_TRUE(conflict(writes, set({{&b, 64, 64}, {&a, 0, 1}, {&a, 100, 4}}, {})));
  EXPECT_FALSE(conflict(writes, set({{&a, 0, 64}, {&a, 128, 64}, {&b, 64, 64}}, {})));
  EXPECT_FALSE(conflict(writes, set({}, {{&a, 64, 0}})));
  EXPECT_FALSE(conflict(set({{&a, 0, 256}}, {}), set({{&a, 0, 256}}, {})));
  // However the pieces are put together.
  const AccessSet pieces = set({}, {{&a, 192, 64}, {&b, 0, 8}, {&a, 0, 64}, {&a, 32, 64}});
  EXPECT_TRUE(conflict(pieces, set({{&a, 95, 1}}, {})));
  EXPECT_FALSE(conflict(pieces, set({{&a, 96, 96}, {&b, 8, 100}}, {})));
}

TEST(VariableAccesses, whoConflictsWaitsInOrderAndNobodyElse) {
  hal::Memory a(64, 256, nullptr), b(1024, 256, nullptr);
  AccessSet readA, writeA, writeB;
  readA.read({&a, 0, 16});
  writeA.write({&a, 0, 256});
  writeB.write({&b, 0, 16});
  VariableAccesses accesses;
  std::atomic<int> order = 0;
  VariableAccesses::Ticket held = accesses.take(readA);
  auto take = [&](const AccessSet &set) {
    return std::async(std::launch::async, [&] {
      const VariableAccesses::Ticket ticket = accesses.take(set);
      return ++order;
    });
  };
  // Readers and strangers pass at once.
  EXPECT_EQ(take(readA).get(), 1);
  EXPECT_EQ(take(writeB).get(), 2);
  // A writer waits, and a reader that comes later waits for the writer.
  std::future<int> writer = take(writeA);
  EXPECT_EQ(writer.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  std::future<int> reader = take(readA);
  EXPECT_EQ(reader.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(take(writeB).get(), 3);
  held = {}; // on any thread
  EXPECT_EQ(writer.get(), 4);
  EXPECT_EQ(reader.get(), 5);
}

namespace {

// A module with the size `pages` (2 to 64, even) of a cache k: i32[pages, 4], and the function total(x: i32[pages])
// that adds x to the begin of `k` ... as one line of pages numbers.
std::string writeCacheModule() {
  ModuleBuilder builder;
  builder.addFaultSites(4);
  builder.module.symbols.push_back(symbol("pages", 2, 64, 2));
  builder.addVariable("k", ElementType::I32, {1}, 4);
  builder.addVariable("w", ElementType::I32, {4}, 16);
  format::VariableT &cache = *builder.module.variables[0];
  cache.role = Role::Cache;
  cache.source = "past.0.key";
  cache.dims[0] = symbolExpr(0);
  builder.module.variables[1]->role = Role::Parameter;
  builder.module.storages[0]->size =
      exprOf({{format::ExprOp::Symbol, 0, 0, 0}, {format::ExprOp::Constant, 0, 0, 4}, {format::ExprOp::Mul, 0, 1, 0}});
  format::FunctionT &function = builder.function();
  function.symbols.push_back(symbol("n", 0, 64));
  function.symbols.push_back(symbol("pages"));
  function.symbols[1]->instance = 0;
  function.inputs.push_back(argument("x", ElementType::I32, symbolExpr(1)));
  function.inputs.push_back(argument("other", ElementType::I32, symbolExpr(0)));
  function.outputs.push_back(argument("y", ElementType::I32, symbolExpr(1)));
  BlockPtr body = block(instruction(Op::ConstI64, {2}, 1), instruction(Op::Variable, {2}, 0),
                        segment(dispatch(ScaleAdd, 2, {0, 2}, {1, 2})));
  format::ProgramT &program = builder.program("main", 3, 3, 0, std::move(body));
  program.stores = {0};
  program.results.push_back(tensorResult(2, {1}));
  builder.addCpuTarget();
  return builder.write("cache.vxm");
}

} // namespace

TEST(InstanceSymbols, sizeVariablesThatBeginAtZero) {
  const std::string path = writeCacheModule();
  Ref<Module> module;
  ASSERT_OK(Module::load(path, module));
  EXPECT_EQ(module->signature().variables[0].dims[0], -1);
  EXPECT_EQ(module->signature().variables[0].size, 0u);
  EXPECT_EQ(module->signature().variables[0].offset, -1);
  Ref<Instance> small, large;
  ASSERT_OK(makeSharing(module, nullptr, small, {{"pages", 2}}));
  ASSERT_OK(makeSharing(module, nullptr, large, {{"pages", 6}}));
  // Weights are there once, whatever the sizes.
  EXPECT_EQ(&small->loaded(), &large->loaded());
  EXPECT_EQ(large->variableTable()[0].dims[0], 6);
  EXPECT_EQ(large->variableTable()[0].size, 24u);
  EXPECT_STREQ(large->variableTable()[0].source, "past.0.key");
  EXPECT_STREQ(large->variableTable()[1].source, "w");
  Ref<Value> value;
  ASSERT_OK(large->readVariable("k", value));
  EXPECT_EQ(elementsOf(*value), std::vector<int32_t>(6));
  std::vector<Ref<Value>> outputs;
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(runMain(*large, {vectorValue({1, 2, 3, 4, 5, 6}), vectorValue({1})}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{2, 4, 6, 8, 10, 12}));
  // An input's dim that names the size is checked.
  EXPECT_FAILS(runMain(*small, {vectorValue({1, 2, 3}), vectorValue({1})}, outputs), VX_INVALID_ARGUMENT,
               "input 'x': dim 0 is 'pages', which is 2 of this instance, got 3");
  EXPECT_FAILS(large->writeVariable("k", *vectorValue({1, 2})), VX_INVALID_ARGUMENT,
               "variable 'k': expected i32[6], got i32[2]");
  // A parameter is shared whatever the cache's size.
  Ref<Instance> sharing;
  ASSERT_OK(makeSharing(module, large, sharing, {{"pages", 4}}));
  EXPECT_EQ(sharing->variable(1).memory.get(), large->variable(1).memory.get());
  EXPECT_NE(sharing->variable(0).memory.get(), large->variable(0).memory.get());
}

TEST(InstanceSymbols, wrongOnesAreNamed) {
  const std::string path = writeCacheModule();
  Ref<Module> module;
  ASSERT_OK(Module::load(path, module));
  auto refused = [&](std::vector<BoundSymbol> symbols, const char *message) {
    Ref<Instance> instance;
    EXPECT_FAILS(makeSharing(module, nullptr, instance, std::move(symbols)), VX_INVALID_ARGUMENT,
                 path + ": " + message);
    EXPECT_FALSE(instance);
  };
  refused({}, "size 'pages' is bound when an instance is made, and is not given");
  refused({{"pages", 2}, {"pages", 2}}, "size 'pages' is given twice");
  refused({{"pages", 2}, {"n", 2}}, "size 'n' is none of an instance, there are: pages");
  refused({{"pages", 66}}, "size 'pages': expected 2 to 64, got 66");
  refused({{"pages", -2}}, "size 'pages': expected 2 to 64, got -2");
  refused({{"pages", 3}}, "size 'pages': expected a multiple of 2, got 3");
}

TEST(InstanceSymbols, sharedVariablesHaveOneSize) {
  ModuleBuilder builder;
  builder.module.symbols.push_back(symbol("width", 1, 8));
  builder.addVariable("w", ElementType::I32, {1}, 4);
  builder.module.variables[0]->role = Role::Parameter;
  builder.module.variables[0]->dims[0] = symbolExpr(0);
  builder.module.storages[0]->size = constantExpr(32);
  builder.addCpuTarget();
  const std::string path = builder.write("width.vxm");
  Ref<Module> module;
  Ref<Instance> first, second;
  ASSERT_OK(Module::load(path, module));
  ASSERT_OK(makeSharing(module, nullptr, first, {{"width", 4}}));
  EXPECT_FAILS(makeSharing(module, first, second, {{"width", 8}}), VX_INVALID_ARGUMENT,
               path + ": variable 'w' is i32[8] at 0 here, and i32[4] at 0 in the instance to share with");
  ASSERT_OK(makeSharing(module, first, second, {{"width", 4}}));
}

// A size for which the variables do not fit their storages is the module's fault.
TEST(InstanceSymbols, storagesHoldTheirVariables) {
  ModuleBuilder builder;
  builder.module.symbols.push_back(symbol("width", 1, 64));
  builder.addVariable("w", ElementType::I32, {1}, 4);
  builder.module.variables[0]->dims[0] = symbolExpr(0);
  builder.module.storages[0]->size = constantExpr(32);
  builder.addCpuTarget();
  const std::string path = builder.write("width.vxm");
  Ref<Module> module;
  Ref<Instance> instance;
  ASSERT_OK(Module::load(path, module));
  EXPECT_FAILS(makeSharing(module, nullptr, instance, {{"width", 9}}), VX_INVALID_MODULE,
               path + ": variable 'w': i32[9] needs 36 bytes, at 0 of storage 0 of 32 bytes");
}

// The same through the C interface.
TEST(InstanceSymbols, optionsOfTheCInterface) {
  const std::string path = writeCacheModule();
  vx_module *module = nullptr;
  ASSERT_EQ(vx_module_load(path.c_str(), &module), nullptr);
  size_t count = 0;
  const vx_symbol_info *symbols = vx_module_symbols(module, &count);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(symbols->name, "pages");
  EXPECT_EQ(symbols->max, 64);
  EXPECT_TRUE(symbols->instance);
  const vx_function_info *function = vx_module_functions(module, nullptr);
  EXPECT_FALSE(function->symbols[0].instance);
  EXPECT_TRUE(function->symbols[1].instance);

  const vx_symbol_value values[] = {{"pages", 8}};
  vx_instance_options options = {};
  options.struct_size = sizeof(options);
  options.device = "cpu";
  options.symbol_count = 1;
  options.symbols = values;
  vx_instance *first = nullptr, *second = nullptr;
  ASSERT_EQ(vx_instance_create(module, &options, &first), nullptr);
  const vx_variable_info *variables = vx_instance_variables(first, &count);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(variables[0].dims[0], 8);
  EXPECT_EQ(variables[0].storage, 0u);
  EXPECT_EQ(variables[0].offset, 0);
  EXPECT_EQ(variables[1].storage, 1u);
  EXPECT_EQ(variables[0].role, VX_ROLE_CACHE);
  EXPECT_EQ(variables[1].role, VX_ROLE_PARAMETER);
  EXPECT_STREQ(vx_variable_role_name(VX_ROLE_CACHE), "cache");
  EXPECT_STREQ(vx_variable_role_name(VX_ROLE_LIMIT), "unknown");

  options.share = first;
  vx_status status = vx_instance_create(module, &options, &second);
  EXPECT_STREQ(vx_status_message(status),
               "vx_instance_create: options choose a device and an instance to share with, which has its own");
  vx_status_release(status);
  options.device = nullptr;
  const vx_symbol_value nameless[] = {{nullptr, 8}};
  options.symbols = nameless;
  status = vx_instance_create(module, &options, &second);
  EXPECT_STREQ(vx_status_message(status), "vx_instance_create: argument 'symbols[].name' is a null pointer");
  vx_status_release(status);
  options.symbols = values;
  ASSERT_EQ(vx_instance_create(module, &options, &second), nullptr);

  const char *const names[] = {"w", "k"};
  vx_value *read[2] = {};
  ASSERT_EQ(vx_instance_read_variables(second, 2, names, read), nullptr);
  EXPECT_EQ(vx_value_get_info(read[1]).size, 32u);
  ASSERT_EQ(vx_instance_write_variables(second, 2, names, read), nullptr);
  for (vx_value *value : read)
    vx_value_release(value);
  vx_instance_release(second);
  vx_instance_release(first);
  vx_module_release(module);
}

} // namespace vx::test
