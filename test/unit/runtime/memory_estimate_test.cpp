// What is told of a call's memory before it runs, beside what it takes.
#include "derived_program.h"
#include "exec/memory_estimate.h"
#include "programs.h"
#include "runtime_test.h"

namespace vx::test {

class MemoryEstimate : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (const std::string missing = missingLibrary(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
  }
  bool readsHostMemory() const { return std::string_view(GetParam()) == "cpu"; }
};
INSTANTIATE_TEST_SUITE_P(Devices, MemoryEstimate, testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &device) { return std::string(device.param); });

static Ref<Module> loadAffine() {
  ModuleBuilder builder;
  addAffine(builder);
  builder.addCpuTarget();
  builder.addVulkanTarget();
  for (const char *vendor : {"cuda", "rocm"})
    builder.addStandInTarget(vendor);
  Ref<Module> module;
  EXPECT_OK(Module::load(builder.write("memory_estimate.vxm"), module));
  return module;
}

static Ref<Instance> makeAffine(const char *device, uint64_t limit = 0) {
  Ref<Instance> instance;
  EXPECT_OK(derived::makeSharing(nullptr, loadAffine(), device, instance, limit));
  return instance;
}

// By the C interface, before there is an instance.
static vx_memory_estimate planned(const Ref<Module> &module, const char *device, const char *function,
                                  std::span<const vx_symbol_value> sizes, uint64_t limit = 0) {
  vx_instance_options options = {};
  options.struct_size = sizeof(options);
  options.device = device;
  options.no_fallback = 1;
  options.memory_limit = limit;
  vx_memory_estimate estimate = {};
  estimate.struct_size = sizeof(estimate);
  vx_module *handle = giveHandle<vx_module>(module);
  vx_status status = vx_module_estimate_memory(handle, &options, function, sizes.size(), sizes.data(), &estimate);
  vx_module_release(handle);
  EXPECT_FALSE(status) << vx_status_message(status);
  vx_status_release(status);
  return estimate;
}

static void expectEqual(const vx_memory_estimate &a, const vx_memory_estimate &b) {
  EXPECT_EQ(a.constants, b.constants);
  EXPECT_EQ(a.variables, b.variables);
  EXPECT_EQ(a.arena, b.arena);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.results, b.results);
  EXPECT_EQ(a.total, b.total);
  EXPECT_EQ(a.largest, b.largest);
  EXPECT_EQ(a.memory_limit, b.memory_limit);
  EXPECT_EQ(a.device_memory, b.device_memory);
  EXPECT_EQ(a.device_largest, b.device_largest);
  EXPECT_EQ(a.fits, b.fits);
  EXPECT_EQ(a.is_least, b.is_least);
  EXPECT_EQ(a.open_size, b.open_size);
}

TEST_P(MemoryEstimate, isWhatACallTakes) {
  const Ref<Instance> instance = makeAffine(GetParam());
  for (int64_t n : {1, 7, 64, 1021, 4096}) {
    vx_memory_estimate estimate = {};
    const BoundSymbol size{"n", n};
    ASSERT_OK(estimateMemory(*instance, 0, {&size, 1}, estimate));
    const auto bytes = static_cast<uint64_t>(n) * 4;
    EXPECT_EQ(estimate.arena, bytes);
    EXPECT_EQ(estimate.results, bytes);
    EXPECT_EQ(estimate.inputs, readsHostMemory() ? 0 : bytes);
    EXPECT_EQ(estimate.variables, 0u);
    EXPECT_EQ(estimate.largest, bytes);
    // A device that shares the host's memory reads them in the file, as Mesa's software device does.
    const std::optional<TakenDevice::Weights> weights = instance->report().taken->weights;
    EXPECT_EQ(estimate.constants, readsHostMemory() || (weights && !weights->copied) ? 0u : 4096u * 4);
    EXPECT_EQ(estimate.total, estimate.constants + estimate.arena + estimate.results + estimate.inputs);
    EXPECT_TRUE(estimate.fits);
    EXPECT_FALSE(estimate.is_least);
    EXPECT_EQ(estimate.open_size, nullptr);
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue(std::vector<int32_t>(static_cast<size_t>(n), 1))}, outputs));
    EXPECT_EQ(instance->usedMemory(), estimate.total - estimate.constants) << n;
  }
}

TEST_P(MemoryEstimate, hasWhatIsDerived) {
  Ref<Module> module;
  ASSERT_OK(Module::load(derived::Builder().write("memory_estimate_derived.vxm"), module));
  for (uint32_t function : {derived::Read, derived::Mix, derived::Two, derived::AddState}) {
    Ref<Instance> instance;
    ASSERT_OK(derived::makeSharing(nullptr, module, GetParam(), instance));
    vx_memory_estimate estimate = {};
    ASSERT_OK(estimateMemory(*instance, function, {}, estimate));
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue(derived::all(1))}, outputs, function));
    EXPECT_EQ(instance->usedMemory(), estimate.total - estimate.constants) << function;
  }
}

TEST_P(MemoryEstimate, isTheSameBeforeThereIsAnInstance) {
  const Ref<Module> affine = loadAffine();
  Ref<Instance> instance;
  ASSERT_OK(derived::makeSharing(nullptr, affine, GetParam(), instance));
  for (int64_t n : {0, 1, 7, 4096}) {
    const vx_symbol_value given{"n", n};
    const BoundSymbol size{"n", n};
    vx_memory_estimate estimate = {};
    ASSERT_OK(estimateMemory(*instance, 0, {&size, 1}, estimate));
    expectEqual(planned(affine, GetParam(), "main", {&given, 1}), estimate);
  }
  Ref<Module> module;
  ASSERT_OK(Module::load(derived::Builder().write("memory_estimate_planned.vxm"), module));
  ASSERT_OK(derived::makeSharing(nullptr, module, GetParam(), instance));
  for (uint32_t function : {derived::Read, derived::Mix, derived::Two, derived::AddState}) {
    vx_memory_estimate estimate = {};
    ASSERT_OK(estimateMemory(*instance, function, {}, estimate));
    EXPECT_NE(estimate.variables, 0u);
    expectEqual(planned(module, GetParam(), module->data().functions[function].name.c_str(), {}), estimate);
  }
  // What an instance is refused for is only told.
  vx_memory_estimate estimate = planned(module, GetParam(), nullptr, {}, 1);
  EXPECT_EQ(estimate.memory_limit, 1u);
  EXPECT_FALSE(estimate.fits);
  EXPECT_FALSE(derived::makeSharing(nullptr, module, GetParam(), instance, 1).ok());
}

TEST_P(MemoryEstimate, knowsTheLimit) {
  // Of a call of 64 elements: arena, result, and a place for the input.
  const uint64_t needed = (readsHostMemory() ? 2 : 3) * 64 * 4;
  const BoundSymbol size{"n", 64};
  for (uint64_t limit : {needed - 1, needed}) {
    const Ref<Instance> instance = makeAffine(GetParam(), limit);
    vx_memory_estimate estimate = {};
    ASSERT_OK(estimateMemory(*instance, 0, {&size, 1}, estimate));
    EXPECT_EQ(estimate.memory_limit, limit);
    EXPECT_EQ(estimate.fits, limit == needed);
    std::vector<Ref<Value>> outputs;
    EXPECT_EQ(runMain(*instance, {vectorValue(std::vector<int32_t>(64, 1))}, outputs).ok(), limit == needed);
  }
}

TEST_P(MemoryEstimate, refusesSizes) {
  const Ref<Instance> instance = makeAffine(GetParam());
  vx_memory_estimate estimate = {};
  const BoundSymbol good{"n", 3}, other{"m", 3}, large{"n", 4097}, twice[] = {{"n", 3}, {"n", 4}};
  EXPECT_FAILS(estimateMemory(*instance, 0, {}, estimate), VX_INVALID_ARGUMENT,
               "function 'main' needs a value of size 'n', got none");
  EXPECT_FAILS(estimateMemory(*instance, 0, {&other, 1}, estimate), VX_INVALID_ARGUMENT,
               "function 'main' has no size 'm' that its inputs decide");
  EXPECT_FAILS(estimateMemory(*instance, 0, {&large, 1}, estimate), VX_INVALID_ARGUMENT,
               "size 'n': expected 0 to 4096, a multiple of 1, got 4097");
  EXPECT_FAILS(estimateMemory(*instance, 0, twice, estimate), VX_INVALID_ARGUMENT,
               "size 'n' is given twice, as 3 and 4");
  EXPECT_OK(estimateMemory(*instance, 0, {&good, 1}, estimate));
}

// A result whose size the data decides counts with the most that its range has, and is named where that has no end.
TEST(MemoryEstimateOfData, isTheMostOrIsOpen) {
  for (int64_t most : {int64_t(5), INT64_MAX}) {
    ModuleBuilder builder;
    format::FunctionT &main = builder.function();
    main.symbols.push_back(symbol("n", 0, 1000));
    main.symbols.push_back(symbol("k", 0, most, 1, /*dataDependent=*/true));
    main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
    main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(1)));
    // i64: 0 n, 1 k, 2 bytes; buffers: 0 x, 1 y, 2 what it is counted in
    BlockPtr body =
        block(instruction(Op::ConstI64, {2}, 4), instruction(Op::Mul, {2, 0, 2}), instruction(Op::Allocate, {2, 2}),
              instruction(Op::Allocate, {1, 2}), instruction(Op::ConstI64, {1}, 2));
    builder.program("counted", 3, 3, 0, std::move(body)).results.push_back(tensorResult(1, {1}));
    builder.addCpuTarget();
    Ref<Instance> instance;
    ASSERT_OK(makeInstance(builder.write("memory_estimate_data.vxm"), "cpu", instance));
    vx_memory_estimate estimate = {};
    const BoundSymbol size{"n", 100};
    ASSERT_OK(estimateMemory(*instance, 0, {&size, 1}, estimate));
    EXPECT_EQ(estimate.results, most == 5 ? 20u : 0u);
    EXPECT_EQ(estimate.arena, 400u);
    EXPECT_EQ(estimate.is_least, most != 5);
    EXPECT_STREQ(estimate.open_size, most == 5 ? nullptr : "k");
  }
}

// What a loop allocates is not known.
TEST(MemoryEstimateOfData, isLeastWithALoop) {
  ModuleBuilder builder;
  addRepeat(builder);
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write("memory_estimate_loop.vxm"), "cpu", instance));
  vx_memory_estimate estimate = {};
  const BoundSymbol size{"n", 100};
  ASSERT_OK(estimateMemory(*instance, 0, {&size, 1}, estimate));
  EXPECT_TRUE(estimate.is_least);
  EXPECT_EQ(estimate.results, 400u);
}

// Nor what is allocated behind a loop, by a number that the loop makes.
TEST(MemoryEstimateOfData, isLeastBehindALoop) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
  main.inputs.push_back(argument("turns", format::ElementType::I32, constantExpr(1)));
  main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(0)));
  // i64: 0 n, 1 bytes, 2 one, 3 counter, 4 what the loop makes; buffers: 0 x, 1 turns, 2 y, 3 what is allocated
  BlockPtr body =
      block(instruction(Op::ReadInput, {3}, 1), instruction(Op::ConstI64, {4}, 4), instruction(Op::Mul, {1, 0, 4}),
            instruction(Op::ConstI64, {2}, 1), instruction(Op::Allocate, {2, 1}), segment(copy(0, 2)),
            whileLoop(3, block(instruction(Op::Add, {4, 4, 4}), instruction(Op::Sub, {3, 3, 2}))),
            instruction(Op::Allocate, {3, 4}));
  builder.program("grown", 5, 4, 0, std::move(body)).results.push_back(tensorResult(2, {0}));
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write("memory_estimate_grown.vxm"), "cpu", instance));
  vx_memory_estimate estimate = {};
  const BoundSymbol size{"n", 100};
  ASSERT_OK(estimateMemory(*instance, 0, {&size, 1}, estimate));
  EXPECT_TRUE(estimate.is_least);
  EXPECT_EQ(estimate.arena, 0u);
}

} // namespace vx::test
