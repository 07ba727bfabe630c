#include "FloatSizes.h"

#include "NodeImporter.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace vx::onnx {

/// Longer lists and terms are left to the program.
static constexpr size_t mostSizes = 16;
static constexpr int64_t mostTerms = 64;
/// Of a divisor, and of each part of a constant.
static constexpr int64_t mostDivisor = 1 << 12, mostNumerator = INT32_MAX;
/// A call has smaller sizes than the least bound.
static constexpr int64_t leastBound = 1 << 20;

static bool isShort(DimAttr dim) { return countNodes(dim, mostTerms) <= mostTerms; }
static DimAttr constantLike(DimAttr like, int64_t value) { return DimAttr::constant(like.getContext(), value); }

/// All integers from -2^bits to 2^bits are floats of the type.
static int64_t getWholeBits(Type type) {
  auto floats = dyn_cast<FloatType>(type);
  return floats && floats.getWidth() >= 32 ? APFloat::semanticsPrecision(floats.getFloatSemantics()) : 0;
}

FloatSizes makeFloatSizes(ArrayRef<DimAttr> numbers) {
  FloatSizes sizes;
  if (numbers.size() > mostSizes || !llvm::all_of(numbers, isShort))
    return sizes;
  for (DimAttr number : numbers)
    sizes.push_back({number, 1, {{number, 1}}, {}, {}});
  return sizes;
}

/// A constant as a whole number over a power of two.
static std::optional<FloatSize> makeConstant(NodeImporter &n, double number) {
  int64_t divisor = 1;
  for (; divisor <= mostDivisor && number != std::trunc(number); divisor *= 2)
    number *= 2;
  if (divisor > mostDivisor || !(std::abs(number) <= double(mostNumerator)))
    return std::nullopt;
  return FloatSize{n.dim(int64_t(number)), divisor, {}, {}, {}};
}

FloatSizes getFloatSizes(NodeImporter &n, unsigned index) {
  const Entry &entry = n.getEntry(index);
  auto type = dyn_cast_or_null<RankedTensorType>(entry.type);
  if (entry.leastRank || !type || getWholeBits(type.getElementType()) == 0)
    return {};
  if (!entry.floatSizes.empty() || !entry.constant || entry.constant.getNumElements() > int64_t(mostSizes))
    return entry.floatSizes;
  FloatSizes sizes;
  for (double number : n.getConstantNumbers(index).value_or(SmallVector<double>())) {
    std::optional<FloatSize> size = makeConstant(n, number);
    if (!size)
      return {};
    sizes.push_back(*size);
  }
  return sizes;
}

/// Combines the conditions of both, and adds `numerator` / `divisor` as a step. Nullopt if both values are rounded: a
/// third and two thirds may not sum to 1.
static std::optional<FloatSize> join(const FloatSize &lhs, const FloatSize &rhs, DimAttr numerator, int64_t divisor) {
  if ((!lhs.isExact() && !rhs.isExact()) || divisor > mostDivisor || !isShort(numerator))
    return std::nullopt;
  FloatSize result = lhs;
  result.numerator = numerator;
  result.divisor = divisor;
  result.exact.append(rhs.exact);
  result.rounded.append(rhs.rounded);
  result.bounds.append(rhs.bounds);
  bool isExact = result.isExact() && llvm::isPowerOf2_64(divisor);
  (isExact ? result.exact : result.rounded).push_back({numerator, divisor});
  return result;
}

static std::optional<FloatSize> add(const FloatSize &lhs, const FloatSize &rhs, int64_t sign) {
  int64_t divisor = std::lcm(lhs.divisor, rhs.divisor);
  DimAttr right = rhs.numerator * (sign * (divisor / rhs.divisor));
  return join(lhs, rhs, lhs.numerator * (divisor / lhs.divisor) + right, divisor);
}

static std::optional<FloatSize> multiply(const FloatSize &lhs, const FloatSize &rhs) {
  // A value that is rounded already would get more error.
  if (!lhs.isExact() || !rhs.isExact())
    return std::nullopt;
  return join(lhs, rhs, lhs.numerator * rhs.numerator, lhs.divisor * rhs.divisor);
}

static std::optional<FloatSize> divide(const FloatSize &lhs, const FloatSize &rhs) {
  std::optional<int64_t> by = rhs.numerator.asConstant();
  if (!lhs.isExact() || !by || *by == 0 || std::abs(*by) > mostNumerator)
    return std::nullopt;
  // (a / b) / (by / d) is (a * d) / (b * by).
  DimAttr numerator = lhs.numerator * (*by < 0 ? -rhs.divisor : rhs.divisor);
  int64_t factor = std::abs(*by);
  if (DimAttr::mod(numerator, constantLike(numerator, factor)).asConstant() == 0)
    return join(lhs, rhs, DimAttr::floorDiv(numerator, constantLike(numerator, factor)), lhs.divisor);
  return join(lhs, rhs, numerator, lhs.divisor * factor);
}

/// `sizes` one by one, where one of the two may be a single element.
static FloatSizes combine(const FloatSizes &lhs, const FloatSizes &rhs, FloatFunction function) {
  FloatSizes results;
  if (lhs.empty() || rhs.empty() || (lhs.size() != rhs.size() && lhs.size() != 1 && rhs.size() != 1))
    return results;
  for (size_t i = 0; i < std::max(lhs.size(), rhs.size()); ++i) {
    const FloatSize &left = lhs[lhs.size() == 1 ? 0 : i], &right = rhs[rhs.size() == 1 ? 0 : i];
    std::optional<FloatSize> result = function == FloatFunction::add   ? add(left, right, 1)
                                      : function == FloatFunction::sub ? add(left, right, -1)
                                      : function == FloatFunction::mul ? multiply(left, right)
                                                                       : divide(left, right);
    if (!result)
      return {};
    results.push_back(std::move(*result));
  }
  return results;
}

static void setFloatSizes(NodeImporter &n, FloatSizes sizes) {
  if (!sizes.empty() && n.wantsOutput(0))
    n.model.lookup(n.proto.output(0)).floatSizes = std::move(sizes);
}

void followFloats(NodeImporter &n, FloatFunction function) {
  if (n.getNumInputs() != 2 || n.getEntry(0).leastRank || n.getEntry(1).leastRank || n.getTensorType(0).getRank() > 1 ||
      n.getTensorType(1).getRank() > 1)
    return;
  setFloatSizes(n, combine(getFloatSizes(n, 0), getFloatSizes(n, 1), function));
}

void followReshape(NodeImporter &n) { setFloatSizes(n, getFloatSizes(n, 0)); }

/// Adds the conditions under which the integer parts of `size`, a float of so many bits, are right. Each of k roundings
/// moves the value by less than |value| / 2^bits. Together they must move it by less than 1 / divisor, the least
/// distance of a fraction from an integer.
static void settle(FloatSize &size, int64_t bits) {
  int64_t whole = int64_t(1) << bits, roundings = size.rounded.size();
  for (const FloatSize::Step &step : size.exact)
    size.bounds.push_back({step.numerator, whole});
  for (const FloatSize::Step &step : size.rounded)
    size.bounds.push_back({step.numerator, (whole / roundings - 1) / (size.divisor / step.divisor)});
  size.exact.clear();
  size.rounded.clear();
}

/// Null where the whole number is no expression.
static DimAttr takeWhole(const FloatSize &size, WholeFunction function) {
  DimAttr divisor = constantLike(size.numerator, size.divisor);
  if (size.divisor == 1)
    return size.numerator;
  if (function == WholeFunction::round) // halves go to the even number
    return {};
  return function == WholeFunction::floor ? DimAttr::floorDiv(size.numerator, divisor)
                                          : DimAttr::ceilDiv(size.numerator, divisor);
}

void followWhole(NodeImporter &n, WholeFunction function) {
  FloatSizes sizes = getFloatSizes(n, 0);
  for (FloatSize &size : sizes) {
    DimAttr whole = takeWhole(size, function);
    if (!whole || !isShort(whole))
      return;
    settle(size, getWholeBits(n.getElementType(0)));
    size.numerator = whole;
    size.divisor = 1;
  }
  setFloatSizes(n, std::move(sizes));
}

/// Has the call check all bounds but those that others imply. False where one never holds, or is one that real sizes
/// break.
static bool require(NodeImporter &n, ArrayRef<FloatSize::Bound> bounds) {
  auto atLeast = [](DimAttr lhs, DimAttr rhs) { return Constraint{ConstraintKind::at_least, lhs, rhs}; };
  for (const FloatSize::Bound &bound : bounds)
    if (bound.most < leastBound || decide(atLeast(n.dim(bound.most), bound.number), SymbolRanges()) == false ||
        decide(atLeast(bound.number, n.dim(-bound.most)), SymbolRanges()) == false)
      return false;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const FloatSize::Bound &bound = bounds[i];
    auto covers = [](const FloatSize::Bound &lhs, const FloatSize::Bound &rhs, bool isAbove) {
      return lhs.most <= rhs.most && (isAbove ? rhs.number.isAtMost(lhs.number) : lhs.number.isAtMost(rhs.number));
    };
    // Of two that imply each other the first one counts.
    auto isImplied = [&](bool isAbove) {
      for (size_t j = 0; j < bounds.size(); ++j)
        if (j != i && covers(bounds[j], bound, isAbove) && (j < i || !covers(bound, bounds[j], isAbove)))
          return true;
      return false;
    };
    if (!isImplied(/*isAbove=*/true))
      n.require(ConstraintKind::at_least, n.dim(bound.most), bound.number);
    if (!isImplied(/*isAbove=*/false))
      n.require(ConstraintKind::at_least, bound.number, n.dim(-bound.most));
  }
  return true;
}

std::optional<Dims> castFloatSizes(NodeImporter &n) {
  FloatSizes sizes = getFloatSizes(n, 0);
  Dims numbers;
  SmallVector<FloatSize::Bound> bounds;
  for (FloatSize &size : sizes) {
    bool isAbove = size.divisor == 1 || isNotNegative(size.numerator);
    DimAttr number = isAbove ? takeWhole(size, WholeFunction::floor) : DimAttr();
    if (!number || !isShort(number))
      return std::nullopt;
    settle(size, getWholeBits(n.getElementType(0)));
    numbers.push_back(number);
    bounds.append(size.bounds);
  }
  return !numbers.empty() && require(n, bounds) ? std::optional(numbers) : std::nullopt;
}

std::optional<Dims> getWholeFloats(NodeImporter &n) {
  Dims numbers;
  SmallVector<FloatSize::Bound> bounds;
  for (unsigned index = 0; index < n.getNumInputs(); ++index) {
    FloatSizes sizes = getFloatSizes(n, index);
    if (sizes.size() != 1 || sizes[0].divisor != 1)
      return std::nullopt;
    sizes[0].exact.push_back({sizes[0].numerator, 1});
    settle(sizes[0], getWholeBits(n.getElementType(index)));
    numbers.push_back(sizes[0].numerator);
    bounds.append(sizes[0].bounds);
  }
  return require(n, bounds) ? std::optional(numbers) : std::nullopt;
}

} // namespace vx::onnx
