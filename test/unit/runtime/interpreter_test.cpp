// Programs on a device: every instruction, results, faults, variables.
#include "programs.h"
#include "runtime_test.h"

#include <thread>

namespace vx::test {

// Runs every test on each device that has the test kernels.
class OnDevice : public testing::TestWithParam<const char *> {
protected:
  void load(ModuleBuilder &builder, uint32_t threads = 2) {
    builder.addCpuTarget();
    ASSERT_TRUE(builder.addVulkanTarget()) << "the tests were built without the Vulkan kernels";
    Status status = makeInstance(builder.write(), GetParam(), instance, threads);
    ASSERT_OK(std::move(status));
  }
  Ref<Instance> instance;
};
INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, testing::ValuesIn(builtDevices({"cpu", "vulkan"})),
                         [](const auto &device) { return std::string(device.param); });

TEST_P(OnDevice, runsAProgramAtAnySize) {
  ModuleBuilder builder;
  addAffine(builder);
  load(builder);
  if (!instance)
    return;
  for (int size : {1, 0, 63, 64, 65, 4096, 7}) {
    std::vector<int32_t> x, wanted;
    for (int i = 0; i < size; ++i) {
      x.push_back(i - 5);
      wanted.push_back(3 * (i - 5) + 7);
    }
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue(x)}, outputs));
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0]->typeString(), fmt::format("i32[{}]", size));
    EXPECT_EQ(elementsOf(*outputs[0]), wanted);
  }
}

TEST_P(OnDevice, faultNamesTheNodeAndTheNextCallWorks) {
  ModuleBuilder builder;
  addGather(builder);
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> outputs;
  EXPECT_FAILS(runMain(*instance, {vectorValue({10, 11, 12}), vectorValue({0, 3})}, outputs), VX_FAULT,
               "node_3 (Gather): index at [1] is 3, allowed is [0, 3)");
  EXPECT_TRUE(outputs.empty());
  EXPECT_FAILS(runMain(*instance, {vectorValue({10, 11, 12}), vectorValue({-7})}, outputs), VX_FAULT,
               "node_3 (Gather): index at [0] is -7, allowed is [0, 3)");
  ASSERT_OK(runMain(*instance, {vectorValue({10, 11, 12}), vectorValue({2, 0, 1, 2})}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{12, 10, 11, 12}));
}

TEST_P(OnDevice, variablesLiveAcrossCalls) {
  ModuleBuilder builder;
  addAccumulate(builder);
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> first, second;
  ASSERT_OK(runMain(*instance, {vectorValue({1, 2, 3, 4})}, first));
  ASSERT_OK(runMain(*instance, {vectorValue({10, 10, 10, 10})}, second));
  // The first result is a value of its own, not a view of the variable.
  EXPECT_EQ(elementsOf(*first[0]), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(elementsOf(*second[0]), (std::vector<int32_t>{11, 12, 13, 14}));
  Ref<Value> value;
  ASSERT_OK(instance->readVariable("total", value));
  EXPECT_EQ(elementsOf(*value), (std::vector<int32_t>{11, 12, 13, 14}));
  ASSERT_OK(instance->writeVariable("total", *vectorValue({0, 0, 0, 1})));
  ASSERT_OK(runMain(*instance, {vectorValue({1, 1, 1, 1})}, second));
  EXPECT_EQ(elementsOf(*second[0]), (std::vector<int32_t>{1, 1, 1, 2}));
}

TEST_P(OnDevice, faultBeforeAStoreKeepsTheVariable) {
  ModuleBuilder builder;
  addAccumulate(builder, /*checked=*/true);
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {vectorValue({3, 2, 1, 0})}, outputs));
  EXPECT_FAILS(runMain(*instance, {vectorValue({0, 0, 0, 4})}, outputs), VX_FAULT,
               "node_3 (Gather): index at [3] is 4, allowed is [0, 4)");
  Ref<Value> value;
  ASSERT_OK(instance->readVariable("total", value));
  EXPECT_EQ(elementsOf(*value), (std::vector<int32_t>{3, 2, 1, 0}));
}

// Adds x[0] + 1 times x to itself: a loop whose count is read back from the device, with a temporary per turn.
TEST_P(OnDevice, loopsOverDataReadBack) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
  main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(0)));
  // i64: 0 n, 1 bytes, 2 one, 3 counter, 4 zero, 5 scratch; buffers: 0 x, 1 y, 2 fresh
  BlockPtr turn = block(instruction(Op::Allocate, {2, 1}), segment(copy(1, 2), dispatch(ScaleAdd, 2, {0, 2}, {0, 2})),
                        instruction(Op::MoveBuffer, {1, 2}), instruction(Op::Sub, {3, 3, 2}));
  BlockPtr body =
      block(instruction(Op::ConstI64, {5}, 4), instruction(Op::Mul, {1, 0, 5}), instruction(Op::ConstI64, {2}, 1),
            instruction(Op::ConstI64, {4}, 0), instruction(Op::Allocate, {1, 1}), segment(copy(0, 1)),
            instruction(Op::ReadI64, {3, 0, 4}, VX_I32), whileLoop(3, std::move(turn)));
  format::ProgramT &program = builder.program("loop", 6, 3, 0, std::move(body));
  program.results.push_back(tensorResult(1, {0}));
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {vectorValue({5, 1, -2})}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{30, 6, -12}));
  ASSERT_OK(runMain(*instance, {vectorValue({0, 9})}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{0, 9}));
}

// The count is a number in host memory, or on a device where an earlier call left it.
TEST_P(OnDevice, loopsOverAnInput) {
  ModuleBuilder builder;
  addRepeat(builder);
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {vectorValue({5, 1, -2}), vectorValue({3})}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{20, 4, -8}));
  ASSERT_OK(runMain(*instance, {vectorValue({2}), vectorValue({0})}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{2}));
  Ref<Value> two = outputs[0];
  ASSERT_OK(runMain(*instance, {vectorValue({7, 8}), two}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{21, 24}));
}

// Fibonacci's numbers: what a turn has computed is read by the two after it, so its memory is nobody's only then.
TEST_P(OnDevice, loopsKeepEarlierValues) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
  main.inputs.push_back(argument("turns", format::ElementType::I32, constantExpr(1)));
  main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(0)));
  // i64: 0 n, 1 bytes, 2 one, 3 counter, 4 four; buffers: 0 x, 1 turns, 2 last, 3 fresh, 4 the one before
  BlockPtr turn =
      block(instruction(Op::Allocate, {3, 1}), segment(copy(2, 3), dispatch(ScaleAdd, 2, {4, 3}, {0, 2})),
            instruction(Op::MoveBuffer, {4, 2}), instruction(Op::MoveBuffer, {2, 3}), instruction(Op::Sub, {3, 3, 2}));
  BlockPtr body =
      block(instruction(Op::ReadInput, {3}, 1), instruction(Op::ConstI64, {4}, 4), instruction(Op::Mul, {1, 0, 4}),
            instruction(Op::ConstI64, {2}, 1), instruction(Op::Allocate, {2, 1}), instruction(Op::Allocate, {4, 1}),
            segment(copy(0, 2), copy(0, 4)), whileLoop(3, std::move(turn)));
  format::ProgramT &program = builder.program("loop", 5, 5, 0, std::move(body));
  program.results.push_back(tensorResult(2, {0}));
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {vectorValue({1, 10}), vectorValue({9})}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{89, 890}));
}

TEST_P(OnDevice, fourThreadsCallOneInstance) {
  ModuleBuilder builder;
  addAffine(builder);
  load(builder);
  if (!instance)
    return;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int turn = 0; turn < 20; ++turn) {
        int size = 100 * t + 37 * turn + 1;
        std::vector<int32_t> x, wanted;
        for (int i = 0; i < size; ++i) {
          x.push_back(i * (t + 1));
          wanted.push_back(3 * i * (t + 1) + 7);
        }
        std::vector<Ref<Value>> outputs;
        Status status = runMain(*instance, {vectorValue(x)}, outputs);
        if (!status.ok() || elementsOf(*outputs[0]) != wanted)
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(OnDevice, callsThatStoreVariablesTakeTurns) {
  ModuleBuilder builder;
  addAccumulate(builder);
  load(builder);
  if (!instance)
    return;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 25; ++turn) {
        std::vector<Ref<Value>> outputs;
        Status status = runMain(*instance, {vectorValue({1, 2, 3, 4})}, outputs);
        if (!status.ok())
          ++failed;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failed, 0);
  Ref<Value> value;
  ASSERT_OK(instance->readVariable("total", value));
  EXPECT_EQ(elementsOf(*value), (std::vector<int32_t>{100, 200, 300, 400}));
}

TEST_P(OnDevice, resultsAreInputsOfTheNextCall) {
  ModuleBuilder builder;
  addAffine(builder);
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> outputs, again;
  ASSERT_OK(runMain(*instance, {vectorValue({1, 2})}, outputs));
  ASSERT_OK(runMain(*instance, {outputs[0]}, again));
  EXPECT_EQ(elementsOf(*again[0]), (std::vector<int32_t>{37, 46}));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{10, 13}));
}

} // namespace vx::test
