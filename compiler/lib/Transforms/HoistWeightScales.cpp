// Scales of weights of few bits, applied to sums instead of weights.

#include "vx/Analysis/LowBitWeights.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_HOISTWEIGHTSCALESPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// The place in a contraction's result of each dimension of its right factor; none for those that are summed.
SmallVector<std::optional<int64_t>> findPlacesOfRhs(ContractOp op) {
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  SmallVector<std::optional<int64_t>> places(rhs.getRank());
  for (auto [place, dim] : llvm::enumerate(op.getRhsBatch()))
    places[dim] = place;
  const int64_t rank = cast<RankedTensorType>(op.getResult().getType()).getRank();
  const int64_t free = rhs.getRank() - op.getRhsBatch().size() - op.getRhsContracting().size();
  int64_t next = rank - free;
  for (int64_t dim = 0; dim < rhs.getRank(); ++dim)
    if (!llvm::is_contained(op.getRhsBatch(), dim) && !llvm::is_contained(op.getRhsContracting(), dim))
      places[dim] = next++;
  return places;
}

/// The numbers of `scale`, which has the shape of the right factor, repeated to the shape of the result; null where
/// they differ along a dimension that is summed.
Value spreadOverResult(GraphBuilder &g, ContractOp op, Value scale) {
  auto result = cast<RankedTensorType>(op.getResult().getType());
  if (Attribute number = getSplatNumber(scale))
    return g.broadcastInDim(
        g.emitConstant(DenseElementsAttr::get(RankedTensorType::get({}, result.getElementType()), number)),
        getDims(result), {});
  auto broadcast = scale.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  const SmallVector<std::optional<int64_t>> places = findPlacesOfRhs(op);
  auto numbers = cast<RankedTensorType>(broadcast.getInput().getType());
  SmallVector<DimAttr> dims;
  SmallVector<int64_t> dimensions;
  for (auto [size, dim, symbolic] : llvm::zip(numbers.getShape(), broadcast.getDimensions(), getDims(numbers))) {
    if (size == 1)
      continue;
    if (!places[dim] || (!dimensions.empty() && *places[dim] <= dimensions.back()))
      return {};
    dims.push_back(symbolic);
    dimensions.push_back(*places[dim]);
  }
  return g.broadcastInDim(g.reshape(broadcast.getInput(), dims), getDims(result), dimensions);
}

LogicalResult hoistScale(ContractOp op) {
  auto times = op.getRhs().getDefiningOp<MulOp>();
  if (!times || !getElementTypeOrSelf(op.getResult().getType()).isF32() ||
      !getElementTypeOrSelf(op.getRhs().getType()).isF32())
    return success();
  for (auto [weight, scale] : {std::pair(times.getLhs(), times.getRhs()), std::pair(times.getRhs(), times.getLhs())}) {
    if (!decodesLowBits(weight) || decodesLowBits(scale))
      continue;
    OpBuilder builder(op);
    GraphBuilder g(builder, op.getLoc());
    Value spread = spreadOverResult(g, op, scale);
    if (g.hasRefused())
      return failure();
    if (!spread)
      continue;
    Value sums = g.emit<ContractOp>(op.getLhs(), weight, op.getLhsBatch(), op.getRhsBatch(), op.getLhsContracting(),
                                    op.getRhsContracting(), op.getSumsAttr(), op.getFactorsAttr());
    Value result = sums ? g.emit<MulOp>(sums, spread) : Value();
    if (g.hasRefused())
      return failure();
    op.getResult().replaceAllUsesWith(result);
    op.erase();
    return success();
  }
  return success();
}

struct HoistWeightScalesPass : impl::HoistWeightScalesPassBase<HoistWeightScalesPass> {
  using HoistWeightScalesPassBase::HoistWeightScalesPassBase;

  void runOnOperation() override {
    if (strictMath)
      return;
    SmallVector<ContractOp> products;
    getOperation().walk([&](ContractOp op) { products.push_back(op); });
    for (ContractOp op : products)
      if (failed(hoistScale(op)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx
