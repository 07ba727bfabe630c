// Neighbouring dimensions that a reduction reduces are one: kernels know reductions along one dimension best.

#include "JoinDims.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_JOINREDUCEDDIMSPASS
#include "vx/Transforms/FusionPasses.h.inc"

SmallVector<DimAttr> joinDims(RankedTensorType type, const llvm::SmallDenseSet<int64_t> &joined) {
  SmallVector<DimAttr> dims;
  for (auto [d, dim] : llvm::enumerate(getDims(type))) {
    if (joined.contains(static_cast<int64_t>(d)))
      dims.back() = dims.back() * dim;
    else
      dims.push_back(dim);
  }
  return dims;
}

namespace {

/// A reduction's operand, with neighbours of its axes joined. The joined dimensions go through elementwise ops that
/// nothing else reads to values that lie in memory, so that the ops can still be computed in the reduction's kernel.
class JoinedOperand {
public:
  JoinedOperand(GraphBuilder &g, const llvm::SmallDenseSet<int64_t> &joined) : g(g), joined(joined) {}

  static bool canJoin(Value value, int64_t &left) {
    Operation *op = value.getDefiningOp();
    if (!op || op->hasTrait<OpTrait::Anchor>() || isa<ConstantOp>(op))
      return true;
    if (isScalar(op))
      return true;
    return isElementwise(op) && --left > 0 &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return canJoin(operand, left); });
  }

  Value join(Value value) {
    Operation *op = value.getDefiningOp();
    SmallVector<DimAttr> dims = joinDims(typeOf(value), joined);
    if (op && isScalar(op))
      return g.broadcastInDim(op->getOperand(0), dims, {});
    if (!op || !isElementwise(op) || op->hasTrait<OpTrait::Anchor>())
      return g.reshape(value, dims);
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, join(operand));
    Operation *copy = g.builder.clone(*op, mapping);
    copy->getResult(0).setType(getTensorType(dims, getElementTypeOrSelf(value.getType())));
    return copy->getResult(0);
  }

private:
  static bool isScalar(Operation *op) {
    auto broadcast = dyn_cast<BroadcastOp>(op);
    return broadcast && typeOf(broadcast.getInput()).getRank() == 0;
  }

  static bool isElementwise(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 && op->hasOneUse() &&
           llvm::all_of(op->getOperandTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  }

  GraphBuilder &g;
  const llvm::SmallDenseSet<int64_t> &joined;
};

/// Erases `op`, if nothing reads it, and its producers that nothing else reads.
void eraseDead(Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : llvm::SmallSetVector<Value, 4>(operands.begin(), operands.end()))
    eraseDead(operand.getDefiningOp());
}

LogicalResult joinReducedDims(ReduceOp op) {
  constexpr int64_t mostOps = 16;
  llvm::SmallDenseSet<int64_t> joined;
  SmallVector<int64_t> axes;
  for (int64_t axis : op.getAxes()) {
    if (axis > 0 && llvm::is_contained(op.getAxes(), axis - 1))
      joined.insert(axis);
    else
      axes.push_back(axis - static_cast<int64_t>(joined.size()));
  }
  int64_t left = mostOps;
  if (joined.empty() || !JoinedOperand::canJoin(op.getInput(), left))
    return success();
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  Value input = op.getInput(), result = g.emit<ReduceOp>(op.getKind(), JoinedOperand(g, joined).join(input), axes);
  if (g.hasRefused())
    return failure();
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  eraseDead(input.getDefiningOp());
  return success();
}

struct JoinReducedDimsPass : impl::JoinReducedDimsPassBase<JoinReducedDimsPass> {
  void runOnOperation() override {
    SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp op) { reductions.push_back(op); });
    for (ReduceOp op : reductions)
      if (failed(joinReducedDims(op)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx
