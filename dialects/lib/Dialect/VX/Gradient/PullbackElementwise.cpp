// Gradients of elementwise ops.
#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"

#include <cmath>

using namespace mlir;

namespace vx {

namespace {

/// What the rule of an elementwise op reads.
struct Terms {
  explicit Terms(Pullback &p) : p(p), gradient{&p.g, p.of()}, result{&p.g, p.op->getResult(0)} {}

  Expression operand(unsigned index) const { return {&p.g, p.op->getOperand(index)}; }

  Pullback &p;
  Expression gradient, result;
};

} // namespace

/// The rule of an op of one operand.
template <typename Rule>
static void giveUnary(Pullback &p, Rule rule) {
  Terms t(p);
  p.give(0u, rule(t.gradient, t.operand(0), t.result));
}

void NegOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto, auto) { return -g; });
}
void AbsOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto x, auto) { return g * apply<SignOp>(x); }); // 0 at 0
}
void SqrtOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto, auto y) { return g / (y + y); });
}
void ExpOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto, auto y) { return g * y; });
}
void LogOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto x, auto) { return g / x; });
}
void SinOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto x, auto) { return g * apply<CosOp>(x); });
}
void CosOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto x, auto) { return -(g * apply<SinOp>(x)); });
}
void AsinOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto x, auto) { return g / apply<SqrtOp>((1 - x) * (x + 1)); });
}
void AcosOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto x, auto) { return -(g / apply<SqrtOp>((1 - x) * (x + 1))); });
}
void AtanOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto x, auto) { return g / (x * x + 1); });
}
void TanhOp::buildPullback(Pullback &p) {
  giveUnary(p, [](auto g, auto, auto y) { return g * (1 - y * y); });
}
void ErfOp::buildPullback(Pullback &p) {
  // 2 / sqrt(pi) * e^(-x^2)
  giveUnary(p, [](auto g, auto x, auto) { return g * (apply<ExpOp>(-(x * x)) * (2 / std::sqrt(std::acos(-1.0)))); });
}

void AddOp::buildPullback(Pullback &p) {
  p.give(0u, p.of());
  p.give(1u, p.of());
}

void SubOp::buildPullback(Pullback &p) {
  p.give(0u, p.of());
  if (p.wants(1u))
    p.give(1u, -Terms(p).gradient);
}

void MulOp::buildPullback(Pullback &p) {
  Terms t(p);
  for (unsigned i = 0; i < 2; ++i)
    if (p.wants(i))
      p.give(i, t.gradient * t.operand(1 - i));
}

void DivOp::buildPullback(Pullback &p) {
  Terms t(p);
  if (!p.wants(0u) && !p.wants(1u))
    return;
  Expression quotient = t.gradient / t.operand(1);
  p.give(0u, quotient);
  if (p.wants(1u))
    p.give(1u, -(quotient * t.result));
}

void RemOp::buildPullback(Pullback &p) {
  Terms t(p);
  p.give(0u, t.gradient);
  // trunc(lhs / rhs), which is what lhs and rhs differ by; rounded, since the quotient may be off in its last place.
  if (p.wants(1u))
    p.give(1u, -(t.gradient * apply<RoundOp>((t.operand(0) - t.result) / t.operand(1))));
}

void PowOp::buildPullback(Pullback &p) {
  Terms t(p);
  Expression base = t.operand(0), exponent = t.operand(1);
  // Where the derivative is 0 the formula may give NaN: 0 * inf.
  if (p.wants(0u)) {
    Expression derivative = exponent * apply<PowOp>(base, exponent - 1);
    p.give(0u, t.gradient * selectOrZero(compare(ComparePredicate::ne, exponent, 0), derivative));
  }
  if (p.wants(1u)) {
    Expression isFlat = {
        &p.g, p.g.emit<AndOp>(compare(ComparePredicate::eq, base, 0), compare(ComparePredicate::ge, exponent, 0))};
    Expression safe = select(isFlat, fill(1, base), base);
    p.give(1u, t.gradient * selectOrZero({&p.g, p.g.emit<NotOp>(isFlat.value)}, t.result * apply<LogOp>(safe)));
  }
}

/// The operand that is chosen has the gradient; of two equal ones each half, or none where the other is a constant for
/// the gradient, as relu has none at 0. That one is told from the result, which what comes behind keeps anyway.
static void giveChosen(Pullback &p, ComparePredicate isChosen) {
  Terms t(p);
  bool isShared = p.wants(0u) && p.wants(1u);
  for (unsigned i = 0; i < 2; ++i) {
    if (!p.wants(i))
      continue;
    Expression own = t.operand(i), other = t.operand(1 - i);
    if (!isShared) {
      p.give(i, selectOrZero(compare(isChosen, t.result, other), t.gradient));
      continue;
    }
    Expression half = selectOrZero(compare(ComparePredicate::eq, own, other), t.gradient * 0.5);
    p.give(i, select(compare(isChosen, own, other), t.gradient, half));
  }
}

void MaxOp::buildPullback(Pullback &p) { giveChosen(p, ComparePredicate::gt); }
void MinOp::buildPullback(Pullback &p) { giveChosen(p, ComparePredicate::lt); }

void SelectOp::buildPullback(Pullback &p) {
  Terms t(p);
  Expression condition = t.operand(0), none = fill(0, t.gradient);
  if (p.wants(1u))
    p.give(1u, select(condition, t.gradient, none));
  if (p.wants(2u))
    p.give(2u, select(condition, none, t.gradient));
}

/// Of the integers there is none: a model's own gradient through rounding is a `vx.custom_gradient`.
void DequantizeOp::buildPullback(Pullback &p) {
  if (!p.wants(1u))
    return;
  Value one = p.g.splatLike(1, getScale());
  p.give(1u, p.g.emit<MulOp>(p.of(), p.g.emitAs<DequantizeOp>(getResult().getType(), getInput(), one, getZero())));
}

void CastOp::buildPullback(Pullback &p) { p.give(0u, p.g.cast(p.of(), getInput().getType().getElementType())); }

} // namespace vx
