// The algebra of dimension expressions: a normal form as sums of products over atoms.
//
// An atom is a symbol or a division, remainder, max, min or broadcast. A polynomial maps each product of atoms to its
// coefficient; expressions are built through polynomials, so that equal ones become the same attribute.

#include "DimMemo.h"
#include "DimPolynomial.h"
#include "vx/Dialect/VX/IR/DimParts.h"

#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace vx {

int compareDims(DimAttr lhs, DimAttr rhs) {
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
    if (int order = compareDims(l, r))
      return order;
  return 0;
}

bool MonomialLess::operator()(const Monomial &lhs, const Monomial &rhs) const {
  // Higher degree first, so that a constant comes last: `batch*8 + 3`.
  if (lhs.size() != rhs.size())
    return lhs.size() > rhs.size();
  for (auto [l, r] : llvm::zip(lhs, rhs))
    if (int order = compareDims(l, r))
      return order < 0;
  return false;
}

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

std::optional<int64_t> getPositiveDivisor(DimAttr dim) {
  std::optional<int64_t> divisor = dim.getOperands()[1].asConstant();
  return divisor && *divisor > 0 ? divisor : std::nullopt;
}

namespace {

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
        llvm::sort(product, [](DimAttr a, DimAttr b) { return compareDims(a, b) < 0; });
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
      llvm::sort(product, [](DimAttr a, DimAttr b) { return compareDims(a, b) < 0; });
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
    return compareDims(lhs, rhs) <= 0 ? getAtom(kind, lhs, rhs) : getAtom(kind, rhs, lhs);
  auto covers = [&](DimAttr part, DimAttr other) {
    return kind == DimKind::Max ? other.isAtMost(part) : part.isAtMost(other);
  };
  for (DimAttr part : parts) {
    if (llvm::any_of(kept, [&](DimAttr other) { return covers(other, part); }))
      continue;
    llvm::erase_if(kept, [&](DimAttr other) { return covers(part, other); });
    kept.push_back(part);
  }
  llvm::sort(kept, [](DimAttr a, DimAttr b) { return compareDims(a, b) < 0; });
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

/// The result of an operation, computed once by each thread.
static DimAttr getOnce(DimKind kind, DimAttr lhs, DimAttr rhs, DimAttr (*compute)(DimAttr lhs, DimAttr rhs)) {
  llvm::DenseMap<DimMemo::Pair, DimAttr> &results = DimMemo::of(lhs).getResults(kind);
  if (auto it = results.find({lhs, rhs}); it != results.end())
    return it->second;
  DimAttr result = compute(lhs, rhs);
  DimMemo::keep(results, DimMemo::Pair(lhs, rhs), result);
  return result;
}

static DimAttr computeSum(DimAttr lhs, DimAttr rhs) {
  Polynomial sum;
  if (!toPolynomial(lhs, 1, sum) || !toPolynomial(rhs, 1, sum))
    return getAtom(DimKind::Sum, lhs, rhs);
  return fromPolynomial(lhs.getContext(), sum);
}

static DimAttr computeProduct(DimAttr lhs, DimAttr rhs) {
  Polynomial left, right, product;
  bool fits = toPolynomial(lhs, 1, left) && toPolynomial(rhs, 1, right);
  for (const auto &[lhsMonomial, lhsCoefficient] : left)
    for (const auto &[rhsMonomial, rhsCoefficient] : right) {
      Monomial monomial = lhsMonomial;
      llvm::append_range(monomial, rhsMonomial);
      llvm::sort(monomial, [](DimAttr a, DimAttr b) { return compareDims(a, b) < 0; });
      int64_t coefficient;
      fits = fits && !llvm::MulOverflow(lhsCoefficient, rhsCoefficient, coefficient) &&
             addTo(product, monomial, coefficient);
    }
  if (!fits)
    return DimAttr::get(lhs.getContext(), DimKind::Product, 1, StringAttr(), {lhs, rhs});
  return fromPolynomial(lhs.getContext(), product);
}

static DimAttr computeFloorDiv(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return DimAttr::constant(lhs.getContext(), floorDivide(*l, *r));
  if (r == 1)
    return lhs;
  if (r && *r > 1)
    if (DimAttr quotient = divideByConstant(lhs, *r, /*roundUp=*/false))
      return quotient;
  if (DimAttr quotient = divideByPolynomial(lhs, rhs))
    return quotient;
  return getAtom(DimKind::FloorDiv, lhs, rhs);
}

static DimAttr computeCeilDiv(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return DimAttr::constant(lhs.getContext(), ceilDivide(*l, *r));
  if (r == 1)
    return lhs;
  if (r && *r > 1)
    if (DimAttr quotient = divideByConstant(lhs, *r, /*roundUp=*/true))
      return quotient;
  if (DimAttr quotient = divideByPolynomial(lhs, rhs))
    return quotient;
  return getAtom(DimKind::CeilDiv, lhs, rhs);
}

static DimAttr computeMod(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return DimAttr::constant(lhs.getContext(), *l - floorDivide(*l, *r) * *r);
  if (r == 1)
    return DimAttr::constant(lhs.getContext(), 0);
  if (r && *r > 1)
    if (DimAttr remainder = getRemainder(lhs, *r))
      return remainder;
  return getAtom(DimKind::Mod, lhs, rhs);
}

static DimAttr computeBroadcast(DimAttr lhs, DimAttr rhs) {
  SmallVector<DimAttr> parts;
  collectParts(lhs, DimKind::Broadcast, parts);
  collectParts(rhs, DimKind::Broadcast, parts);
  DimAttr two = DimAttr::constant(lhs.getContext(), 2);
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
    return DimAttr::constant(lhs.getContext(), 1);
  // Of two sizes of which one is never the greater, that one is the other or 1: a table of 512 rows of which as many as
  // there are words are added to them. (0 with 1 is not taken here: a constraint refuses it.)
  SmallVector<DimAttr> sorted;
  for (DimAttr part : kept) {
    if (llvm::any_of(sorted, [&](DimAttr other) { return part.isAtMost(other); }))
      continue;
    llvm::erase_if(sorted, [&](DimAttr other) { return other.isAtMost(part); });
    sorted.push_back(part);
  }
  llvm::sort(sorted, [](DimAttr a, DimAttr b) { return compareDims(a, b) < 0; });
  DimAttr result = sorted.pop_back_val();
  for (DimAttr part : llvm::reverse(sorted))
    result = getAtom(DimKind::Broadcast, part, result);
  return result;
}

DimAttr DimAttr::add(DimAttr lhs, DimAttr rhs) { return getOnce(DimKind::Sum, lhs, rhs, computeSum); }
DimAttr DimAttr::sub(DimAttr lhs, DimAttr rhs) { return add(lhs, mul(rhs, constant(rhs.getContext(), -1))); }
DimAttr DimAttr::mul(DimAttr lhs, DimAttr rhs) { return getOnce(DimKind::Product, lhs, rhs, computeProduct); }
DimAttr DimAttr::floorDiv(DimAttr lhs, DimAttr rhs) { return getOnce(DimKind::FloorDiv, lhs, rhs, computeFloorDiv); }
DimAttr DimAttr::ceilDiv(DimAttr lhs, DimAttr rhs) { return getOnce(DimKind::CeilDiv, lhs, rhs, computeCeilDiv); }
DimAttr DimAttr::mod(DimAttr lhs, DimAttr rhs) { return getOnce(DimKind::Mod, lhs, rhs, computeMod); }
DimAttr DimAttr::max(DimAttr lhs, DimAttr rhs) {
  return getOnce(DimKind::Max, lhs, rhs, [](DimAttr l, DimAttr r) { return getExtremum(DimKind::Max, l, r); });
}
DimAttr DimAttr::min(DimAttr lhs, DimAttr rhs) {
  return getOnce(DimKind::Min, lhs, rhs, [](DimAttr l, DimAttr r) { return getExtremum(DimKind::Min, l, r); });
}
DimAttr DimAttr::broadcast(DimAttr lhs, DimAttr rhs) { return getOnce(DimKind::Broadcast, lhs, rhs, computeBroadcast); }

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

DimAttr replaceParts(DimAttr dim, ArrayRef<std::pair<DimAttr, DimAttr>> parts) {
  llvm::SmallDenseMap<DimAttr, DimAttr, 16> done;
  for (const auto &[part, value] : parts)
    done[part] = value;
  return substituteOnce(dim, [](StringAttr) { return DimAttr(); }, done);
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

} // namespace vx
