#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx {

Value emitScaled(GraphBuilder &g, Value x, double factor) {
  return factor == 1 ? x : g.emit<MulOp>(x, g.splatLike(factor, x));
}

Value emitShifted(GraphBuilder &g, Value x, double amount) { return g.emit<AddOp>(x, g.splatLike(amount, x)); }

Value emitRelu(GraphBuilder &g, Value x) { return g.emit<MaxOp>(x, g.splatLike(0, x)); }

Value emitSelectNegative(GraphBuilder &g, Value x, Value negative, Value otherwise) {
  Value isNegative = g.emit<CompareOp>(ComparePredicate::le, x, g.splatLike(0, x));
  return g.emit<SelectOp>(isNegative, negative, otherwise);
}

Value emitLeakyRelu(GraphBuilder &g, Value x, double slope) {
  return emitSelectNegative(g, x, emitScaled(g, x, slope), x);
}

Value emitThresholdedRelu(GraphBuilder &g, Value x, double threshold) {
  Value isAbove = g.emit<CompareOp>(ComparePredicate::gt, x, g.splatLike(threshold, x));
  return g.emit<SelectOp>(isAbove, x, g.splatLike(0, x));
}

Value emitElu(GraphBuilder &g, Value x, double alpha, double beta) {
  // Above 0 nothing is taken of the exponential, and its gradient there would be 0 times infinity.
  Value inner = beta == 1 ? x : g.emit<DivOp>(x, g.splatLike(beta, x));
  inner = emitSelectNegative(g, x, inner, g.splatLike(0, x));
  return emitSelectNegative(g, x, emitScaled(g, emitShifted(g, g.emit<ExpOp>(inner), -1), alpha), x);
}

Value emitSigmoid(GraphBuilder &g, Value x) {
  // The exponential stays finite: the gradient would be 0 times infinity. In f16 that bound would show in the result.
  Value inner = g.emit<NegOp>(x);
  if (Type type = getElementTypeOrSelf(x); !type.isF16())
    inner = g.emit<MinOp>(inner, g.splatLike(type.isF64() ? 709 : 88, x));
  return g.emit<DivOp>(g.splatLike(1, x), emitShifted(g, g.emit<ExpOp>(inner), 1));
}

Value emitGelu(GraphBuilder &g, Value x) {
  Value inner = g.emit<ErfOp>(emitScaled(g, x, 0.70710678118654752440));
  return g.emit<MulOp>(emitScaled(g, x, 0.5), emitShifted(g, inner, 1));
}

Value emitHardSigmoid(GraphBuilder &g, Value x, double alpha, double beta) {
  Value line = emitShifted(g, emitScaled(g, x, alpha), beta);
  return g.emit<MaxOp>(g.emit<MinOp>(line, g.splatLike(1, x)), g.splatLike(0, x));
}

Value emitSoftplus(GraphBuilder &g, Value x) {
  Value tail = g.emit<LogOp>(emitShifted(g, g.emit<ExpOp>(g.emit<NegOp>(g.emit<AbsOp>(x))), 1));
  return g.emit<AddOp>(emitRelu(g, x), tail);
}

Value emitSoftsign(GraphBuilder &g, Value x) { return g.emit<DivOp>(x, emitShifted(g, g.emit<AbsOp>(x), 1)); }

} // namespace vx
