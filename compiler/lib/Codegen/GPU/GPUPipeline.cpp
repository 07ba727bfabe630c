#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Codegen/GPU.h"
#include "vx/Conversion/VXToLinalg.h"

using namespace mlir;

void vx::buildGPUKernelPipeline(OpPassManager &pm, const TargetSpec &spec) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  function.addPass(createGPULowerAttentionPass());
  function.addPass(createGPULowerProductsPass(spec));
  function.addPass(createGPULowerReductionsPass());
  function.addPass(createGPULowerTopPlacesPass());
  function.addPass(createGPULowerSelectBoxesPass());
  function.addPass(createLowerMergeRunsPass());
  function.addPass(createLowerPagedAttentionPass());
  function.addPass(createGPULowerElementwisePass());
  function.addPass(createLowerToLoopsPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createUnrollShortLoopsPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  function.addPass(createExpandMathPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
}

void vx::buildGPUCodegenPipeline(OpPassManager &pm, const TargetSpec &spec) {
  pm.addPass(createConvertToLinalgPass());
  pm.addPass(createVerifyNoEncodingPass());
  buildGPUKernelPipeline(pm, spec);
}
