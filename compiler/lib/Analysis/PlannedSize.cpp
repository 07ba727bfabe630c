#include "vx/Analysis/PlannedSize.h"

using namespace mlir;

namespace vx {

int64_t getPlannedSize(const SymbolRanges &ranges, RankedTensorType type, int64_t dim, int64_t guess) {
  if (!type.isDynamicDim(dim))
    return std::max<int64_t>(1, type.getDimSize(dim));
  DimAttr size = getDim(type, dim);
  if (!size)
    return guess;
  auto evaluate = [&](int64_t SymbolRange::*end) {
    return size.evaluate([&](StringRef name) -> std::optional<int64_t> {
      return ranges.lookup(StringAttr::get(type.getContext(), name)).*end;
    });
  };
  // The ends of the symbols' ranges give those of the size where it grows with all of them.
  std::optional<int64_t> least = evaluate(&SymbolRange::min), most = evaluate(&SymbolRange::max);
  auto isBound = [&](DimAttr difference) { return isNeverNegative(difference, ranges); };
  if (least && *least > guess && isBound(DimAttr::sub(size, DimAttr::constant(type.getContext(), *least))))
    return *least;
  if (most && *most < guess && isBound(DimAttr::sub(DimAttr::constant(type.getContext(), *most), size)))
    return std::max<int64_t>(1, *most);
  return guess;
}

bool isProductOfSymbols(RankedTensorType type, int64_t dim) {
  DimAttr size = type.isDynamicDim(dim) ? getDim(type, dim) : DimAttr();
  if (!size || size.getKind() != DimKind::Product)
    return false;
  llvm::SetVector<StringAttr> symbols;
  size.collectSymbols(symbols);
  return symbols.size() > 1;
}

} // namespace vx
