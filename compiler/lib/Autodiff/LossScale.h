// Dynamic loss scaling: gradients of a loss that is multiplied by a number do not vanish in f16, and the number follows
// from whether they are finite.
#ifndef VX_LIB_AUTODIFF_LOSSSCALE_H
#define VX_LIB_AUTODIFF_LOSSSCALE_H

#include "vx/Dialect/VX/Gradient/Expression.h"

namespace vx {

/// Names of the variables. The runtime's libvx_train knows them.
inline constexpr llvm::StringLiteral kLossScale = "loss_scale";            // f32, what the loss is multiplied by
inline constexpr llvm::StringLiteral kGoodSteps = "loss_scale.good";       // i64, steps since the scale changed last
inline constexpr llvm::StringLiteral kSkippedSteps = "loss_scale.skipped"; // i64, steps that changed nothing

/// What the scale starts with, is never above, and is never below.
inline constexpr double kFirstLossScale = 65536, kGreatestLossScale = 4294967296, kLeastLossScale = 1;
/// So many good steps in a row double it.
inline constexpr double kGoodStepsToDouble = 2000;

/// The values of the variables, before a step or behind it.
struct LossScale {
  Expression scale, good, skipped;
};

/// Behind a step of gradients that are all finite, or that are not.
LossScale buildNextLossScale(LossScale old, Expression isFinite);

/// Whether each element is a finite number.
Expression buildIsFinite(Expression value);

} // namespace vx

#endif
