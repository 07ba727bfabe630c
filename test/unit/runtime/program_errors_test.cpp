// What a wrong program, a wrong call and a device without room are refused with.
#include "programs.h"
#include "runtime_test.h"

#include "drivers/host/driver.h"
#include "drivers/null/driver.h"

namespace vx::test {

using format::ElementType;
using format::ValueKind;

static Status loadOnCpu(ModuleBuilder &builder, Ref<Instance> &instance) {
  if (builder.module.targets.empty())
    builder.addCpuTarget();
  return makeInstance(builder.write(), "cpu", instance);
}

// Runs main on the CPU and gives what it says.
static Status runOnCpu(ModuleBuilder &builder, const std::vector<Ref<Value>> &inputs = {}) {
  Ref<Instance> instance;
  VX_RETURN_IF_ERROR(loadOnCpu(builder, instance));
  std::vector<Ref<Value>> outputs;
  return runMain(*instance, inputs, outputs);
}

TEST(ProgramErrors, listsThatTheirBuffersDoNotFill) {
  ModuleBuilder builder;
  builder.function();
  // i64: 0 the size of the buffer, 1 the position, 2 the dim
  builder.program("main", 3, 1, 1,
                  block(instruction(Op::ConstI64, {0}, 4), instruction(Op::ConstI64, {1}, 0),
                        instruction(Op::ConstI64, {2}, 2), instruction(Op::Allocate, {0, 0}),
                        instruction(Op::ListEmpty, {0}, VX_I32), instruction(Op::ListInsert, {0, 0, 1, 0, 2})));
  EXPECT_FAILS(runOnCpu(builder), VX_INVALID_MODULE,
               "program 'main' puts i32[2] of 8 bytes into a list, the buffer has 4");
}

TEST(ProgramErrors, outputsOfAnotherType) {
  ModuleBuilder builder;
  builder.function().outputs.push_back(listArgument("y", ElementType::F32, ValueKind::Sequence));
  format::ProgramT &program = builder.program("main", 0, 0, 1, block(instruction(Op::ListEmpty, {0}, VX_I32)));
  program.results.push_back(listResult(0));
  EXPECT_FAILS(runOnCpu(builder), VX_INVALID_MODULE, "program 'main' gives a list of i32 for output 'y', expected f32");
}

TEST(ProgramErrors, optionalsOfMoreThanOneElement) {
  ModuleBuilder builder;
  builder.function().outputs.push_back(listArgument("y", ElementType::I32, ValueKind::Optional));
  format::ProgramT &program =
      builder.program("main", 2, 1, 1,
                      block(instruction(Op::ConstI64, {0}, 4), instruction(Op::ConstI64, {1}, 0),
                            instruction(Op::Allocate, {0, 0}), instruction(Op::ListEmpty, {0}, VX_I32),
                            instruction(Op::ListInsert, {0, 0, 1, 0}), instruction(Op::ListInsert, {0, 0, 1, 0})));
  program.results.push_back(listResult(0));
  EXPECT_FAILS(runOnCpu(builder), VX_INVALID_MODULE,
               "program 'main' gives 2 elements for output 'y', expected at most 1");
}

// A program may put into a sequence's register what an optional sequence is that holds none.
TEST(ProgramErrors, noListWhereASequenceIsWanted) {
  ModuleBuilder builder;
  builder.function().outputs.push_back(listArgument("y", ElementType::I32, ValueKind::Sequence));
  format::ProgramT &program = builder.program("main", 0, 0, 1, block(instruction(Op::NoList, {0}, VX_I32)));
  program.results.push_back(listResult(0));
  EXPECT_FAILS(runOnCpu(builder), VX_INVALID_MODULE, "program 'main' reads object register 0, which holds no list");
}

TEST(ProgramErrors, aFaultAtASiteThatIsNotThere) {
  ModuleBuilder builder;
  addGather(builder);
  builder.module.fault_sites.resize(1); // the kernel reports site 3
  EXPECT_FAILS(runOnCpu(builder, {vectorValue({10, 11}), vectorValue({5})}), VX_INTERNAL,
               "a kernel reported the fault site 3, there are 1");
}

// The module is refused, and the message ends so.
static void expectRefused(ModuleBuilder &builder, std::string_view ending, vx_code code = VX_INVALID_MODULE) {
  Ref<Instance> instance;
  Status status = loadOnCpu(builder, instance);
  EXPECT_EQ(status.code(), code);
  EXPECT_TRUE(status.message().ends_with(ending)) << status.message();
}

TEST(ModuleErrors, aWorkspaceThatMayNotBeWritten) {
  ModuleBuilder builder;
  builder.function().inputs.push_back(argument("x", ElementType::I32, constantExpr(4)));
  builder.program("main", 2, 2, 0,
                  block(instruction(Op::ConstI64, {0}, 4), instruction(Op::ConstI64, {1}, 16),
                        instruction(Op::Allocate, {1, 1}),
                        segment(dispatch(ScaleAdd, 0, {0, 1}, {0, 0}, true, /*workspace=*/0))));
  expectRefused(builder, "command 0: the workspace of kernel 'scale_add' is read-only or not aligned");
}

TEST(ModuleErrors, registersThatHoldNothing) {
  {
    ModuleBuilder builder;
    builder.function();
    builder.program("main", 1, 0, 1, block(instruction(Op::ListSize, {0, 0})));
    expectRefused(builder, "instruction 0 ListSize: object register 0 is read before anything is put into it");
  }
  for (bool isList : {false, true}) {
    ModuleBuilder builder;
    builder.function().outputs.push_back(isList ? listArgument("y", ElementType::I32, ValueKind::Sequence)
                                                : argument("y", ElementType::I32));
    format::ProgramT &program = builder.program("main", 1, 1, 1, block(instruction(Op::ConstI64, {0}, 1)));
    program.results.push_back(isList ? listResult(0) : tensorResult(0, {}));
    expectRefused(builder, fmt::format("output 'y': {} register 0 is read before anything is put into it",
                                       isList ? "object" : "buffer"));
  }
}

// Which way a branch goes is not known before the call; a way that ends in an error leaves nothing behind.
TEST(ModuleErrors, inputsThatAreRead) {
  auto reading = [](int64_t number) {
    ModuleBuilder builder;
    format::FunctionT &main = builder.function();
    main.symbols.push_back(symbol("n"));
    main.inputs.push_back(argument("count", ElementType::I64, constantExpr(1)));
    main.inputs.push_back(argument("rate", ElementType::F32, constantExpr(1)));
    main.inputs.push_back(listArgument("list", ElementType::I32, ValueKind::Sequence));
    main.inputs.push_back(argument("sizes", ElementType::I32, symbolExpr(0)));
    main.inputs.push_back(argument("none", ElementType::Bool, constantExpr(0)));
    builder.program("main", 2, 4, 1, block(instruction(Op::ReadInput, {1}, number)));
    return builder;
  };
  auto refuses = [&](int64_t number, std::string_view ending) {
    ModuleBuilder builder = reading(number);
    expectRefused(builder, ending);
  };
  refuses(5, "instruction 0 ReadInput: input 5 does not exist, there are 5");
  refuses(-1, "instruction 0 ReadInput: input -1 does not exist, there are 5");
  refuses(1, "instruction 0 ReadInput: input 'rate' is a tensor of f32, allowed are tensors of bool, i32 and i64");
  refuses(2, "instruction 0 ReadInput: input 'list' is a sequence of i32, allowed are tensors of bool, i32 and i64");
  refuses(3, "instruction 0 ReadInput: input 'sizes' is not sure to have an element");
  refuses(4, "instruction 0 ReadInput: input 'none' is not sure to have an element");
  ModuleBuilder right = reading(0);
  Ref<Instance> instance;
  ASSERT_OK(loadOnCpu(right, instance));
}

TEST(ModuleErrors, registersOfBranches) {
  for (bool ends : {false, true}) {
    ModuleBuilder builder;
    builder.addFaultSites(1);
    format::FunctionT &main = builder.function();
    main.symbols.push_back(symbol("n"));
    main.inputs.push_back(argument("x", ElementType::I32, symbolExpr(0)));
    BlockPtr fails = ends ? block(instruction(Op::Error, {0, 0, 0}, 0)) : block();
    builder.program("main", 1, 3, 0,
                    block(ifElse(0, block(instruction(Op::Allocate, {1, 0})), std::move(fails)),
                          instruction(Op::MoveBuffer, {2, 1})));
    Ref<Instance> instance;
    if (ends)
      EXPECT_OK(loadOnCpu(builder, instance));
    else
      expectRefused(builder, "instruction 1 MoveBuffer: buffer register 1 is read before anything is put into it");
  }
}

TEST(ModuleErrors, valuesOfConstants) {
  ModuleBuilder builder;
  const int32_t numbers[4] = {};
  builder.addConstant("c", ElementType::I32, {5}, numbers, sizeof(numbers));
  builder.function();
  builder.program("main", 0, 0, 0, block());
  expectRefused(builder, "constant 0 'c': i32[5] needs 20 bytes, the constant has 16");
}

// Which values an input takes: over the function's symbols, and part of the signature.
TEST(ModuleErrors, rangesOfInputs) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  for (const char *name : {"table", "rows", "free"})
    main.inputs.push_back(argument(name, ElementType::I32, symbolExpr(0)));
  main.inputs[0]->range = std::make_unique<format::ValueRangeT>();
  main.inputs[1]->range = std::make_unique<format::ValueRangeT>();
  main.inputs[1]->range->lower = -2;
  main.inputs[1]->range->upper = symbolExpr(0);
  builder.program("main", 1, 3, 0, block());
  Ref<Instance> instance;
  ASSERT_OK(loadOnCpu(builder, instance));
  const vx_argument_info *inputs = instance->module().signature().functions[0].inputs;
  EXPECT_EQ(inputs[0].range->lower, 0);
  EXPECT_EQ(inputs[0].range->upper, nullptr);
  EXPECT_EQ(inputs[1].range->lower, -2);
  EXPECT_STREQ(inputs[1].range->upper, "n");
  EXPECT_EQ(inputs[2].range, nullptr);
  const std::string text = instance->module().describe();
  EXPECT_NE(text.find(R"("range":{"lower":-2,"upper":"n"})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("range":{"lower":0,"upper":null})"), std::string::npos) << text;
  builder.module.functions[0]->inputs[1]->range->upper = symbolExpr(1);
  expectRefused(builder, "function 'main': input 'rows': range: expression uses symbol 1, there are 1");
}

TEST(ModuleErrors, programs) {
  {
    ModuleBuilder builder;
    builder.function();
    builder.program("main", 0, 0, 1, block(instruction(Op::ListEmpty, {0}, 99)));
    expectRefused(builder, "element type 99 is none of a list's");
  }
  // Wider than the type's own numbers; the low 32 bits are those of f32.
  {
    ModuleBuilder builder;
    builder.function();
    builder.program("main", 0, 0, 1, block(instruction(Op::ListEmpty, {0}, (int64_t(1) << 32) + VX_F32)));
    expectRefused(builder, "element type 4294967308 is none of a list's");
  }
  {
    ModuleBuilder builder;
    builder.function();
    CommandPtr command = copy(0, 0);
    command->scalars = {0};
    builder.program("main", 1, 1, 0, block(segment(std::move(command))));
    expectRefused(builder, "copy has 1 scalars, expected none");
  }
}

TEST(ModuleErrors, kernelsAndEntries) {
  {
    ModuleBuilder builder;
    builder.addCpuTarget().kernels[ScaleAdd]->buffers.resize(4097);
    expectRefused(builder, "kernel takes 4097 buffers, allowed are 4096");
  }
  {
    ModuleBuilder builder;
    builder.function().symbols.push_back(symbol("n", 0, INT64_MAX, 1, /*dataDependent=*/true));
    builder.program("main", 1, 0, 0, block());
    auto constraint = std::make_unique<format::ConstraintT>();
    builder.addCpuTarget().entries[0]->constraints.push_back(std::move(constraint));
    expectRefused(builder, "symbol 'n' is known only after the call");
  }
  {
    ModuleBuilder builder;
    builder.function();
    builder.program("main", 0, 0, 0, block());
    builder.addCpuTarget().variants.clear();
    Ref<Instance> instance;
    Status status = loadOnCpu(builder, instance);
    EXPECT_EQ(status.code(), VX_NO_DEVICE);
    EXPECT_NE(std::string(status.report()).find("the module has no variant for 'cpu'"), std::string::npos)
        << status.report();
  }
}

TEST(ModuleErrors, types) {
  ModuleBuilder builder;
  auto input = listArgument("x", ElementType::I32, ValueKind::Sequence);
  input->type->ranked = false;
  input->type->dims.push_back(constantExpr(2));
  builder.function().inputs.push_back(std::move(input));
  builder.program("main", 0, 0, 1, block());
  expectRefused(builder, "type without a rank has 1 dims");
}

TEST(ModuleErrors, sections) {
  {
    ModuleBuilder builder;
    for (int i = 0; i < 65537; ++i)
      builder.module.sections.push_back(std::make_unique<format::SectionT>());
    builder.sections.resize(builder.module.sections.size());
    builder.module.targets.push_back(std::make_unique<format::TargetT>());
    expectRefused(builder, "there are 65537 sections, allowed are 65536");
  }
  {
    ModuleBuilder builder;
    builder.module.targets.push_back(std::make_unique<format::TargetT>());
    for (int i = 0; i <= 256; ++i) {
      auto section = std::make_unique<format::SectionT>();
      section->kind = format::SectionKind::Weights;
      section->external_file = "external-" + std::to_string(i) + ".weights";
      writeFile(scratchPath(section->external_file), packWeights({}));
      builder.module.sections.push_back(std::move(section));
    }
    builder.sections.resize(builder.module.sections.size());
    expectRefused(builder, "there are more than 256 external files");
  }
}

TEST(CallErrors, listsOfOtherElements) {
  ModuleBuilder builder;
  auto input = listArgument("x", ElementType::I32, ValueKind::Sequence);
  input->type->ranked = true;
  input->type->dims.push_back(constantExpr(2));
  builder.function().inputs.push_back(std::move(input));
  builder.program("main", 0, 0, 1, block());
  Ref<Instance> instance;
  ASSERT_OK(loadOnCpu(builder, instance));
  auto run = [&](const Ref<Value> &element) -> Status {
    Ref<Value> list;
    VX_RETURN_IF_ERROR(Value::list(VX_SEQUENCE, VX_I32, {element}, list));
    std::vector<Ref<Value>> outputs;
    return runMain(*instance, {list}, outputs);
  };
  EXPECT_OK(run(vectorValue({1, 2})));
  EXPECT_FAILS(run(vectorValue({1, 2, 3})), VX_INVALID_ARGUMENT,
               "input 'x': dim 0 of its elements must be 2, got 3 in i32[3]");
  Ref<Value> scalar;
  const int32_t one = 1;
  ASSERT_OK(Value::copyTensor(VX_I32, {}, &one, sizeof(one), scalar));
  EXPECT_FAILS(run(scalar), VX_INVALID_ARGUMENT, "input 'x': expected elements of rank 1, got i32[]");
}

TEST(CallErrors, sizesBelowTheLeast) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n", 2));
  main.inputs.push_back(argument("x", ElementType::I32, symbolExpr(0)));
  builder.program("main", 1, 1, 0, block());
  EXPECT_FAILS(runOnCpu(builder, {vectorValue({1})}), VX_INVALID_ARGUMENT,
               "input 'x': dim 0 is 'n', expected at least 2, got 1");
}

TEST(CallErrors, nullPointersInLists) {
  Ref<Value> list;
  EXPECT_FAILS(Value::list(VX_SEQUENCE, VX_I32, {Ref<Value>()}, list), VX_INVALID_ARGUMENT,
               "element 0 is a null pointer");
  EXPECT_FAILS(Value::list(VX_SEQUENCE, VX_I32, {vectorValue({1}), Ref<Value>()}, list), VX_INVALID_ARGUMENT,
               "element 1 is a null pointer");
}

TEST(DeviceErrors, buffersLargerThanTheDevice) {
  for (hal::Driver *driver : {&drivers::hostDriver(), &drivers::nullDriver()}) {
    Ref<hal::Device> device;
    ASSERT_OK(driver->open(0, {}, device));
    Ref<hal::Memory> memory;
    uint64_t limit = device->info().maxAllocation;
    EXPECT_FAILS(device->allocate(limit + 1, hal::MemoryKind::Device, memory), VX_OUT_OF_MEMORY,
                 fmt::format("asked for {} bytes, but device '{}' allows at most {} in one buffer", limit + 1,
                             driver->name(), limit));
    EXPECT_FALSE(memory);
    EXPECT_FAILS(driver->open(7, {}, device), VX_INVALID_ARGUMENT,
                 fmt::format("device {}:7 does not exist, there are 1", driver->name()));
  }
}

TEST(DeviceErrors, codeOfAnotherProcessor) {
  Ref<hal::Device> device;
  ASSERT_OK(drivers::hostDriver().open(0, {}, device));
  Ref<hal::Executable> executable;
  std::vector<uint8_t> bytes = cpuImage();
  hal::CodeImage image;
  image.bytes = bytes;
  image.triple = "riscv64-unknown-linux-gnu";
  Status status = device->load(image, executable);
  EXPECT_EQ(status.code(), VX_UNSUPPORTED);
  EXPECT_TRUE(status.message().starts_with("code is for 'riscv64-unknown-linux-gnu', this processor is '"))
      << status.message();
}

} // namespace vx::test
