// Elementwise functions without an op of their own, built of the dialect's ops.
#ifndef VX_DIALECT_VX_UTILS_ACTIVATIONS_H
#define VX_DIALECT_VX_UTILS_ACTIVATIONS_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// x * factor, and x + amount.
mlir::Value emitScaled(GraphBuilder &g, mlir::Value x, double factor);
mlir::Value emitShifted(GraphBuilder &g, mlir::Value x, double amount);

mlir::Value emitRelu(GraphBuilder &g, mlir::Value x);
/// `negative` for x <= 0, `otherwise` above. At 0 both are 0, and the gradient is that of `negative`.
mlir::Value emitSelectNegative(GraphBuilder &g, mlir::Value x, mlir::Value negative, mlir::Value otherwise);
/// slope * x for x <= 0, x above.
mlir::Value emitLeakyRelu(GraphBuilder &g, mlir::Value x, double slope);
/// x above `threshold`, else 0.
mlir::Value emitThresholdedRelu(GraphBuilder &g, mlir::Value x, double threshold);
/// alpha * (e^(x / beta) - 1) for x <= 0, x above.
mlir::Value emitElu(GraphBuilder &g, mlir::Value x, double alpha, double beta = 1);
mlir::Value emitSigmoid(GraphBuilder &g, mlir::Value x);
/// x / 2 * (1 + erf(x / sqrt(2))).
mlir::Value emitGelu(GraphBuilder &g, mlir::Value x);
/// alpha * x + beta, clamped to [0, 1].
mlir::Value emitHardSigmoid(GraphBuilder &g, mlir::Value x, double alpha, double beta);
/// ln(1 + e^x) as max(x, 0) + ln(1 + e^-|x|), which does not overflow.
mlir::Value emitSoftplus(GraphBuilder &g, mlir::Value x);
/// x / (1 + |x|).
mlir::Value emitSoftsign(GraphBuilder &g, mlir::Value x);

} // namespace vx

#endif
