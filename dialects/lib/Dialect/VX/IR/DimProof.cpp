// Shows that one dimension expression is at most another, whatever the values of the symbols.

#include "DimMemo.h"
#include "DimPolynomial.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

namespace {

using Interval = DimInterval;

/// Shows that one expression is at most another for all values of the symbols, which are not negative. Expressions
/// share their parts, so a proof that followed every path might never end: it is given up after so many steps.
class TermProver {
public:
  explicit TermProver(DimMemo &memo) : memo(memo) {}

  bool isAtMost(DimAttr lhs, DimAttr rhs) {
    if (lhs == rhs)
      return true;
    if (auto it = known.find({lhs, rhs}); it != known.end())
      return it->second;
    if (--steps < 0)
      return false;
    const bool result = prove(lhs, rhs);
    known.try_emplace({lhs, rhs}, result);
    return result;
  }

private:
  bool prove(DimAttr lhs, DimAttr rhs) {
    auto parts = [](DimAttr dim, DimKind kind) {
      return dim.getKind() == kind ? dim.getOperands() : ArrayRef<DimAttr>();
    };
    if (llvm::any_of(parts(rhs, DimKind::Max), [&](DimAttr part) { return isAtMost(lhs, part); }) ||
        llvm::any_of(parts(lhs, DimKind::Min), [&](DimAttr part) { return isAtMost(part, rhs); }))
      return true;
    if (lhs.getKind() == DimKind::Max &&
        llvm::all_of(lhs.getOperands(), [&](DimAttr part) { return isAtMost(part, rhs); }))
      return true;
    // A broadcast is one of its parts, whichever.
    if (lhs.getKind() == DimKind::Broadcast &&
        llvm::all_of(lhs.getOperands(), [&](DimAttr part) { return isAtMost(part, rhs); }))
      return true;
    if (rhs.getKind() == DimKind::Broadcast &&
        llvm::all_of(rhs.getOperands(), [&](DimAttr part) { return isAtMost(lhs, part); }))
      return true;
    if (isQuotientAtMost(lhs, rhs))
      return true;
    // A remainder by 0 is an error of the call.
    if (lhs.getKind() == DimKind::Mod && lhs.getOperands()[1] == rhs && isNotNegative(rhs))
      return true;
    Polynomial difference;
    if (!toPolynomial(rhs, 1, difference) || !toPolynomial(lhs, -1, difference))
      return false;
    coverNegativeTerms(difference);
    int64_t least = 0;
    for (const auto &[monomial, coefficient] : difference) {
      std::optional<int64_t> low = getTerm(monomial, coefficient).low;
      if (coefficient != 0 && (!low || llvm::AddOverflow(least, *low, least)))
        return false;
    }
    return least >= 0;
  }

  bool isNotNegative(DimAttr dim) {
    std::optional<int64_t> low = get(dim).low;
    return low && *low >= 0;
  }

  static std::optional<int64_t> getQuotientDivisor(DimAttr dim) {
    bool isQuotient = dim.getKind() == DimKind::FloorDiv || dim.getKind() == DimKind::CeilDiv;
    return isQuotient ? getPositiveDivisor(dim) : std::nullopt;
  }

  /// x / a <= y when 0 <= x <= y, x / a <= y / b when also b <= a, and ceildiv(x, a) <= ceildiv(y, b) * k when b <= a *
  /// k.
  bool isQuotientAtMost(DimAttr lhs, DimAttr rhs) {
    std::optional<int64_t> divisor = getQuotientDivisor(lhs);
    if (!divisor || !isNotNegative(lhs.getOperands()[0]))
      return false;
    if (lhs.getKind() == DimKind::CeilDiv && rhs.getKind() == DimKind::Product && rhs.getOperands().size() == 1 &&
        rhs.getOperands()[0].getKind() == DimKind::CeilDiv) {
      DimAttr quotient = rhs.getOperands()[0];
      std::optional<int64_t> finer = getQuotientDivisor(quotient);
      int64_t scaled;
      if (finer && rhs.getValue() > 0 && !llvm::MulOverflow(*divisor, rhs.getValue(), scaled) && *finer <= scaled &&
          isAtMost(lhs.getOperands()[0], quotient.getOperands()[0]))
        return true;
    }
    std::optional<int64_t> other = getQuotientDivisor(rhs);
    bool roundsAlike = lhs.getKind() == DimKind::FloorDiv || rhs.getKind() == DimKind::CeilDiv;
    if (other && *other <= *divisor && roundsAlike && isAtMost(lhs.getOperands()[0], rhs.getOperands()[0]))
      return true;
    return rhs.getKind() != DimKind::Sum && isAtMost(lhs.getOperands()[0], rhs);
  }

  /// Takes from each negative term what a positive one makes up for: n*ceildiv(h, 4) from n*ceildiv(h, 2).
  void coverNegativeTerms(Polynomial &difference) {
    for (auto &[negative, debt] : difference)
      for (auto &[positive, credit] : difference) {
        if (debt >= 0)
          break;
        if (credit <= 0 || debt == INT64_MIN || !isProductAtMost(negative, positive))
          continue;
        int64_t covered = std::min(-debt, credit);
        debt += covered;
        credit -= covered;
      }
  }

  /// Each factor has a partner that is at least as large; nothing is negative.
  bool isProductAtMost(const Monomial &lhs, const Monomial &rhs) {
    if (lhs.size() != rhs.size() || lhs.size() < 1 || !llvm::all_of(lhs, [&](DimAttr a) { return isNotNegative(a); }))
      return false;
    Monomial partners = rhs;
    Monomial others;
    for (DimAttr factor : lhs) {
      if (auto it = llvm::find(partners, factor); it != partners.end())
        partners.erase(it);
      else
        others.push_back(factor);
    }
    for (DimAttr factor : others) {
      auto it = llvm::find_if(partners, [&](DimAttr partner) { return isAtMost(factor, partner); });
      if (it == partners.end())
        return false;
      partners.erase(it);
    }
    return true;
  }

  Interval getTerm(const Monomial &monomial, int64_t coefficient) {
    Interval result{1, 1};
    for (DimAttr factor : monomial)
      result = multiply(result, get(factor));
    return multiply(result, {coefficient, coefficient});
  }

  static Interval multiply(Interval a, Interval b) {
    auto negate = [](Interval i) -> Interval {
      auto flip = [](std::optional<int64_t> v) { return v && *v != INT64_MIN ? std::optional(-*v) : std::nullopt; };
      return {flip(i.high), flip(i.low)};
    };
    auto isConstant = [](Interval i) { return i.low && i.high && *i.low == *i.high; };
    if (isConstant(a) && *a.low < 0 && *a.low != INT64_MIN)
      return negate(multiply(negate(a), b));
    if (isConstant(b) && *b.low < 0 && *b.low != INT64_MIN)
      return negate(multiply(a, negate(b)));
    auto times = [](std::optional<int64_t> x, std::optional<int64_t> y) -> std::optional<int64_t> {
      int64_t product;
      return x && y && !llvm::MulOverflow(*x, *y, product) ? std::optional(product) : std::nullopt;
    };
    if (a.low && *a.low >= 0 && b.low && *b.low >= 0)
      return {times(a.low, b.low).value_or(0), times(a.high, b.high)};
    if (isConstant(b) && *b.low >= 0)
      return {times(a.low, b.low), times(a.high, b.low)};
    if (isConstant(a) && *a.low >= 0)
      return {times(a.low, b.low), times(a.low, b.high)};
    return {};
  }

  Interval get(DimAttr dim) {
    if (auto it = memo.intervals.find(dim); it != memo.intervals.end())
      return it->second;
    const Interval result = compute(dim);
    DimMemo::keep(memo.intervals, dim, result);
    return result;
  }

  Interval compute(DimAttr dim) {
    auto add = [](std::optional<int64_t> a, std::optional<int64_t> b) -> std::optional<int64_t> {
      int64_t sum;
      return a && b && !llvm::AddOverflow(*a, *b, sum) ? std::optional(sum) : std::nullopt;
    };
    switch (dim.getKind()) {
    case DimKind::Constant:
      return {dim.getValue(), dim.getValue()};
    case DimKind::Symbol:
      return {0, std::nullopt};
    case DimKind::Sum: {
      Interval sum{0, 0};
      for (DimAttr operand : dim.getOperands()) {
        Interval term = get(operand);
        sum = {add(sum.low, term.low), add(sum.high, term.high)};
      }
      return sum;
    }
    case DimKind::Product:
      return getTerm(Monomial(dim.getOperands().begin(), dim.getOperands().end()), dim.getValue());
    case DimKind::FloorDiv:
    case DimKind::CeilDiv: {
      Interval dividend = get(dim.getOperands()[0]), divisor = get(dim.getOperands()[1]);
      auto divide = [&](std::optional<int64_t> value) -> std::optional<int64_t> {
        if (!value)
          return std::nullopt;
        return dim.getKind() == DimKind::FloorDiv ? floorDivide(*value, *divisor.low)
                                                  : ceilDivide(*value, *divisor.low);
      };
      if (divisor.low && divisor.high && *divisor.low == *divisor.high && *divisor.low > 0)
        return {divide(dividend.low), divide(dividend.high)};
      // A divisor of 0 is an error of the call.
      if (dividend.low && *dividend.low >= 0 && divisor.low && *divisor.low >= 0)
        return {0, dividend.high};
      return {};
    }
    case DimKind::Mod: { // has the sign of the divisor
      Interval divisor = get(dim.getOperands()[1]);
      if (!divisor.low || *divisor.low < 0)
        return {};
      return {0, divisor.high && *divisor.high > 0 ? std::optional(*divisor.high - 1) : std::nullopt};
    }
    case DimKind::Max: {
      Interval a = get(dim.getOperands()[0]), b = get(dim.getOperands()[1]);
      return {a.low && b.low ? std::max(a.low, b.low)
              : a.low        ? a.low
                             : b.low,
              a.high && b.high ? std::max(a.high, b.high) : std::nullopt};
    }
    case DimKind::Min: {
      Interval a = get(dim.getOperands()[0]), b = get(dim.getOperands()[1]);
      return {a.low && b.low ? std::min(a.low, b.low) : std::nullopt, a.high && b.high ? std::min(a.high, b.high)
                                                                      : a.high         ? a.high
                                                                                       : b.high};
    }
    case DimKind::Broadcast: { // one of both
      Interval a = get(dim.getOperands()[0]), b = get(dim.getOperands()[1]);
      return {a.low && b.low ? std::min(a.low, b.low) : std::nullopt,
              a.high && b.high ? std::max(a.high, b.high) : std::nullopt};
    }
    }
    llvm_unreachable("all kinds are handled");
  }

  DimMemo &memo;
  /// Of this proof alone: one that was given up counts for nothing elsewhere.
  llvm::DenseMap<DimMemo::Pair, bool> known;
  int steps = 400;
};

} // namespace

DimMemo &DimMemo::of(DimAttr dim) { return dim.getDialect().getRegisteredInterface<DimMemoInterface>()->get(); }

bool DimAttr::isAtMost(DimAttr other) const {
  if (*this == other)
    return true;
  DimMemo &memo = DimMemo::of(*this);
  const DimMemo::Pair key(*this, other);
  if (auto it = memo.orders.find(key); it != memo.orders.end())
    return it->second;
  const bool result = TermProver(memo).isAtMost(*this, other);
  DimMemo::keep(memo.orders, key, result);
  return result;
}

} // namespace vx
