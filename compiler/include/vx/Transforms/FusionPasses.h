// Passes of the `fused` and `kernels` phases.
#ifndef VX_TRANSFORMS_FUSIONPASSES_H
#define VX_TRANSFORMS_FUSIONPASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Transforms/FusionPasses.h.inc"

/// The number of workgroups of a kernel whose first result has type `result` under `strategy`: the product over the
/// tiled dimensions of ceildiv(size, tile). Null when a size is unknown.
DimAttr getWorkgroupCount(mlir::RankedTensorType result, StrategyAttr strategy);

/// True when the host reads this operand itself (a condition, a trip count, a position), so that it needs no memory.
bool isHostScalar(mlir::OpOperand &use);

/// Name of the attribute of a vx.kernel that lists the operands whose memory its first result may take over: each of
/// their elements is read by the workgroup that writes the result's element in its place, and before that.
inline constexpr llvm::StringLiteral kInPlaceAttr = "vx.in_place";

#define GEN_PASS_REGISTRATION
#include "vx/Transforms/FusionPasses.h.inc"

} // namespace vx

#endif
