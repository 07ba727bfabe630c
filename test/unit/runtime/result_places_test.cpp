// Results in memory of the caller, and inputs and outputs that are the same memory.
#include "programs.h"
#include "runtime_test.h"

#include <sys/mman.h>

namespace vx::test {

namespace {

using format::ElementType;

// Numbers that begin at a multiple of 64 bytes.
struct Numbers {
  alignas(64) int32_t values[64] = {};
  std::vector<int32_t> first(size_t count) const { return {values, values + count}; }
};

// main(x: i32[n]) -> y: i32[n], what an allocation holds by chance plus x: so one sees which memory it is.
void addOnto(ModuleBuilder &builder) {
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.inputs.push_back(argument("x", ElementType::I32, symbolExpr(0)));
  main.outputs.push_back(argument("y", ElementType::I32, symbolExpr(0)));
  BlockPtr body =
      block(instruction(Op::ConstI64, {1}, 1), instruction(Op::ConstI64, {2}, 4), instruction(Op::Mul, {3, 0, 2}),
            instruction(Op::Allocate, {1, 3}), segment(dispatch(ScaleAdd, 1, {0, 1}, {0, 1})));
  builder.program("onto", 4, 2, 0, std::move(body)).results.push_back(tensorResult(1, {0}));
}

// main(x: i32[n], u: i32[4]) -> y: i32[n], x with u added to its first elements, which y may be the memory of. `late`
// comes behind what writes y.
void addReplace(ModuleBuilder &builder, CommandPtr late = nullptr) {
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.inputs.push_back(argument("x", ElementType::I32, symbolExpr(0)));
  main.inputs.push_back(argument("u", ElementType::I32, constantExpr(4)));
  main.outputs.push_back(argument("y", ElementType::I32, symbolExpr(0)));
  main.aliases.emplace_back(0, 0);
  InstructionPtr commands = segment(copy(0, 2, false), dispatch(ScaleAdd, 3, {1, 2}, {1, 3}));
  if (late)
    commands->commands.push_back(std::move(late));
  BlockPtr body =
      block(instruction(Op::ConstI64, {1}, 4), instruction(Op::Mul, {2, 0, 1}), instruction(Op::ConstI64, {3}, 1),
            instruction(Op::Allocate, {2, 2}), instruction(Op::Allocate, {3, 2}), std::move(commands));
  builder.program("replace", 4, 4, 0, std::move(body)).results.push_back(tensorResult(2, {0}));
}

class Places : public testing::Test {
protected:
  Status load(ModuleBuilder &builder, const char *device = "cpu") {
    builder.addCpuTarget();
    builder.addVulkanTarget();
    return makeInstance(builder.write("places.vxm"), device, instance);
  }
  Status run(const std::vector<Ref<Value>> &inputs, const std::vector<ResultPlace> &places) {
    std::unique_ptr<CallState> call;
    VX_RETURN_IF_ERROR(instance->takeCall(0, call));
    std::vector<Value *> pointers;
    for (const Ref<Value> &input : inputs)
      pointers.push_back(input.get());
    Status status = call->run(pointers, outputs, places);
    instance->returnCall(std::move(call));
    return status;
  }
  static Ref<Value> wrap(const int32_t *data, size_t count) {
    Ref<Value> value;
    const int64_t dims[] = {static_cast<int64_t>(count)};
    EXPECT_OK(Value::wrapTensor(VX_I32, dims, data, count * 4, nullptr, nullptr, value));
    return value;
  }

  Ref<Instance> instance;
  std::vector<Ref<Value>> outputs;
};

} // namespace

TEST_F(Places, aResultIsComputedThereOnTheCpu) {
  ModuleBuilder builder;
  addOnto(builder);
  ASSERT_OK(load(builder));
  Numbers place;
  place.values[0] = 100;
  place.values[3] = 77;
  ASSERT_OK(run({vectorValue({1, 2, 3})}, {{place.values, sizeof(place.values)}}));
  EXPECT_EQ(place.first(4), (std::vector<int32_t>{101, 2, 3, 77}));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{101, 2, 3}));
  EXPECT_EQ(outputs[0]->knownHostBytes(), place.values);
  // It goes on with what it holds, and without a place the memory is the runtime's.
  ASSERT_OK(run({vectorValue({1, 2, 3})}, {{place.values, 12}}));
  EXPECT_EQ(place.first(4), (std::vector<int32_t>{102, 4, 6, 77}));
  ASSERT_OK(run({vectorValue({1, 2, 3})}, {{}}));
  EXPECT_NE(outputs[0]->knownHostBytes(), place.values);
  EXPECT_EQ(place.first(4), (std::vector<int32_t>{102, 4, 6, 77}));
}

// Elsewhere, and where the place is not aligned, the result is copied there.
TEST_F(Places, aResultIsCopiedThere) {
  for (const char *device : {"cpu", "vulkan"}) {
    ModuleBuilder builder;
    addAffine(builder);
    Status loaded = load(builder, device);
    if (!loaded.ok() && device == std::string("vulkan"))
      GTEST_SKIP() << loaded.message();
    ASSERT_OK(std::move(loaded));
    for (size_t begin : {0u, 1u}) {
      Numbers place;
      place.values[begin + 3] = 77;
      ASSERT_OK(run({vectorValue({1, 2, 3})}, {{place.values + begin, 12}}));
      EXPECT_EQ(place.first(begin + 4),
                begin ? (std::vector<int32_t>{0, 10, 13, 16, 77}) : (std::vector<int32_t>{10, 13, 16, 77}))
          << device;
      EXPECT_EQ(outputs[0]->knownHostBytes(), place.values + begin);
    }
    ASSERT_OK(run({vectorValue({})}, {{Numbers().values, 0}}));
  }
}

TEST_F(Places, aliasesThatAreDeclared) {
  ModuleBuilder builder;
  addOnto(builder);
  builder.module.functions[0]->aliases.emplace_back(0, 0);
  ASSERT_OK(load(builder));
  ASSERT_EQ(instance->module().signature().aliases[0].size(), 1u);
  Numbers memory;
  for (int32_t i = 0; i < 4; ++i)
    memory.values[i] = i + 1;
  for (int round = 0; round < 2; ++round)
    ASSERT_OK(run({wrap(memory.values, 4)}, {{memory.values, 16}}));
  EXPECT_EQ(memory.first(4), (std::vector<int32_t>{4, 8, 12, 16}));
  EXPECT_FAILS(run({wrap(memory.values, 4)}, {{memory.values + 1, 16}}), VX_INVALID_ARGUMENT,
               "input 'x' and the place of output 'y' overlap and begin apart");
  EXPECT_EQ(memory.first(4), (std::vector<int32_t>{4, 8, 12, 16}));
}

// Only the first page may be touched: what is replaced is written, and nothing is copied.
TEST_F(Places, aCopyToItsOwnMemoryIsNothing) {
  ModuleBuilder builder;
  addReplace(builder);
  ASSERT_OK(load(builder));
  constexpr size_t pageBytes = 65536, bytes = 64 * pageBytes;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char *>(memory) + pageBytes, bytes - pageBytes, PROT_NONE), 0);
  const auto *elements = static_cast<const int32_t *>(memory);
  for (int round = 0; round < 3; ++round)
    ASSERT_OK(run({wrap(elements, bytes / 4), vectorValue({1, 2, 3, 4})}, {{memory, bytes}}));
  EXPECT_EQ(std::vector<int32_t>(elements, elements + 5), (std::vector<int32_t>{3, 6, 9, 12, 0}));
  outputs.clear();
  munmap(memory, bytes);
}

TEST_F(Places, aValueGivesItsMemory) {
  for (const char *device : {"cpu", "vulkan"}) {
    ModuleBuilder builder;
    addReplace(builder);
    Status loaded = load(builder, device);
    if (!loaded.ok() && device == std::string("vulkan"))
      GTEST_SKIP() << loaded.message();
    ASSERT_OK(std::move(loaded));
    const Ref<Value> u = vectorValue({1, 2, 3, 4});
    auto step = [&](Ref<Value> &x) {
      Status status = run({x, u}, {{nullptr, 0, x.get()}});
      if (status.ok())
        x = outputs[0];
      outputs.clear();
      return status;
    };
    // What the host made stays as it is; from the first result on there is one memory.
    const Ref<Value> first = vectorValue({10, 20, 30, 40, 50});
    Ref<Value> x = first;
    ASSERT_OK(step(x));
    EXPECT_EQ(elementsOf(*first), (std::vector<int32_t>{10, 20, 30, 40, 50})) << device;
    const hal::Memory *memory = x->memory().get();
    for (int round = 0; round < 3; ++round) {
      ASSERT_OK(step(x));
      EXPECT_EQ(x->memory().get(), memory) << device;
    }
    EXPECT_EQ(elementsOf(*x), (std::vector<int32_t>{14, 28, 42, 56, 50})) << device;
    ASSERT_OK(step(x));
    EXPECT_EQ(elementsOf(*x), (std::vector<int32_t>{15, 30, 45, 60, 50})) << device;
    // Of a memory that somebody else reads, too, nothing is overwritten.
    const Ref<hal::Memory> held = x->memory();
    const Ref<Value> old = x;
    ASSERT_OK(step(x));
    EXPECT_NE(x->memory().get(), held.get()) << device;
    EXPECT_EQ(elementsOf(*old), (std::vector<int32_t>{15, 30, 45, 60, 50})) << device;
    EXPECT_EQ(elementsOf(*x), (std::vector<int32_t>{16, 32, 48, 64, 50})) << device;
  }
}

TEST_F(Places, valuesThatGiveNoMemory) {
  ModuleBuilder builder;
  addReplace(builder);
  ASSERT_OK(load(builder));
  const Ref<Value> x = vectorValue({1, 2, 3, 4}), u = vectorValue({1, 2, 3, 4});
  Numbers memory;
  EXPECT_FAILS(run({x, u}, {{nullptr, 0, vectorValue({1}).get()}}), VX_INVALID_ARGUMENT,
               "output 'y': its place is a value that is no input of the call");
  EXPECT_FAILS(run({x, u}, {{nullptr, 0, u.get()}}), VX_INVALID_ARGUMENT,
               "input 'u' and the place of output 'y' overlap, which the function does not allow");
  EXPECT_FAILS(run({x, x}, {{nullptr, 0, x.get()}}), VX_INVALID_ARGUMENT,
               "input 'u' and the place of output 'y' overlap, which the function does not allow");
  EXPECT_FAILS(run({x, u}, {{memory.values, 16, x.get()}}), VX_INVALID_ARGUMENT,
               "output 'y': expected memory or a value as its place, got both");
  EXPECT_EQ(elementsOf(*x), (std::vector<int32_t>{1, 2, 3, 4}));
}

// The check of schedules knows that the two are one.
TEST_F(Places, aliasesInTheCheckOfSchedules) {
  setenv("VX_CHECK_SCHEDULE", "1", 1);
  auto runWith = [&](CommandPtr late) -> Status {
    ModuleBuilder builder;
    addReplace(builder, std::move(late));
    VX_RETURN_IF_ERROR(load(builder));
    Numbers memory;
    VX_RETURN_IF_ERROR(run({wrap(memory.values, 16), vectorValue({1, 2, 3, 4})}, {{}}));
    return run({wrap(memory.values, 16), vectorValue({1, 2, 3, 4})}, {{memory.values, 64}});
  };
  EXPECT_OK(runWith(nullptr));
  EXPECT_FAILS(runWith(copy(0, 3)), VX_INVALID_MODULE,
               "program 'replace': command 2 (copy) reads bytes 0 to 64 of its memory, but byte 0 is another buffer's "
               "by then");
  EXPECT_FAILS(runWith(copy(0, 3, false)), VX_INVALID_MODULE,
               "program 'replace': command 2 (copy) reads bytes 0 to 64 of its memory, but byte 0 is another buffer's "
               "by then");
  unsetenv("VX_CHECK_SCHEDULE");
}

// Each result is the other input, whose memory the results overwrite.
TEST_F(Places, resultsAreWrittenWhenAllAreKnown) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  for (const char *name : {"a", "b"}) {
    main.inputs.push_back(argument(name, ElementType::I32, constantExpr(2)));
    main.outputs.push_back(argument(std::string("of_") + name, ElementType::I32, constantExpr(2)));
  }
  main.aliases = {{0, 0}, {1, 1}};
  format::ProgramT &program = builder.program("swap", 1, 2, 0, block(instruction(Op::ConstI64, {0}, 2)));
  program.results.push_back(tensorResult(1, {0}));
  program.results.push_back(tensorResult(0, {0}));
  ASSERT_OK(load(builder));
  Numbers a, b;
  a.values[0] = 1;
  b.values[0] = 2;
  ASSERT_OK(run({wrap(a.values, 2), wrap(b.values, 2)}, {{a.values, 8}, {b.values, 8}}));
  EXPECT_EQ(a.values[0], 2);
  EXPECT_EQ(b.values[0], 1);
}

// A sequence that holds the result has its own bytes.
TEST_F(Places, nobodyElseKeepsThePlace) {
  ModuleBuilder builder;
  addOnto(builder);
  builder.module.functions[0]->outputs.push_back(listArgument("list", ElementType::I32, format::ValueKind::Sequence));
  format::ProgramT &program = *builder.module.programs[0];
  program.object_registers = 1;
  program.body->instructions.push_back(instruction(Op::ListEmpty, {0}, VX_I32));
  program.body->instructions.push_back(instruction(Op::ListSize, {2, 0}));
  program.body->instructions.push_back(instruction(Op::ListInsert, {0, 0, 2, 1, 0}));
  program.results.push_back(listResult(0));
  ASSERT_OK(load(builder));
  Numbers place;
  ASSERT_OK(run({vectorValue({1, 2, 3})}, {{place.values, 12}, {}}));
  place.values[0] = 99;
  EXPECT_EQ(elementsOf(*outputs[1]->elements()[0]), (std::vector<int32_t>{1, 2, 3}));
}

TEST_F(Places, overlapsAreRefused) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  for (const char *name : {"a", "b"}) {
    main.inputs.push_back(argument(name, ElementType::I32, symbolExpr(0)));
    main.outputs.push_back(argument(std::string("of_") + name, ElementType::I32, symbolExpr(0)));
  }
  main.aliases.emplace_back(0, 0);
  format::ProgramT &program = builder.program("both", 1, 2, 0, block());
  program.results.push_back(tensorResult(0, {0}));
  program.results.push_back(tensorResult(1, {0}));
  ASSERT_OK(load(builder));
  Numbers m;
  m.values[0] = 5;
  Ref<Value> a = wrap(m.values, 4), b = wrap(m.values + 16, 4);
  EXPECT_FAILS(run({a, b}, {{m.values + 32, 16}, {m.values + 35, 16}}), VX_INVALID_ARGUMENT,
               "the places of outputs 'of_a' and 'of_b' overlap");
  EXPECT_FAILS(run({a, b}, {{}, {m.values + 3, 16}}), VX_INVALID_ARGUMENT,
               "input 'a' and the place of output 'of_b' overlap, which the function does not allow");
  EXPECT_FAILS(run({a, b}, {{m.values + 13, 16}, {}}), VX_INVALID_ARGUMENT,
               "input 'b' and the place of output 'of_a' overlap, which the function does not allow");
  EXPECT_FAILS(run({a, b}, {{m.values + 32, 15}, {}}), VX_INVALID_ARGUMENT,
               "output 'of_a': i32[4] needs 16 bytes, its place has 15");
  // Only what is written counts; one input may be there twice; the alias is as declared.
  EXPECT_OK(run({a, b}, {{m.values + 20, 64}, {m.values + 24, 64}}));
  EXPECT_OK(run({b, b}, {{m.values + 40, 16}, {}}));
  EXPECT_OK(run({a, b}, {{m.values, 16}, {m.values + 60, 16}}));
  EXPECT_EQ(m.values[0], 5);
  // Of values that the runtime made the bytes count too.
  ASSERT_OK(run({a, b}, {{}, {}}));
  const void *bytes = nullptr;
  ASSERT_OK(outputs[1]->hostBytes(bytes));
  Ref<Value> made = outputs[1];
  EXPECT_FAILS(run({a, made}, {{const_cast<void *>(bytes), 16}, {}}), VX_INVALID_ARGUMENT,
               "input 'b' and the place of output 'of_a' overlap, which the function does not allow");
}

// A program that gives more than the signature says writes nothing behind the place.
TEST_F(Places, aResultLargerThanTheSignatureSays) {
  ModuleBuilder builder;
  addOnto(builder);
  builder.module.functions[0]->outputs[0]->type->dims[0] = exprOf(
      {{format::ExprOp::Symbol, 0, 0, 0}, {format::ExprOp::Constant, 0, 0, 2}, {format::ExprOp::FloorDiv, 0, 1, 0}});
  ASSERT_OK(load(builder));
  Numbers place;
  EXPECT_FAILS(run({vectorValue({1, 2, 3, 4})}, {{place.values, 8}}), VX_INVALID_MODULE,
               "program 'onto' gives 16 bytes for output 'y', whose place has 8");
  EXPECT_EQ(place.first(4), (std::vector<int32_t>(4)));
}

TEST_F(Places, onlyTensorsOfKnownSizes) {
  Numbers place;
  {
    ModuleBuilder builder;
    format::FunctionT &main = builder.function();
    main.symbols.push_back(symbol("k", 0, 4, 1, /*dataDependent=*/true));
    main.inputs.push_back(argument("x", ElementType::I32, constantExpr(4)));
    main.outputs.push_back(argument("y", ElementType::I32, symbolExpr(0)));
    builder.program("main", 1, 1, 0, block()).results.push_back(tensorResult(0, {0}));
    ASSERT_OK(load(builder));
    EXPECT_FAILS(run({vectorValue({1, 2, 3, 4})}, {{place.values, 16}}), VX_INVALID_ARGUMENT,
                 "output 'y' has a size that only the call finds, it cannot go to memory of the caller");
  }
  {
    ModuleBuilder builder;
    format::FunctionT &main = builder.function();
    main.inputs.push_back(listArgument("x", ElementType::I32, format::ValueKind::Sequence));
    main.outputs.push_back(listArgument("y", ElementType::I32, format::ValueKind::Sequence));
    builder.program("main", 0, 0, 1, block()).results.push_back(listResult(0));
    ASSERT_OK(load(builder));
    Ref<Value> list;
    ASSERT_OK(Value::list(VX_SEQUENCE, VX_I32, {}, list));
    EXPECT_FAILS(run({list}, {{place.values, 16}}), VX_INVALID_ARGUMENT,
                 "output 'y' is no tensor, it cannot go to memory of the caller");
  }
}

} // namespace vx::test
