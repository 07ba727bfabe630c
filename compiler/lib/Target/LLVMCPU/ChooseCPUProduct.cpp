// The families of strategies for a product on a CPU, and how long each takes. The numbers of convolutions were fitted
// to 139 random ones, one thread of a CPU with AVX-512 (nodes of test/corpus, scripts/bench-nodes), those of
// contractions to products of 1 to 16 rows; only their ratios count.
#include "CPUTargetImpl.h"
#include "vx/Analysis/PlannedSize.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace vx::cpu {

namespace {

constexpr int64_t vectorBytes = 64;

int64_t countLanes(Type element) {
  int64_t bytes = std::max<int64_t>(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8), 1);
  return std::max<int64_t>(vectorBytes / bytes, 1);
}

/// True for sums that packed loops can hold.
bool hasSumsOfProducts(Operation *product) {
  Type element = getElementTypeOrSelf(product->getResult(0).getType());
  return isa<FloatType>(element) || element.isInteger(32);
}

ProductCandidate inFamily(MLIRContext *context, ProductFamily family, double nanoseconds, bool channelsLast,
                          bool isPacked, int64_t neighbours) {
  return {ProductAttr::get(context, family, LoopsReason::none, channelsLast, isPacked, isPacked ? neighbours : 1,
                           /*prologue=*/-1),
          nanoseconds};
}

/// Nanoseconds of a convolution with its channels first, in plain loops whose vectors run along the rows: a vector of
/// neighbours in a row of the input for each product, loaded whole, shuffled from two, or gathered.
double estimateRows(ConvOp conv, const SymbolRanges &ranges) {
  constexpr double whole = 0.5, wholeOfMany = 0.7, shuffled = 2.2, gathered = 2.8, ofElement = 0.05;
  constexpr int64_t manyChannels = 16; // more rows of the input than are near
  RankedTensorType filter = conv.getFilter().getType(), result = conv.getResult().getType();
  int64_t stride = conv.getStrides().back();
  double load = stride == 2 ? shuffled : gathered;
  if (stride == 1)
    load = filter.getDimSize(1) < manyChannels ? whole : wholeOfMany;
  const int64_t last = result.getRank() - 1, width = getPlannedSize(ranges, result, last);
  const double products = countProducts(conv, ranges), elements = [&] {
    double count = 1;
    for (int64_t d = 0; d <= last; ++d)
      count *= static_cast<double>(getPlannedSize(ranges, result, d));
    return count;
  }();
  const auto vectors = static_cast<double>(llvm::divideCeil(width, countLanes(result.getElementType())));
  return products / static_cast<double>(width) * vectors * load + elements * ofElement;
}

/// Nanoseconds with its channels last: a vector of filters for each product. `start` is what a place costs without
/// them.
double estimateFilters(ConvOp conv, const SymbolRanges &ranges) {
  RankedTensorType filter = conv.getFilter().getType(), result = conv.getResult().getType();
  const int64_t groups = static_cast<int64_t>(conv.getGroups()), filters = filter.getDimSize(0);
  const int64_t depth = filter.getNumElements() / filters; // products of a sum
  const double places = countProducts(conv, ranges) / static_cast<double>(filter.getNumElements());
  auto vectorsOf = [&](int64_t elements) {
    return static_cast<double>(llvm::divideCeil(elements, countLanes(result.getElementType())));
  };
  if (isDepthwise(conv)) {
    constexpr double start = 2, product = 0.25;
    return places * vectorsOf(filters) * (start + static_cast<double>(depth) * product);
  }
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
  return places * static_cast<double>(groups) * ofPlace;
}

SmallVector<ProductCandidate> chooseConvolution(ConvOp conv, const ProductFacts &facts) {
  MLIRContext *context = conv.getContext();
  RankedTensorType filter = conv.getFilter().getType();
  const auto groups = static_cast<int64_t>(conv.getGroups());
  if (!hasSumsOfProducts(conv))
    return {inLoops(context, LoopsReason::elements, /*nanoseconds=*/0, conv.getChannelsLast())};
  if (groups != 1 && (filter.isDynamicDim(0) || filter.getDimSize(0) < groups))
    return {inLoops(context, LoopsReason::sizes, /*nanoseconds=*/0, /*channelsLast=*/true)};
  const bool isKnown = filter.hasStaticShape() && filter.getNumElements() > 0, depthwise = isDepthwise(conv);
  // A filter of the call is packed in it where many places of the result read it.
  constexpr double leastPlaces = 256;
  const bool repaysPacking = isKnown && countProducts(conv, facts.ranges) / filter.getNumElements() >= leastPlaces;
  const bool isPacked = facts.isWeight || (groups == 1 && (facts.isLowBit || repaysPacking));
  SmallVector<ProductCandidate> candidates = {
      inFamily(context, depthwise ? ProductFamily::cpu_depthwise : ProductFamily::cpu_product,
               isKnown ? estimateFilters(conv, facts.ranges) : 0, /*channelsLast=*/true, isPacked,
               hasByteFactors(conv) && !depthwise ? 4 : 1)};
  // Estimates are no more exact than this, and packed loops stay near theirs.
  constexpr double exactness = 0.9;
  if (isKnown && !conv.getChannelsLast())
    candidates.push_back(inLoops(context, LoopsReason::layout, estimateRows(conv, facts.ranges) / exactness));
  return candidates;
}

/// True for a product of so many rows that a second factor of this size, packed anew by each tile of rows, is better
/// packed once by a kernel of its own.
bool repaysPacking(ContractOp op) {
  constexpr int64_t leastRows = 384, leastElements = 1 << 16;
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  if (!lhs.hasStaticShape() || !rhs.hasStaticShape() || !op.getLhsBatch().empty() || rhs.getNumElements() == 0)
    return false;
  int64_t depth = std::max<int64_t>(rhs.getDimSize(op.getRhsContracting().front()), 1);
  return lhs.getNumElements() / depth >= leastRows && rhs.getNumElements() >= leastElements;
}

SmallVector<ProductCandidate> chooseContraction(ContractOp op, const ProductFacts &facts) {
  MLIRContext *context = op.getContext();
  auto loops = [&](LoopsReason reason) { return SmallVector<ProductCandidate>{inLoops(context, reason, 0)}; };
  if (!hasSumsOfProducts(op))
    return loops(LoopsReason::elements);
  const ContractSizes sizes(op, facts.ranges);
  const auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  const auto summed = static_cast<int64_t>(op.getRhsContracting().size());
  if (sizes.freeRows == 0 || sizes.freeColumns == 0)
    return loops(LoopsReason::narrow);
  const bool isMatrix = rhs.getRank() == 2, isPackable = op.getRhsBatch().empty() && summed > 0;
  const bool isPacked =
      isPackable && sizes.freeColumns == 1 && (facts.isLowBit || (isMatrix && (facts.isWeight || repaysPacking(op))));
  if (sizes.freeColumns != 1 || (!isPacked && summed != 1))
    return loops(LoopsReason::dimensions);
  // Packed loops multiply a vector of columns at a time. A factor that is not packed before is packed by each tile of
  // rows: copied, or transposed where its columns are rows of memory. Plain loops read such columns a vector at a time,
  // and once for each row, where the rows of the other factor are rows of memory, too.
  constexpr double ofColumns = 0.37, copied = 0.15, transposed = 0.12, rowTile = 132;
  const auto lanes = static_cast<double>(countLanes(getElementTypeOrSelf(op.getType())));
  const bool isTransposed = op.getRhsContracting().front() == rhs.getRank() - 1;
  double packed = sizes.rows * std::ceil(sizes.columns / lanes) * sizes.depth * ofColumns;
  if (!isPacked)
    packed += sizes.columns * sizes.depth * std::ceil(sizes.rows / rowTile) * (isTransposed ? transposed : copied);
  SmallVector<ProductCandidate> candidates = {inFamily(context, ProductFamily::cpu_product, sizes.batch * packed,
                                                       /*channelsLast=*/false, isPacked, hasByteFactors(op) ? 4 : 1)};
  // Plain loops add the products of a sum in another order than packed loops. Beyond 8 rows the rows are often those of
  // joined requests, and a request must get the same bits in a batch of any size.
  constexpr double mostRows = 8;
  const bool readsVectors = op.getLhsContracting().front() == typeOf(op.getLhs()).getRank() - 1 || sizes.rows == 1;
  if (!isPacked && isTransposed && readsVectors && sizes.rows <= mostRows) {
    // Sums that end within a vector have a mask.
    constexpr double ofSum = 6, ofWhole = 1.1, ofMasked = 3.2;
    const double ofDepth = std::fmod(sizes.depth, lanes) == 0 ? ofWhole : ofMasked;
    const double ofElement = ofSum + std::ceil(sizes.depth / lanes) * ofDepth;
    candidates.push_back(inLoops(context, LoopsReason::narrow, sizes.batch * sizes.rows * sizes.columns * ofElement));
  }
  return candidates;
}

} // namespace

SmallVector<ProductCandidate> chooseProduct(Operation *product, const ProductFacts &facts) {
  return llvm::TypeSwitch<Operation *, SmallVector<ProductCandidate>>(product)
      .Case([&](ContractOp op) { return chooseContraction(op, facts); })
      .Case([&](ConvOp op) { return chooseConvolution(op, facts); })
      .Case([&](ConvFilterOp op) -> SmallVector<ProductCandidate> {
        return {inFamily(op.getContext(), ProductFamily::cpu_product, 0, /*channelsLast=*/true, /*isPacked=*/false, 1)};
      });
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
