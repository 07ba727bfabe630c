// Passes of the `fused` and `kernels` phases.
#ifndef VX_TRANSFORMS_FUSIONPASSES_H
#define VX_TRANSFORMS_FUSIONPASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Analysis/TargetSpec.h"
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

/// What a target estimates of layouts (see TargetBackend::estimateLayouts and estimateMove).
struct LayoutEstimates {
  std::function<std::optional<LayoutTimes>(ConvOp)> times;
  std::function<double(mlir::Value)> move;
};

/// `vx-use-channels-last` for a target that estimates which convolutions gain.
std::unique_ptr<mlir::Pass> createUseChannelsLastPass(const UseChannelsLastPassOptions &options,
                                                      LayoutEstimates estimates);

/// `vx-pack-weights` for a target that tells how many neighbours along the sum a product reads together (see
/// TargetBackend::countPackedNeighbours).
std::unique_ptr<mlir::Pass> createPackWeightsPass(const PackWeightsPassOptions &options,
                                                  std::function<int64_t(mlir::Operation *)> countNeighbours);

#define GEN_PASS_REGISTRATION
#include "vx/Transforms/FusionPasses.h.inc"

} // namespace vx

#endif
