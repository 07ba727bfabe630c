// How long convolutions take on a CPU with their channels first, in plain loops whose vectors run along the rows, and
// with their channels last, in the loops of products. The numbers were fitted to 139 random convolutions, one thread of
// a CPU with AVX-512 (nodes of test/corpus, scripts/bench-nodes); only their ratios count.
#include "CPUTargetImpl.h"
#include "vx/Analysis/PlannedSize.h"

using namespace mlir;

namespace vx::cpu {

namespace {

constexpr int64_t vectorBytes = 64;

int64_t countLanes(Type element) {
  int64_t bytes = std::max<int64_t>(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8), 1);
  return std::max<int64_t>(vectorBytes / bytes, 1);
}

} // namespace

std::optional<LayoutTimes> estimateLayouts(ConvOp conv) {
  RankedTensorType filter = conv.getFilter().getType(), result = conv.getResult().getType();
  int64_t rank = result.getRank(), groups = static_cast<int64_t>(conv.getGroups());
  if (conv.getChannelsLast() || rank < 3 || !filter.hasStaticShape() || filter.getNumElements() == 0)
    return std::nullopt;
  const SymbolRanges ranges(conv->getParentOfType<ModuleOp>());
  int64_t lanes = countLanes(result.getElementType()), filters = filter.getDimSize(0);
  auto vectorsOf = [&](int64_t elements) { return static_cast<double>(llvm::divideCeil(elements, lanes)); };
  double places = 1; // of the output, without its last dimension
  for (int64_t d = 0; d + 1 < rank; ++d)
    if (d != 1)
      places *= static_cast<double>(getPlannedSize(ranges, result, d));
  int64_t width = getPlannedSize(ranges, result, rank - 1);
  int64_t depth = filter.getNumElements() / filters; // products of a sum

  // A vector of neighbours in a row of the input for each product: loaded whole, shuffled from two, or gathered.
  constexpr double whole = 0.5, wholeOfMany = 0.7, shuffled = 2.2, gathered = 2.8, ofElement = 0.05;
  constexpr int64_t manyChannels = 16; // more rows of the input than are near
  int64_t stride = conv.getStrides().back();
  double load = stride == 2 ? shuffled : gathered;
  if (stride == 1)
    load = filter.getDimSize(1) < manyChannels ? whole : wholeOfMany;
  double rows = places * static_cast<double>(filters);
  double first = rows * (vectorsOf(width) * static_cast<double>(depth) * load + static_cast<double>(width) * ofElement);

  // A vector of filters for each product; `start` is what a place costs without them.
  double last = places * static_cast<double>(width);
  if (isDepthwise(conv)) {
    constexpr double start = 2, product = 0.25;
    last *= vectorsOf(filters) * (start + static_cast<double>(depth) * product);
  } else {
    // Factors of groups are read channel by channel: few of them repay no copy.
    constexpr double start = 3, product = 0.27, ofBytes = 0.08, ofGroup = 0.35, ofRead = 1.3;
    double each = groups > 1             ? std::max(ofGroup, ofRead / static_cast<double>(filter.getDimSize(1)))
                  : hasByteFactors(conv) ? ofBytes
                                         : product;
    double ofPlace = start + vectorsOf(filters / groups) * static_cast<double>(depth) * each;
    // Bytes of a window are copied for each place of the filter.
    constexpr double ofCopy = 1;
    if (int64_t window = depth / filter.getDimSize(1); hasByteFactors(conv) && window > 1)
      ofPlace += static_cast<double>(window) * ofCopy;
    last *= static_cast<double>(groups) * ofPlace;
  }
  return LayoutTimes{first, last};
}

double estimateMove(Value tensor) {
  constexpr double ofElement = 0.2, ofByte = 0.04;
  auto type = llvm::cast<RankedTensorType>(tensor.getType());
  const SymbolRanges ranges(tensor.getParentRegion()->getParentOfType<ModuleOp>());
  double elements = 1;
  for (int64_t d = 0; d < type.getRank(); ++d)
    elements *= static_cast<double>(getPlannedSize(ranges, type, d));
  return elements * (ofElement + ofByte * type.getElementTypeBitWidth() / 8);
}

} // namespace vx::cpu
