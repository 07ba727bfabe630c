#include "vx/Pipelines/Pipelines.h"

#include "vx/Autodiff/Passes.h"
#include "vx/Autodiff/Training.h"
#include "vx/Conversion/SchedulePasses.h"
#include "vx/Memory/Passes.h"
#include "vx/Transforms/FusionPasses.h"
#include "vx/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace vx {

static constexpr std::pair<llvm::StringLiteral, Phase> phases[] = {
    {"import", Phase::Import},       {"graph", Phase::Graph},   {"grad", Phase::Grad},
    {"optimised", Phase::Optimised}, {"fused", Phase::Fused},   {"kernels", Phase::Kernels},
    {"schedule", Phase::Schedule},   {"target", Phase::Target}, {"module", Phase::Module}};

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (auto &[known, phase] : phases)
    if (known == name)
      return phase;
  return std::nullopt;
}

llvm::StringRef getPhaseName(Phase phase) { return phases[static_cast<size_t>(phase)].first; }

bool isPrecision(llvm::StringRef name) { return parsePrecision(name).has_value(); }

/// Gives symbols their sizes, and finds out what follows for all others.
static void specialise(OpPassManager &pm, const std::vector<std::string> &dims) {
  if (!dims.empty()) {
    SpecializeDimsPassOptions specialize;
    llvm::append_range(specialize.dims, dims);
    pm.addPass(createSpecializeDimsPass(specialize));
  }
  pm.addPass(createInferShapesPass());
  pm.addPass(createRecordConstraintsPass());
}

static void canonicalise(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void simplifyViews(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createSimplifyViewsPass());
  pm.addNestedPass<func::FuncOp>(createSinkBroadcastsPass());
}

/// Finds norms and attention; what they match has its numbers folded, and they leave views and comparisons behind.
static void recognise(OpPassManager &pm, bool strictMath) {
  simplifyViews(pm);
  pm.addNestedPass<func::FuncOp>(createFoldConstantsPass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizeGraphPass());
  canonicalise(pm);
  RecognizeNormsPassOptions norms;
  norms.strictMath = strictMath;
  pm.addNestedPass<func::FuncOp>(createRecognizeNormsPass(norms));
  RecognizeAttentionPassOptions attention;
  attention.strictMath = strictMath;
  pm.addNestedPass<func::FuncOp>(createRecognizeAttentionPass(attention));
  simplifyViews(pm);
}

/// Adds the functions that train the model.
static void train(OpPassManager &pm, const TrainingOptions &options) {
  ExpandTrainingFormsPassOptions frozen;
  if (options.freezesDropout)
    frozen.ops.push_back("dropout");
  if (options.freezesBatchNorm)
    frozen.ops.push_back("batch_norm");
  if (!frozen.ops.empty())
    pm.addPass(createExpandTrainingFormsPass(frozen));
  BuildTrainStepPassOptions step;
  step.optimizer = options.optimizer;
  step.clipNorm = options.clipNorm;
  step.clipValue = options.clipValue;
  step.keepGradients = options.keepGradients;
  step.scaleLoss = options.scalesLoss;
  if (!options.evaluate.empty()) {
    step.evaluateName = options.evaluate;
    step.predictName = options.predict;
    step.usualRate = options.rate;
    llvm::append_range(step.freeze, options.freeze);
    pm.addPass(createBuildTrainStepPass(step));
    return;
  }
  std::string error; // of the loss, which the second pass tells
  std::optional<LossSpec> loss = LossSpec::parse(options.loss, error);
  if (options.classes > 0) {
    ReplaceHeadPassOptions head;
    head.of = loss ? loss->output : "";
    head.classes = options.classes;
    head.axis = loss ? loss->axis : -1;
    pm.addPass(createReplaceHeadPass(head));
  }
  ConstantsToVariablesPassOptions variables;
  variables.of = loss ? loss->output : "";
  llvm::append_range(variables.train, options.train);
  llvm::append_range(variables.freeze, options.freeze);
  variables.init = options.startsRandom ? "random" : "file";
  pm.addPass(createConstantsToVariablesPass(variables));
  step.loss = options.loss;
  pm.addPass(createBuildTrainStepPass(step));
}

void buildGraphPipeline(OpPassManager &pm, const GraphOptions &options) {
  pm.addPass(createVerifyImportPass());
  pm.addPass(createNumberStringsPass());
  pm.addPass(createInlineCallsPass());
  if (options.training)
    train(pm, *options.training);
  if (!options.gradientOf.empty()) {
    AddGradientFunctionPassOptions gradient;
    gradient.of = options.gradientOf;
    llvm::append_range(gradient.wrt, options.gradientWrt);
    pm.addPass(createAddGradientFunctionPass(gradient));
  }
  pm.addPass(createResolveOverlapsPass());
  // With the model's own symbols, so that messages name them; again when sizes have values and are inferred.
  pm.addPass(createRecordConstraintsPass());
  specialise(pm, options.dims);
  pm.addPass(createExpandTrainingFormsPass());
  canonicalise(pm);
  pm.addNestedPass<func::FuncOp>(createCanonicalizeGraphPass());
  recognise(pm, options.strictMath);
  pm.addNestedPass<func::FuncOp>(createCanonicalizeGraphPass());
  canonicalise(pm);
  pm.addPass(createVerifyGraphPass());
}

void buildGradPipeline(OpPassManager &pm, const GradOptions &options) {
  pm.addPass(createExpandGradientsPass());
  canonicalise(pm);
  pm.addNestedPass<func::FuncOp>(createCanonicalizeGraphPass());
  simplifyViews(pm);
  canonicalise(pm);
  ChooseSavedPassOptions saved;
  saved.memory = options.memory;
  llvm::append_range(saved.sizes, options.sizes);
  pm.addPass(createChooseSavedPass(saved, options.saved));
  pm.addPass(createVerifyGradPass());
}

void buildOptimisedPipeline(OpPassManager &pm, const OptimisedOptions &options) {
  specialise(pm, options.dims);
  canonicalise(pm);
  pm.addNestedPass<func::FuncOp>(createCanonicalizeGraphPass());
  FoldBatchNormPassOptions foldBatchNorm;
  foldBatchNorm.strictMath = options.strictMath;
  pm.addNestedPass<func::FuncOp>(createFoldBatchNormPass(foldBatchNorm));
  // Again: sizes that are numbers now, and weights without a norm behind them, show more.
  recognise(pm, options.strictMath);
  IntegerProductsPassOptions integers;
  integers.strictMath = options.strictMath;
  pm.addNestedPass<func::FuncOp>(createIntegerProductsPass(integers));
  pm.addNestedPass<func::FuncOp>(createDecomposePass([](Operation *op) { return isa<QuantizeOp, DequantizeOp>(op); }));
  HoistWeightScalesPassOptions scales;
  scales.strictMath = options.strictMath;
  pm.addNestedPass<func::FuncOp>(createHoistWeightScalesPass(scales));
  ApplyPrecisionPassOptions applyPrecision;
  applyPrecision.precision = options.precision;
  pm.addNestedPass<func::FuncOp>(createApplyPrecisionPass(applyPrecision));
  pm.addNestedPass<func::FuncOp>(createFoldConstantsPass());
  pm.addPass(createHoistGathersPass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizeGraphPass());
  canonicalise(pm);
  ShadowWeightsPassOptions shadows;
  shadows.precision = options.precision;
  pm.addPass(createShadowWeightsPass(shadows));
  pm.addNestedPass<func::FuncOp>(createHoistIndexChecksPass());
  pm.addPass(createSetInputRangesPass());
  pm.addPass(createFindIndependentRowsPass());
  VerifyOptimisedPassOptions verify;
  verify.precision = options.precision;
  pm.addPass(createVerifyOptimisedPass(verify));
}

void buildFusedPipeline(OpPassManager &pm, const TargetBackend &backend, const TargetSpec &spec, bool strictMath) {
  pm.addNestedPass<func::FuncOp>(
      createDecomposePass([&backend, spec](Operation *op) { return backend.decomposes(op, spec); }));
  pm.addNestedPass<func::FuncOp>(createWidenElementsPass());
  pm.addPass(createCSEPass());
  SplitWeightBlocksPassOptions splitBlocks;
  splitBlocks.strictMath = strictMath;
  pm.addNestedPass<func::FuncOp>(createSplitWeightBlocksPass(splitBlocks));
  pm.addNestedPass<func::FuncOp>(createJoinContractDimsPass());
  if (backend.splitsReductions())
    pm.addNestedPass<func::FuncOp>(createSplitContractionsPass());
  pm.addNestedPass<func::FuncOp>(createChooseProductsPass(
      [&backend, spec](Operation *op, const ProductFacts &facts) { return backend.chooseProduct(op, facts, spec); },
      [&backend, spec](Value tensor) { return backend.estimateMove(tensor, spec); }));
  pm.addNestedPass<func::FuncOp>(createUseChannelsLastPass());
  SimplifyViewsPassOptions views;
  views.chainsOnly = true;
  pm.addNestedPass<func::FuncOp>(createSimplifyViewsPass(views));
  SplitWindowsPassOptions windows;
  windows.masks = backend.masksPaddedWindows();
  pm.addNestedPass<func::FuncOp>(createSplitWindowsPass(windows));
  PackWeightsPassOptions pack;
  pack.tileBytes = backend.packedRowBytes(spec);
  pm.addNestedPass<func::FuncOp>(createPackWeightsPass(pack));
  pm.addNestedPass<func::FuncOp>(createCanonicalizeGraphPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createJoinReducedDimsPass());
  pm.addNestedPass<func::FuncOp>(createJoinColumnSumsPass());
  if (backend.splitsReductions()) {
    pm.addNestedPass<func::FuncOp>(createSplitReductionsPass());
    pm.addNestedPass<func::FuncOp>(createSplitTopPlacesPass());
    pm.addPass(createCSEPass()); // what several reductions read is reshaped once
  }
  pm.addNestedPass<func::FuncOp>(createSplitConcatsPass());
  pm.addPass(createBindSequenceLengthsPass());
  pm.addNestedPass<func::FuncOp>(createFormFusionsPass());
  pm.addNestedPass<func::FuncOp>(createJoinRowsPass());
  pm.addPass(createChooseStrategiesPass(backend, spec));
  pm.addPass(createVerifyFusedPass());
}

void buildKernelsPipeline(OpPassManager &pm, const TargetBackend &backend) {
  OutlineKernelsPassOptions options;
  options.target = backend.name().str();
  pm.addPass(createOutlineKernelsPass(options));
  pm.addPass(createHoistDerivedValuesPass());
  pm.addPass(createVerifyKernelsPass());
}

void buildSchedulePipeline(OpPassManager &pm) {
  pm.addPass(createConvertToSchedulePass());
  pm.addNestedPass<vxrt::ProgramOp>(createElideCopiesPass());
  pm.addNestedPass<vxrt::ProgramOp>(createCarryInPlacePass());
  pm.addNestedPass<vxrt::ProgramOp>(createElideCopiesPass()); // of what loops begin and end with
  pm.addNestedPass<vxrt::ProgramOp>(createUpdateLoopsInPlacePass());
  pm.addNestedPass<vxrt::ProgramOp>(createWriteVariablesInPlacePass());
  pm.addNestedPass<vxrt::ProgramOp>(createDeclareAliasesPass());
  pm.addPass(createGuardKernelsPass());
  pm.addNestedPass<vxrt::ProgramOp>(createPlanArenaPass());
  pm.addPass(createSymbolDCEPass()); // kernels that nobody needs any more
  pm.addNestedPass<vxrt::ProgramOp>(createInsertBarriersPass());
  pm.addPass(createVerifySchedulePass());
}

} // namespace vx
