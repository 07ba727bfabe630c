// Products of weights whose blocks along the sum have scales or zero points of their own.

#include "vx/Analysis/LowBitWeights.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPLITWEIGHTBLOCKSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// How many blocks have a number in common, where the numbers of blocks are computed from numbers of groups of them;
/// else 1.
int64_t countGroupedBlocks(Value factor, int64_t dim, int64_t blocks) {
  int64_t grouped = 1;
  SetVector<Operation *> visited;
  visited.insert(factor.getDefiningOp());
  for (size_t next = 0; next < visited.size(); ++next) {
    Operation *op = visited[next];
    if (auto reshape = dyn_cast_if_present<ReshapeOp>(op)) {
      // [..., groups, blocks of one] -> [..., blocks]
      auto from = cast<RankedTensorType>(reshape.getInput().getType()), to = reshape.getType();
      auto numbers = reshape.getInput().getDefiningOp<MulOp>();
      if (numbers && decodesLowBits(numbers.getResult()) && to.getRank() == dim + 1 && from.getRank() == dim + 2 &&
          to.getDimSize(dim) == blocks && from.getShape().take_front(dim) == to.getShape().take_front(dim))
        grouped = from.getDimSize(dim + 1);
      visited.insert(reshape.getInput().getDefiningOp());
    } else if (auto broadcast = dyn_cast_if_present<BroadcastOp>(op)) {
      visited.insert(broadcast.getInput().getDefiningOp());
    } else if (op && op->hasTrait<OpTrait::Elementwise>()) {
      for (Value operand : op->getOperands())
        visited.insert(operand.getDefiningOp());
    }
  }
  return grouped;
}

/// A weight whose dimension is split into its blocks, or groups of blocks, and the places of one.
struct SplitWeight {
  Value weight;
  SmallVector<int64_t> sizes; // of what the dimension was split into
};

std::optional<SplitWeight> splitWeight(GraphBuilder &g, Value value, int64_t dim, const DerivableVariables &variables) {
  std::optional<LowBitWeight> weight = LowBitWeight::find(value, variables);
  const int64_t block = weight ? weight->findBlock(dim).value_or(0) : 0;
  if (block == 0)
    return std::nullopt;
  const int64_t blocks = weight->getIntegers().getType().getDimSize(dim) / block;
  const int64_t grouped = countGroupedBlocks(value, dim, blocks);
  SplitWeight split;
  split.sizes = {blocks, block};
  if (grouped > 1)
    split.sizes = {blocks / grouped, grouped, block};
  split.weight = weight->split(g, dim, split.sizes);
  return split;
}

LogicalResult splitBlocks(ContractOp op, const DerivableVariables &variables, bool strictMath) {
  if (op.getRhsContracting().size() != 1)
    return success();
  int64_t lhsDim = op.getLhsContracting().front(), rhsDim = op.getRhsContracting().front();
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  std::optional<SplitWeight> rhs = splitWeight(g, op.getRhs(), rhsDim, variables);
  if (!rhs)
    return success();
  const int64_t more = static_cast<int64_t>(rhs->sizes.size()) - 1;
  auto shift = [&](ArrayRef<int64_t> dims, int64_t behind) {
    return llvm::map_to_vector(dims, [&](int64_t d) { return d > behind ? d + more : d; });
  };
  Value lhs = splitDim(g, op.getLhs(), lhsDim, rhs->sizes);
  Value result =
      g.emit<ContractOp>(lhs, rhs->weight, shift(op.getLhsBatch(), lhsDim), shift(op.getRhsBatch(), rhsDim),
                         llvm::to_vector(llvm::seq(lhsDim, lhsDim + more + 1)),
                         llvm::to_vector(llvm::seq(rhsDim, rhsDim + more + 1)), op.getSumsAttr(), op.getFactorsAttr());
  if (g.hasRefused())
    return failure();
  if (!strictMath)
    result.getDefiningOp()->setAttr(kBlockSumsAttr, builder.getUnitAttr());
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

/// Rows that are picked from a weight of a product: in the form in which the product has it.
LogicalResult splitBlocks(GatherOp op, const DerivableVariables &variables) {
  constexpr int64_t ofRow = 1;
  if (op.getMembers() || op.getAxis() != 0 || op.getInput().getType().getRank() != 2)
    return success();
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  std::optional<SplitWeight> table = splitWeight(g, op.getInput(), ofRow, variables);
  if (!table)
    return success();
  Value rows = g.emit<GatherOp>(table->weight, op.getIndices(), int64_t(0), IntegerAttr(), op.getInRange());
  Value result = g.reshape(rows, getDims(g.typeOf(op.getResult())));
  if (g.hasRefused())
    return failure();
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

struct SplitWeightBlocksPass : impl::SplitWeightBlocksPassBase<SplitWeightBlocksPass> {
  using SplitWeightBlocksPassBase::SplitWeightBlocksPassBase;

  void runOnOperation() override {
    const DerivableVariables variables(getOperation());
    SmallVector<Operation *> readers;
    getOperation().walk([&](Operation *op) {
      if (isa<ContractOp, GatherOp>(op))
        readers.push_back(op);
    });
    for (Operation *op : readers) {
      auto product = dyn_cast<ContractOp>(op);
      if (failed(product ? splitBlocks(product, variables, strictMath) : splitBlocks(cast<GatherOp>(op), variables)))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace vx
