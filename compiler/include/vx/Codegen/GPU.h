// Code generation that all GPU targets share.
#ifndef VX_CODEGEN_GPU_H
#define VX_CODEGEN_GPU_H

#include "mlir/Pass/PassManager.h"
#include "vx/Analysis/ProductCandidates.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include <memory>

namespace vx {

struct TargetSpec;

/// See TargetBackend::chooseProduct. Thread-safe.
llvm::SmallVector<ProductCandidate> chooseGPUProduct(mlir::Operation *product, const ProductFacts &facts,
                                                     const TargetSpec &spec);

/// See TargetBackend::estimateMove. Thread-safe.
double estimateGPUMove(mlir::Value tensor);

/// See TargetBackend::chooseStrategy. Thread-safe.
StrategyAttrInterface chooseGPUStrategy(FusionOp region, const TargetSpec &spec);

/// See TargetBackend::decomposes. Thread-safe.
bool decomposesOnGPU(mlir::Operation *composite, const TargetSpec &spec);

/// Appends the passes from a module with one `vx.kernel` to one with a function of memref, scf and arith ops that knows
/// its workgroup and its thread.
void buildGPUCodegenPipeline(mlir::OpPassManager &pm, const TargetSpec &spec);

/// The part of it after the conversion to linalg: from a function of linalg ops on tensors on.
void buildGPUKernelPipeline(mlir::OpPassManager &pm, const TargetSpec &spec);

std::unique_ptr<mlir::Pass> createBoundShiftsPass();
std::unique_ptr<mlir::Pass> createFlattenMemrefsPass();
std::unique_ptr<mlir::Pass> createGPULowerAttentionPass();
std::unique_ptr<mlir::Pass> createGPULowerProductsPass();
/// Uses the matrix fragments and asynchronous copies that `spec` has.
std::unique_ptr<mlir::Pass> createGPULowerProductsPass(const TargetSpec &spec);
std::unique_ptr<mlir::Pass> createGPULowerElementwisePass();
std::unique_ptr<mlir::Pass> createGPULowerReductionsPass();
std::unique_ptr<mlir::Pass> createGPULowerSelectBoxesPass();
std::unique_ptr<mlir::Pass> createGPULowerTopPlacesPass();
std::unique_ptr<mlir::Pass> createUnrollShortLoopsPass();
std::unique_ptr<mlir::Pass> createVectorizeAccessesPass();

/// Registers the passes of this component with the tools. Thread-compatible.
void registerGPUCodegenPasses();

} // namespace vx

#endif
