#include "training_module.h"

#include "skeleton_bytes.h"
#include "vx/base/random_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace vx::test {

namespace {

using format::Access;
using format::ElementType;

void addKernel(format::TargetT &target, const std::string &name, std::vector<Access> buffers,
               std::vector<std::pair<ElementType, std::vector<int64_t>>> types) {
  auto kernel = std::make_unique<format::KernelT>();
  kernel->name = name;
  kernel->key = "key_" + name;
  kernel->sources = {name + " (Test)"};
  kernel->buffers = std::move(buffers);
  kernel->scalar_count = 1;
  kernel->workgroup_size = {1, 1, 1};
  for (const auto &[type, dims] : types) {
    kernel->buffer_types.push_back(std::make_unique<format::BufferTypeT>());
    kernel->buffer_types.back()->element_type = type;
    for (int64_t dim : dims)
      kernel->buffer_types.back()->dims.push_back(dim < 0 ? symbolExpr(0) : constantExpr(dim));
  }
  kernel->workgroups = constantExpr(1);
  target.kernels.push_back(std::move(kernel));
}

} // namespace

void addTraining(ModuleBuilder &builder, int64_t fixedBatch) {
  const bool isFixed = fixedBatch >= 0;
  auto rows = [&] { return isFixed ? constantExpr(fixedBatch) : symbolExpr(0); };
  auto function = [&](const std::string &name, bool hasLabel) -> format::FunctionT & {
    format::FunctionT &made = builder.function(name);
    if (!isFixed)
      made.symbols.push_back(symbol("batch", 1));
    made.inputs.push_back(argument("x", ElementType::F32, rows(), constantExpr(4)));
    if (hasLabel) {
      made.inputs.push_back(argument("label", ElementType::I64, rows()));
      made.inputs.back()->range = std::make_unique<format::ValueRangeT>();
      made.inputs.back()->range->lower = 0;
      made.inputs.back()->range->upper = constantExpr(3);
      made.outputs.push_back(argument("loss", ElementType::F32));
      made.outputs.push_back(argument("accuracy", ElementType::F32));
    } else {
      made.outputs.push_back(argument("scores", ElementType::F32, rows(), constantExpr(3)));
    }
    return made;
  };
  format::FunctionT &step = function("train_step", true);
  step.inputs.push_back(argument("rate", ElementType::F32));
  step.inputs.push_back(argument("seed", ElementType::I64));
  step.inputs.push_back(argument("scale", ElementType::F32));
  function("evaluate", true);
  function("predict", false);
  format::FunctionT &backward = function("backward", true);
  backward.inputs.push_back(argument("seed", ElementType::I64));
  backward.inputs.push_back(argument("keep", ElementType::Bool));
  builder.function("update").inputs.push_back(argument("rate", ElementType::F32));

  auto variable = [&](const std::string &name, std::vector<int64_t> dims, format::Role role,
                      ElementType type = ElementType::F32) {
    uint64_t size = type == ElementType::I64 ? 8 : 4;
    for (int64_t dim : dims)
      size *= static_cast<uint64_t>(dim);
    const uint32_t number = builder.addVariable(name, type, std::move(dims), size);
    builder.module.variables[number]->role = role;
    return number;
  };
  const uint32_t weight = variable("w0", {3, 4}, format::Role::Parameter);
  builder.module.variables[weight]->source = "dense.weight";
  builder.module.variables[weight]->init = std::make_unique<format::InitT>();
  builder.module.variables[weight]->init->kind = format::InitKind::Uniform;
  builder.module.variables[weight]->init->a = -0.5;
  builder.module.variables[weight]->init->b = 0.5;
  const uint32_t bias = variable("dense.bias", {3}, format::Role::Parameter);
  const uint32_t weightMomentum = variable("momentum/dense.weight", {3, 4}, format::Role::Optimizer);
  const uint32_t biasMomentum = variable("momentum/dense.bias", {3}, format::Role::Optimizer);
  const uint32_t counter = variable("step", {}, format::Role::Counter, ElementType::I64);
  const uint32_t weightGradient = variable("grad/w0", {3, 4}, format::Role::Gradient);
  const uint32_t biasGradient = variable("grad/dense.bias", {3}, format::Role::Gradient);
  const uint32_t gradientRows = variable("grad.rows", {}, format::Role::Gradient);

  builder.addFaultSites(1);
  // i64: 0 n, 1 a size; then the number of workgroups.
  auto program = [&](const std::string &name, uint32_t inputs, std::vector<uint32_t> variables,
                     std::vector<int64_t> resultSizes) -> format::ProgramT & {
    const uint32_t kernel = static_cast<uint32_t>(builder.module.programs.size());
    BlockPtr body = block();
    auto add = [&](InstructionPtr one) { body->instructions.push_back(std::move(one)); };
    if (isFixed || resultSizes.empty())
      add(instruction(Op::ConstI64, {0}, isFixed ? fixedBatch : 1));
    add(instruction(Op::ConstI64, {2}, 1));
    std::vector<uint32_t> buffers;
    for (uint32_t i = 0; i < inputs; ++i)
      buffers.push_back(i);
    for (uint32_t number : variables) {
      buffers.push_back(static_cast<uint32_t>(buffers.size()));
      add(instruction(Op::Variable, {buffers.back()}, number));
    }
    std::vector<uint32_t> results;
    for (int64_t size : resultSizes) {
      buffers.push_back(static_cast<uint32_t>(buffers.size()));
      results.push_back(buffers.back());
      add(instruction(Op::ConstI64, {1}, size));
      if (size > 4) // bytes of a row
        add(instruction(Op::Mul, {1, 1, 0}));
      add(instruction(Op::Allocate, {buffers.back(), 1}));
    }
    add(segment(dispatch(kernel, 2, buffers, {0})));
    add(instruction(Op::ConstI64, {3}, 3));
    format::ProgramT &made = builder.program(name, 4, static_cast<uint32_t>(buffers.size()), 0, std::move(body));
    for (uint32_t result : results)
      made.results.push_back(resultSizes[0] > 4 ? tensorResult(static_cast<int32_t>(result), {0, 3})
                                                : tensorResult(static_cast<int32_t>(result), {}));
    return made;
  };
  const std::vector<uint32_t> state{weight, bias, weightMomentum, biasMomentum, counter};
  program("train_step", 5, state, {4, 4}).stores = state;
  program("evaluate", 2, {weight, bias}, {4, 4});
  program("predict", 1, {weight, bias}, {12});
  program("backward", 4, {weight, bias, weightGradient, biasGradient, gradientRows}, {4, 4}).stores = {
      weightGradient, biasGradient, gradientRows};
  program("update", 1, {weight, bias, weightMomentum, biasMomentum, counter, weightGradient, biasGradient}, {}).stores =
      state;

  builder.module.training = std::make_unique<format::TrainingT>();
  format::TrainingT &training = *builder.module.training;
  training.train_step = 0;
  training.evaluate = 1;
  training.predict = 2;
  training.backward = 3;
  training.step = 4;
  training.inputs = {0, 1};
  training.hypers.emplace_back(format::HyperKind::Rate, 2);
  training.hypers.emplace_back(format::HyperKind::Seed, 3);
  training.hypers.emplace_back(format::HyperKind::Scale, 4);
  training.metrics = {1};
  training.optimizer = "sgd(momentum=0.9)";
  training.loss = "mse";

  builder.module.targets.push_back(std::make_unique<format::TargetT>());
  format::TargetT &target = *builder.module.targets.back();
  target.name = "cpu";
#if defined(__aarch64__)
  target.triple = "aarch64-unknown-linux-gnu";
#else
  target.triple = "x86_64-unknown-linux-gnu";
#endif
  using enum Access;
  const std::pair<ElementType, std::vector<int64_t>> x{ElementType::F32, {-1, 4}}, label{ElementType::I64, {-1}},
      number{ElementType::F32, {}}, whole{ElementType::I64, {}}, flag{ElementType::Bool, {}},
      weightType{ElementType::F32, {3, 4}}, biasType{ElementType::F32, {3}}, scores{ElementType::F32, {-1, 3}};
  addKernel(target, "train_step",
            {Read, Read, Read, Read, Read, ReadWrite, ReadWrite, ReadWrite, ReadWrite, ReadWrite, Write, Write},
            {x, label, number, whole, number, weightType, biasType, weightType, biasType, whole, number, number});
  addKernel(target, "evaluate", {Read, Read, Read, Read, Write, Write},
            {x, label, weightType, biasType, number, number});
  addKernel(target, "predict", {Read, Read, Read, Write}, {x, weightType, biasType, scores});
  addKernel(target, "backward", {Read, Read, Read, Read, Read, Read, ReadWrite, ReadWrite, ReadWrite, Write, Write},
            {x, label, whole, flag, weightType, biasType, weightType, biasType, number, number, number});
  addKernel(target, "update", {Read, ReadWrite, ReadWrite, ReadWrite, ReadWrite, ReadWrite, Read, Read},
            {number, weightType, biasType, weightType, biasType, whole, weightType, biasType});
  auto variant = std::make_unique<format::VariantT>();
  variant->name = "baseline";
  variant->entries = {"train_step", "evaluate", "predict", "backward", "update"};
  variant->section = builder.addSection(format::SectionKind::Code, readFile(VX_TEST_TRAIN_IMAGE));
  target.variants.push_back(std::move(variant));
  for (uint32_t i = 0; i < 5; ++i) {
    auto entry = std::make_unique<format::EntryT>();
    entry->function = entry->program = i;
    target.entries.push_back(std::move(entry));
  }
}

std::string writeTrainingModule(const std::string &name, const std::function<void(ModuleBuilder &)> &change,
                                int64_t fixedBatch) {
  ModuleBuilder builder;
  addTraining(builder, fixedBatch);
  if (change)
    change(builder);
  return builder.write(name);
}

void addSkeleton(ModuleBuilder &builder, bool hasWeights) {
  const std::vector<vx_skeleton_piece> inside = {
      {VX_PIECE_LENGTH, 3, 0}, {VX_PIECE_BYTES, 0, 1}, {VX_PIECE_VARIABLE, 0, 48}, {VX_PIECE_BYTES, 0, 1}};
  const std::vector<vx_skeleton_piece> beside = {{VX_PIECE_BYTES, 0, 2}, {VX_PIECE_LOCATION, 0, 0}};
  const std::vector<uint8_t> bytes =
      hasWeights ? skeletonBytes(beside, {{VX_PIECE_VARIABLE, 0, 48}}, "<>") : skeletonBytes(inside, {}, "<>");
  auto asset = std::make_unique<format::AssetT>();
  asset->name = "model.onnx";
  asset->section = builder.addSection(format::SectionKind::Assets, bytes);
  asset->size = bytes.size();
  builder.module.assets.push_back(std::move(asset));
  builder.module.training->skeleton = 0;
}

Rows::Rows(int64_t count, uint64_t seed) {
  const int64_t dims[] = {count, 4};
  const std::vector<uint8_t> bytes = drawValues({RandomKind::Uniform, 0, 1}, seed, 77, dims, RandomFormat::F32);
  x.resize(static_cast<size_t>(count) * 4);
  std::memcpy(x.data(), bytes.data(), bytes.size());
  for (int64_t row = 0; row < count; ++row) {
    const float *first = x.data() + row * 4;
    label.push_back(std::max_element(first, first + 3) - first);
  }
}

std::vector<uint8_t> npyBytes(const std::string &header, const std::vector<uint8_t> &data, int major) {
  std::vector<uint8_t> bytes{0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<uint8_t>(major), 0};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    bytes.push_back(static_cast<uint8_t>(header.size() >> 8 * i));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

void writeNpy(const std::string &path, const std::string &type, const std::vector<int64_t> &dims, const void *data,
              size_t size) {
  std::string shape;
  for (int64_t dim : dims)
    shape += fmt::format("{},", dim);
  const auto *bytes = static_cast<const uint8_t *>(data);
  writeFile(path, npyBytes(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape),
                           {bytes, bytes + size}));
}

} // namespace vx::test
