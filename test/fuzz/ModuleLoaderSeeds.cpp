// Writes the seed corpus of ModuleLoaderFuzzer into a folder: `module_loader_seeds FOLDER`. The
// code sections hold a few bytes only, since the loader does not look inside.
#include "programs.h"

#include "vx/runtime/vx.h"

using namespace vx;
using namespace vx::test;

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  std::string folder = std::string(argv[1]) + "/";
  auto write = [&](const char *name, ModuleBuilder &builder, std::unique_ptr<format::DerivedT> derived = nullptr) {
    format::TargetT &target = builder.addCpuTarget({"avx2"});
    if (derived)
      target.derived.push_back(std::move(derived));
    for (size_t i = 0; i < builder.sections.size(); ++i)
      if (builder.module.sections[i]->kind == format::SectionKind::Code)
        builder.sections[i] = {1, 2, 3, 4, 5, 6, 7, 8};
    writeFile(folder + name, builder.bytes());
  };
  ModuleBuilder affine, gather, accumulate, control, lists, training;
  addAffine(affine, 16);
  write("affine.vxm", affine);
  addGather(gather);
  write("gather.vxm", gather);
  addAccumulate(accumulate, /*checked=*/true);
  write("accumulate.vxm", accumulate);

  format::FunctionT &loop = control.function("loop");
  loop.symbols.push_back(symbol("past", 0, 512, 8));
  loop.inputs.push_back(argument("past", format::ElementType::F16, symbolExpr(0)));
  loop.inputs.push_back(argument(
      "mask", format::ElementType::Bool,
      exprOf(
          {{format::ExprOp::Symbol, 0, 0, 0}, {format::ExprOp::Constant, 0, 0, 1}, {format::ExprOp::Add, 0, 1, 0}})));
  loop.inputs.push_back(argument("turns", format::ElementType::I64, constantExpr(1)));
  control.addFaultSites(1);
  control.program("loop", 4, 3, 0,
                  block(instruction(Op::ReadInput, {3}, 2),
                        ifElse(0, block(whileLoop(0, block(instruction(Op::Sub, {0, 0, 1})))), block()),
                        instruction(Op::ReadI64, {1, 0, 2}, VX_I64), instruction(Op::Error, {0, 1, 2}, 0, 0)));
  write("control.vxm", control);

  format::FunctionT &sequence = lists.function("lists");
  sequence.inputs.push_back(listArgument("list", format::ElementType::I32, format::ValueKind::Sequence));
  sequence.outputs.push_back(listArgument("maybe", format::ElementType::I32, format::ValueKind::Optional));
  format::ProgramT &program =
      lists.program("lists", 3, 1, 2,
                    block(instruction(Op::ListEmpty, {1}, VX_I32), instruction(Op::ListGet, {0, 0, 0, 1}),
                          instruction(Op::ListInsert, {1, 1, 0, 0, 1}), instruction(Op::ListErase, {0, 0, 0}),
                          instruction(Op::ListSize, {2, 0}), instruction(Op::MoveObject, {0, 1}),
                          instruction(Op::NoList, {0}, VX_F32), instruction(Op::HasList, {2, 0})));
  program.results.push_back(listResult(1));
  write("lists.vxm", lists);

  ModuleBuilder words;
  addHostCall(words, format::ElementType::String, format::ElementType::String,
              hostFunction(format::HostFunctionKind::StringUpper, {format::ElementType::I32}));
  write("words.vxm", words);

  // Two variables of one storage, one of which the instance sizes, and all that programs do not read.
  addAccumulate(training);
  training.module.symbols.push_back(symbol("pages", 1, 64));
  training.addVariable("cache", format::ElementType::I32, {4}, 16);
  format::ModuleT &module = training.module;
  format::VariableT &cache = *module.variables[1];
  cache.role = format::Role::Cache;
  cache.source = "past_key_values.0";
  cache.dims[0] = symbolExpr(0);
  cache.storage = 0;
  cache.offset = constantExpr(64);
  module.storages.pop_back();
  module.storages[0]->size = exprOf({{format::ExprOp::Symbol, 0, 0, 0},
                                     {format::ExprOp::Constant, 0, 0, 4},
                                     {format::ExprOp::Mul, 0, 1, 0},
                                     {format::ExprOp::Constant, 0, 0, 64},
                                     {format::ExprOp::Add, 2, 3, 0}});
  module.functions[0]->aliases.emplace_back(0, 0);
  module.functions[0]->outputs[0]->rows = 0;
  module.assets.push_back(std::make_unique<format::AssetT>());
  module.assets[0]->name = module.assets[0]->kind = "graph";
  module.assets[0]->section = training.addSection(format::SectionKind::Assets, {1, 2, 3});
  module.assets[0]->size = 3;
  module.training = std::make_unique<format::TrainingT>();
  module.training->train_step = 0;
  module.training->hypers.emplace_back(format::HyperKind::Rate, 0);
  module.training->metrics = {0};
  module.training->skeleton = 0;
  write("training.vxm", training);

  // A copy of a variable that another function stores.
  ModuleBuilder weights;
  addAccumulate(weights);
  weights.function("read").outputs.push_back(argument("y", format::ElementType::I32, constantExpr(4)));
  weights.program("read", 1, 1, 0, block(instruction(Op::ConstI64, {0}, 4), instruction(Op::Derived, {0}, 0)))
      .results.push_back(tensorResult(0, {0}));
  weights
      .program("copy", 1, 2, 0,
               block(instruction(Op::ConstI64, {0}, 16), instruction(Op::Variable, {0}, 0),
                     instruction(Op::Allocate, {1, 0}), segment(copy(0, 1)), instruction(Op::ConstI64, {0}, 4)))
      .results.push_back(tensorResult(1, {0}));
  auto derived = std::make_unique<format::DerivedT>();
  derived->name = "copy";
  derived->program = 2;
  derived->type = std::make_unique<format::ValueTypeT>();
  derived->type->element_type = format::ElementType::I32;
  derived->type->dims.push_back(constantExpr(4));
  write("derived.vxm", weights, std::move(derived));
  return 0;
}
