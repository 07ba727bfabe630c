#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_REGISTRATION
#include "vx/Codegen/GPU/Passes.h.inc"

void registerGPUCodegenPasses() {
  registerCodegenGPUPasses();
  mlir::PassPipelineRegistration<>("vx-gpu-codegen", "From a vx.kernel to loops over the threads of a GPU",
                                   [](mlir::OpPassManager &pm) { buildGPUCodegenPipeline(pm, TargetSpec()); });
  mlir::PassPipelineRegistration<>("vx-gpu-kernel", "The same from a kernel of linalg ops on",
                                   [](mlir::OpPassManager &pm) { buildGPUKernelPipeline(pm, TargetSpec()); });
}
} // namespace vx
