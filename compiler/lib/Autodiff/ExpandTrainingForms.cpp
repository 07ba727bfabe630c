#include "vx/Autodiff/Passes.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_EXPANDTRAININGFORMSPASS
#include "vx/Autodiff/Passes.h.inc"

namespace {

struct ExpandTrainingFormsPass : impl::ExpandTrainingFormsPassBase<ExpandTrainingFormsPass> {
  using ExpandTrainingFormsPassBase::ExpandTrainingFormsPassBase;

  void runOnOperation() override {
    for (const std::string &name : ops)
      if (name != "dropout" && name != "batch_norm") {
        getOperation().emitError() << "vx-expand-training-forms expects dropout or batch_norm in 'ops', got '" << name
                                   << "'";
        return signalPassFailure();
      }
    SmallVector<DecomposableOpInterface> found;
    getOperation().walk([&](Operation *op) {
      if (isa<DropoutOp, BatchNormOp>(op) && (ops.empty() || llvm::is_contained(ops, op->getName().stripDialect())))
        found.push_back(cast<DecomposableOpInterface>(op));
    });
    bool hasFailed = false;
    for (DecomposableOpInterface op : found)
      hasFailed |= failed(expand(op));
    if (hasFailed)
      signalPassFailure();
  }

private:
  static LogicalResult expand(DecomposableOpInterface op) {
    for (Value operand : op->getOperands())
      if (llvm::is_contained(getDims(cast<RankedTensorType>(operand.getType())), DimAttr()))
        return op->emitError() << "'" << op->getName() << "' of " << describeSource(op->getLoc())
                               << ": expected an expression for each dimension of its operands, got "
                               << operand.getType();
    OpBuilder builder(op);
    GraphBuilder g(builder, op->getLoc());
    SmallVector<Value> results = op.decompose(g);
    if (g.hasRefused())
      return failure();
    op->replaceAllUsesWith(results);
    op->erase();
    return success();
  }
};

} // namespace
} // namespace vx
