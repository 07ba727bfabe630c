// The algebra of dimension expressions: a normal form as sums of products over atoms.
//
// An atom is a symbol or a division, remainder, max, min or broadcast. A polynomial maps each product of atoms to its
// coefficient; expressions are built through polynomials, so that equal ones become the same attribute.

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mlir;

namespace vx {

namespace {

/// A total order that does not depend on addresses, so that text is the same in every run.
int compare(DimAttr lhs, DimAttr rhs) {
  if (lhs == rhs)
    return 0;
  if (lhs.getKind() != rhs.getKind())
    return lhs.getKind() < rhs.getKind() ? -1 : 1;
  if (lhs.getKind() == DimKind::Symbol)
    return lhs.getSymbol().getValue().compare(rhs.getSymbol().getValue());
  if (lhs.getValue() != rhs.getValue())
    return lhs.getValue() < rhs.getValue() ? -1 : 1;
  if (lhs.getOperands().size() != rhs.getOperands().size())
    return lhs.getOperands().size() < rhs.getOperands().size() ? -1 : 1;
  for (auto [l, r] : llvm::zip(lhs.getOperands(), rhs.getOperands()))
    if (int order = compare(l, r))
      return order;
  return 0;
}

using Monomial = SmallVector<DimAttr, 2>;

struct MonomialLess {
  bool operator()(const Monomial &lhs, const Monomial &rhs) const {
    // Higher degree first, so that a constant comes last: `batch*8 + 3`.
    if (lhs.size() != rhs.size())
      return lhs.size() > rhs.size();
    for (auto [l, r] : llvm::zip(lhs, rhs))
      if (int order = compare(l, r))
        return order < 0;
    return false;
  }
};

using Polynomial = std::map<Monomial, int64_t, MonomialLess>;

bool addTo(Polynomial &polynomial, const Monomial &monomial, int64_t coefficient) {
  int64_t &slot = polynomial[monomial];
  return !llvm::AddOverflow(slot, coefficient, slot);
}

bool toPolynomial(DimAttr dim, int64_t scale, Polynomial &out) {
  switch (dim.getKind()) {
  case DimKind::Constant: {
    int64_t value;
    return !llvm::MulOverflow(dim.getValue(), scale, value) && addTo(out, {}, value);
  }
  case DimKind::Sum:
    return llvm::all_of(dim.getOperands(), [&](DimAttr term) { return toPolynomial(term, scale, out); });
  case DimKind::Product: {
    int64_t value;
    return !llvm::MulOverflow(dim.getValue(), scale, value) &&
           addTo(out, Monomial(dim.getOperands().begin(), dim.getOperands().end()), value);
  }
  default:
    return addTo(out, {dim}, scale);
  }
}

/// The parts of a nest of max or of min.
void collectParts(DimAttr dim, DimKind kind, SmallVectorImpl<DimAttr> &parts) {
  if (dim.getKind() != kind)
    return parts.push_back(dim);
  for (DimAttr operand : dim.getOperands())
    collectParts(operand, kind, parts);
}

/// A sum with a max in it is a max of sums, so that its parts can be compared one by one; not when there are many.
constexpr size_t kMostParts = 8;

/// A max or min of more parts is kept as it is written: comparing all of them with each other would take too long.
constexpr size_t kMostComparedParts = 32;

bool foldRemainder(MLIRContext *context, Polynomial &polynomial);

DimAttr fromPolynomial(MLIRContext *context, const Polynomial &polynomial) {
  auto isRemainder = [](DimAttr factor) { return factor.getKind() == DimKind::Mod; };
  if (polynomial.size() > 1 &&
      llvm::any_of(polynomial, [&](const auto &term) { return llvm::any_of(term.first, isRemainder); }))
    if (Polynomial folded = polynomial; foldRemainder(context, folded))
      return fromPolynomial(context, folded);
  for (const auto &[monomial, coefficient] : polynomial) {
    if (polynomial.size() == 1 || coefficient != 1 || monomial.size() != 1 || monomial[0].getKind() != DimKind::Max)
      continue;
    Polynomial others = polynomial;
    others.erase(monomial);
    DimAttr rest = fromPolynomial(context, others), greatest;
    SmallVector<DimAttr> left, right;
    collectParts(monomial[0], DimKind::Max, left);
    collectParts(rest, DimKind::Max, right);
    if (left.size() * right.size() > kMostParts)
      break;
    for (DimAttr l : left)
      for (DimAttr r : right)
        greatest = greatest ? DimAttr::max(greatest, l + r) : l + r;
    return greatest;
  }
  SmallVector<DimAttr> terms;
  for (const auto &[monomial, coefficient] : polynomial) {
    if (coefficient == 0)
      continue;
    if (monomial.empty())
      terms.push_back(DimAttr::constant(context, coefficient));
    else if (monomial.size() == 1 && coefficient == 1)
      terms.push_back(monomial.front());
    else
      terms.push_back(DimAttr::get(context, DimKind::Product, coefficient, StringAttr(), monomial));
  }
  if (terms.empty())
    return DimAttr::constant(context, 0);
  if (terms.size() == 1)
    return terms.front();
  return DimAttr::get(context, DimKind::Sum, 0, StringAttr(), terms);
}

/// An expression whose coefficients do not fit 64 bits; kept as it is written, as an atom that nothing simplifies.
DimAttr getAtom(DimKind kind, DimAttr lhs, DimAttr rhs) {
  return DimAttr::get(lhs.getContext(), kind, 0, StringAttr(), {lhs, rhs});
}

int64_t floorDivide(int64_t lhs, int64_t rhs) { return llvm::divideFloorSigned(lhs, rhs); }
int64_t ceilDivide(int64_t lhs, int64_t rhs) { return llvm::divideCeilSigned(lhs, rhs); }

/// floor(dividend / divisor) for a divisor above 1, in a form that equal quotients share: multiples of the divisor
/// stand outside, common factors are cancelled, a division of a division by constants is one, and what rounds up is a
/// ceildiv. So the sizes that strided windows make of a symbol h are ceildiv(h, 2), ceildiv(h, 4)... Null where a
/// coefficient does not fit 64 bits.
DimAttr divideByConstant(Polynomial dividend, int64_t divisor, MLIRContext *context) {
  Polynomial whole, rest;
  int64_t common = divisor, offset = 0; // what the rest has for a constant
  for (const auto &[monomial, coefficient] : dividend) {
    if (coefficient == 0)
      continue;
    if (monomial.empty()) {
      whole[monomial] = floorDivide(coefficient, divisor);
      offset = coefficient - whole[monomial] * divisor;
    } else if (coefficient % divisor == 0) {
      whole[monomial] = coefficient / divisor;
    } else {
      rest[monomial] = coefficient;
      if (coefficient == INT64_MIN)
        return {};
      common = std::gcd(common, coefficient);
    }
  }
  if (rest.empty())
    return fromPolynomial(context, whole);
  offset /= common;
  divisor /= common;
  for (auto &[monomial, coefficient] : rest)
    coefficient /= common;

  const auto &[factors, scale] = *rest.begin();
  if (scale < 0) { // floor(-x / d) is -ceil(x / d)
    Polynomial opposite;
    for (const auto &[monomial, coefficient] : rest)
      opposite[monomial] = -coefficient;
    opposite[Monomial()] = divisor - 1 - offset;
    DimAttr quotient = divideByConstant(opposite, divisor, context);
    return quotient ? fromPolynomial(context, whole) - quotient : DimAttr();
  }
  if (rest.size() == 1 && scale == 1 && factors.size() == 1 &&
      (factors[0].getKind() == DimKind::FloorDiv || factors[0].getKind() == DimKind::CeilDiv)) {
    DimAttr inner = factors[0].getOperands()[0];
    std::optional<int64_t> innerDivisor = factors[0].getOperands()[1].asConstant();
    int64_t shift, product;
    if (innerDivisor && *innerDivisor > 1 && !llvm::MulOverflow(offset, *innerDivisor, shift) &&
        !llvm::MulOverflow(divisor, *innerDivisor, product)) {
      bool roundsUp = factors[0].getKind() == DimKind::CeilDiv;
      Polynomial numerator;
      if (toPolynomial(inner, 1, numerator) && addTo(numerator, {}, shift) &&
          (!roundsUp || addTo(numerator, {}, *innerDivisor - 1)))
        if (DimAttr quotient = divideByConstant(numerator, product, context))
          return fromPolynomial(context, whole) + quotient;
    }
  }
  bool roundsUp = offset == divisor - 1;
  if (!roundsUp && offset != 0)
    rest[Monomial()] = offset;
  DimAttr numerator = fromPolynomial(context, rest);
  DimAttr quotient = divisor == 1 ? numerator
                                  : getAtom(roundsUp ? DimKind::CeilDiv : DimKind::FloorDiv, numerator,
                                            DimAttr::constant(context, divisor));
  return whole.empty() ? quotient : fromPolynomial(context, whole) + quotient;
}

/// The quotient by a constant above 1, rounded down or up; null where it has no normal form.
DimAttr divideByConstant(DimAttr lhs, int64_t divisor, bool roundUp) {
  Polynomial dividend;
  if (!toPolynomial(lhs, 1, dividend) || (roundUp && !addTo(dividend, {}, divisor - 1)))
    return {};
  return divideByConstant(dividend, divisor, lhs.getContext());
}

std::optional<int64_t> getPositiveDivisor(DimAttr dim) {
  std::optional<int64_t> divisor = dim.getOperands()[1].asConstant();
  return divisor && *divisor > 0 ? divisor : std::nullopt;
}

/// The remainder of a division by a constant above 1, in a form that equal remainders share: multiples of the divisor,
/// also those that remainders inside leave out, do not count. Null where a coefficient does not fit 64 bits.
DimAttr getRemainder(DimAttr lhs, int64_t divisor) {
  Polynomial polynomial, reduced;
  if (!toPolynomial(lhs, 1, polynomial))
    return {};
  while (true) {
    reduced.clear();
    for (const auto &[monomial, coefficient] : polynomial) {
      // From -divisor / 2 on, so that -h stays -h.
      int64_t rest = coefficient - floorDivide(coefficient, divisor) * divisor;
      if (rest > divisor / 2 && !monomial.empty())
        rest -= divisor;
      if (rest == 0)
        continue;
      bool isRemainder = monomial.size() == 1 && monomial[0].getKind() == DimKind::Mod;
      std::optional<int64_t> inner = isRemainder ? getPositiveDivisor(monomial[0]) : std::nullopt;
      bool isLeftOut = inner && *inner % divisor == 0;
      if (isLeftOut ? !toPolynomial(monomial[0].getOperands()[0], rest, reduced) : !addTo(reduced, monomial, rest))
        return {};
    }
    if (reduced == polynomial)
      break;
    polynomial.swap(reduced);
  }
  DimAttr rest = fromPolynomial(lhs.getContext(), polynomial);
  if (std::optional<int64_t> value = rest.asConstant())
    return DimAttr::constant(lhs.getContext(), *value - floorDivide(*value, divisor) * divisor);
  return getAtom(DimKind::Mod, rest, DimAttr::constant(lhs.getContext(), divisor));
}

/// Writes the first x - mod(x, d) that it finds as floordiv(x, d) * d, so that h + mod(-h, 4), a size that is padded to
/// fours, is ceildiv(h, 4) * 4. False where there is none.
bool foldRemainder(MLIRContext *context, Polynomial &polynomial) {
  for (const auto &[monomial, coefficient] : polynomial)
    for (auto [place, factor] : llvm::enumerate(monomial)) {
      std::optional<int64_t> divisor = factor.getKind() == DimKind::Mod ? getPositiveDivisor(factor) : std::nullopt;
      Polynomial dividend, quotient, folded = polynomial;
      int64_t times;
      if (coefficient == 0 || !divisor || llvm::MulOverflow(coefficient, -*divisor, times) ||
          !toPolynomial(factor.getOperands()[0], 1, dividend))
        continue;
      Monomial others = monomial;
      others.erase(others.begin() + place);
      auto multiply = [&](const Monomial &term) {
        Monomial product = others;
        llvm::append_range(product, term);
        llvm::sort(product, [](DimAttr a, DimAttr b) { return compare(a, b) < 0; });
        return product;
      };
      auto addProduct = [&](const std::pair<const Monomial, int64_t> &term, int64_t scale) {
        int64_t value;
        return !llvm::MulOverflow(term.second, scale, value) && addTo(folded, multiply(term.first), value);
      };
      // Of half of the divisor both signs leave the same: h + mod(h, 2) is h + mod(-h, 2).
      for (auto &[term, scale] : dividend)
        if (auto found = term.empty() ? polynomial.end() : polynomial.find(multiply(term));
            scale == *divisor - scale && found != polynomial.end() && found->second == coefficient * scale)
          scale = -scale;
      // All of the dividend stands there too, but for its constant.
      auto isCancelled = [&](const std::pair<const Monomial, int64_t> &term) {
        return addProduct(term, coefficient) && (term.first.empty() || folded[multiply(term.first)] == 0);
      };
      if (!llvm::all_of(dividend, isCancelled))
        continue;
      DimAttr rounded = divideByConstant(dividend, *divisor, context);
      folded.erase(monomial);
      if (!rounded || !toPolynomial(rounded, 1, quotient) ||
          !llvm::all_of(quotient, [&](const auto &term) { return addProduct(term, times); }))
        continue;
      polynomial = std::move(folded);
      return true;
    }
  return false;
}

/// A polynomial of more terms is not divided.
constexpr unsigned kMostQuotientTerms = 16;

/// lhs / rhs when that is a polynomial, e.g. (batch*seq*8) / (seq*4) or (past*8 + seq*8) / (past + seq). Right for a
/// divisor that is not 0, and a division by 0 is an error of the call wherever the quotient is used.
DimAttr divideByPolynomial(DimAttr lhs, DimAttr rhs) {
  Polynomial divisor, rest, quotient;
  if (!toPolynomial(rhs, 1, divisor) || !toPolynomial(lhs, 1, rest))
    return {};
  auto isZero = [](const auto &term) { return term.second == 0; };
  std::erase_if(divisor, isZero);
  if (divisor.empty())
    return {};
  const auto &[factors, scale] = *divisor.begin();
  // A division of the least integer by -1 does not fit.
  if (scale == -1)
    return {};
  for (std::erase_if(rest, isZero); !rest.empty(); std::erase_if(rest, isZero)) {
    Monomial monomial = rest.begin()->first;
    int64_t coefficient = rest.begin()->second;
    if (coefficient % scale != 0 || quotient.size() == kMostQuotientTerms)
      return {};
    for (DimAttr factor : factors) {
      auto it = llvm::find(monomial, factor);
      if (it == monomial.end())
        return {};
      monomial.erase(it);
    }
    int64_t times = coefficient / scale;
    quotient[monomial] += times;
    for (const auto &[others, count] : divisor) {
      Monomial product = monomial;
      llvm::append_range(product, others);
      llvm::sort(product, [](DimAttr a, DimAttr b) { return compare(a, b) < 0; });
      int64_t value;
      if (llvm::MulOverflow(count, times, value) || value == INT64_MIN || !addTo(rest, product, -value))
        return {};
    }
  }
  return fromPolynomial(lhs.getContext(), quotient);
}

/// The greatest (or least) of all parts, without those that another part makes superfluous, in one order.
DimAttr getExtremum(DimKind kind, DimAttr lhs, DimAttr rhs) {
  SmallVector<DimAttr> parts, kept;
  collectParts(lhs, kind, parts);
  collectParts(rhs, kind, parts);
  if (parts.size() > kMostComparedParts)
    return compare(lhs, rhs) <= 0 ? getAtom(kind, lhs, rhs) : getAtom(kind, rhs, lhs);
  auto covers = [&](DimAttr part, DimAttr other) {
    return kind == DimKind::Max ? other.isAtMost(part) : part.isAtMost(other);
  };
  for (DimAttr part : parts) {
    if (llvm::any_of(kept, [&](DimAttr other) { return covers(other, part); }))
      continue;
    llvm::erase_if(kept, [&](DimAttr other) { return covers(part, other); });
    kept.push_back(part);
  }
  llvm::sort(kept, [](DimAttr a, DimAttr b) { return compare(a, b) < 0; });
  DimAttr result = kept.pop_back_val();
  for (DimAttr part : llvm::reverse(kept))
    result = getAtom(kind, part, result);
  return result;
}

} // namespace

DimAttr DimAttr::constant(MLIRContext *context, int64_t value) {
  return get(context, DimKind::Constant, value, StringAttr(), {});
}
DimAttr DimAttr::symbolNamed(StringAttr name) { return get(name.getContext(), DimKind::Symbol, 0, name, {}); }
DimAttr DimAttr::symbolNamed(MLIRContext *context, StringRef name) {
  return symbolNamed(StringAttr::get(context, name));
}

DimAttr DimAttr::add(DimAttr lhs, DimAttr rhs) {
  Polynomial sum;
  if (!toPolynomial(lhs, 1, sum) || !toPolynomial(rhs, 1, sum))
    return get(lhs.getContext(), DimKind::Sum, 0, StringAttr(), {lhs, rhs});
  return fromPolynomial(lhs.getContext(), sum);
}

DimAttr DimAttr::sub(DimAttr lhs, DimAttr rhs) { return add(lhs, mul(rhs, constant(rhs.getContext(), -1))); }

DimAttr DimAttr::mul(DimAttr lhs, DimAttr rhs) {
  Polynomial left, right, product;
  bool fits = toPolynomial(lhs, 1, left) && toPolynomial(rhs, 1, right);
  for (const auto &[lhsMonomial, lhsCoefficient] : left)
    for (const auto &[rhsMonomial, rhsCoefficient] : right) {
      Monomial monomial = lhsMonomial;
      llvm::append_range(monomial, rhsMonomial);
      llvm::sort(monomial, [](DimAttr a, DimAttr b) { return compare(a, b) < 0; });
      int64_t coefficient;
      fits = fits && !llvm::MulOverflow(lhsCoefficient, rhsCoefficient, coefficient) &&
             addTo(product, monomial, coefficient);
    }
  if (!fits)
    return get(lhs.getContext(), DimKind::Product, 1, StringAttr(), {lhs, rhs});
  return fromPolynomial(lhs.getContext(), product);
}

DimAttr DimAttr::floorDiv(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return constant(lhs.getContext(), floorDivide(*l, *r));
  if (r == 1)
    return lhs;
  if (r && *r > 1)
    if (DimAttr quotient = divideByConstant(lhs, *r, /*roundUp=*/false))
      return quotient;
  if (DimAttr quotient = divideByPolynomial(lhs, rhs))
    return quotient;
  return getAtom(DimKind::FloorDiv, lhs, rhs);
}

DimAttr DimAttr::ceilDiv(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return constant(lhs.getContext(), ceilDivide(*l, *r));
  if (r == 1)
    return lhs;
  if (r && *r > 1)
    if (DimAttr quotient = divideByConstant(lhs, *r, /*roundUp=*/true))
      return quotient;
  if (DimAttr quotient = divideByPolynomial(lhs, rhs))
    return quotient;
  return getAtom(DimKind::CeilDiv, lhs, rhs);
}

DimAttr DimAttr::mod(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return constant(lhs.getContext(), *l - floorDivide(*l, *r) * *r);
  if (r == 1)
    return constant(lhs.getContext(), 0);
  if (r && *r > 1)
    if (DimAttr remainder = getRemainder(lhs, *r))
      return remainder;
  return getAtom(DimKind::Mod, lhs, rhs);
}

DimAttr DimAttr::max(DimAttr lhs, DimAttr rhs) { return getExtremum(DimKind::Max, lhs, rhs); }
DimAttr DimAttr::min(DimAttr lhs, DimAttr rhs) { return getExtremum(DimKind::Min, lhs, rhs); }

namespace {

/// The least and the greatest value that an expression may have; none where there is no bound.
struct Interval {
  std::optional<int64_t> low, high;
};

/// Shows that one expression is at most another for all values of the symbols, which are not negative. Expressions
/// share their parts, so a proof that followed every path might never end: it is given up after so many steps.
class TermProver {
public:
  bool isAtMost(DimAttr lhs, DimAttr rhs) {
    if (lhs == rhs)
      return true;
    if (--steps < 0)
      return false;
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

private:
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
    if (--steps < 0)
      return {};
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

  int steps = 2000;
};

} // namespace

DimAttr DimAttr::broadcast(DimAttr lhs, DimAttr rhs) {
  SmallVector<DimAttr> parts;
  collectParts(lhs, DimKind::Broadcast, parts);
  collectParts(rhs, DimKind::Broadcast, parts);
  DimAttr two = constant(lhs.getContext(), 2);
  SetVector<DimAttr> kept;
  for (DimAttr part : parts) {
    std::optional<int64_t> size = part.asConstant();
    // One that is never 1 is the size.
    if ((size && *size != 1) || two.isAtMost(part))
      return part;
    if (!size)
      kept.insert(part);
  }
  if (kept.empty())
    return constant(lhs.getContext(), 1);
  // Of two sizes of which one is never the greater, that one is the other or 1: a table of 512 rows of which as many as
  // there are words are added to them. (0 with 1 is not taken here: a constraint refuses it.)
  SmallVector<DimAttr> sorted;
  for (DimAttr part : kept) {
    if (llvm::any_of(sorted, [&](DimAttr other) { return part.isAtMost(other); }))
      continue;
    llvm::erase_if(sorted, [&](DimAttr other) { return other.isAtMost(part); });
    sorted.push_back(part);
  }
  llvm::sort(sorted, [](DimAttr a, DimAttr b) { return compare(a, b) < 0; });
  DimAttr result = sorted.pop_back_val();
  for (DimAttr part : llvm::reverse(sorted))
    result = getAtom(DimKind::Broadcast, part, result);
  return result;
}

bool DimAttr::isAtMost(DimAttr other) const { return TermProver().isAtMost(*this, other); }

std::optional<int64_t> DimAttr::asConstant() const {
  return getKind() == DimKind::Constant ? std::optional(getValue()) : std::nullopt;
}

StringAttr DimAttr::asSymbol() const { return getKind() == DimKind::Symbol ? getSymbol() : StringAttr(); }

void DimAttr::collectSymbols(SetVector<StringAttr> &symbols) const {
  llvm::SmallDenseSet<DimAttr, 16> seen;
  auto visit = [&](DimAttr dim, auto &&self) -> void {
    if (dim.getKind() == DimKind::Symbol)
      symbols.insert(dim.getSymbol());
    if (!dim.getOperands().empty() && seen.insert(dim).second)
      for (DimAttr operand : dim.getOperands())
        self(operand, self);
  };
  visit(*this, visit);
}

static DimAttr substituteOnce(DimAttr dim, function_ref<DimAttr(StringAttr)> replacement,
                              llvm::SmallDenseMap<DimAttr, DimAttr, 16> &done) {
  if (dim.getKind() == DimKind::Constant)
    return dim;
  if (dim.getKind() == DimKind::Symbol) {
    DimAttr value = replacement(dim.getSymbol());
    return value ? value : dim;
  }
  if (auto it = done.find(dim); it != done.end())
    return it->second;
  SmallVector<DimAttr> operands;
  for (DimAttr operand : dim.getOperands())
    operands.push_back(substituteOnce(operand, replacement, done));
  auto combine = [&]() -> DimAttr {
    switch (dim.getKind()) {
    case DimKind::Constant:
    case DimKind::Symbol:
      break;
    case DimKind::Sum: {
      DimAttr sum = DimAttr::constant(dim.getContext(), 0);
      for (DimAttr operand : operands)
        sum = sum + operand;
      return sum;
    }
    case DimKind::Product: {
      DimAttr product = DimAttr::constant(dim.getContext(), dim.getValue());
      for (DimAttr operand : operands)
        product = product * operand;
      return product;
    }
    case DimKind::FloorDiv:
      return DimAttr::floorDiv(operands[0], operands[1]);
    case DimKind::CeilDiv:
      return DimAttr::ceilDiv(operands[0], operands[1]);
    case DimKind::Mod:
      return DimAttr::mod(operands[0], operands[1]);
    case DimKind::Max:
      return DimAttr::max(operands[0], operands[1]);
    case DimKind::Min:
      return DimAttr::min(operands[0], operands[1]);
    case DimKind::Broadcast:
      return DimAttr::broadcast(operands[0], operands[1]);
    }
    llvm_unreachable("leaves have returned");
  };
  DimAttr result = combine();
  done[dim] = result;
  return result;
}

DimAttr DimAttr::substitute(function_ref<DimAttr(StringAttr)> replacement) const {
  llvm::SmallDenseMap<DimAttr, DimAttr, 16> done;
  return substituteOnce(*this, replacement, done);
}

static std::optional<int64_t> evaluateOnce(DimAttr dim, function_ref<std::optional<int64_t>(StringRef)> valueOf,
                                           llvm::SmallDenseMap<DimAttr, std::optional<int64_t>, 16> &done) {
  if (dim.getKind() == DimKind::Constant)
    return dim.getValue();
  if (dim.getKind() == DimKind::Symbol)
    return valueOf(dim.getSymbol());
  if (auto it = done.find(dim); it != done.end())
    return it->second;
  SmallVector<int64_t> values;
  for (DimAttr operand : dim.getOperands()) {
    std::optional<int64_t> value = evaluateOnce(operand, valueOf, done);
    if (!value)
      return done[dim] = std::nullopt;
    values.push_back(*value);
  }
  auto combine = [&]() -> std::optional<int64_t> {
    int64_t result = dim.getKind() == DimKind::Product ? dim.getValue() : 0;
    switch (dim.getKind()) {
    case DimKind::Sum:
      for (int64_t value : values)
        if (llvm::AddOverflow(result, value, result))
          return std::nullopt;
      return result;
    case DimKind::Product:
      for (int64_t value : values)
        if (llvm::MulOverflow(result, value, result))
          return std::nullopt;
      return result;
    case DimKind::Max:
      return std::max(values[0], values[1]);
    case DimKind::Min:
      return std::min(values[0], values[1]);
    case DimKind::Broadcast:
      return values[0] == 1 ? values[1] : values[0];
    default:
      break;
    }
    if (values[1] == 0 || (values[0] == INT64_MIN && values[1] == -1))
      return std::nullopt;
    int64_t quotient = floorDivide(values[0], values[1]);
    if (dim.getKind() == DimKind::FloorDiv)
      return quotient;
    if (dim.getKind() == DimKind::CeilDiv)
      return ceilDivide(values[0], values[1]);
    return values[0] - quotient * values[1];
  };
  return done[dim] = combine();
}

std::optional<int64_t> DimAttr::evaluate(function_ref<std::optional<int64_t>(StringRef)> valueOf) const {
  llvm::SmallDenseMap<DimAttr, std::optional<int64_t>, 16> done;
  return evaluateOnce(*this, valueOf, done);
}

//===-- Text ----------------------------------------------------------------------------------===//

/// An identifier, or an element of a list: "sizes[2]", "picked.shape[0]".
static bool isBareName(StringRef name) {
  static const StringRef keywords[] = {"floordiv", "ceildiv", "mod", "max", "min", "broadcast"};
  if (name.consume_back("]")) {
    StringRef index = name.rsplit('[').second;
    if (index.size() == name.size() || index.empty() || index.size() > 9 || !llvm::all_of(index, llvm::isDigit) ||
        (index.size() > 1 && index.front() == '0'))
      return false;
    name = name.drop_back(index.size() + 1);
  }
  if (name.empty() || llvm::is_contained(keywords, name) || !(isalpha(name[0]) || name[0] == '_'))
    return false;
  return llvm::all_of(name, [](char c) { return isalnum(c) || c == '_' || c == '.'; });
}

static void print(DimAttr dim, raw_ostream &os) {
  switch (dim.getKind()) {
  case DimKind::Constant:
    os << dim.getValue();
    return;
  case DimKind::Symbol:
    if (isBareName(dim.getSymbol().getValue()))
      os << dim.getSymbol().getValue();
    else
      os << dim.getSymbol();
    return;
  case DimKind::Sum: {
    bool first = true;
    for (DimAttr term : dim.getOperands()) {
      bool negative = (term.getKind() == DimKind::Constant || term.getKind() == DimKind::Product) &&
                      term.getValue() < 0 && term.getValue() != INT64_MIN;
      if (!first)
        os << (negative ? " - " : " + ");
      if (!first && negative)
        term = term * -1;
      print(term, os);
      first = false;
    }
    return;
  }
  case DimKind::Product: {
    bool first = true;
    for (DimAttr factor : dim.getOperands()) {
      if (!first)
        os << " * ";
      bool parenthesise = factor.getKind() == DimKind::Sum || factor.getKind() == DimKind::Product;
      os << (parenthesise ? "(" : "");
      print(factor, os);
      os << (parenthesise ? ")" : "");
      first = false;
    }
    if (dim.getValue() != 1)
      os << " * " << dim.getValue();
    return;
  }
  case DimKind::FloorDiv:
    os << "floordiv(";
    break;
  case DimKind::CeilDiv:
    os << "ceildiv(";
    break;
  case DimKind::Mod:
    os << "mod(";
    break;
  case DimKind::Max:
    os << "max(";
    break;
  case DimKind::Min:
    os << "min(";
    break;
  case DimKind::Broadcast:
    os << "broadcast(";
    break;
  }
  print(dim.getOperands()[0], os);
  os << ", ";
  print(dim.getOperands()[1], os);
  os << ")";
}

std::string DimAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  vx::print(*this, os);
  return text;
}

static FailureOr<DimAttr> parseDim(AsmParser &parser, int depth = 0);

static FailureOr<DimAttr> parseFactor(AsmParser &parser, int depth) {
  MLIRContext *context = parser.getContext();
  if (depth > 64) {
    (void)parser.emitError(parser.getCurrentLocation(), "expects a dimension expression of at most 64 nested levels");
    return failure();
  }
  int64_t value;
  if (OptionalParseResult parsed = parser.parseOptionalInteger(value); parsed.has_value()) {
    if (failed(*parsed))
      return failure();
    return DimAttr::constant(context, value);
  }
  std::string quoted;
  if (succeeded(parser.parseOptionalString(&quoted)))
    return DimAttr::symbolNamed(context, quoted);
  if (succeeded(parser.parseOptionalLParen())) {
    FailureOr<DimAttr> inner = parseDim(parser, depth + 1);
    if (failed(inner) || parser.parseRParen())
      return failure();
    return inner;
  }
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name))) {
    (void)parser.emitError(parser.getCurrentLocation(), "expects a dimension: an integer, a symbol or '('");
    return failure();
  }
  using Combine = DimAttr (*)(DimAttr, DimAttr);
  Combine combine = llvm::StringSwitch<Combine>(name)
                        .Case("floordiv", &DimAttr::floorDiv)
                        .Case("ceildiv", &DimAttr::ceilDiv)
                        .Case("mod", &DimAttr::mod)
                        .Case("max", &DimAttr::max)
                        .Case("min", &DimAttr::min)
                        .Case("broadcast", &DimAttr::broadcast)
                        .Default(nullptr);
  if (!combine) {
    std::string whole = name.str();
    if (succeeded(parser.parseOptionalLSquare())) {
      uint32_t index;
      if (parser.parseInteger(index) || parser.parseRSquare())
        return failure();
      whole += "[" + std::to_string(index) + "]";
    }
    return DimAttr::symbolNamed(context, whole);
  }
  if (parser.parseLParen())
    return failure();
  FailureOr<DimAttr> lhs = parseDim(parser, depth + 1);
  if (failed(lhs) || parser.parseComma())
    return failure();
  FailureOr<DimAttr> rhs = parseDim(parser, depth + 1);
  if (failed(rhs) || parser.parseRParen())
    return failure();
  return combine(*lhs, *rhs);
}

static FailureOr<DimAttr> parseTerm(AsmParser &parser, int depth) {
  FailureOr<DimAttr> product = parseFactor(parser, depth);
  while (succeeded(product) && succeeded(parser.parseOptionalStar())) {
    FailureOr<DimAttr> factor = parseFactor(parser, depth);
    if (failed(factor))
      return failure();
    product = *product * *factor;
  }
  return product;
}

static FailureOr<DimAttr> parseDim(AsmParser &parser, int depth) {
  FailureOr<DimAttr> sum = parseTerm(parser, depth);
  while (succeeded(sum)) {
    bool plus = succeeded(parser.parseOptionalPlus());
    if (!plus && failed(parser.parseOptionalMinus()))
      break;
    FailureOr<DimAttr> term = parseTerm(parser, depth);
    if (failed(term))
      return failure();
    sum = plus ? *sum + *term : *sum - *term;
  }
  return sum;
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<DimAttr> dim = parseDim(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimAttr::print(AsmPrinter &printer) const { printer << "<" << str() << ">"; }

DimAttr DimAttr::fromString(MLIRContext *context, StringRef text) {
  context->getOrLoadDialect<VXDialect>();
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  return llvm::dyn_cast_or_null<DimAttr>(parseAttribute(("#vx.dim<" + text + ">").str(), context));
}

//===-- Encoding ------------------------------------------------------------------------------===//

Attribute EncodingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimAttr> dims;
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<DimAttr> dim = parseDim(parser);
        if (failed(dim))
          return failure();
        dims.push_back(*dim);
        return success();
      }))
    return {};
  if (parser.parseGreater())
    return {};
  return EncodingAttr::get(parser.getContext(), dims);
}

void EncodingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) { printer << dim.str(); });
  printer << "]>";
}

} // namespace vx
