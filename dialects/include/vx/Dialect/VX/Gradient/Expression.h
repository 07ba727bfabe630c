// Operators for formulas over tensors, as gradient rules, losses and optimizers use them.
#ifndef VX_DIALECT_VX_GRADIENT_EXPRESSION_H
#define VX_DIALECT_VX_GRADIENT_EXPRESSION_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// A tensor with the builder that makes elementwise ops of it. Both operands of an operator have one type; a number
/// stands for a tensor of that type with this value in each element.
struct Expression {
  GraphBuilder *g;
  mlir::Value value;

  operator mlir::Value() const { return value; }
};

inline Expression fill(double number, Expression like) { return {like.g, like.g->splatLike(number, like.value)}; }

template <typename Op>
Expression apply(Expression a) {
  return {a.g, a.g->emit<Op>(a.value)};
}
template <typename Op>
Expression apply(Expression a, Expression b) {
  return {a.g, a.g->emit<Op>(a.value, b.value)};
}

inline Expression operator-(Expression a) { return apply<NegOp>(a); }
inline Expression operator+(Expression a, Expression b) { return apply<AddOp>(a, b); }
inline Expression operator-(Expression a, Expression b) { return apply<SubOp>(a, b); }
inline Expression operator*(Expression a, Expression b) { return apply<MulOp>(a, b); }
inline Expression operator/(Expression a, Expression b) { return apply<DivOp>(a, b); }
inline Expression operator+(Expression a, double b) { return a + fill(b, a); }
inline Expression operator-(Expression a, double b) { return a - fill(b, a); }
inline Expression operator-(double a, Expression b) { return fill(a, b) - b; }
inline Expression operator*(Expression a, double b) { return a * fill(b, a); }

inline Expression compare(ComparePredicate predicate, Expression a, Expression b) {
  return {a.g, a.g->emit<CompareOp>(predicate, a.value, b.value)};
}
inline Expression compare(ComparePredicate predicate, Expression a, double b) {
  return compare(predicate, a, fill(b, a));
}
inline Expression select(Expression condition, Expression a, Expression b) {
  return {a.g, a.g->emit<SelectOp>(condition.value, a.value, b.value)};
}
/// Returns `a` where the condition holds, else 0.
inline Expression selectOrZero(Expression condition, Expression a) { return select(condition, a, fill(0, a)); }

} // namespace vx

#endif
