// What VX_CHECK_SCHEDULE finds in programs: forgotten barriers, and memory that is read after it became another
// buffer's.
#include "programs.h"
#include "runtime_test.h"

#include <cstdlib>

namespace vx::test {

using format::ElementType;

class ScheduleCheckTest : public testing::Test {
protected:
  void SetUp() override { setenv("VX_CHECK_SCHEDULE", "1", 1); }
  void TearDown() override { unsetenv("VX_CHECK_SCHEDULE"); }

  // main(x: i32[4]) -> y: i32[4], y in buffer register 1. i64 registers: 0 is 4, 1 is 16, 2 is 1, 3 is 0, 4 is 8.
  // Buffer registers 2 and 3 are arena slices of 16 bytes, 3 at `second`.
  static Status run(BlockPtr body) {
    ModuleBuilder builder;
    format::FunctionT &main = builder.function();
    main.inputs.push_back(argument("x", ElementType::I32, constantExpr(4)));
    main.outputs.push_back(argument("y", ElementType::I32, constantExpr(4)));
    builder.program("main", 5, 4, 0, std::move(body)).results.push_back(tensorResult(1, {0}));
    builder.addCpuTarget();
    Ref<Instance> instance;
    VX_RETURN_IF_ERROR(makeInstance(builder.write(), "cpu", instance));
    std::vector<Ref<Value>> outputs;
    return runMain(*instance, {vectorValue({1, 2, 3, 4})}, outputs);
  }
  static BlockPtr withBuffers(int64_t second, InstructionPtr commands) {
    return block(instruction(Op::ConstI64, {0}, 4), instruction(Op::ConstI64, {1}, 64 + 16),
                 instruction(Op::ArenaReserve, {1}), instruction(Op::ConstI64, {1}, 16),
                 instruction(Op::ConstI64, {2}, 1), instruction(Op::ConstI64, {3}, 0),
                 instruction(Op::ConstI64, {4}, second), instruction(Op::Allocate, {1, 1}),
                 instruction(Op::ArenaSlice, {2, 3, 1}), instruction(Op::ArenaSlice, {3, 4, 1}), std::move(commands));
  }
};

TEST_F(ScheduleCheckTest, takesWhatIsRight) {
  EXPECT_OK(run(withBuffers(
      64, segment(copy(0, 2, false), copy(0, 3, false), dispatch(ScaleAdd, 2, {2, 3}, {0, 2}), copy(3, 1)))));
  // A slice whose bytes were another's before, written anew.
  EXPECT_OK(run(withBuffers(0, segment(copy(0, 2, false), copy(0, 3), copy(3, 1)))));
}

TEST_F(ScheduleCheckTest, forgottenBarriers) {
  EXPECT_FAILS(run(withBuffers(64, segment(copy(0, 2, false), copy(2, 1, false)))), VX_INVALID_MODULE,
               "program 'main': command 1 (copy) reads bytes 0 to 16 that command 0 (copy) writes, and no barrier "
               "stands between them");
  EXPECT_FAILS(run(withBuffers(64, segment(copy(0, 2, false), copy(0, 3, false), copy(2, 1), copy(0, 2, false)))),
               VX_INVALID_MODULE,
               "program 'main': command 3 (copy) writes bytes 0 to 16 that command 2 (copy) reads, and no barrier "
               "stands between them");
  EXPECT_FAILS(run(withBuffers(0, segment(copy(0, 2, false), copy(0, 3, false), copy(3, 1)))), VX_INVALID_MODULE,
               "program 'main': command 1 (copy) writes bytes 0 to 16 that command 0 (copy) writes, and no barrier "
               "stands between them");
}

TEST_F(ScheduleCheckTest, memoryThatIsAnothers) {
  EXPECT_FAILS(
      run(withBuffers(0, segment(copy(0, 2, false), copy(0, 3), copy(2, 1)))), VX_INVALID_MODULE,
      "program 'main': command 2 (copy) reads bytes 0 to 16 of its memory, but byte 0 is another buffer's by then");
  EXPECT_FAILS(run(withBuffers(64, segment(copy(0, 2, false), copy(3, 1)))), VX_INVALID_MODULE,
               "program 'main': command 1 (copy) reads bytes 64 to 80 of its memory, but byte 64 was never written");
  EXPECT_FAILS(run(withBuffers(64, segment(copy(0, 2, false)))), VX_INVALID_MODULE,
               "program 'main': a result reads bytes 0 to 16 of its memory, but byte 0 was never written");
}

TEST_F(ScheduleCheckTest, isOffUnlessAskedFor) {
  setenv("VX_CHECK_SCHEDULE", "0", 1);
  EXPECT_OK(run(withBuffers(0, segment(copy(0, 2, false), copy(0, 3), copy(2, 1)))));
}

} // namespace vx::test
