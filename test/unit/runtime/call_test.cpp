// Calls on the CPU and the null device: checks of the inputs, each instruction, wrong programs, lists, buckets,
// reports.
#include "drivers/null/driver.h"
#include "programs.h"
#include "runtime_test.h"

#include <numeric>

namespace vx::test {

namespace {

using format::ElementType;

Ref<Value> tensor(vx_element_type type, std::vector<int64_t> dims) {
  uint64_t size = 0;
  EXPECT_OK(tensorByteSize(type, dims, size));
  std::vector<uint8_t> bytes(size);
  Ref<Value> value;
  EXPECT_OK(Value::copyTensor(type, dims, bytes.data(), size, value));
  return value;
}

// A program of i64 instructions whose register 3 is the size of the output; registers 0 and 1 are the symbols a and b.
Status evaluate(std::vector<InstructionPtr> code, int64_t a, int64_t b, int64_t &result) {
  ModuleBuilder builder;
  builder.addFaultSites(4);
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("a"));
  main.symbols.push_back(symbol("b"));
  main.symbols.push_back(symbol("r", 0, INT64_MAX, 1, /*dataDependent=*/true));
  main.inputs.push_back(argument("x", ElementType::I32, symbolExpr(0), constantExpr(0)));
  main.inputs.push_back(argument("y", ElementType::I32, symbolExpr(1), constantExpr(0)));
  main.outputs.push_back(argument("z", ElementType::I32, symbolExpr(2), constantExpr(0)));
  BlockPtr body = block();
  body->instructions = std::move(code);
  format::ProgramT &program = builder.program("code", 6, 3, 0, std::move(body));
  program.results.push_back(tensorResult(0, {3, 5}));
  builder.addCpuTarget();
  Ref<Instance> instance;
  VX_RETURN_IF_ERROR(makeInstance(builder.write(), "null", instance));
  std::vector<Ref<Value>> outputs;
  VX_RETURN_IF_ERROR(runMain(*instance, {tensor(VX_I32, {a, 0}), tensor(VX_I32, {b, 0})}, outputs));
  result = outputs[0]->dims()[0];
  return okStatus();
}

template <typename... Parts>
std::vector<InstructionPtr> code(Parts... parts) {
  std::vector<InstructionPtr> result;
  (result.push_back(std::move(parts)), ...);
  return result;
}

int64_t evaluated(std::vector<InstructionPtr> instructions, int64_t a, int64_t b) {
  int64_t result = -1;
  EXPECT_OK(evaluate(std::move(instructions), a, b, result));
  return result;
}

} // namespace

TEST(Instructions, arithmetic) {
  auto binary = [](Op op, int64_t a, int64_t b) { return evaluated(code(instruction(op, {3, 0, 1})), a, b); };
  EXPECT_EQ(binary(Op::Add, 7, 3), 10);
  EXPECT_EQ(binary(Op::Sub, 7, 3), 4);
  EXPECT_EQ(binary(Op::Mul, 7, 3), 21);
  EXPECT_EQ(binary(Op::FloorDiv, 7, 3), 2);
  EXPECT_EQ(binary(Op::CeilDiv, 7, 3), 3);
  EXPECT_EQ(binary(Op::Mod, 7, 3), 1);
  EXPECT_EQ(binary(Op::Max, 7, 3), 7);
  EXPECT_EQ(binary(Op::Min, 7, 3), 3);
  for (auto [a, b] : {std::pair<int64_t, int64_t>{3, 3}, {3, 4}, {4, 3}}) {
    EXPECT_EQ(binary(Op::CmpEq, a, b), a == b);
    EXPECT_EQ(binary(Op::CmpNe, a, b), a != b);
    EXPECT_EQ(binary(Op::CmpLt, a, b), a < b);
    EXPECT_EQ(binary(Op::CmpLe, a, b), a <= b);
  }
  EXPECT_EQ(evaluated(code(instruction(Op::ConstI64, {3}, 42)), 1, 1), 42);
  EXPECT_EQ(evaluated(code(instruction(Op::MoveI64, {3, 1})), 1, 9), 9);
  EXPECT_EQ(evaluated(code(instruction(Op::Select, {3, 0, 0, 1})), 5, 9), 5);
  EXPECT_EQ(evaluated(code(instruction(Op::Select, {3, 0, 0, 1})), 0, 9), 9);
}

TEST(Instructions, arithmeticErrorsFailTheCall) {
  int64_t result = 0;
  EXPECT_FAILS(evaluate(code(instruction(Op::FloorDiv, {3, 0, 1})), 7, 0, result), VX_FAULT,
               "FloorDiv of 7 and 0 is no 64-bit number");
  EXPECT_FAILS(
      evaluate(code(instruction(Op::ConstI64, {4}, INT64_MAX), instruction(Op::Add, {3, 4, 0}, 0, 2)), 7, 0, result),
      VX_FAULT, "node_2 (Gather): Add of 9223372036854775807 and 7 is no 64-bit number");
}

TEST(Instructions, controlFlow) {
  auto branch = [] {
    return code(ifElse(0, block(instruction(Op::ConstI64, {3}, 100)), block(instruction(Op::ConstI64, {3}, 200))));
  };
  EXPECT_EQ(evaluated(branch(), 1, 0), 100);
  EXPECT_EQ(evaluated(branch(), 0, 0), 200);
  // 3 = sum of a, a-1, ..., 1
  auto sum = [] {
    return code(instruction(Op::ConstI64, {4}, 1), instruction(Op::MoveI64, {2, 0}),
                whileLoop(2, block(instruction(Op::Add, {3, 3, 2}), instruction(Op::Sub, {2, 2, 4}))));
  };
  EXPECT_EQ(evaluated(sum(), 5, 0), 15);
  EXPECT_EQ(evaluated(sum(), 0, 0), 0);
}

TEST(Instructions, errorNamesItsSite) {
  int64_t result = 0;
  EXPECT_FAILS(evaluate(code(instruction(Op::ConstI64, {4}, 5), instruction(Op::Error, {0, 1, 4}, 2)), 7, 3, result),
               VX_FAULT, "node_2 (Gather): index is 7, allowed is [3, 5)");
}

TEST(Instructions, checkNamesItsSiteAndBothSizes) {
  auto check = [](format::PredicateKind kind, int64_t a, int64_t b) {
    int64_t result = 0;
    return evaluate(code(instruction(Op::Check, {0, 1}, static_cast<int64_t>(kind), 2)), a, b, result);
  };
  using Kind = format::PredicateKind;
  EXPECT_OK(check(Kind::Equal, 7, 7));
  EXPECT_FAILS(check(Kind::Equal, 7, 3), VX_FAULT, "node_2 (Gather): needs index, got 7 and 3");
  for (int64_t a = 0; a < 5; ++a)
    for (int64_t b = 0; b < 5; ++b) {
      EXPECT_EQ(check(Kind::Equal, a, b).ok(), a == b);
      EXPECT_EQ(check(Kind::AtLeast, a, b).ok(), a >= b);
      EXPECT_EQ(check(Kind::Multiple, a, b).ok(), b == 0 ? a == 0 : a % b == 0);
      EXPECT_EQ(check(Kind::Broadcast, a, b).ok(), a == b || a == 1 || b == 1);
      EXPECT_EQ(check(Kind::Repeat, a, b).ok(), a == b || a == 1);
    }
}

TEST(Instructions, readBackFromTheNullDeviceIsZero) {
  EXPECT_EQ(evaluated(code(instruction(Op::ConstI64, {3}, 9), instruction(Op::ConstI64, {4}, 8),
                           instruction(Op::Allocate, {2, 4}), instruction(Op::ReadI64, {3, 2, 5}, VX_I64)),
                      1, 1),
            0);
}

TEST(Instructions, wrongProgramsAreErrorsNotCrashes) {
  int64_t result = 0;
  // What depends on a call's sizes is found in the call; the rest when the module is loaded, with the place.
  auto failing = [&](std::vector<InstructionPtr> instructions, const char *message) {
    EXPECT_FAILS(evaluate(std::move(instructions), 7, 3, result), VX_INVALID_MODULE, message);
  };
  auto refused = [&](std::vector<InstructionPtr> instructions, const std::string &message) {
    Status status = evaluate(std::move(instructions), 7, 3, result);
    EXPECT_EQ(status.code(), VX_INVALID_MODULE);
    EXPECT_TRUE(status.message().ends_with(".vxm: target 'cpu': entry 0: program 0 'code': " + message))
        << status.message();
  };
  refused(code(instruction(Op::Slice, {1, 2, 0, 1})),
          "instruction 0 Slice: buffer register 2 is read before anything is put into it");
  refused(code(ifElse(0, block(instruction(Op::Allocate, {2, 0})), block()), instruction(Op::MoveBuffer, {1, 2})),
          "instruction 1 MoveBuffer: buffer register 2 is read before anything is put into it");
  refused(code(whileLoop(0, block(instruction(Op::Allocate, {2, 0}))), segment(copy(0, 2))),
          "instruction 1 Segment: command 0: buffer register 2 is read before anything is put into it");
  failing(code(instruction(Op::ArenaSlice, {2, 0, 1})),
          "program 'code': 3 bytes at 7 are outside the arena of 0 bytes");
  failing(code(instruction(Op::ArenaReserve, {0}), instruction(Op::ArenaSlice, {2, 1, 0})),
          "program 'code': 7 bytes at 3 are outside the arena of 7 bytes");
  failing(code(instruction(Op::Allocate, {2, 1}), instruction(Op::Slice, {2, 2, 5, 0})),
          "program 'code': 7 bytes at 0 are outside the buffer of 3 bytes");
  failing(code(instruction(Op::Sub, {4, 1, 0}), instruction(Op::Allocate, {2, 4}, 0, 1)),
          "node_1 (Gather): program 'code' allocates -4 bytes");
  failing(code(instruction(Op::Sub, {4, 1, 0}), instruction(Op::ArenaReserve, {4})),
          "program 'code' asks for an arena of -4 bytes");
  refused(code(instruction(Op::ConstI64, {4}, -1), instruction(Op::Allocate, {2, 4}, 0, 1)),
          "instruction 1 Allocate: allocates -1 bytes");
  refused(code(instruction(Op::ConstI64, {4}, -1), instruction(Op::ArenaReserve, {4})),
          "instruction 1 ArenaReserve: asks for an arena of -1 bytes");
  refused(code(instruction(Op::ConstI64, {4}, -1), instruction(Op::ArenaSlice, {2, 4, 5})),
          "instruction 1 ArenaSlice: offset is -1");
  refused(
      code(instruction(Op::ConstI64, {4}, 8), instruction(Op::Allocate, {2, 4}), instruction(Op::Slice, {2, 2, 4, 4})),
      "instruction 2 Slice: 8 bytes at 8 are outside the buffer of 8 bytes");
  refused(code(instruction(Op::ConstI64, {4}, 4), instruction(Op::Allocate, {2, 4}),
               instruction(Op::ReadI64, {3, 2, 5}, VX_I64)),
          "instruction 2 ReadI64: reads 8 bytes at 0 of a buffer of 4 bytes");
  failing(code(instruction(Op::Allocate, {2, 1}), instruction(Op::ReadI64, {3, 2, 5}, VX_I64)),
          "program 'code' reads 8 bytes at 0 of a buffer of 3 bytes");
  failing(code(instruction(Op::Allocate, {2, 0}), instruction(Op::Allocate, {1, 5}), segment(copy(2, 1))),
          "program 'code' copies 7 bytes to 0 bytes");
  refused(code(instruction(Op::ConstI64, {4}, 4), instruction(Op::Allocate, {2, 4}), instruction(Op::Allocate, {1, 5}),
               segment(copy(2, 1))),
          "instruction 3 Segment: command 0: copies 4 bytes to 0 bytes");
  refused(code(instruction(Op::Slice, {2, 0, 5, 5}), segment(copy(2, 0))),
          "instruction 1 Segment: command 0: copies to a buffer that is read-only");
  failing(code(instruction(Op::ConstI64, {4}, 4), instruction(Op::Allocate, {2, 0}),
               instruction(Op::Slice, {1, 2, 5, 4}), instruction(Op::Slice, {0, 2, 4, 5}),
               instruction(Op::ConstI64, {4}, 2), instruction(Op::ConstI64, {3}, 4),
               instruction(Op::Slice, {0, 2, 4, 3}), segment(copy(1, 0))),
          "program 'code' copies 4 bytes from 0 to 2 of one buffer, which overlap");
  refused(code(segment(dispatch(ScaleAdd, 0, {0, 1}, {0, 0}))),
          "instruction 0 Segment: command 0: kernel 'scale_add' writes to buffer 1, which is read-only");
  refused(code(instruction(Op::Allocate, {2, 0}), instruction(Op::ConstI64, {4}, 4),
               instruction(Op::Slice, {2, 2, 4, 1}), segment(dispatch(ScaleAdd, 0, {0, 2}, {0, 0}))),
          "instruction 3 Segment: command 0: buffer 1 of kernel 'scale_add' begins at 4, expected a multiple of 64");
  failing(code(instruction(Op::Allocate, {2, 0}), instruction(Op::Slice, {2, 2, 1, 1}),
               segment(dispatch(ScaleAdd, 0, {0, 2}, {0, 0}))),
          "program 'code': buffer 1 of kernel 'scale_add' is not aligned to 64 bytes");
  // The kernel's workgroups and sizes over its scalars: n elements of i32 in both buffers, 64 to a workgroup.
  auto dispatched = [&](int64_t bytes, int64_t elements, int64_t workgroups) {
    return code(instruction(Op::ConstI64, {4}, bytes), instruction(Op::Allocate, {1, 4}),
                instruction(Op::Allocate, {2, 4}), instruction(Op::ConstI64, {4}, elements),
                instruction(Op::ConstI64, {2}, workgroups), segment(dispatch(ScaleAdd, 2, {1, 2}, {4, 5})));
  };
  EXPECT_EQ(evaluated(dispatched(400, 100, 2), 7, 3), 0);
  const std::string where = "instruction 5 Segment: command 0: ";
  refused(dispatched(399, 100, 2), where + "buffer 0 of kernel 'scale_add' has 399 bytes, i32[100] needs 400");
  refused(dispatched(400, 100, 3), where + "kernel 'scale_add' runs with 3 workgroups, expected 2");
  refused(dispatched(400, 100, -1), where + "kernel 'scale_add' runs with -1 workgroups, allowed are 0 to 2147418112");
  refused(dispatched(400, -64, 0), where + "kernel 'scale_add' runs with 0 workgroups, expected -1");
  failing(code(instruction(Op::Allocate, {1, 0}), instruction(Op::Allocate, {2, 0}),
               segment(dispatch(ScaleAdd, 0, {1, 2}, {0, 0}))),
          "program 'code': kernel 'scale_add' runs with 7 workgroups, expected 1");
  failing(code(instruction(Op::Allocate, {1, 0}), instruction(Op::Allocate, {2, 0}), instruction(Op::ConstI64, {4}, 1),
               segment(dispatch(ScaleAdd, 4, {1, 2}, {0, 0}))),
          "program 'code': buffer 0 of kernel 'scale_add' has 7 bytes, i32[7] needs 28");
  refused(code(instruction(Op::ConstI64, {3}, 5), instruction(Op::ConstI64, {5}, 2)),
          "output 'z': dim 1 is 2, expected 0");
}

TEST(Inputs, everyMismatchNamesTheInputAndBothValues) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("batch", 1, 512, 2));
  main.symbols.push_back(symbol("past"));
  main.inputs.push_back(argument("x", ElementType::F32, symbolExpr(0), constantExpr(3)));
  main.inputs.push_back(argument("past", ElementType::F32, symbolExpr(1), symbolExpr(0)));
  main.inputs.push_back(argument(
      "mask", ElementType::Bool,
      exprOf(
          {{format::ExprOp::Symbol, 0, 0, 1}, {format::ExprOp::Constant, 0, 0, 1}, {format::ExprOp::Add, 0, 1, 0}})));
  main.inputs.push_back(listArgument("list", ElementType::F32, format::ValueKind::Sequence));
  builder.program("nothing", 2, 3, 1, block());
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "null", instance));
  Ref<Value> x = tensor(VX_F32, {4, 3}), past = tensor(VX_F32, {9, 4}), mask = tensor(VX_BOOL, {10}), list;
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_F32, {x, past}, list));
  std::vector<Ref<Value>> outputs;
  auto failing = [&](std::vector<Ref<Value>> inputs, const char *message) {
    EXPECT_FAILS(runMain(*instance, inputs, outputs), VX_INVALID_ARGUMENT, message);
  };
  EXPECT_OK(runMain(*instance, {x, past, mask, list}, outputs));
  failing({x, past}, "function 'main' takes 4 inputs, got 2");
  failing({x, nullptr, mask, list}, "input 'past': got a null pointer");
  failing({list, past, mask, list}, "input 'x': expected a tensor, got sequence of f32");
  failing({x, past, mask, x}, "input 'list': expected a sequence, got f32[4,3]");
  failing({tensor(VX_F64, {4, 3}), past, mask, list}, "input 'x': expected element type f32, got f64");
  failing({tensor(VX_F32, {4}), past, mask, list}, "input 'x': expected f32[batch,3] of rank 2, got f32[4] of rank 1");
  failing({tensor(VX_F32, {4, 5}), past, mask, list}, "input 'x': dim 1 must be 3, got 5 in f32[4,5]");
  failing({tensor(VX_F32, {0, 3}), past, mask, list}, "input 'x': dim 0 is 'batch', expected 1 to 512, got 0");
  failing({tensor(VX_F32, {600, 3}), past, mask, list}, "input 'x': dim 0 is 'batch', expected 1 to 512, got 600");
  failing({tensor(VX_F32, {5, 3}), past, mask, list}, "input 'x': dim 0 is 'batch', expected a multiple of 2, got 5");
  failing({tensor(VX_F32, {2, 3}), past, mask, list}, "input 'past': dim 1 is 'batch', which is 2 by input 'x', got 4");
  failing({x, past, tensor(VX_BOOL, {9}), list}, "input 'mask': dim 0 must be past + 1 = 10, got 9");
}

TEST(Inputs, areCheckedAgainstTheFunctionsConstraintsBeforeAVersionIsChosen) {
  ModuleBuilder builder;
  builder.addFaultSites(1);
  builder.module.fault_sites[0]->node = "add_0 (Add)";
  builder.module.fault_sites[0]->what = "sizes 'n' and 'm' equal or one of them 1";
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.symbols.push_back(symbol("m"));
  main.inputs.push_back(argument("x", ElementType::F32, symbolExpr(0)));
  main.inputs.push_back(argument("y", ElementType::F32, symbolExpr(1)));
  auto constraint = std::make_unique<format::PredicateT>();
  constraint->kind = format::PredicateKind::Broadcast;
  constraint->lhs = symbolExpr(0);
  constraint->rhs = symbolExpr(1);
  main.constraints.push_back(std::move(constraint));
  builder.program("nothing", 2, 2, 0, block());
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "null", instance));
  std::vector<Ref<Value>> outputs;
  auto run = [&](int64_t n, int64_t m) {
    return runMain(*instance, {tensor(VX_F32, {n}), tensor(VX_F32, {m})}, outputs);
  };
  EXPECT_OK(run(3, 3));
  EXPECT_OK(run(1, 5));
  EXPECT_OK(run(0, 1));
  EXPECT_FAILS(run(3, 5), VX_INVALID_ARGUMENT,
               "add_0 (Add): needs sizes 'n' and 'm' equal or one of them 1, got 3 and 5");
}

TEST(Values, areCheckedWhenMade) {
  Ref<Value> value;
  const int64_t dims[] = {2, 2};
  const float data[4] = {};
  EXPECT_FAILS(Value::copyTensor(VX_F32, dims, data, 12, value), VX_INVALID_ARGUMENT,
               "f32[2,2] needs 16 bytes, got 12");
  EXPECT_FAILS(Value::copyTensor(VX_F32, dims, nullptr, 16, value), VX_INVALID_ARGUMENT,
               "argument 'data' is a null pointer, f32[2,2] needs 16 bytes");
  EXPECT_FAILS(Value::copyTensor(VX_STRING, dims, data, 16, value), VX_UNSUPPORTED,
               "a tensor of strings is made of strings, not of bytes");
  EXPECT_FAILS(Value::copyTensor(static_cast<vx_element_type>(50), dims, data, 16, value), VX_INVALID_ARGUMENT,
               "element type has the unknown number 50");
  std::vector<int64_t> deep(65, 1);
  EXPECT_FAILS(Value::copyTensor(VX_F32, deep, data, 4, value), VX_INVALID_ARGUMENT, "rank is 65, allowed are 64");
  EXPECT_FAILS(Value::list(VX_SEQUENCE, VX_F32, {tensor(VX_I8, {1})}, value), VX_INVALID_ARGUMENT,
               "element 0: expected a tensor of f32, got i8[1]");
}

TEST(Values, wrappedBytesAreReadInPlaceAndReleasedOnce) {
  static int released;
  released = 0;
  alignas(64) static const int32_t data[2] = {3, 4};
  const int64_t dims[] = {2};
  Ref<Value> value;
  ASSERT_OK(Value::wrapTensor(VX_I32, dims, data, 8, [](void *) { ++released; }, nullptr, value));
  const void *bytes = nullptr;
  ASSERT_OK(value->hostBytes(bytes));
  EXPECT_EQ(bytes, data);
  value = nullptr;
  EXPECT_EQ(released, 1);
}

TEST(Calls, unalignedInputsAreCopied) {
  ModuleBuilder builder;
  addAffine(builder, 64);
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  alignas(64) static int32_t data[20];
  std::iota(std::begin(data), std::end(data), 0);
  for (int shift = 0; shift < 3; ++shift) {
    const int64_t dims[] = {10};
    Ref<Value> x;
    ASSERT_OK(Value::wrapTensor(VX_I32, dims, data + shift, 40, nullptr, nullptr, x));
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {x}, outputs));
    EXPECT_EQ(elementsOf(*outputs[0])[2], 3 * (2 + shift) + 7);
  }
}

TEST(Calls, bucketIsChosenByTheSymbols) {
  ModuleBuilder builder;
  addAffine(builder, 64);
  // A second program for n = 8, told apart by its result: it gives its input back.
  format::ProgramT &special = builder.program("eight", 1, 1, 0, block());
  special.results.push_back(tensorResult(0, {0}));
  format::TargetT &target = builder.addCpuTarget();
  auto entry = std::make_unique<format::EntryT>();
  entry->function = 0;
  entry->program = 1;
  auto constraint = std::make_unique<format::ConstraintT>();
  constraint->symbol = 0;
  constraint->min = constraint->max = 8;
  entry->constraints.push_back(std::move(constraint));
  target.entries.insert(target.entries.begin(), std::move(entry));
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {vectorValue(std::vector<int32_t>(8, 2))}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), std::vector<int32_t>(8, 2));
  ASSERT_OK(runMain(*instance, {vectorValue(std::vector<int32_t>(9, 2))}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), std::vector<int32_t>(9, 13));
}

// main(list: sequence of i32, x: i32[n]) -> longer: sequence; first: i32[m]; count of elements is checked by ListGet at
// `at`.
static void addLists(ModuleBuilder &builder, int64_t at, int32_t site = 2) {
  builder.addFaultSites(4);
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.symbols.push_back(symbol("m", 0, INT64_MAX, 1, true));
  main.inputs.push_back(listArgument("list", ElementType::I32, format::ValueKind::Sequence));
  main.inputs.push_back(argument("x", ElementType::I32, symbolExpr(0)));
  main.outputs.push_back(listArgument("longer", ElementType::I32, format::ValueKind::Sequence));
  main.outputs.push_back(argument("first", ElementType::I32, symbolExpr(1)));
  main.outputs.push_back(listArgument("maybe", ElementType::I32, format::ValueKind::Optional));
  // i64: 0 n, 1 m, 2 position, 3 size; objects: 0 list, 1 longer, 2 maybe
  BlockPtr body = block(instruction(Op::ListSize, {3, 0}), instruction(Op::ListInsert, {1, 0, 3, 0, 0}),
                        instruction(Op::ConstI64, {2}, at), instruction(Op::ListGet, {1, 1, 2, 1}, 0, site),
                        instruction(Op::ConstI64, {2}, 0), instruction(Op::ListErase, {1, 1, 2}, 0, 1),
                        instruction(Op::ListEmpty, {2}, VX_I32), instruction(Op::ListInsert, {2, 2, 2, 0, 0}),
                        instruction(Op::MoveObject, {3, 2}));
  format::ProgramT &program = builder.program("lists", 4, 2, 4, std::move(body));
  program.results.push_back(listResult(1));
  program.results.push_back(tensorResult(1, {1}));
  program.results.push_back(listResult(3));
}

TEST(Calls, sequencesAndOptionals) {
  ModuleBuilder builder;
  addLists(builder, 1);
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  Ref<Value> list;
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {vectorValue({1}), vectorValue({2, 3})}, list));
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {list, vectorValue({7, 8, 9})}, outputs));
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0]->kind(), VX_SEQUENCE);
  ASSERT_EQ(outputs[0]->elements().size(), 2u);
  EXPECT_EQ(elementsOf(*outputs[0]->elements()[0]), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(elementsOf(*outputs[0]->elements()[1]), (std::vector<int32_t>{7, 8, 9}));
  EXPECT_EQ(elementsOf(*outputs[1]), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(outputs[2]->kind(), VX_OPTIONAL);
  ASSERT_EQ(outputs[2]->elements().size(), 1u);
  EXPECT_EQ(elementsOf(*outputs[2]->elements()[0]), (std::vector<int32_t>{7, 8, 9}));
  // The caller's sequence is as it was.
  EXPECT_EQ(list->elements().size(), 2u);
}

// What an optional sequence holds may be an empty sequence, which is not none.
TEST(Calls, optionalSequences) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("has", 0, INT64_MAX, 1, true));
  main.inputs.push_back(listArgument("maybe", ElementType::I32, format::ValueKind::OptionalSequence));
  main.outputs.push_back(listArgument("same", ElementType::I32, format::ValueKind::OptionalSequence));
  main.outputs.push_back(listArgument("other", ElementType::I32, format::ValueKind::OptionalSequence));
  main.outputs.push_back(argument("has", ElementType::I32, symbolExpr(0)));
  // i64: 0 has, 1 bytes; objects: 0 maybe, 1 none
  format::ProgramT &program = builder.program(
      "main", 3, 1, 2,
      block(instruction(Op::HasList, {0, 0}), instruction(Op::NoList, {1}, VX_I32), instruction(Op::ConstI64, {1}, 4),
            instruction(Op::Mul, {2, 0, 1}), instruction(Op::Allocate, {0, 2})));
  program.results.push_back(listResult(0));
  program.results.push_back(listResult(1));
  program.results.push_back(tensorResult(0, {0}));
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  Ref<Value> two, empty;
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {vectorValue({1}), vectorValue({2, 3})}, two));
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {}, empty));
  for (const Ref<Value> &sequence : {two, empty, Ref<Value>()}) {
    Ref<Value> maybe;
    std::vector<Ref<Value>> parts;
    if (sequence)
      parts.push_back(sequence);
    ASSERT_OK(Value::list(VX_OPTIONAL_SEQUENCE, VX_I32, parts, maybe));
    EXPECT_EQ(maybe->typeString(), "optional sequence of i32");
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {maybe}, outputs));
    EXPECT_EQ(outputs[0]->kind(), VX_OPTIONAL_SEQUENCE);
    ASSERT_EQ(outputs[0]->elements().size(), parts.size());
    EXPECT_EQ(outputs[2]->dims()[0], static_cast<int64_t>(parts.size()));
    EXPECT_EQ(outputs[0]->tensors().size(), maybe->tensors().size());
    if (sequence == two) {
      EXPECT_EQ(elementsOf(*outputs[0]->tensors()[1]), (std::vector<int32_t>{2, 3}));
    }
    EXPECT_EQ(outputs[1]->kind(), VX_OPTIONAL_SEQUENCE);
    EXPECT_TRUE(outputs[1]->elements().empty());
    EXPECT_FAILS(runMain(*instance, {two}, outputs), VX_INVALID_ARGUMENT,
                 "input 'maybe': expected a optional sequence, got sequence of i32");
  }
}

TEST(Calls, listErrorsNameTheNode) {
  ModuleBuilder builder;
  addLists(builder, 5);
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  Ref<Value> list;
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {}, list));
  std::vector<Ref<Value>> outputs;
  EXPECT_FAILS(runMain(*instance, {list, vectorValue({7})}, outputs), VX_FAULT,
               "node_2 (Gather): index is 5, allowed is [0, 1)");
  // Without a site there is no node to name.
  ModuleBuilder nameless;
  addLists(nameless, 5, -1);
  nameless.addCpuTarget();
  ASSERT_OK(makeInstance(nameless.write(), "cpu", instance));
  EXPECT_FAILS(runMain(*instance, {list, vectorValue({7})}, outputs), VX_FAULT,
               "ListGet: position is 5, allowed is [0, 1)");
  ModuleBuilder ranks;
  addLists(ranks, 0);
  ranks.addCpuTarget();
  ASSERT_OK(makeInstance(ranks.write(), "cpu", instance));
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {tensor(VX_I32, {2, 2})}, list));
  EXPECT_FAILS(runMain(*instance, {list, vectorValue({7})}, outputs), VX_FAULT,
               "node_2 (Gather): element 0 has rank 2, expected 1");
}

TEST(Calls, segmentsAreRecordedOncePerPlace) {
  ModuleBuilder builder;
  addAffine(builder, 64);
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "null", instance));
  std::vector<Ref<Value>> outputs;
  drivers::NullCounters before = drivers::nullCounters();
  for (int i = 0; i < 10; ++i)
    ASSERT_OK(runMain(*instance, {vectorValue(std::vector<int32_t>(static_cast<size_t>(64 - i), 2))}, outputs));
  drivers::NullCounters after = drivers::nullCounters();
  EXPECT_EQ(after.recordings - before.recordings, 1u);
  EXPECT_EQ(after.replays - before.replays, 10u);
  EXPECT_EQ(after.dispatches - before.dispatches, 10u);
  EXPECT_EQ(after.copies - before.copies, 20u);
  // The arena and the input's place once, the result each time.
  EXPECT_EQ(after.allocations - before.allocations, 12u);
}

// As of a decoder, which has a token more before it in each step.
TEST(Calls, sizesThatGrowAllocateSeldom) {
  ModuleBuilder builder;
  addAffine(builder, 2000);
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "null", instance));
  std::vector<Ref<Value>> outputs;
  const drivers::NullCounters before = drivers::nullCounters();
  for (int n = 1000; n < 1400; n += 10)
    ASSERT_OK(runMain(*instance, {vectorValue(std::vector<int32_t>(static_cast<size_t>(n), 2))}, outputs));
  const drivers::NullCounters after = drivers::nullCounters();
  // The results, the inputs' places, and the arena twice.
  EXPECT_EQ(after.allocations - before.allocations, 40u + 40u + 2u);
}

TEST(Calls, resultsAreTheSameAtAnyNumberOfThreads) {
  ModuleBuilder builder;
  addAffine(builder);
  builder.addCpuTarget();
  std::vector<int32_t> x(4096), first;
  std::iota(x.begin(), x.end(), -100);
  for (uint32_t threads : {1u, 2u, 4u}) {
    Ref<Instance> instance;
    ASSERT_OK(makeInstance(builder.write(), "cpu", instance, threads));
    EXPECT_EQ(instance->report().taken->threads, threads);
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue(x)}, outputs));
    if (first.empty())
      first = elementsOf(*outputs[0]);
    EXPECT_EQ(elementsOf(*outputs[0]), first);
  }
}

TEST(Calls, reportAndProfile) {
  ModuleBuilder builder;
  addAffine(builder, 64);
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  std::unique_ptr<CallState> call;
  ASSERT_OK(instance->takeCall(0, call));
  std::string json;
  EXPECT_FAILS(call->report(json), VX_INVALID_ARGUMENT, "the call has not run yet");
  Ref<Value> x = vectorValue({1, 2, 3});
  Value *inputs[] = {x.get()};
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(call->run(inputs, outputs));
  ASSERT_OK(call->report(json));
  EXPECT_NE(json.find("\"dispatches\":1,\"replays\":1,\"host_calls\":0,\"host_bytes\":0,\"derived\":0,\"kernels\":[]"),
            std::string::npos)
      << json;
  call->setProfile(true);
  ASSERT_OK(call->run(inputs, outputs));
  ASSERT_OK(call->report(json));
  EXPECT_NE(json.find("\"flops\":6,\"bytes\":36,\"kernels\":[{\"kernel\":\"scale_add\",\"key\":\"key_scale_add\","
                      "\"sources\":[\"scale_add_node (Test)\"],\"count\":1,\"total_ms\":"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(",\"flops\":6,\"bytes\":36}]"), std::string::npos) << json;
  // The next run forgets it.
  call->setProfile(false);
  ASSERT_OK(call->run(inputs, outputs));
  ASSERT_OK(call->report(json));
  EXPECT_NE(json.find("\"kernels\":[]"), std::string::npos) << json;
  EXPECT_EQ(json.find("flops"), std::string::npos) << json;
}

// A device that times nothing counts the work all the same; a module that states no work has none to count.
TEST(Calls, workWithoutTimes) {
  ModuleBuilder builder;
  addGather(builder);
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "null", instance));
  std::unique_ptr<CallState> call;
  ASSERT_OK(instance->takeCall(0, call));
  call->setProfile(true);
  Ref<Value> x = vectorValue({1, 2, 3}), indices = vectorValue({0});
  Value *inputs[] = {x.get(), indices.get()};
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(call->run(inputs, outputs));
  std::string json;
  ASSERT_OK(call->report(json));
  EXPECT_NE(json.find("\"flops\":null,\"bytes\":null,\"kernels\":[{"), std::string::npos) << json;
  EXPECT_NE(json.find("\"count\":1,\"total_ms\":null,\"flops\":null,\"bytes\":null}]"), std::string::npos) << json;
}

namespace {

struct Seen {
  std::string kernel;
  std::vector<std::string> nodes;
  std::vector<std::vector<int32_t>> outputs;
};

CallState::Observer see(std::vector<Seen> &all) {
  return [&all](const vx_dispatch_info &info, std::span<const Ref<Value>> outputs, std::span<Ref<Value>>) {
    Seen &seen = all.emplace_back();
    seen.kernel = info.kernel;
    seen.nodes.assign(info.nodes, info.nodes + info.node_count);
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_STREQ(info.layouts[i], "");
      seen.outputs.push_back(elementsOf(*outputs[i]));
    }
  };
}

} // namespace

// Each dispatch is seen with what it wrote, although the arena is written again behind it.
TEST(Calls, observer) {
  for (const char *device : {"cpu", "null"}) {
    ModuleBuilder builder;
    addAffine(builder, 64);
    builder.module.source_nodes = {"other (Test)", "scale (Mul)", "bias (Add)"};
    format::InstructionT &work = *builder.module.programs[0]->body->instructions.back();
    work.commands[1]->nodes = {1, 2};
    // y = 3 x + 7, and then 3 x more.
    work.commands.push_back(dispatch(ScaleAdd, 2, {0, 4}, {0, 3}));
    builder.addCpuTarget();
    Ref<Instance> instance;
    ASSERT_OK(makeInstance(builder.write(), device, instance));
    std::unique_ptr<CallState> call;
    ASSERT_OK(instance->takeCall(0, call));
    std::vector<Seen> seen;
    call->setObserver(see(seen));
    Ref<Value> x = vectorValue({1, 2, 3});
    Value *inputs[] = {x.get()};
    std::vector<Ref<Value>> outputs;
    for (int run = 0; run < 2; ++run) {
      seen.clear();
      ASSERT_OK(call->run(inputs, outputs));
      ASSERT_EQ(seen.size(), 2u);
      EXPECT_EQ(seen[0].kernel, "scale_add");
      EXPECT_EQ(seen[0].nodes, (std::vector<std::string>{"scale (Mul)", "bias (Add)"}));
      EXPECT_TRUE(seen[1].nodes.empty());
      const bool isReal = std::string_view(device) == "cpu";
      using List = std::vector<std::vector<int32_t>>;
      EXPECT_EQ(seen[0].outputs, (isReal ? List{{10, 13, 16}} : List{{0, 0, 0}}));
      EXPECT_EQ(seen[1].outputs, (isReal ? List{{13, 19, 25}} : List{{0, 0, 0}}));
      EXPECT_EQ(elementsOf(*outputs[0]), (isReal ? List{{10, 13, 16}} : List{{0, 0, 0}})[0]);
    }
    call->setObserver(nullptr);
    seen.clear();
    ASSERT_OK(call->run(inputs, outputs));
    EXPECT_TRUE(seen.empty());
    // Whoever gets the place next is not observed.
    call->setObserver(see(seen));
    instance->returnCall(std::move(call));
    ASSERT_OK(runMain(*instance, {x}, outputs));
    EXPECT_TRUE(seen.empty());
  }
}

// What an observer puts in the place of an output is what the program goes on with.
TEST(Calls, observerReplacesOutputs) {
  ModuleBuilder builder;
  addAffine(builder, 64);
  // y = 3 x + 7, which is copied to the result, and then 3 x more.
  builder.module.programs[0]->body->instructions.back()->commands.push_back(dispatch(ScaleAdd, 2, {0, 4}, {0, 3}));
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  std::unique_ptr<CallState> call;
  ASSERT_OK(instance->takeCall(0, call));
  Ref<Value> replacement = vectorValue({100, 200, 300});
  std::vector<std::vector<int32_t>> seen;
  call->setObserver(
      [&](const vx_dispatch_info &, std::span<const Ref<Value>> shown, std::span<Ref<Value>> replacements) {
        seen.push_back(elementsOf(*shown[0]));
        if (seen.size() == 1)
          replacements[0] = replacement;
      });
  Ref<Value> x = vectorValue({1, 2, 3});
  Value *inputs[] = {x.get()};
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(call->run(inputs, outputs));
  EXPECT_EQ(seen, (std::vector<std::vector<int32_t>>{{10, 13, 16}, {103, 206, 309}}));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{100, 200, 300}));

  seen.clear();
  replacement = vectorValue({100, 200});
  EXPECT_FAILS(call->run(inputs, outputs), VX_INVALID_ARGUMENT,
               "a replacement of output 0 of kernel 'scale_add' is 'i32[2]', expected 'i32[3]'");
}

// A schedule that does not fit its kernels: what only a call knows is found before the kernel runs, each time that the
// sizes are other ones, and nothing is read or written outside of the buffers.
TEST(Calls, dispatchesFitTheirKernels) {
  auto failing = [](const std::function<void(ModuleBuilder &)> &damage, std::vector<std::pair<int, std::string>> runs) {
    ModuleBuilder builder;
    addAffine(builder, 64);
    damage(builder);
    builder.addCpuTarget();
    Ref<Instance> instance;
    ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
    std::unique_ptr<CallState> call;
    ASSERT_OK(instance->takeCall(0, call));
    for (const auto &[count, message] : runs) {
      Ref<Value> x = vectorValue(std::vector<int32_t>(static_cast<size_t>(count), 1));
      Value *inputs[] = {x.get()};
      std::vector<Ref<Value>> outputs;
      if (message.empty())
        EXPECT_OK(call->run(inputs, outputs));
      else
        EXPECT_FAILS(call->run(inputs, outputs), VX_INVALID_MODULE, "program 'affine': " + message);
    }
  };
  // The instructions of addAffine: 4 makes the scale, 0 and 1 the bytes of a row.
  auto instructionOf = [](ModuleBuilder &builder, size_t index) -> format::InstructionT & {
    return *builder.module.programs[0]->body->instructions[index];
  };
  failing([](ModuleBuilder &) {}, {{3, ""}, {64, ""}, {1, ""}});
  failing([&](ModuleBuilder &b) { instructionOf(b, 0).imm = 2; },
          {{0, ""}, {3, "buffer 1 of kernel 'scale_add' has 6 bytes, i32[3] needs 12"}, {0, ""}});
}

TEST(Calls, variablesByName) {
  ModuleBuilder builder;
  addAccumulate(builder);
  const int32_t start[] = {5, 6, 7, 8};
  format::VariableT &total = *builder.module.variables[0];
  total.init = std::make_unique<format::InitT>();
  total.init->kind = format::InitKind::Constant;
  total.init->constant = builder.addConstant("start", ElementType::I32, {4}, start, sizeof(start));
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  Ref<Value> value;
  ASSERT_OK(instance->readVariable("total", value));
  EXPECT_EQ(elementsOf(*value), (std::vector<int32_t>{5, 6, 7, 8}));
  EXPECT_FAILS(instance->readVariable("sum", value), VX_NOT_FOUND, "variable 'sum' does not exist, there are: total");
  EXPECT_FAILS(instance->writeVariable("total", *vectorValue({1, 2})), VX_INVALID_ARGUMENT,
               "variable 'total': expected i32[4], got i32[2]");
}

} // namespace vx::test
