// Which families of strategies a GPU has for a product, and how long each takes.
#include "ProductShapes.h"
#include "vx/Analysis/PlannedSize.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Codegen/GPU.h"

using namespace mlir;

namespace vx {

SmallVector<int64_t> getFreeDims(ContractOp op, int64_t operand) {
  ArrayRef<int64_t> batch = operand == 0 ? op.getLhsBatch() : op.getRhsBatch();
  ArrayRef<int64_t> contracting = operand == 0 ? op.getLhsContracting() : op.getRhsContracting();
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < typeOf(op->getOperand(operand)).getRank(); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracting, d))
      dims.push_back(d);
  return dims;
}

int64_t getFiltersOfGroup(ConvOp op) {
  RankedTensorType filter = op.getFilter().getType();
  return filter.isDynamicDim(0) ? 1 : filter.getDimSize(0) / static_cast<int64_t>(op.getGroups());
}

std::optional<int64_t> findMatrix(ContractOp op) {
  auto isVector = [&](int64_t operand) {
    RankedTensorType type = typeOf(op->getOperand(operand));
    return llvm::all_of(getFreeDims(op, operand),
                        [&](int64_t d) { return !type.isDynamicDim(d) && type.getDimSize(d) == 1; });
  };
  if (op.getLhsContracting().empty())
    return std::nullopt;
  return isVector(0) ? std::optional<int64_t>(1) : isVector(1) ? std::optional<int64_t>(0) : std::nullopt;
}

namespace {

/// Nanoseconds of one product in a busy GPU, by multiply-adders and by fragments, and of one byte that is moved from
/// one layout to the other. Only their ratios count.
constexpr double kProductTime = 4e-5, kFragmentTime = 5e-6, kByteTime = 1e-3;

/// True where the target has fragments for the factors, and the result's rows and columns do not leave most of a
/// fragment empty.
bool fitsFragments(Value factor, std::optional<Type> products, double rows, double columns, const TargetSpec &spec) {
  constexpr double kFew = 8;
  return std::min(rows, columns) >= kFew &&
         spec.matrixUnit.depthOf(products.value_or(getElementTypeOrSelf(factor.getType()))) != 0;
}

/// True for factors of which fragments or words of four bytes read neighbouring channels together.
bool readsChannelsTogether(ConvOp op, const TargetSpec &spec) {
  constexpr int64_t kTogether = 8;
  RankedTensorType filter = op.getFilter().getType();
  if (spec.matrixUnit.depths.empty() || filter.isDynamicDim(1) || filter.getDimSize(1) % kTogether != 0)
    return false;
  Type factors = op.getFactors().value_or(getElementTypeOrSelf(op.getInput().getType()));
  return spec.matrixUnit.depthOf(factors) != 0 || (spec.hasByteDots && factors.isUnsignedInteger(8));
}

SmallVector<ProductCandidate> chooseForConvolution(ConvOp op, const ProductFacts &facts, const TargetSpec &spec) {
  MLIRContext *context = op.getContext();
  RankedTensorType result = op.getResult().getType();
  double places = 1;
  for (int64_t d = 0; d < result.getRank() - 2; ++d)
    places *= static_cast<double>(getPlannedSize(facts.ranges, result, op.getSpatialDim(d)));
  const int64_t filtersOfGroup = getFiltersOfGroup(op);
  const double products = countProducts(op, facts.ranges);
  // So many products keep a GPU as busy as the barriers of tiles let it be.
  constexpr double kFewProducts = 6e6;
  const bool hasGroups = op.getGroups() != 1;
  const bool isLoops = hasGroups && (filtersOfGroup % kGroupTile != 0 || products < kFewProducts);
  const bool hasWholeFragments = !hasGroups || filtersOfGroup % MatrixUnit::columns == 0;
  const auto filters = hasGroups ? static_cast<double>(filtersOfGroup)
                                 : static_cast<double>(getPlannedSize(facts.ranges, result, op.getChannelDim()));
  const bool isFragments = hasWholeFragments && fitsFragments(op.getInput(), op.getFactors(), filters, places, spec);
  const double time = products * (isFragments ? kFragmentTime : kProductTime);
  SmallVector<ProductCandidate> candidates;
  auto add = [&](bool channelsLast, double nanoseconds) {
    if (isLoops) {
      candidates.push_back(inLoops(context, LoopsReason::groups, nanoseconds, channelsLast));
      return;
    }
    const bool isPacked = channelsLast && !spec.matrixUnit.depths.empty() && (facts.isWeight || facts.isLowBit);
    candidates.push_back(
        {ProductAttr::get(context, isFragments ? ProductFamily::mma : ProductFamily::tiled_product, LoopsReason::none,
                          channelsLast, isPacked, /*neighbours=*/1, /*prologue=*/-1),
         nanoseconds});
  };
  // Channels that are read one by one come through registers, which no asynchronous copy needs. Those that are not read
  // together anyway are read as fast in either layout.
  constexpr double kAlone = 4;
  if (!spec.matrixUnit.depths.empty() || op.getChannelsLast())
    add(/*channelsLast=*/true, time);
  if (!op.getChannelsLast())
    add(/*channelsLast=*/false, readsChannelsTogether(op, spec) ? kAlone * time : time);
  return candidates;
}

SmallVector<ProductCandidate> chooseForContraction(ContractOp op, const ProductFacts &facts, const TargetSpec &spec) {
  MLIRContext *context = op.getContext();
  const ContractSizes sizes(op, facts.ranges);
  auto inFamily = [&](ProductFamily family, double time, int64_t prologue = -1) -> SmallVector<ProductCandidate> {
    return {{ProductAttr::get(context, family, LoopsReason::none, /*channelsLast=*/false, /*packed=*/false,
                              /*neighbours=*/1, prologue),
             sizes.products() * time}};
  };
  // Each element of the matrix is read once, so that the kernel may compute it.
  if (std::optional<int64_t> matrix = findMatrix(op))
    return inFamily(ProductFamily::rows, kProductTime, *matrix);
  if (sizes.freeRows == 0 || sizes.freeColumns == 0)
    return {inLoops(context, LoopsReason::narrow, sizes.products() * kProductTime)};
  return fitsFragments(op.getLhs(), op.getFactors(), sizes.rows, sizes.columns, spec)
             ? inFamily(ProductFamily::mma, kFragmentTime)
             : inFamily(ProductFamily::tiled_product, kProductTime);
}

} // namespace

SmallVector<ProductCandidate> chooseGPUProduct(Operation *product, const ProductFacts &facts, const TargetSpec &spec) {
  if (auto contract = dyn_cast<ContractOp>(product))
    return chooseForContraction(contract, facts, spec);
  return chooseForConvolution(cast<ConvOp>(product), facts, spec);
}

double estimateGPUMove(Value tensor) {
  const SymbolRanges ranges(tensor.getParentRegion()->getParentOfType<ModuleOp>());
  RankedTensorType type = typeOf(tensor);
  double bytes = type.getElementTypeBitWidth() / 8.0;
  for (int64_t d = 0; d < type.getRank(); ++d)
    bytes *= static_cast<double>(getPlannedSize(ranges, type, d));
  return bytes * kByteTime;
}

} // namespace vx
