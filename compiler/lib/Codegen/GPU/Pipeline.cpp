#include "mlir/Transforms/Passes.h"
#include "vx/Codegen/GPU.h"
#include "vx/Target/TargetBackend.h"

using namespace mlir;

void vx::buildGPUKernelPipeline(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void vx::buildGPUCodegenPipeline(OpPassManager &pm, const TargetSpec &spec) { buildGPUKernelPipeline(pm); }
