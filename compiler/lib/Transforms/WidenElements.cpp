#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_WIDENELEMENTSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// `type` with elements that kernels compute with; null where it has them.
RankedTensorType getWidened(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isNarrow(tensor.getElementType()))
    return {};
  return tensor.clone(getWideType(tensor.getElementType()));
}

struct WidenElementsPass : impl::WidenElementsPassBase<WidenElementsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      bool takesAsTheyAre = op->hasTrait<OpTrait::Moves>() || isa<SelectOp, CastOp, BitcastOp>(op);
      if (isComputedByKernel(op) && !takesAsTheyAre)
        found.push_back(op);
    });
    for (Operation *op : found)
      widen(op);
  }

private:
  static void widen(Operation *op) {
    OpBuilder builder(op);
    const CopyNumbering numbering(builder, op);
    for (OpOperand &operand : op->getOpOperands())
      if (RankedTensorType wide = getWidened(operand.get().getType()))
        operand.set(CastOp::create(builder, op->getLoc(), wide, operand.get()));
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      if (RankedTensorType wide = getWidened(result.getType())) {
        Type narrow = result.getType();
        result.setType(wide);
        Value rounded = CastOp::create(builder, op->getLoc(), narrow, result);
        result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
      }
  }
};

} // namespace
} // namespace vx
