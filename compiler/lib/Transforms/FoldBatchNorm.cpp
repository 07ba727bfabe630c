#include "vx/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_FOLDBATCHNORMPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// True for a value that `vx-fold-constants` turns into a constant.
bool isKnown(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 16)
    return false;
  if (isa<ConstantOp>(op))
    return true;
  return isPure(op) && op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
         cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape() &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isKnown(operand, depth + 1); });
}

/// A known value that differs between channels (dimension 1) only: what is repeated, a scalar or one per channel.
Value getPerChannel(Value value, PatternRewriter &rewriter) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || !isKnown(broadcast.getInput()))
    return {};
  RankedTensorType type = broadcast.getInput().getType();
  int64_t channels = 1;
  for (auto [size, dim] : llvm::zip(type.getShape(), broadcast.getDimensions())) {
    if (size == 1)
      continue;
    if (dim != 1)
      return {};
    channels = size;
  }
  SmallVector<int64_t> shape;
  if (channels != 1)
    shape.push_back(channels);
  auto flat = RankedTensorType::get(shape, type.getElementType());
  if (flat == type)
    return broadcast.getInput();
  return ReshapeOp::create(rewriter, broadcast.getLoc(), flat, broadcast.getInput());
}

/// Repeats a value of `getPerChannel` along all but dimension `dim` of `type`.
Value spread(PatternRewriter &rewriter, Location location, Value perChannel, RankedTensorType type, int64_t dim) {
  SmallVector<int64_t> dims;
  if (cast<RankedTensorType>(perChannel.getType()).getRank() == 1)
    dims.push_back(dim);
  return BroadcastOp::create(rewriter, location, type, perChannel, dims);
}

/// The value itself and the known per-channel operand of a commutative op, whichever side it stands on.
std::pair<Value, Value> splitOperands(Operation *op, PatternRewriter &rewriter) {
  for (unsigned side : {1u, 0u})
    if (Value perChannel = getPerChannel(op->getOperand(side), rewriter))
      return {op->getOperand(1 - side), perChannel};
  return {};
}

/// Both per-channel values with the shape of the one that has more elements.
std::pair<Value, Value> unify(PatternRewriter &rewriter, Location location, Value lhs, Value rhs) {
  auto lhsType = cast<RankedTensorType>(lhs.getType()), rhsType = cast<RankedTensorType>(rhs.getType());
  if (lhsType.getRank() < rhsType.getRank())
    lhs = spread(rewriter, location, lhs, rhsType, 0);
  else if (rhsType.getRank() < lhsType.getRank())
    rhs = spread(rewriter, location, rhs, lhsType, 0);
  return {lhs, rhs};
}

/// conv(x, w) * f -> conv(x, w * f)
struct FoldScaleIntoFilter : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (unsigned side : {0u, 1u}) {
      auto conv = op->getOperand(side).getDefiningOp<ConvOp>();
      if (!conv || !isKnown(conv.getFilter()))
        continue;
      if (!conv->hasOneUse())
        return rewriter.notifyMatchFailure(op, "the convolution has another reader");
      Value factor = getPerChannel(op->getOperand(1 - side), rewriter);
      if (!factor)
        return rewriter.notifyMatchFailure(op, "the factor is not a constant per channel");
      Location location = rewriter.getFusedLoc({conv.getLoc(), op.getLoc()});
      RankedTensorType filterType = conv.getFilter().getType();
      if (!filterType.hasStaticShape())
        return rewriter.notifyMatchFailure(op, "the filter has no static shape");
      Value factors = spread(rewriter, location, factor, filterType, 0);
      Value filter = MulOp::create(rewriter, location, filterType, conv.getFilter(), factors);
      Operation *folded = rewriter.clone(*conv);
      folded->setLoc(location);
      folded->setOperand(1, filter);
      rewriter.replaceOp(op, folded->getResults());
      rewriter.eraseOp(conv);
      return success();
    }
    return failure();
  }
};

/// (conv + a) * f -> conv * f + a * f
struct MoveScaleBeforeShift : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (unsigned side : {0u, 1u}) {
      auto add = op->getOperand(side).getDefiningOp<AddOp>();
      if (!add || !add->hasOneUse())
        continue;
      Value factor = getPerChannel(op->getOperand(1 - side), rewriter);
      auto [value, offset] = splitOperands(add, rewriter);
      auto conv = value ? value.getDefiningOp<ConvOp>() : ConvOp();
      if (!factor || !conv || !conv->hasOneUse() || !isKnown(conv.getFilter()))
        continue;
      Location location = op.getLoc();
      RankedTensorType type = op.getResult().getType();
      Value scaled = MulOp::create(rewriter, location, type, value, spread(rewriter, location, factor, type, 1));
      auto [left, right] = unify(rewriter, location, offset, factor);
      Value product = MulOp::create(rewriter, location, left.getType(), left, right);
      Location both = rewriter.getFusedLoc({add.getLoc(), location});
      rewriter.replaceOpWithNewOp<AddOp>(op, type, scaled, spread(rewriter, both, product, type, 1));
      return success();
    }
    return failure();
  }
};

/// (conv + a) + b -> conv + (a + b)
struct JoinShifts : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (unsigned side : {0u, 1u}) {
      auto add = op->getOperand(side).getDefiningOp<AddOp>();
      if (!add || !add->hasOneUse())
        continue;
      Value second = getPerChannel(op->getOperand(1 - side), rewriter);
      auto [value, first] = splitOperands(add, rewriter);
      if (!second || !value || !value.getDefiningOp<ConvOp>())
        continue;
      Location location = rewriter.getFusedLoc({add.getLoc(), op.getLoc()});
      auto [left, right] = unify(rewriter, location, first, second);
      Value sum = AddOp::create(rewriter, location, left.getType(), left, right);
      RankedTensorType type = op.getResult().getType();
      rewriter.replaceOpWithNewOp<AddOp>(op, type, value, spread(rewriter, location, sum, type, 1));
      return success();
    }
    return failure();
  }
};

/// conv - a -> conv + (-a), which is the same number
struct TurnDifferenceIntoSum : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    Operation *producer = op.getLhs().getDefiningOp();
    if (!isa_and_present<ConvOp, AddOp>(producer))
      return failure();
    if (isa<AddOp>(producer) &&
        !llvm::any_of(producer->getOperands(), [](Value v) { return v.getDefiningOp<ConvOp>(); }))
      return failure();
    Value offset = getPerChannel(op.getRhs(), rewriter);
    if (!offset)
      return rewriter.notifyMatchFailure(op, "the offset is not a constant per channel");
    Value negated = NegOp::create(rewriter, op.getLoc(), offset.getType(), offset);
    RankedTensorType type = op.getResult().getType();
    rewriter.replaceOpWithNewOp<AddOp>(op, type, op.getLhs(), spread(rewriter, op.getLoc(), negated, type, 1));
    return success();
  }
};

struct FoldBatchNormPass : impl::FoldBatchNormPassBase<FoldBatchNormPass> {
  using FoldBatchNormPassBase::FoldBatchNormPassBase;

  void runOnOperation() override {
    if (strictMath)
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldScaleIntoFilter, MoveScaleBeforeShift, JoinShifts, TurnDifferenceIntoSum>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
