// Fields of the module file that the compiler does not fill yet, and those of state: what the loader takes, and every
// diagnostic of it, quoted whole.
#include "programs.h"
#include "runtime_test.h"

#include <functional>

namespace vx::test {

namespace {

// Sound files, to be changed one way at a time.
std::unique_ptr<ModuleBuilder> soundFields() {
  auto builder = std::make_unique<ModuleBuilder>();
  addAffine(*builder, 64);
  builder->addCpuTarget();
  return builder;
}

Status load(const ModuleBuilder &builder, Ref<Module> &module) {
  return Module::load(builder.write("fields.vxm"), module);
}

// The message that a change of a sound file gives, without the file's name, behind the code; "ok" where there is none.
std::string after(const std::function<void(ModuleBuilder &)> &change) {
  std::unique_ptr<ModuleBuilder> builder = soundFields();
  change(*builder);
  Ref<Module> module;
  const Status status = load(*builder, module);
  if (status.ok())
    return "ok";
  const std::string name = scratchPath("fields.vxm") + ": ";
  EXPECT_TRUE(std::string(status.message()).starts_with(name)) << status.message();
  return fmt::format("{}: {}", static_cast<int>(status.code()), status.message().substr(name.size()));
}

format::VariableT &addState(ModuleBuilder &builder, const std::string &name, format::Role role) {
  builder.addVariable(name, format::ElementType::F32, {4}, 16);
  format::VariableT &variable = *builder.module.variables.back();
  variable.role = role;
  return variable;
}

format::InstructionT &segmentOf(ModuleBuilder &builder) {
  for (const InstructionPtr &one : builder.module.programs[0]->body->instructions)
    if (one->op == Op::Segment)
      return *one;
  throw std::runtime_error("no segment");
}

std::unique_ptr<format::ExprT> timesSymbol(int64_t factor) {
  return exprOf(
      {{format::ExprOp::Symbol, 0, 0, 0}, {format::ExprOp::Constant, 0, 0, factor}, {format::ExprOp::Mul, 0, 1, 0}});
}

} // namespace

TEST(ModuleFields, variablesLieInStorages) {
  ModuleBuilder builder;
  addAffine(builder, 64);
  builder.addCpuTarget();
  format::VariableT &first = addState(builder, "first", format::Role::Parameter);
  first.source = "encoder.weight";
  format::VariableT &second = addState(builder, "second", format::Role::Statistic);
  second.storage = 0;
  second.offset = constantExpr(64);
  builder.module.storages[0]->size = constantExpr(80);
  builder.module.storages.pop_back();
  Ref<Module> module;
  ASSERT_OK(load(builder, module));
  const ModuleData &data = module->data();
  EXPECT_EQ(data.variables[0].source, "encoder.weight");
  EXPECT_EQ(data.variables[1].role, vx::Role::Statistic);
  EXPECT_EQ(data.variables[1].known->offset, 64u);
  EXPECT_EQ(data.variables[1].known->size, 16u);
  const vx_variable_info &shown = module->signature().variables[1];
  EXPECT_EQ(shown.storage, 0u);
  EXPECT_EQ(shown.offset, 64);
}

TEST(ModuleFields, shadowsAreChecked) {
  // Of a parameter 'w' in f32.
  auto shadow = [](const std::function<void(ModuleBuilder &, format::VariableT &)> &change) {
    return after([&](ModuleBuilder &b) {
      addState(b, "w", format::Role::Parameter);
      b.addVariable("s", format::ElementType::BF16, {4}, 8);
      format::VariableT &variable = *b.module.variables.back();
      variable.role = format::Role::Shadow;
      variable.source = "w";
      change(b, variable);
    });
  };
  EXPECT_EQ(shadow([](ModuleBuilder &, format::VariableT &s) { s.source = "x"; }),
            "3: variable 's': is the shadow of 'x', which does not exist");
  EXPECT_EQ(shadow([](ModuleBuilder &, format::VariableT &s) { s.element_type = format::ElementType::I16; }),
            "3: variable 's': is a shadow in i16 of f32, expected one in f16 or bf16 of f32");
  EXPECT_EQ(shadow([](ModuleBuilder &, format::VariableT &s) { s.source = "s"; }),
            "3: variable 's': is a shadow in bf16 of bf16, expected one in f16 or bf16 of f32");
  EXPECT_EQ(
      shadow([](ModuleBuilder &b, format::VariableT &) { b.module.variables[0]->role = format::Role::Optimizer; }),
      "3: variable 's': is the shadow of 'w' (optimizer), expected a parameter or a statistic");
  EXPECT_EQ(shadow([](ModuleBuilder &, format::VariableT &s) { s.dims[0] = constantExpr(2); }),
            "3: variable 's': is the shadow of 'w', expected the same dims, known to the module");
}

TEST(ModuleFields, storagesAreChecked) {
  auto state = [](const std::function<void(ModuleBuilder &, format::VariableT &)> &change) {
    return after([&](ModuleBuilder &b) { change(b, addState(b, "v", format::Role::Parameter)); });
  };
  EXPECT_EQ(state([](ModuleBuilder &, format::VariableT &v) { v.storage = 1; }),
            "3: variable 'v': storage 1 does not exist, there are 1");
  EXPECT_EQ(state([](ModuleBuilder &b, format::VariableT &v) {
              b.module.storages[0]->size = constantExpr(64);
              v.offset = constantExpr(32);
            }),
            "3: variable 'v': offset 32 is no multiple of 64");
  EXPECT_EQ(state([](ModuleBuilder &, format::VariableT &v) { v.offset = constantExpr(64); }),
            "3: variable 'v': f32[4] needs 16 bytes, at 64 of storage 0 of 16 bytes");
  EXPECT_EQ(state([](ModuleBuilder &, format::VariableT &v) { v.offset = constantExpr(-64); }),
            "3: variable 'v': f32[4] needs 16 bytes, at -64 of storage 0 of 16 bytes");
  EXPECT_EQ(state([](ModuleBuilder &, format::VariableT &v) { v.role = static_cast<format::Role>(8); }),
            "3: variable 'v': role has the unknown number 8");
  EXPECT_EQ(state([](ModuleBuilder &b, format::VariableT &) { b.module.storages[0]->size = symbolExpr(0); }),
            "3: storage 0: size: expression uses symbol 0, there are 0");
  EXPECT_EQ(after([](ModuleBuilder &b) {
              addState(b, "w", format::Role::Parameter);
              addState(b, "m", format::Role::Optimizer).storage = 0;
            }),
            "3: storage 0 holds 'w' (parameter) and 'm' (optimizer), of which instances share one");
}

TEST(ModuleFields, startsOfVariables) {
  auto start = [](format::InitKind kind, uint32_t constant = 0) {
    return after([&](ModuleBuilder &b) {
      format::VariableT &variable = addState(b, "v", format::Role::Parameter);
      variable.init = std::make_unique<format::InitT>();
      variable.init->kind = kind;
      variable.init->constant = constant;
    });
  };
  EXPECT_EQ(start(format::InitKind::Zero), "ok");
  EXPECT_EQ(start(static_cast<format::InitKind>(9)), "3: variable 'v': kind of start has the unknown number 9");
  EXPECT_EQ(start(format::InitKind::Constant, 7), "3: variable 'v': initial constant 7 does not exist, there are 1");
}

TEST(ModuleFields, randomStartsOfVariables) {
  auto start = [](format::InitKind kind, double a, double b, std::vector<int64_t> dims = {2, 3},
                  format::ElementType type = format::ElementType::F32) {
    return after([&](ModuleBuilder &builder) {
      uint64_t size = type == format::ElementType::F64 ? 8 : type == format::ElementType::F32 ? 4 : 2;
      for (int64_t dim : dims)
        size *= static_cast<uint64_t>(dim);
      builder.addVariable("v", type, dims, size);
      builder.module.variables.back()->init = std::make_unique<format::InitT>();
      format::InitT &init = *builder.module.variables.back()->init;
      init.kind = kind;
      init.a = a;
      init.b = b;
    });
  };
  using enum format::InitKind;
  const double infinity = std::numeric_limits<double>::infinity();
  for (format::ElementType type :
       {format::ElementType::F16, format::ElementType::BF16, format::ElementType::F32, format::ElementType::F64})
    for (format::InitKind kind : {Uniform, Normal, Orthogonal})
      EXPECT_EQ(start(kind, -1, 1, {2, 3}, type), "ok");
  EXPECT_EQ(start(Uniform, 1, 1), "ok");
  EXPECT_EQ(start(Normal, 1, 0), "ok");
  EXPECT_EQ(start(Uniform, 0, 1, {2, 3}, format::ElementType::F8E5M2),
            "3: variable 'v': starts with random values of f8E5M2, expected f16, bf16, f32 or f64");
  EXPECT_EQ(start(Uniform, 0.5, -2),
            "3: variable 'v': starts as uniform(0.5, -2), expected a first bound of at most -2");
  EXPECT_EQ(start(Normal, 0, -1), "3: variable 'v': starts as normal(0, -1), expected a deviation of at least 0");
  EXPECT_EQ(start(Normal, 0, infinity), "3: variable 'v': starts as normal(0, inf), expected finite numbers");
  EXPECT_EQ(start(Orthogonal, -infinity, 0), "3: variable 'v': starts as orthogonal(-inf), expected finite numbers");
  EXPECT_EQ(start(Orthogonal, 1, 0, {6}),
            "3: variable 'v': starts as orthogonal(1) of rank 1, expected a rank of at least 2");
}

TEST(ModuleFields, symbolsOfTheInstance) {
  auto sized = [](const std::function<void(ModuleBuilder &)> &change) {
    return after([&](ModuleBuilder &b) {
      b.module.symbols.push_back(symbol("pages", 1, 64));
      format::VariableT &cache = addState(b, "cache", format::Role::Cache);
      cache.dims[0] = symbolExpr(0);
      b.module.storages[0]->size = timesSymbol(4);
      change(b);
    });
  };
  EXPECT_EQ(sized([](ModuleBuilder &) {}), "ok");
  EXPECT_EQ(sized([](ModuleBuilder &b) {
              b.module.functions[0]->symbols.push_back(symbol("pages"));
              b.module.functions[0]->symbols.back()->instance = 0;
              b.module.programs[0]->i64_registers += 1;
            }),
            "ok");
  EXPECT_EQ(sized([](ModuleBuilder &b) { b.module.functions[0]->symbols[0]->instance = 3; }),
            "3: function 'main': symbol 'n' is number 3 of the instance's, there are 1");
  EXPECT_EQ(sized([](ModuleBuilder &b) { b.module.functions[0]->symbols[0]->instance = 0; }),
            "3: function 'main': symbol 'n' is number 0 of the instance's, which is 'pages'");
  EXPECT_EQ(sized([](ModuleBuilder &b) { b.module.symbols.push_back(symbol("pages")); }),
            "3: two symbols of the instance have the name 'pages'");
  EXPECT_EQ(sized([](ModuleBuilder &b) { b.module.symbols[0]->data_dependent = true; }),
            "3: symbol 'pages' of the instance is bound elsewhere");
  EXPECT_EQ(sized([](ModuleBuilder &b) {
              b.module.variables[0]->init = std::make_unique<format::InitT>();
              b.module.variables[0]->init->kind = format::InitKind::Constant;
            }),
            "3: variable 'cache': starts as constant 0, expected zeros where the size is known only to the instance");
  EXPECT_EQ(sized([](ModuleBuilder &b) {
              b.module.variables[0]->element_type = format::ElementType::F32;
              b.module.variables[0]->init = std::make_unique<format::InitT>();
              b.module.variables[0]->init->kind = format::InitKind::Normal;
            }),
            "3: variable 'cache': starts with random values, expected zeros where the size is known only to the "
            "instance");
}

TEST(ModuleFields, storedVariablesAreStated) {
  auto stores = [](std::vector<uint32_t> list) {
    return after([&](ModuleBuilder &b) {
      addState(b, "v", format::Role::State);
      addState(b, "w", format::Role::State);
      b.module.programs[0]->stores = std::move(list);
    });
  };
  EXPECT_EQ(stores({0, 1}), "ok");
  EXPECT_EQ(stores({2}), "3: program 0 'affine': stores variable 2, there are 2");
  EXPECT_EQ(stores({1, 1}), "3: program 0 'affine': stores variable 1 after variable 1, expected an ascending list");
  // A program writes only what it says.
  ModuleBuilder builder;
  addAccumulate(builder);
  builder.addCpuTarget();
  builder.module.programs[0]->stores.clear();
  Ref<Module> module;
  Status status = load(builder, module);
  EXPECT_EQ(status.code(), VX_INVALID_MODULE);
  EXPECT_TRUE(status.message().ends_with("kernel 'scale_add' writes to buffer 1, which is read-only"))
      << status.message();
}

TEST(ModuleFields, oneDevice) {
  const std::string only = ", this runtime runs modules of one device";
  EXPECT_EQ(after([](ModuleBuilder &b) { b.module.targets[0]->devices = 2; }),
            "4: target 'cpu': runs on 2 devices together" + only);
  EXPECT_EQ(after([](ModuleBuilder &b) { b.module.targets[0]->devices = 0; }),
            "3: target 'cpu': runs on 0 devices, expected at least 1");
  EXPECT_EQ(after([](ModuleBuilder &b) { b.module.constants[0]->device = 1; }),
            "4: constant 0 'bias': names device 1" + only);
  EXPECT_EQ(after([](ModuleBuilder &b) {
              addState(b, "v", format::Role::State);
              b.module.storages[0]->device = 3;
            }),
            "4: storage 0: names device 3" + only);
  const std::string found = after([](ModuleBuilder &b) { segmentOf(b).commands[0]->device = 1; });
  EXPECT_TRUE(found.starts_with("4: program 0 'affine': instruction ") &&
              found.ends_with(" Segment: command 0: names device 1" + only))
      << found;
  const std::string segment = after([](ModuleBuilder &b) { segmentOf(b).device = 2; });
  EXPECT_TRUE(segment.ends_with(" Segment: names device 2" + only)) << segment;
  const std::string waits = after([](ModuleBuilder &b) { segmentOf(b).waits = {0}; });
  EXPECT_TRUE(waits.ends_with(" Segment: waits for segment 0" + only)) << waits;
  const std::string collective =
      after([](ModuleBuilder &b) { segmentOf(b).commands[0]->kind = format::CommandKind::Collective; });
  EXPECT_TRUE(collective.ends_with(" Segment: command 0: exchanges data with other devices" + only)) << collective;
  const std::string unknown =
      after([](ModuleBuilder &b) { segmentOf(b).commands[0]->kind = static_cast<format::CommandKind>(3); });
  EXPECT_TRUE(unknown.ends_with(" Segment: command 0: kind has the unknown number 3")) << unknown;
}

TEST(ModuleFields, flagsOfCommands) {
  // A copy, then a dispatch.
  EXPECT_EQ(after([](ModuleBuilder &b) { segmentOf(b).commands[1]->flags = 1; }), "ok");
  const std::string copied = after([](ModuleBuilder &b) { segmentOf(b).commands[0]->flags = 1; });
  EXPECT_TRUE(copied.ends_with(" Segment: command 0: flags are 0x1, allowed are 0x0")) << copied;
  const std::string unknown = after([](ModuleBuilder &b) { segmentOf(b).commands[1]->flags = 6; });
  EXPECT_TRUE(unknown.ends_with(" Segment: command 1: flags are 0x6, allowed are 0x1")) << unknown;
}

TEST(ModuleFields, kernels) {
  auto kernel = [](const std::function<void(format::KernelT &)> &change) {
    return after([&](ModuleBuilder &b) { change(*b.module.targets[0]->kernels[ScaleAdd]); });
  };
  const std::string name = "target 'cpu': kernel 0 'scale_add': ";
  EXPECT_EQ(kernel([](format::KernelT &k) { k.cluster = {1, 1, 1}; }), "ok");
  EXPECT_EQ(kernel([](format::KernelT &k) { k.cluster = {2, 1, 1}; }),
            "4: " + name + "kernel runs in clusters of 2 x 1 x 1 workgroups, this runtime launches none");
  EXPECT_EQ(kernel([](format::KernelT &k) { k.cluster = {8, 8, 0}; }),
            "3: " + name + "cluster is 8 x 8 x 0, allowed are 1 to 16 workgroups");
  EXPECT_EQ(kernel([](format::KernelT &k) { k.cluster = {1}; }), "3: " + name + "cluster has 1 numbers, expected 3");
  EXPECT_EQ(kernel([](format::KernelT &k) { k.dynamic_memory = constantExpr(0); }), "ok");
  EXPECT_EQ(kernel([](format::KernelT &k) { k.dynamic_memory = timesSymbol(4); }),
            "4: " + name + "kernel needs s0 * 4 bytes of workgroup memory at its launch, this runtime gives none");
  const std::string missing = kernel([](format::KernelT &k) { k.workspace = constantExpr(64); });
  EXPECT_TRUE(missing.ends_with("kernel 'scale_add' needs a workspace, the dispatch has none")) << missing;
}

// The size that a kernel states is asked of each dispatch: at the load where it is known, else in the call.
TEST(ModuleFields, workspaces) {
  auto run = [](int64_t bytes, bool known) {
    ModuleBuilder builder;
    format::FunctionT &main = builder.function();
    main.symbols.push_back(symbol("n"));
    main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
    main.outputs.push_back(argument("y", format::ElementType::I32, constantExpr(4)));
    BlockPtr body = block(instruction(Op::ConstI64, {1}, 4), instruction(Op::ConstI64, {2}, 1),
                          instruction(Op::ConstI64, {3}, 16), instruction(Op::ConstI64, {4}, bytes));
    if (!known)
      body->instructions.push_back(instruction(Op::Mul, {4, 4, 0}));
    body->instructions.push_back(instruction(Op::Allocate, {1, 3}));
    body->instructions.push_back(instruction(Op::Allocate, {2, 4}));
    body->instructions.push_back(segment(dispatch(ScaleAdd, 2, {0, 1}, {1, 2}, true, 2)));
    builder.program("main", 5, 3, 0, std::move(body)).results.push_back(tensorResult(1, {1}));
    builder.addCpuTarget().kernels[ScaleAdd]->workspace = timesSymbol(8);
    Ref<Instance> instance;
    std::vector<Ref<Value>> outputs;
    VX_RETURN_IF_ERROR(makeInstance(builder.write(), "cpu", instance));
    return runMain(*instance, {vectorValue({1, 2, 3, 4})}, outputs);
  };
  auto expectSmall = [](const Status &status, const char *has) {
    EXPECT_EQ(status.code(), VX_INVALID_MODULE);
    EXPECT_TRUE(
        status.message().ends_with(fmt::format("the workspace of kernel 'scale_add' has {} bytes, it needs 32", has)))
        << status.message();
  };
  EXPECT_OK(run(32, true));
  EXPECT_OK(run(8, false));
  expectSmall(run(31, true), "31");
  expectSmall(run(7, false), "28");
}

TEST(ModuleFields, signature) {
  auto changed = [](const std::function<void(format::FunctionT &)> &change) {
    return after([&](ModuleBuilder &b) { change(*b.module.functions[0]); });
  };
  EXPECT_EQ(changed([](format::FunctionT &f) { f.outputs[0]->rows = 0; }), "ok");
  EXPECT_EQ(changed([](format::FunctionT &f) { f.outputs[0]->rows = 2; }),
            "3: function 'main': output 'y': rows are along dim 2, allowed is -1 or a dim of an output");
  EXPECT_EQ(changed([](format::FunctionT &f) { f.inputs[0]->rows = 0; }),
            "3: function 'main': input 'x': rows are along dim 0, allowed is -1 or a dim of an output");
  const std::string ways = "rows are known in 2 ways, allowed is one for an output";
  EXPECT_EQ(changed([](format::FunctionT &f) { f.outputs[0]->same = true; }), "ok");
  EXPECT_EQ(changed([](format::FunctionT &f) {
              f.outputs[0]->same = true;
              f.outputs[0]->reason = "softmax_0 (Softmax): along 0";
            }),
            "3: function 'main': output 'y': " + ways);
  EXPECT_EQ(changed([](format::FunctionT &f) {
              f.outputs[0]->rows = 0;
              f.outputs[0]->same = true;
            }),
            "3: function 'main': output 'y': " + ways);
  EXPECT_EQ(changed([](format::FunctionT &f) { f.inputs[0]->same = true; }),
            "3: function 'main': input 'x': rows are known in 1 ways, allowed is one for an output");
  auto batch = [&](uint32_t symbol, std::vector<uint32_t> inputs, bool isStatic = false) {
    return changed([&](format::FunctionT &f) {
      f.batch = std::make_unique<format::BatchT>();
      f.batch->symbol = symbol;
      f.batch->inputs = std::move(inputs);
      if (isStatic)
        f.symbols[0]->data_dependent = true;
    });
  };
  EXPECT_EQ(batch(0, {0}), "ok");
  EXPECT_EQ(batch(1, {0}), "3: function 'main': batch: symbol 1 does not exist, there are 1");
  EXPECT_EQ(batch(0, {}), "3: function 'main': batch: symbol 'n' is the size of dim 0 of none of its inputs");
  EXPECT_EQ(batch(0, {1}), "3: function 'main': batch: input 1 does not exist or stands out of order, there are 1");
  EXPECT_EQ(batch(0, {0, 0}), "3: function 'main': batch: input 0 does not exist or stands out of order, there are 1");
  EXPECT_EQ(batch(0, {0}, /*isStatic=*/true),
            "3: function 'main': batch: input 'x' has no symbol that calls bind as the size of dim 0");
  EXPECT_EQ(changed([](format::FunctionT &f) { f.aliases.emplace_back(0, 0); }), "ok");
  EXPECT_EQ(changed([](format::FunctionT &f) { f.aliases.emplace_back(0, 4); }),
            "3: function 'main': alias 0: input 0 and output 4 do not exist, there are 1 and 1");
  EXPECT_EQ(changed([](format::FunctionT &f) { f.aliases = {{0, 0}, {0, 0}}; }),
            "3: function 'main': alias 1: input 'x' or output 'y' has an alias already");
  EXPECT_EQ(changed([](format::FunctionT &f) {
              f.aliases.emplace_back(0, 0);
              f.inputs[0]->type->element_type = format::ElementType::F32;
            }),
            "3: function 'main': alias 0: input 'x' and output 'y' are no tensors of one element type");
}

TEST(ModuleFields, entriesTakeRanges) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
  main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(0)));
  for (const char *name : {"some", "any"})
    builder.program(name, 1, 1, 0, block()).results.push_back(tensorResult(0, {0}));
  format::TargetT &target = builder.addCpuTarget();
  auto entry = std::make_unique<format::EntryT>();
  target.entries[0]->program = 1;
  entry->constraints.push_back(std::make_unique<format::ConstraintT>());
  entry->constraints.back()->min = 3;
  entry->constraints.back()->max = 5;
  format::ConstraintT &constraint = *entry->constraints.back();
  target.entries.insert(target.entries.begin(), std::move(entry));
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  std::unique_ptr<CallState> call;
  ASSERT_OK(instance->takeCall(0, call));
  for (auto [size, program] : {std::pair(2, "any"), {3, "some"}, {4, "some"}, {5, "some"}, {6, "any"}}) {
    Ref<Value> input = vectorValue(std::vector<int32_t>(static_cast<size_t>(size), 1));
    Value *inputs[] = {input.get()};
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(call->run(inputs, outputs));
    std::string report;
    ASSERT_OK(call->report(report));
    EXPECT_NE(report.find(fmt::format("\"program\":\"{}\"", program)), std::string::npos) << report;
  }
  constraint.min = 6;
  Ref<Module> module;
  EXPECT_FAILS(load(builder, module), VX_INVALID_MODULE,
               scratchPath("fields.vxm") + ": target 'cpu': entry 0: symbol 'n' is in the range [6, 5]");
}

TEST(ModuleFields, assets) {
  auto asset = [](const std::function<void(ModuleBuilder &, format::AssetT &)> &change) {
    return after([&](ModuleBuilder &b) {
      auto one = std::make_unique<format::AssetT>();
      one->name = "tokenizer";
      one->kind = "application/json";
      one->section = b.addSection(format::SectionKind::Assets, {'{', '}'});
      one->size = 2;
      b.module.assets.push_back(std::move(one));
      change(b, *b.module.assets.back());
    });
  };
  EXPECT_EQ(asset([](ModuleBuilder &, format::AssetT &) {}), "ok");
  EXPECT_EQ(asset([](ModuleBuilder &, format::AssetT &a) { a.name = ""; }), "3: asset 0 has no name");
  EXPECT_EQ(asset([](ModuleBuilder &, format::AssetT &a) { a.size = 3; }),
            "3: asset 'tokenizer': 3 bytes at 0 are outside section 2 of 2 bytes");
  EXPECT_EQ(asset([](ModuleBuilder &, format::AssetT &a) { a.section = 0; }),
            "3: asset 'tokenizer': section 0 holds weights, expected assets");
  EXPECT_EQ(asset([](ModuleBuilder &b, format::AssetT &a) {
              b.module.assets.push_back(std::make_unique<format::AssetT>(a));
            }),
            "3: two assets have the name 'tokenizer'");
}

TEST(ModuleFields, usersReadAssetsAndConstantsInPlace) {
  std::unique_ptr<ModuleBuilder> builder = soundFields();
  auto one = std::make_unique<format::AssetT>();
  one->name = "model.onnx";
  one->kind = "text/plain";
  one->section = builder->addSection(format::SectionKind::Assets, {'a', 'b', 'c', 'd'});
  one->offset = 1;
  one->size = 2;
  builder->module.assets.push_back(std::move(one));
  builder->module.training = std::make_unique<format::TrainingT>();
  builder->module.training->skeleton = 0;
  vx_module *module = nullptr;
  ASSERT_EQ(vx_module_load(builder->write("fields.vxm").c_str(), &module), nullptr);
  size_t count = 0;
  const vx_asset_info *asset = vx_module_assets(module, &count);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(asset->name, "model.onnx");
  EXPECT_STREQ(asset->kind, "text/plain");
  EXPECT_EQ(std::string(static_cast<const char *>(asset->bytes), asset->size), "bc");
  EXPECT_EQ(vx_module_training(module)->skeleton, asset);
  const vx_constant_info *constants = vx_module_constants(module, &count);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(constants->name, builder->module.constants[0]->name);
  EXPECT_EQ(constants->element_type, VX_I32);
  ASSERT_EQ(constants->rank, 1u);
  EXPECT_EQ(constants->size, static_cast<size_t>(constants->dims[0]) * 4);
  const std::vector<uint8_t> weights = readFile(scratchPath("fields.vxm"));
  EXPECT_NE(std::search(weights.begin(), weights.end(), static_cast<const uint8_t *>(constants->bytes),
                        static_cast<const uint8_t *>(constants->bytes) + constants->size),
            weights.end());
  vx_module_release(module);
}

// Loops whose number of turns the elements of a tensor or a list decide, and of that function alone.
TEST(ModuleFields, loopsOfUnknownLengthsAreShown) {
  enum : uint32_t { a, b, zero };
  using Code = std::function<std::vector<InstructionPtr>(const std::function<uint32_t(uint32_t)> &)>;
  const auto shown = [](const Code &code) {
    std::unique_ptr<ModuleBuilder> builder = soundFields();
    format::ProgramT &program = *builder->module.programs[0];
    const uint32_t first = program.i64_registers, list = program.object_registers++;
    program.i64_registers += 3;
    std::vector<InstructionPtr> &body = program.body->instructions;
    for (uint32_t one : {a, b, zero})
      body.push_back(instruction(Op::ConstI64, {first + one}, 0));
    body.push_back(instruction(Op::ListEmpty, {list}, VX_F32));
    for (InstructionPtr &one : code([&](uint32_t number) { return number == UINT32_MAX ? list : first + number; }))
      body.push_back(std::move(one));
    const std::string path = builder->write("loops.vxm");
    vx_module *module = nullptr;
    vx_status status = vx_module_load(path.c_str(), &module);
    EXPECT_FALSE(status) << vx_status_message(status);
    const int found = vx_module_has_loops(module, 0);
    EXPECT_EQ(vx_module_has_loops(module, 1), 0);
    vx_module_release(module);
    return found;
  };
  const auto list = [](auto... one) {
    std::vector<InstructionPtr> result;
    (result.push_back(std::move(one)), ...);
    return result;
  };
  const auto read = [](auto at, uint32_t target) {
    return instruction(Op::ReadI64, {at(target), 0, at(zero)}, VX_I32);
  };
  EXPECT_EQ(shown([&](auto) { return list(); }), 0);
  EXPECT_EQ(shown([&](auto at) { return list(ifElse(at(a), block(), block(whileLoop(at(a), block())))); }), 0);
  EXPECT_EQ(shown([&](auto at) { return list(read(at, b), whileLoop(at(a), block())); }), 0);
  EXPECT_EQ(shown([&](auto at) { return list(read(at, b), ifElse(at(b), block(), block())); }), 0);
  EXPECT_EQ(shown([&](auto at) { return list(read(at, a), whileLoop(at(a), block())); }), 1);
  EXPECT_EQ(shown([&](auto at) {
              return list(instruction(Op::ListSize, {at(a), at(UINT32_MAX)}), whileLoop(at(a), block()));
            }),
            1);
  // By arithmetic, by a turn before, as what a branch assigns, and in a branch.
  EXPECT_EQ(shown([&](auto at) {
              return list(read(at, b), instruction(Op::Add, {at(a), at(zero), at(b)}), whileLoop(at(a), block()));
            }),
            1);
  EXPECT_EQ(shown([&](auto at) {
              return list(whileLoop(at(a), block(instruction(Op::MoveI64, {at(a), at(b)}), read(at, b))));
            }),
            1);
  EXPECT_EQ(shown([&](auto at) {
              return list(read(at, b), ifElse(at(b), block(instruction(Op::ConstI64, {at(a)}, 0)), block()),
                          whileLoop(at(a), block()));
            }),
            1);
  EXPECT_EQ(shown([&](auto at) { return list(read(at, b), ifElse(at(b), block(), block(whileLoop(at(a), block())))); }),
            1);
}

TEST(ModuleFields, batchIsShown) {
  std::unique_ptr<ModuleBuilder> builder = soundFields();
  format::FunctionT &function = *builder->module.functions[0];
  auto shown = [&](const std::function<void(const vx_batch_info *)> &look) {
    const std::string path = builder->write("batch.vxm");
    vx_module *module = nullptr;
    vx_status status = vx_module_load(path.c_str(), &module);
    ASSERT_FALSE(status) << vx_status_message(status);
    look(vx_module_batch(module, 0));
    EXPECT_EQ(vx_module_batch(module, 1), nullptr);
    vx_module_release(module);
  };
  shown([](const vx_batch_info *batch) { EXPECT_EQ(batch, nullptr); });
  function.batch = std::make_unique<format::BatchT>();
  function.batch->inputs = {0};
  function.symbols[0]->min = 4;
  function.symbols[0]->max = 64;
  function.symbols[0]->multiple = 4;
  function.outputs[0]->rows = 0;
  shown([](const vx_batch_info *batch) {
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->struct_size, sizeof(*batch));
    EXPECT_STREQ(batch->symbol, "n");
    EXPECT_EQ(batch->min_rows, 4);
    EXPECT_EQ(batch->max_rows, 64);
    EXPECT_EQ(batch->multiple, 4);
    EXPECT_EQ(batch->is_joinable, 1);
    ASSERT_EQ(batch->input_count, 1u);
    EXPECT_EQ(batch->inputs[0], VX_ROWS_OWN);
    ASSERT_EQ(batch->output_count, 1u);
    EXPECT_EQ(batch->outputs[0], VX_ROWS_OWN);
    EXPECT_EQ(batch->reasons[0], nullptr);
  });
  function.outputs[0]->rows = -1;
  function.outputs[0]->same = true;
  shown([](const vx_batch_info *batch) {
    EXPECT_EQ(batch->outputs[0], VX_ROWS_SHARED);
    EXPECT_EQ(batch->is_joinable, 1);
  });
  function.outputs[0]->same = false;
  function.outputs[0]->reason = "sum_0 (ReduceSum): of all rows";
  shown([](const vx_batch_info *batch) {
    EXPECT_EQ(batch->outputs[0], VX_ROWS_UNKNOWN);
    EXPECT_EQ(batch->is_joinable, 0);
    EXPECT_STREQ(batch->reasons[0], "sum_0 (ReduceSum): of all rows");
  });
}

TEST(ModuleFields, training) {
  auto trained = [](const std::function<void(format::TrainingT &)> &change) {
    return after([&](ModuleBuilder &b) {
      b.module.training = std::make_unique<format::TrainingT>();
      b.module.training->train_step = 0;
      change(*b.module.training);
    });
  };
  EXPECT_EQ(trained([](format::TrainingT &t) {
              t.inputs = {0};
              t.metrics = {0};
              t.loss = "cross_entropy";
            }),
            "ok");
  EXPECT_EQ(trained([](format::TrainingT &t) { t.train_step = 1; }),
            "3: training: train step: function 1 does not exist, there are 1");
  EXPECT_EQ(trained([](format::TrainingT &t) { t.evaluate = -2; }),
            "3: training: evaluate: function -2 does not exist, there are 1");
  EXPECT_EQ(trained([](format::TrainingT &t) { t.skeleton = 0; }),
            "3: training: skeleton: asset 0 does not exist, there are 0");
  EXPECT_EQ(trained([](format::TrainingT &t) { t.inputs = {1}; }),
            "3: training: input 1 of the train step does not exist, there are 1");
  EXPECT_EQ(trained([](format::TrainingT &t) {
              t.inputs = {0};
              t.hypers.emplace_back(format::HyperKind::Rate, 0);
            }),
            "3: training: input 0 of the train step is named twice");
  EXPECT_EQ(trained([](format::TrainingT &t) { t.hypers.emplace_back(static_cast<format::HyperKind>(7), 0); }),
            "3: training: kind of hyperparameter has the unknown number 7");
  EXPECT_EQ(trained([](format::TrainingT &t) { t.metrics = {2}; }),
            "3: training: metric: output 2 of the train step does not exist, there are 1");
  EXPECT_EQ(trained([](format::TrainingT &t) {
              t.metrics = {0};
              t.counts = {-1, 0};
            }),
            "3: training: the train step has 1 metrics and 2 counts of them, expected equal numbers");
  EXPECT_EQ(trained([](format::TrainingT &t) {
              t.metrics = {0};
              t.counts = {1};
            }),
            "3: training: count of a metric: output 1 does not exist, there are 1");
  EXPECT_EQ(trained([](format::TrainingT &t) { t.counts = {0}; }),
            "3: training: the train step has 0 metrics and 1 counts of them, expected equal numbers");
}

// As the C interface shows it.
TEST(ModuleFields, trainingIsShown) {
  ModuleBuilder builder;
  addAffine(builder, 64);
  addAffine(builder, 64);
  builder.module.functions[1]->name = "step";
  for (format::FunctionT *function : {builder.module.functions[0].get(), builder.module.functions[1].get()}) {
    function->inputs.push_back(argument("rate", format::ElementType::F32));
    function->inputs.push_back(argument("seed", format::ElementType::I64));
  }
  for (const auto &program : builder.module.programs)
    program->buffer_registers += 2;
  builder.addCpuTarget();
  auto shown = [&](const std::function<void(const vx_training_info *)> &look) {
    const std::string path = builder.write("training.vxm");
    vx_module *module = nullptr;
    vx_status status = vx_module_load(path.c_str(), &module);
    ASSERT_EQ(status, nullptr) << vx_status_message(status);
    look(vx_module_training(module));
    vx_module_release(module);
  };
  shown([](const vx_training_info *training) { EXPECT_EQ(training, nullptr); });

  builder.module.training = std::make_unique<format::TrainingT>();
  format::TrainingT &training = *builder.module.training;
  training.train_step = 1;
  training.predict = 0;
  training.inputs = {0};
  training.hypers.emplace_back(format::HyperKind::Seed, 2);
  training.hypers.emplace_back(format::HyperKind::Rate, 1);
  training.metrics = {0};
  training.optimizer = "adamw";
  training.loss = "mse";
  shown([](const vx_training_info *info) {
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->struct_size, sizeof(vx_training_info));
    EXPECT_STREQ(info->train_step->name, "step");
    EXPECT_STREQ(info->predict->name, "main");
    EXPECT_EQ(info->evaluate, nullptr);
    EXPECT_EQ(info->backward, nullptr);
    EXPECT_EQ(info->step, nullptr);
    ASSERT_EQ(info->input_count, 1u);
    EXPECT_EQ(info->inputs[0], 0u);
    ASSERT_EQ(info->hyper_count, 2u);
    EXPECT_EQ(info->hypers[0].kind, VX_HYPER_SEED);
    EXPECT_EQ(info->hypers[0].input, 2u);
    EXPECT_EQ(info->hypers[1].kind, VX_HYPER_RATE);
    EXPECT_EQ(info->hypers[1].input, 1u);
    ASSERT_EQ(info->metric_count, 1u);
    EXPECT_EQ(info->metrics[0], 0u);
    EXPECT_EQ(info->counts, nullptr);
    EXPECT_STREQ(info->optimizer, "adamw");
    EXPECT_STREQ(info->loss, "mse");
  });
  training.metrics = {0, 0};
  training.counts = {-1, 0};
  shown([](const vx_training_info *info) {
    ASSERT_NE(info->counts, nullptr);
    EXPECT_EQ(info->counts[0], SIZE_MAX);
    EXPECT_EQ(info->counts[1], 0u);
  });
}

} // namespace vx::test
