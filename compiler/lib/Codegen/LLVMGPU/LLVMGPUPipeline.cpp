// The order of the passes that CUDA and ROCm share.
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "vx/Codegen/GPU.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_REGISTRATION
#include "vx/Codegen/LLVMGPU/Passes.h.inc"

void buildLLVMGPUPipeline(OpPassManager &pm, int64_t subgroupSize, bool keepStepsRolled,
                          std::unique_ptr<Pass> conversion) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(createFlattenMemrefsPass());
  function.addPass(createLowerAffinePass());
  function.addPass(arith::createArithExpandOpsPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  function.addPass(createVectorizeAccessesPass());
  function.addPass(createLoopInvariantCodeMotionPass());
  function.addPass(createGPUExpandSubgroupsPass(GPUExpandSubgroupsPassOptions{subgroupSize}));
  // Index arithmetic in 32 bits where its range is known: 64-bit arithmetic takes several instructions on a GPU.
  arith::ArithIntRangeNarrowingOptions narrowing;
  narrowing.bitwidthsSupported = {32};
  function.addPass(arith::createArithIntRangeNarrowing(narrowing));
  function.addPass(createBoundShiftsPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  pm.addPass(createGPULowerKernelInterfacePass(GPULowerKernelInterfacePassOptions{keepStepsRolled}));
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(std::move(conversion));
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void registerLLVMGPUPasses() { registerCodegenLLVMGPUPasses(); }

} // namespace vx
