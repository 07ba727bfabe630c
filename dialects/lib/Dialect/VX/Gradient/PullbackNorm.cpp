// Gradients of softmax and the norms, and of attention.
#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"

using namespace mlir;

namespace vx {

namespace {

/// Rows of a tensor, in the type that sums are kept in.
struct Rows {
  GraphBuilder &g;
  SmallVector<DimAttr> dims;
  SmallVector<int64_t> axes;

  Rows(GraphBuilder &g, Value input, RowsOpInterface op)
      : g(g), dims(getDims(g.typeOf(input))), axes(op.getRowAxes()) {}

  Expression widen(Value value) const { return {&g, g.widen(value)}; }
  /// The same in all of a row, of one number for each.
  Expression repeat(Value value) const { return {&g, g.broadcastAlong(value, dims, axes)}; }
  /// The same in all rows, of a tensor of a row's shape.
  Expression repeatRow(Value row) const { return {&g, g.broadcast(g.widen(row), dims)}; }
  Expression sum(Expression value) const { return {&g, g.reduce(ReduceKind::sum, value, axes)}; }
  Expression mean(Expression value) const { return {&g, g.mean(value, axes)}; }
  /// The sum of all rows.
  Value sumOfRows(Expression value) const {
    SmallVector<int64_t> others;
    for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
      if (!llvm::is_contained(axes, d))
        others.push_back(d);
    return g.reduce(ReduceKind::sum, value, others);
  }
};

} // namespace

void SoftmaxOp::buildPullback(Pullback &p) {
  Rows rows(p.g, getInput(), *this);
  Expression g = rows.widen(p.of()), y = rows.widen(getResult());
  Expression gradient =
      getLog() ? g - apply<ExpOp>(y) * rows.repeat(rows.sum(g)) : y * (g - rows.repeat(rows.sum(g * y)));
  p.give(0u, p.g.cast(gradient, getInput().getType().getElementType()));
}

/// The gradient of (input - mean) / deviation, or of input / root, of which `normal` is the value: what moves a row
/// along itself, and with `isCentred` what moves all of it, changes nothing.
static Expression makeNormalGradient(const Rows &rows, Expression gradient, Expression normal, Expression root,
                                     bool isCentred) {
  Expression rest = gradient - normal * rows.repeat(rows.mean(gradient * normal));
  if (isCentred)
    rest = rest - rows.repeat(rows.mean(gradient));
  return rest / rows.repeat(root);
}

static Expression makeRoot(const Rows &rows, Expression meanSquare, const APFloat &epsilon) {
  return apply<SqrtOp>(meanSquare + epsilon.convertToFloat());
}

void LayerNormOp::buildPullback(Pullback &p) {
  Rows rows(p.g, getInput(), *this);
  Type element = getInput().getType().getElementType();
  Expression g = rows.widen(p.of()), x = rows.widen(getInput());
  if (p.wants(0u) || p.wants(1u)) {
    Expression centred = x - rows.repeat(rows.mean(x)),
               root = makeRoot(rows, rows.mean(centred * centred), getEpsilon()), normal = centred / rows.repeat(root);
    if (p.wants(0u))
      p.give(0u, p.g.cast(makeNormalGradient(rows, g * rows.repeatRow(getScale()), normal, root, /*isCentred=*/true),
                          element));
    if (p.wants(1u))
      p.give(1u, p.g.cast(rows.sumOfRows(g * normal), element));
  }
  if (p.wants(2u))
    p.give(2u, p.g.cast(rows.sumOfRows(g), element));
}

void RmsNormOp::buildPullback(Pullback &p) {
  Rows rows(p.g, getInput(), *this);
  Type element = getInput().getType().getElementType();
  Expression g = rows.widen(p.of()), x = rows.widen(getInput());
  Expression root = makeRoot(rows, rows.mean(x * x), getEpsilon()), normal = x / rows.repeat(root);
  if (p.wants(0u))
    p.give(0u, p.g.cast(makeNormalGradient(rows, g * rows.repeatRow(getScale()), normal, root, /*isCentred=*/false),
                        element));
  if (p.wants(1u))
    p.give(1u, p.g.cast(rows.sumOfRows(g * normal), element));
}

void AttentionOp::buildPullback(Pullback &p) { p.useDecomposition(); }

} // namespace vx
