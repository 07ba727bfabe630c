// What VX_CHECK_ARENA and VX_CHECK_PAGES find in kernels: reads and writes outside of their buffers.
#include "programs.h"
#include "runtime_test.h"

#include "gather.ptx.h"
#include "scale_add.ptx.h"

#include <cstdlib>

namespace vx::test {

using format::ElementType;

// One less than a scalar of a kernel: what the kernel's buffers then have too little.
static std::unique_ptr<format::ExprT> oneLessThan(int64_t scalar) {
  return exprOf({format::ExprNode(format::ExprOp::Symbol, 0, 0, scalar),
                 format::ExprNode(format::ExprOp::Constant, 0, 0, -1), format::ExprNode(format::ExprOp::Add, 0, 1, 0)});
}

// main(x: i32[elements]) -> y: i32[elements]. i64 registers: 0 elements, 1 bytes, 2 is 1, 3 is 0, 4 the beginning of
// the second slice, 5 is `five`. Buffer registers: 0 x, 1 y, 2 and 3 slices of the arena that lie side by side.
static void addMain(ModuleBuilder &builder, int64_t elements, int64_t five, std::vector<InstructionPtr> commands) {
  format::FunctionT &main = builder.function();
  main.inputs.push_back(argument("x", ElementType::I32, constantExpr(elements)));
  main.outputs.push_back(argument("y", ElementType::I32, constantExpr(elements)));
  const int64_t slice = (elements * 4 + 63) / 64 * 64;
  BlockPtr body =
      block(instruction(Op::ConstI64, {1}, 2 * slice), instruction(Op::ArenaReserve, {1}),
            instruction(Op::ConstI64, {0}, elements), instruction(Op::ConstI64, {1}, elements * 4),
            instruction(Op::ConstI64, {2}, 1), instruction(Op::ConstI64, {3}, 0), instruction(Op::ConstI64, {4}, slice),
            instruction(Op::ConstI64, {5}, five), instruction(Op::Allocate, {1, 1}),
            instruction(Op::ArenaSlice, {2, 3, 1}), instruction(Op::ArenaSlice, {3, 4, 1}));
  for (InstructionPtr &command : commands)
    body->instructions.push_back(std::move(command));
  builder.program("main", 6, 4, 0, std::move(body)).results.push_back(tensorResult(1, {0}));
}

static std::vector<int32_t> upTo(int32_t count) {
  std::vector<int32_t> values;
  for (int32_t i = 0; i < count; ++i)
    values.push_back(i);
  return values;
}

static bool isPattern(int32_t element) { return (static_cast<uint32_t>(element) & 0xffc0ffc0) == 0x7f807f80; }

template <typename... Parts>
static std::vector<InstructionPtr> list(Parts... parts) {
  std::vector<InstructionPtr> result;
  (result.push_back(std::move(parts)), ...);
  return result;
}

class ArenaCheck : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { setenv("VX_CHECK_ARENA", "1", 1); }
  void TearDown() override { unsetenv("VX_CHECK_ARENA"); }

  // Both kernels take one element more than the module says.
  void load(ModuleBuilder &builder) {
    const std::string_view device = GetParam();
    if (findDriver(allDrivers(), device)->enumerate(devices).code != hal::RefusalCode::None)
      GTEST_SKIP() << "no device";
    format::TargetT *target = nullptr;
    if (device == "cpu")
      target = &builder.addCpuTarget();
    else if (device == "cuda")
      target = &addCodes(builder, "cuda", "sm_80", scale_add_ptx, gather_ptx);
    else if (device == "rocm")
      target = &addCodes(builder, "rocm", "gfx942", scaleAdd, gather);
    else if (builder.addVulkanTarget())
      target = builder.module.targets.back().get();
    if (!target)
      GTEST_SKIP() << "the tests were built without kernels for this driver";
    for (uint32_t kernel : {ScaleAdd, Gather})
      for (auto &type : target->kernels[kernel]->buffer_types)
        if (kernel == ScaleAdd || &type == &target->kernels[kernel]->buffer_types[0])
          type->dims[0] = oneLessThan(kernel);
    ASSERT_OK(makeInstance(builder.write(), GetParam(), instance));
  }
  // Code lies at multiples of 4 bytes in a module.
  static format::TargetT &addCodes(ModuleBuilder &builder, const char *target, const char *requirement,
                                   std::span<const uint8_t> scaleAdd, std::span<const uint8_t> gather) {
    std::vector<uint8_t> codes[] = {{scaleAdd.begin(), scaleAdd.end()}, {gather.begin(), gather.end()}};
    for (std::vector<uint8_t> &code : codes)
      code.resize((code.size() + 3) / 4 * 4, code.back());
    return builder.addGpuTarget(target, requirement, {codes[0], codes[1]});
  }
  Status run(std::vector<int32_t> x, std::vector<int32_t> &y) {
    std::vector<Ref<Value>> outputs;
    VX_RETURN_IF_ERROR(runMain(*instance, {vectorValue(x)}, outputs));
    y = elementsOf(*outputs[0]);
    return okStatus();
  }

  // What the stand-in of AMD's library takes for code.
  static constexpr uint8_t scaleAdd[] = "scale_add", gather[] = "gather";
  std::vector<hal::DeviceInfo> devices;
  Ref<Instance> instance;
  std::vector<int32_t> y;
};
INSTANTIATE_TEST_SUITE_P(Devices, ArenaCheck, testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &device) { return std::string(device.param); });

TEST_P(ArenaCheck, takesWhatIsRight) {
  ModuleBuilder builder;
  addMain(builder, 16, 16,
          list(segment(copy(0, 2, false), copy(0, 3, false), dispatch(ScaleAdd, 2, {2, 3}, {5, 2}), copy(3, 1))));
  load(builder);
  if (!instance)
    return;
  for (int times = 0; times < 2; ++times) {
    ASSERT_OK(run(upTo(16), y));
    EXPECT_EQ(y, (std::vector<int32_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}));
  }
}

TEST_P(ArenaCheck, writesBehindABuffer) {
  auto commands = [] {
    return list(segment(copy(0, 2, false), copy(0, 3, false), dispatch(ScaleAdd, 2, {3, 2}, {5, 2}), copy(2, 1)));
  };
  const char *message =
      "program 'main': bytes 64 to 68 of a buffer of 64 bytes are overwritten; it is written by a copy "
      "and kernel 'scale_add' (scale_add_node (Test))";
  ModuleBuilder builder;
  addMain(builder, 16, 17, commands());
  load(builder);
  if (!instance)
    return;
  EXPECT_FAILS(run(upTo(16), y), VX_INVALID_MODULE, message);

  // Without the check the next slice of the arena takes it.
  setenv("VX_CHECK_ARENA", "0", 1);
  ModuleBuilder unchecked;
  addMain(unchecked, 16, 17, commands());
  load(unchecked);
  ASSERT_OK(run(upTo(16), y));
}

TEST_P(ArenaCheck, writesBehindASliceThatIsGoneAtTheEnd) {
  ModuleBuilder builder;
  addMain(builder, 16, 17,
          list(segment(copy(0, 2, false), copy(0, 3, false), dispatch(ScaleAdd, 2, {3, 2}, {5, 2}), copy(2, 1)),
               instruction(Op::ArenaSlice, {2, 4, 1})));
  load(builder);
  if (!instance)
    return;
  EXPECT_FAILS(run(upTo(16), y), VX_INVALID_MODULE,
               "program 'main': bytes 64 to 68 of a buffer of 64 bytes are overwritten; it is written by a copy and "
               "kernel 'scale_add' (scale_add_node (Test))");
}

// The pattern comes in place of a neighbour's element.
TEST_P(ArenaCheck, readsBehindABuffer) {
  ModuleBuilder builder;
  addMain(builder, 16, 17, list(segment(copy(0, 2, false), copy(0, 3, false), dispatch(Gather, 2, {2, 3, 1}, {0, 5}))));
  load(builder);
  if (!instance)
    return;
  std::vector<int32_t> x = upTo(16);
  x[3] = 16;
  ASSERT_OK(run(x, y));
  EXPECT_TRUE(isPattern(y[3])) << y[3];
}

// The kernel `entry` in place of scale_add, of `elements` elements and with `at` for its second scalar, on the CPU.
static Status runOnCpu(const char *entry, int64_t elements, int64_t at, std::vector<int32_t> &y) {
  ModuleBuilder builder;
  addMain(builder, elements, at, list(segment(copy(0, 2, false), dispatch(ScaleAdd, 2, {0, 2}, {0, 5}), copy(2, 1))));
  builder.addCpuTarget().variants[0]->entries[0] = entry;
  Ref<Instance> instance;
  VX_RETURN_IF_ERROR(makeInstance(builder.write(), "cpu", instance));
  std::vector<Ref<Value>> outputs;
  VX_RETURN_IF_ERROR(runMain(*instance, {vectorValue(upTo(static_cast<int32_t>(elements)))}, outputs));
  y = elementsOf(*outputs[0]);
  return okStatus();
}

TEST(ArenaCheckOnCpu, writesBeforeABuffer) {
  setenv("VX_CHECK_ARENA", "1", 1);
  std::vector<int32_t> y;
  EXPECT_FAILS(runOnCpu("write_at", 16, -2, y), VX_INVALID_MODULE,
               "program 'main': bytes -8 to -4 of a buffer of 64 bytes are overwritten; it is written by a copy and "
               "kernel 'scale_add' (scale_add_node (Test))");
  unsetenv("VX_CHECK_ARENA");
}

class PageCheck : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { unsetenv("VX_CHECK_PAGES"); }
  // For what ends the process.
  void runs(const char *entry, int64_t elements, int64_t at) {
    Status status = runOnCpu(entry, elements, at, y);
    std::exit(status.ok() ? 0 : 1);
  }
  std::vector<int32_t> y;
};

TEST_F(PageCheck, takesWhatIsRight) {
  for (const char *where : {"1", "behind", "before", "0"}) {
    setenv("VX_CHECK_PAGES", where, 1);
    for (int64_t elements : {1, 5, 16, 63, 64}) {
      ASSERT_OK(runOnCpu("read_at", elements, elements - 1, y));
      EXPECT_EQ(y[0], elements - 1);
    }
  }
}

TEST_F(PageCheck, touchesBehindABuffer) {
  setenv("VX_CHECK_PAGES", "1", 1);
  EXPECT_DEATH(runs("read_at", 16, 16),
               "vx: kernel 'scale_add' \\(scale_add_node \\(Test\\)\\) touches byte 64 of a buffer of 64 bytes");
  EXPECT_DEATH(runs("write_at", 64, 70),
               "vx: kernel 'scale_add' \\(scale_add_node \\(Test\\)\\) touches byte 280 of a buffer of 256 bytes");
}

TEST_F(PageCheck, touchesBeforeABuffer) {
  setenv("VX_CHECK_PAGES", "before", 1);
  EXPECT_DEATH(runs("read_at", 5, -1),
               "vx: kernel 'scale_add' \\(scale_add_node \\(Test\\)\\) touches byte -4 of a buffer of 20 bytes");
}

// Between the buffer and the page, where its alignment leaves a few bytes.
TEST_F(PageCheck, writesBesideABuffer) {
  setenv("VX_CHECK_PAGES", "1", 1);
  EXPECT_FAILS(runOnCpu("write_at", 5, 5, y), VX_INVALID_MODULE,
               "kernel 'scale_add' (scale_add_node (Test)) writes byte 20 of a buffer of 20 bytes");
  EXPECT_FAILS(runOnCpu("write_at", 5, -1, y), VX_INVALID_MODULE,
               "kernel 'scale_add' (scale_add_node (Test)) writes byte -4 of a buffer of 20 bytes");
  ASSERT_OK(runOnCpu("read_at", 5, 5, y));
  EXPECT_TRUE(isPattern(y[0])) << y[0];
}

} // namespace vx::test
