// Derived constants: computed once when an instance is made, read by every call.
#include "programs.h"
#include "runtime_test.h"

#include "base/file_mapping.h"
#include "exec/memory_estimate.h"

#include <fmt/ranges.h>

#include <functional>
#include <thread>

namespace vx::test {

namespace {

constexpr int64_t Elements = 4096;

std::unique_ptr<format::DerivedT> derived(std::string name, uint32_t program) {
  auto result = std::make_unique<format::DerivedT>();
  result->name = std::move(name);
  result->program = program;
  result->type = std::make_unique<format::ValueTypeT>();
  result->type->element_type = format::ElementType::I32;
  result->type->dims.push_back(constantExpr(Elements));
  return result;
}

// main(x: i32[4096]) -> y: i32[4096] with y = x + twice. `base` is 0, 1, 2, ...; `doubled` = 2 * base and reads the
// constant, `twice` = 2 * doubled and reads `doubled`, which no call reads.
void addDerived(ModuleBuilder &builder) {
  format::FunctionT &main = builder.function();
  main.inputs.push_back(argument("x", format::ElementType::I32, constantExpr(Elements)));
  main.outputs.push_back(argument("y", format::ElementType::I32, constantExpr(Elements)));
  std::vector<int32_t> base;
  for (int32_t i = 0; i < Elements; ++i)
    base.push_back(i);
  uint32_t constant =
      builder.addConstant("base", format::ElementType::I32, {Elements}, base.data(), base.size() * sizeof(int32_t));
  auto sizes = [](BlockPtr body) { // i64: 0 elements, 1 bytes, 2 workgroups, 3 one
    body->instructions.push_back(instruction(Op::ConstI64, {0}, Elements));
    body->instructions.push_back(instruction(Op::ConstI64, {1}, Elements * 4));
    body->instructions.push_back(instruction(Op::ConstI64, {2}, Elements / 64));
    body->instructions.push_back(instruction(Op::ConstI64, {3}, 1));
    return body;
  };
  auto add = [&](const std::string &name, InstructionPtr read, InstructionPtr source) {
    // buffers: 0 the operand, 1 the result, 2 what is added to it
    BlockPtr body = sizes(block());
    body->instructions.push_back(std::move(read));
    body->instructions.push_back(std::move(source));
    body->instructions.push_back(instruction(Op::Allocate, {1, 1}));
    body->instructions.push_back(segment(copy(2, 1), dispatch(ScaleAdd, 2, {0, 1}, {0, 3})));
    format::ProgramT &program = builder.program(name, 4, 3, 0, std::move(body));
    program.results.push_back(tensorResult(1, {0}));
  };
  // The operand of main's program is its input, in register 0 on entry.
  add("main", instruction(Op::MoveBuffer, {0, 0}), instruction(Op::Derived, {2}, 1));
  add("doubled", instruction(Op::Constant, {0}, constant), instruction(Op::Constant, {2}, constant));
  add("twice", instruction(Op::Derived, {0}, 0), instruction(Op::Derived, {2}, 0));
  auto addTo = [](format::TargetT &target) {
    target.derived.push_back(derived("doubled", 1));
    target.derived.push_back(derived("twice", 2));
  };
  addTo(builder.addCpuTarget());
  if (builder.addVulkanTarget())
    addTo(*builder.module.targets.back());
}

} // namespace

class DerivedConstants : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Devices, DerivedConstants, testing::ValuesIn(builtDevices({"cpu", "vulkan"})),
                         [](const auto &device) { return std::string(device.param); });

TEST_P(DerivedConstants, areComputedOnceAndReadByEveryCall) {
  ModuleBuilder builder;
  addDerived(builder);
  Ref<Instance> instance;
  Status status = makeInstance(builder.write("derived.vxm"), GetParam(), instance);
  ASSERT_OK(std::move(status));
  // What only the load reads is freed.
  EXPECT_FALSE(instance->loaded().constant(0).memory);
  EXPECT_FALSE(instance->loaded().derived(0).memory);
  ASSERT_TRUE(instance->loaded().derived(1).memory);

  auto callOnce = [&](int32_t x) {
    std::vector<Ref<Value>> outputs;
    std::vector<int32_t> wanted;
    for (int32_t i = 0; i < Elements; ++i)
      wanted.push_back(x + 4 * i);
    ASSERT_OK(runMain(*instance, {vectorValue(std::vector<int32_t>(Elements, x))}, outputs));
    EXPECT_EQ(elementsOf(*outputs[0]), wanted);
  };
  callOnce(1);
  callOnce(-7);
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { callOnce(i); });
  for (std::thread &thread : threads)
    thread.join();

  // The file's bytes are still there for the next instance.
  Ref<Instance> second;
  ASSERT_OK(makeInstance(builder.write("derived.vxm"), GetParam(), second));
}

// What calls read, and not what only the load reads; before and after it.
TEST_P(DerivedConstants, areEstimated) {
  ModuleBuilder builder;
  addDerived(builder);
  Ref<Module> module;
  ASSERT_OK(Module::load(builder.write("derived_estimate.vxm"), module));
  DeviceRequest request;
  ASSERT_OK(parseDeviceRequest(GetParam(), nullptr, allDrivers(), request));
  for (bool isLoaded : {false, true}) {
    InstanceSetup setup;
    setup.isLoaded = isLoaded;
    Ref<Instance> instance;
    ASSERT_OK(Instance::create(module, request, allDrivers(), instance, setup));
    vx_memory_estimate estimate = {};
    ASSERT_OK(estimateMemory(*instance, 0, {}, estimate));
    EXPECT_EQ(estimate.constants, static_cast<uint64_t>(Elements) * 4) << isLoaded;
  }
}

TEST(DerivedConstant, aFaultIsAnErrorOfTheInstance) {
  ModuleBuilder builder;
  addDerived(builder);
  builder.addFaultSites(4);
  // `base` as indices and, but for its last element, as the table: one index is outside, whichever thread meets it.
  format::ProgramT &program = *builder.module.programs[1];
  program.body = block(instruction(Op::ConstI64, {0}, Elements), instruction(Op::ConstI64, {1}, Elements * 4),
                       instruction(Op::ConstI64, {2}, Elements / 64), instruction(Op::ConstI64, {3}, Elements - 1),
                       instruction(Op::Constant, {0}, 0), instruction(Op::Allocate, {1, 1}),
                       segment(dispatch(Gather, 2, {0, 0, 1}, {0, 3})));
  std::string path = builder.write("derived_fault.vxm");
  Ref<Instance> instance;
  EXPECT_FAILS(
      makeInstance(path, "cpu", instance), VX_NO_DEVICE,
      fmt::format("{0}: no device for 'cpu': cpu:0: {0}: init: 'doubled': node_3 (Gather): index at [{1}] is {1}, "
                  "allowed is [0, {1})",
                  path, Elements - 1));
}

TEST(DerivedConstant, everyDiagnosticOfTheLoader) {
  auto messageAfter = [](const std::function<void(ModuleBuilder &)> &damage) {
    ModuleBuilder builder;
    addDerived(builder);
    damage(builder);
    std::string path = builder.write("damaged_derived.vxm");
    Ref<Module> module;
    Status status = Module::load(path, module);
    EXPECT_EQ(status.code(), VX_INVALID_MODULE);
    return std::string(status.message().substr(std::min(status.message().size(), path.size() + 2)));
  };
  auto target = [](ModuleBuilder &builder) -> format::TargetT & { return *builder.module.targets[0]; };
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { target(b).derived[0]->program = 9; }),
            "target 'cpu': derived value 0 'doubled': program 9 does not exist, there are 3");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { target(b).derived[0]->type = nullptr; }),
            "target 'cpu': derived value 0 'doubled': type is missing");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { target(b).derived[0]->type->kind = format::ValueKind::Sequence; }),
            "target 'cpu': derived value 0 'doubled': expected a tensor of numbers or bools");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { target(b).derived[0]->type->dims[0] = symbolExpr(0); }),
            "target 'cpu': derived value 0 'doubled': dim 0: expression uses symbol 0, there are 0");
  // What it reads stands before it.
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { std::swap(target(b).derived[0], target(b).derived[1]); }),
            "target 'cpu': derived value 0 'twice': program 2 'twice': instruction 4 Derived: derived value 0 does "
            "not exist here, there are 0");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { target(b).derived.pop_back(); }),
            "target 'cpu': entry 0: program 0 'main': instruction 5 Derived: derived value 1 does not exist here, "
            "there are 1");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { b.module.programs[1]->results.clear(); }),
            "target 'cpu': derived value 0 'doubled': program 1 'doubled' has 0 results, expected one tensor");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) {
              b.module.programs[1]->body->instructions.push_back(ifElse(3, block(whileLoop(3, block())), block()));
            }),
            "target 'cpu': derived value 0 'doubled': program 1 'doubled' has a loop, expected none");
  EXPECT_EQ(messageAfter([&](ModuleBuilder &b) { b.module.programs[1]->arena_size = symbolExpr(0); }),
            "target 'cpu': derived value 0 'doubled': program 1 'doubled' sizes its arena by symbols, expected "
            "constants only");
}

TEST(DerivedConstant, shorterThanItsTypeIsAnError) {
  ModuleBuilder builder;
  addDerived(builder);
  builder.module.targets[0]->derived[0]->type->dims[0] = constantExpr(Elements + 1);
  Ref<Instance> instance;
  Status status = makeInstance(builder.write("short_derived.vxm"), "cpu", instance);
  EXPECT_EQ(status.code(), VX_INVALID_MODULE);
  EXPECT_TRUE(status.message().ends_with("program 1 'doubled': result: dim 0 is 4096, expected 4097"))
      << status.message();
}

TEST(FileMapping, releasedPagesAreReadAgain) {
  std::vector<uint8_t> bytes(3 * 65536);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  std::string path = scratchPath("pages");
  writeFile(path, bytes);
  FileMapping mapping;
  ASSERT_OK(FileMapping::open(path, mapping));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), mapping.bytes().begin()));
  mapping.releasePages(mapping.bytes().subspan(100, 2 * 65536));
  mapping.releasePages(mapping.bytes().subspan(5, 0));
  mapping.releasePages(bytes); // not the mapping's
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), mapping.bytes().begin()));
  EXPECT_EQ(bytes[70000], static_cast<uint8_t>(70000 * 7 + 70000 / 251));
}

} // namespace vx::test
