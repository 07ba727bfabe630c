#include "DimMath.h"

#include "ImportError.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx::onnx {

/// Real models stay below 20.
static constexpr int64_t maxExpressionNodes = 256;
/// Of the number of a tensor's elements.
static constexpr int64_t maxCountTerms = 4 * maxExpressionNodes;

int64_t countNodes(DimAttr dim, int64_t limit) {
  int64_t count = 1;
  for (DimAttr operand : dim.getOperands()) {
    if (count > limit)
      break;
    count += countNodes(operand, limit - count);
  }
  return count;
}

/// The message counts no further.
static constexpr int64_t mostCounted = 1 << 16;
static constexpr size_t mostNamed = 3;

static void checkExpression(DimAttr dim, const Twine &what) {
  if (countNodes(dim, maxExpressionNodes) <= maxExpressionNodes)
    return;
  SetVector<StringAttr> symbols;
  dim.collectSymbols(symbols);
  std::string names;
  for (StringAttr symbol : ArrayRef(symbols.getArrayRef()).take_front(mostNamed))
    names += (names.empty() ? "'" : ", '") + symbol.getValue().str() + "'";
  if (symbols.size() > mostNamed)
    names += " and " + std::to_string(symbols.size() - mostNamed) + " more";
  const int64_t count = countNodes(dim, mostCounted);
  throwTooLong("expects sizes whose expressions have at most " + Twine(maxExpressionNodes) +
               " names, numbers and operations together, got " + (count > mostCounted ? "more than " : "") +
               Twine(std::min(count, mostCounted)) + " in " + what + ", which is made of " + names);
}

static int64_t countTerms(DimAttr dim) { return dim.getKind() == DimKind::Sum ? dim.getOperands().size() : 1; }

static DimAttr checked(DimAttr dim) {
  checkExpression(dim, "a size");
  return dim;
}

DimAttr addDims(DimAttr lhs, DimAttr rhs) { return checked(lhs + rhs); }
DimAttr subDims(DimAttr lhs, DimAttr rhs) { return checked(lhs - rhs); }
DimAttr mulDims(DimAttr lhs, DimAttr rhs) { return checked(lhs * rhs); }
DimAttr floorDivDims(DimAttr lhs, DimAttr rhs) { return checked(DimAttr::floorDiv(lhs, rhs)); }
DimAttr ceilDivDims(DimAttr lhs, DimAttr rhs) { return checked(DimAttr::ceilDiv(lhs, rhs)); }
DimAttr modDims(DimAttr lhs, DimAttr rhs) { return checked(DimAttr::mod(lhs, rhs)); }
DimAttr maxDims(DimAttr lhs, DimAttr rhs) { return checked(DimAttr::max(lhs, rhs)); }
DimAttr minDims(DimAttr lhs, DimAttr rhs) { return checked(DimAttr::min(lhs, rhs)); }

DimAttr productOf(MLIRContext *context, ArrayRef<DimAttr> dims) {
  DimAttr product = DimAttr::constant(context, 1);
  for (DimAttr dim : dims)
    product = mulDims(product, dim);
  return product;
}

bool namesAnyOf(DimAttr dim, const llvm::StringSet<> &names) {
  SetVector<StringAttr> symbols;
  dim.collectSymbols(symbols);
  return llvm::any_of(symbols, [&](StringAttr symbol) { return names.contains(symbol.getValue()); });
}

bool isNotNegative(DimAttr dim) { return DimAttr::constant(dim.getContext(), 0).isAtMost(dim); }
bool isLess(DimAttr lhs, DimAttr rhs) { return (lhs + 1).isAtMost(rhs); }

std::optional<bool> areEqual(DimAttr lhs, DimAttr rhs) {
  if (lhs == rhs)
    return true;
  if (!mayBeEqual(lhs, rhs) || isLess(lhs, rhs) || isLess(rhs, lhs))
    return false;
  return std::nullopt;
}

void checkTensorSizes(ArrayRef<DimAttr> dims) {
  for (auto [index, dim] : llvm::enumerate(dims))
    if (std::optional<int64_t> size = dim ? dim.asConstant() : std::nullopt; size && *size < 0)
      throwInvalid("expects sizes of at least 0, got " + Twine(*size) + " as dimension " + Twine(index));
  if (static_cast<int64_t>(dims.size()) > maxRank)
    throwUnsupported(Advice::SplitModel,
                     "expects tensors of at most " + Twine(maxRank) + " dimensions, got " + Twine(dims.size()));
  int64_t elements = 1, terms = 1;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (!dim)
      throwInvalid("expects sizes of at least 0, got a negative dimension " + Twine(index));
    checkExpression(dim, "dimension " + Twine(index));
    // The element count of a tensor is the product of its sizes: keep that writable too.
    terms *= countTerms(dim);
    if (terms > maxCountTerms)
      throwTooLong("expects tensors whose sizes have a product of at most " + Twine(maxCountTerms) + " terms, got " +
                   Twine(terms) + " with dimension " + Twine(index));
    std::optional<int64_t> size = dim.asConstant();
    if (size && *size > 0 && llvm::MulOverflow(elements, *size, elements))
      elements = maxElements + 1;
    if (elements > maxElements)
      throwInvalid("expects tensors of at most " + Twine(maxElements) + " elements, got more in dimension " +
                   Twine(index));
  }
}

RankedTensorType makeTensorType(ArrayRef<DimAttr> dims, Type elementType) {
  checkTensorSizes(dims);
  return getTensorType(dims, elementType);
}

} // namespace vx::onnx
