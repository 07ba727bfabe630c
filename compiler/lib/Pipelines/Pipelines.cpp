#include "vx/Pipelines/Pipelines.h"

#include "vx/Conversion/SchedulePasses.h"
#include "vx/Memory/Passes.h"
#include "vx/Transforms/FusionPasses.h"
#if __has_include("vx/Transforms/Passes.h")
#include "vx/Transforms/Passes.h"
#define HAVE_TRANSFORMS 1
#endif

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace vx {

static constexpr std::pair<llvm::StringLiteral, Phase> phases[] = {
    {"import", Phase::Import},   {"graph", Phase::Graph},       {"grad", Phase::Grad},     {"fused", Phase::Fused},
    {"kernels", Phase::Kernels}, {"schedule", Phase::Schedule}, {"target", Phase::Target}, {"module", Phase::Module}};

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (auto &[known, phase] : phases)
    if (known == name)
      return phase;
  return std::nullopt;
}

llvm::StringRef getPhaseName(Phase phase) { return phases[static_cast<size_t>(phase)].first; }

#if HAVE_TRANSFORMS
void buildGraphPipeline(OpPassManager &pm, const GraphOptions &options) {
  if (!options.dims.empty())
    pm.addPass(createSpecializeDimsPass({options.dims}));
  pm.addPass(createInferShapesPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizeGraphPass());
  FoldBatchNormPassOptions foldBatchNorm;
  foldBatchNorm.strictMath = options.strictMath;
  pm.addPass(createFoldBatchNormPass(foldBatchNorm));
  pm.addPass(createFoldConstantsPass());
  pm.addPass(createCanonicalizeGraphPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createVerifyGraphPass());
}

void buildGradPipeline(OpPassManager &pm) { pm.addPass(createVerifyGraphPass()); }

#else
void buildGraphPipeline(OpPassManager &pm, const GraphOptions &options) { pm.addPass(createCanonicalizerPass()); pm.addPass(createCSEPass()); }
void buildGradPipeline(OpPassManager &pm) {}
#endif

void buildFusedPipeline(OpPassManager &pm, const TargetBackend &backend, const TargetSpec &spec) {
#if HAVE_TRANSFORMS
  if (std::string ops = backend.compositesToDecompose().str(); !ops.empty()) {
    DecomposePassOptions decompose;
    decompose.ops = ops;
    pm.addPass(createDecomposePass(decompose));
    pm.addPass(createCSEPass());
  }
#endif
  pm.addNestedPass<func::FuncOp>(createFormFusionsPass());
  pm.addPass(createChooseStrategiesPass(backend, spec));
  pm.addPass(createVerifyFusedPass());
}

void buildKernelsPipeline(OpPassManager &pm, const TargetBackend &backend) {
  OutlineKernelsPassOptions options;
  options.target = backend.name().str();
  pm.addPass(createOutlineKernelsPass(options));
  pm.addPass(createVerifyKernelsPass());
}

void buildSchedulePipeline(OpPassManager &pm) {
  pm.addPass(createConvertToSchedulePass());
  pm.addNestedPass<vxrt::ProgramOp>(createPlanArenaPass());
  pm.addNestedPass<vxrt::ProgramOp>(createInsertBarriersPass());
  pm.addPass(createVerifySchedulePass());
}

} // namespace vx
