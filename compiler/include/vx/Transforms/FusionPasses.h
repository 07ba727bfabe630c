// Passes of the `fused` and `kernels` phases.
#ifndef VX_TRANSFORMS_FUSIONPASSES_H
#define VX_TRANSFORMS_FUSIONPASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Analysis/ProductCandidates.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include <functional>

namespace vx {

#define GEN_PASS_DECL
#include "vx/Transforms/FusionPasses.h.inc"

/// True when the host reads this operand itself (a condition, a trip count, a position), so that it needs no memory.
bool isHostScalar(mlir::OpOperand &use);

/// Attribute of a function that computes a derived value, of constants and variables, a string: derived values with
/// equal keys are equal. The function has no operands, and is called where the value is read.
inline constexpr llvm::StringLiteral kDerivedAttr = "vx.derived";

/// The bytes of a tensor of static shape in device memory.
uint64_t getStaticSizeInBytes(mlir::RankedTensorType type);

/// True when a result computed from `inputBytes` of constants and weights is worth its memory for as long as they are
/// there: its shape is static, and it is at most 1 MB or twice its inputs.
bool isWorthDeriving(mlir::RankedTensorType result, uint64_t inputBytes);

/// `vx-choose-products` for a target (see TargetBackend::chooseProduct and estimateMove).
std::unique_ptr<mlir::Pass> createChooseProductsPass(ProductChooser choose,
                                                     std::function<double(mlir::Value)> estimateMove);

#define GEN_PASS_REGISTRATION
#include "vx/Transforms/FusionPasses.h.inc"

} // namespace vx

#endif
