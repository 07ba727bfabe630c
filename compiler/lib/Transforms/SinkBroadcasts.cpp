#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SINKBROADCASTSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// f(broadcast(x), broadcast(y)) -> broadcast(f(x', y'))
struct SinkBroadcastBelowElementwise : RewritePattern {
  explicit SinkBroadcastBelowElementwise(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>())
      return failure();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<DimAttr> dims = getDims(type);
    if (llvm::is_contained(dims, DimAttr()))
      return rewriter.notifyMatchFailure(op, "a size is not known");
    DimAttr one = DimAttr::constant(op->getContext(), 1);
    SmallVector<DimAttr> small(dims.size(), one);
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      if (!broadcast)
        return rewriter.notifyMatchFailure(op, "an operand is not repeated");
      for (auto [dim, place] : llvm::zip(getDims(broadcast.getInput().getType()), broadcast.getDimensions())) {
        if (dim && dim.asConstant() == 1)
          continue;
        if (!dim || dim != dims[place])
          return rewriter.notifyMatchFailure(op, "a dimension may or may not be repeated");
        small[place] = dim;
      }
    }
    if (small == dims)
      return rewriter.notifyMatchFailure(op, "every dimension differs somewhere");
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      RankedTensorType smallType = getTensorType(small, broadcast.getResult().getType().getElementType());
      operands.push_back(broadcast.getInput().getType() == smallType
                             ? broadcast.getInput()
                             : BroadcastOp::create(rewriter, broadcast.getLoc(), smallType, broadcast.getInput(),
                                                   broadcast.getDimensions()));
    }
    OperationState state(op->getLoc(), op->getName(), operands, {}, op->getAttrs());
    state.addTypes(getTensorType(small, type.getElementType()));
    Operation *moved = rewriter.create(state);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, moved->getResult(0),
                                             llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
    return success();
  }
};

struct SinkBroadcastsPass : impl::SinkBroadcastsPassBase<SinkBroadcastsPass> {
  using SinkBroadcastsPassBase::SinkBroadcastsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkBroadcastBelowElementwise>(&getContext());
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
