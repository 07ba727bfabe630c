// Weights in the order in which kernels read them.

#include "vx/Analysis/DerivableVariables.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// True for a constant or a variable that is taken for one, and for what only moves, rounds or scales its elements.
bool isWeight(Value value, const DerivableVariables &variables) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<ConstantOp>(op) || variables.isLoad(op))
      return true;
    if (!op->hasTrait<OpTrait::View>() && !isa<CastOp>(op) && !(isa<MulOp>(op) && variables.decide(op->getOperand(1))))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// True for a product of so many rows that a second operand of this size, packed anew by each tile of rows, is better
/// packed once by a kernel of its own.
bool repaysPacking(ContractOp op) {
  constexpr int64_t leastRows = 384, leastElements = 1 << 16;
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  if (!lhs.hasStaticShape() || !rhs.hasStaticShape() || !op.getLhsBatch().empty())
    return false;
  int64_t depth = std::max<int64_t>(rhs.getDimSize(op.getRhsContracting().front()), 1);
  return lhs.getNumElements() / depth >= leastRows && rhs.getNumElements() >= leastElements;
}

struct PackWeightsPass : impl::PackWeightsPassBase<PackWeightsPass> {
  using PackWeightsPassBase::PackWeightsPassBase;

  void runOnOperation() override {
    const DerivableVariables variables(getOperation());
    getOperation().walk([&](ContractOp op) {
      if (tileBytes == 0 || !op.getRhsBatch().empty() || op.getRhs().getType().getRank() != 2 ||
          op.getRhsContracting().size() != 1)
        return;
      int64_t k = op.getRhsContracting().front();
      if (isWeight(op.getRhs(), variables) || repaysPacking(op))
        pack(op.getRhsMutable(), 1 - k, {1 - k, k});
    });
    getOperation().walk([&](ConvOp op) {
      if (!op.getChannelsLast() || (op.getGroups() != 1 && tileBytes == 0))
        return;
      SmallVector<int64_t> permutation = {0};
      for (int64_t d = 2; d < op.getFilter().getType().getRank(); ++d)
        permutation.push_back(d);
      permutation.push_back(1);
      if (isWeight(op.getFilter(), variables))
        pack(op.getFilterMutable(), 0, permutation, op.getGroups());
    });
  }

  /// Packs a weight whose columns, along `dim`, belong to `groups` of equal size.
  void pack(OpOperand &operand, int64_t dim, ArrayRef<int64_t> permutation, int64_t groups = 1) {
    Value weight = operand.get();
    auto type = cast<RankedTensorType>(weight.getType());
    Type sum = getElementTypeOrSelf(operand.getOwner()->getResult(0).getType());
    bool isSummed = isa<FloatType>(sum) || (tileBytes != 0 && sum.isInteger(32));
    if (!type.hasStaticShape() || type.getNumElements() == 0 || !isSummed)
      return;
    int64_t tile = std::max<int64_t>(1, tileBytes * 8 / type.getElementTypeBitWidth());
    // A product's vectors begin with a group. Where some would reach into a second tile, one tile has all columns, and
    // so many more that the last vector ends inside of it.
    int64_t columns = type.getDimSize(dim), ofGroup = columns / groups;
    bool isDepthwise = ofGroup == 1 && type.getDimSize(1) == 1;
    if (groups > 1 && ofGroup % tile != 0 && !isDepthwise)
      tile = llvm::alignTo(columns, tile) + tile;
    // Used by several ops: packed once, since the copies are equal and CSE finds them.
    OpBuilder builder(operand.getOwner());
    Location loc = operand.getOwner()->getLoc();
    Value packed = PackOp::create(builder, loc, weight, dim, tile, permutation);
    operand.set(UnpackOp::create(builder, loc, type, packed, dim, permutation));
  }
};

} // namespace
} // namespace vx
