#include "vx/Analysis/DerivableVariables.h"
#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_FOLDBATCHNORMPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// A pattern over known values: those that constants and weights alone decide, so that they are computed once.
template <typename Op>
struct FoldingPattern : OpRewritePattern<Op> {
  FoldingPattern(MLIRContext *context, const DerivableVariables &variables)
      : OpRewritePattern<Op>(context), variables(variables) {}

  const DerivableVariables &variables;
};

/// A known value that differs between channels (dimension 1) only: what is repeated, a scalar or one per channel.
struct PerChannel {
  explicit operator bool() const { return !!repeated; }

  /// To be called when the match is decided: a pattern that does not match must leave nothing behind.
  Value make(PatternRewriter &rewriter) const {
    if (repeated.getType() == type)
      return repeated;
    return ReshapeOp::create(rewriter, repeated.getLoc(), type, repeated);
  }

  Value repeated; // null where there is none
  RankedTensorType type;
};

PerChannel matchPerChannel(Value value, const DerivableVariables &variables) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || !variables.decide(broadcast.getInput()))
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
  return {broadcast.getInput(), RankedTensorType::get(shape, type.getElementType())};
}

/// Repeats a value of `PerChannel` along all but dimension `dim` of `type`.
Value spread(PatternRewriter &rewriter, Location location, Value perChannel, RankedTensorType type, int64_t dim) {
  SmallVector<int64_t> dims;
  if (cast<RankedTensorType>(perChannel.getType()).getRank() == 1)
    dims.push_back(dim);
  return BroadcastOp::create(rewriter, location, type, perChannel, dims);
}

/// The value itself and the known per-channel operand of a commutative op, whichever side it stands on.
std::pair<Value, PerChannel> splitOperands(Operation *op, const DerivableVariables &variables) {
  for (unsigned side : {1u, 0u})
    if (PerChannel perChannel = matchPerChannel(op->getOperand(side), variables))
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
struct FoldScaleIntoFilter : FoldingPattern<MulOp> {
  using FoldingPattern::FoldingPattern;

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (unsigned side : {0u, 1u}) {
      auto conv = op->getOperand(side).getDefiningOp<ConvOp>();
      if (!conv || !variables.decide(conv.getFilter()))
        continue;
      if (!conv->hasOneUse())
        return rewriter.notifyMatchFailure(op, "the convolution has another reader");
      PerChannel factor = matchPerChannel(op->getOperand(1 - side), variables);
      if (!factor)
        return rewriter.notifyMatchFailure(op, "the factor is not a constant per channel");
      Location location = rewriter.getFusedLoc({conv.getLoc(), op.getLoc()});
      RankedTensorType filterType = conv.getFilter().getType();
      if (!filterType.hasStaticShape())
        return rewriter.notifyMatchFailure(op, "the filter has no static shape");
      Value factors = spread(rewriter, location, factor.make(rewriter), filterType, 0);
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
struct MoveScaleBeforeShift : FoldingPattern<MulOp> {
  using FoldingPattern::FoldingPattern;

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (unsigned side : {0u, 1u}) {
      auto add = op->getOperand(side).getDefiningOp<AddOp>();
      if (!add || !add->hasOneUse())
        continue;
      PerChannel known = matchPerChannel(op->getOperand(1 - side), variables);
      auto [value, offset] = splitOperands(add, variables);
      auto conv = value ? value.getDefiningOp<ConvOp>() : ConvOp();
      if (!known || !conv || !conv->hasOneUse() || !variables.decide(conv.getFilter()))
        continue;
      Value factor = known.make(rewriter);
      Location location = op.getLoc();
      RankedTensorType type = op.getResult().getType();
      Value scaled = MulOp::create(rewriter, location, type, value, spread(rewriter, location, factor, type, 1));
      auto [left, right] = unify(rewriter, location, offset.make(rewriter), factor);
      Value product = MulOp::create(rewriter, location, left.getType(), left, right);
      Location both = rewriter.getFusedLoc({add.getLoc(), location});
      rewriter.replaceOpWithNewOp<AddOp>(op, type, scaled, spread(rewriter, both, product, type, 1));
      return success();
    }
    return failure();
  }
};

/// (conv + a) + b -> conv + (a + b)
struct JoinShifts : FoldingPattern<AddOp> {
  using FoldingPattern::FoldingPattern;

  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (unsigned side : {0u, 1u}) {
      auto add = op->getOperand(side).getDefiningOp<AddOp>();
      if (!add || !add->hasOneUse())
        continue;
      PerChannel second = matchPerChannel(op->getOperand(1 - side), variables);
      auto [value, first] = splitOperands(add, variables);
      if (!second || !value || !value.getDefiningOp<ConvOp>())
        continue;
      Location location = rewriter.getFusedLoc({add.getLoc(), op.getLoc()});
      auto [left, right] = unify(rewriter, location, first.make(rewriter), second.make(rewriter));
      Value sum = AddOp::create(rewriter, location, left.getType(), left, right);
      RankedTensorType type = op.getResult().getType();
      rewriter.replaceOpWithNewOp<AddOp>(op, type, value, spread(rewriter, location, sum, type, 1));
      return success();
    }
    return failure();
  }
};

/// conv - a -> conv + (-a), which is the same number
struct TurnDifferenceIntoSum : FoldingPattern<SubOp> {
  using FoldingPattern::FoldingPattern;

  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    Operation *producer = op.getLhs().getDefiningOp();
    if (!isa_and_present<ConvOp, AddOp>(producer))
      return failure();
    if (isa<AddOp>(producer) &&
        !llvm::any_of(producer->getOperands(), [](Value v) { return v.getDefiningOp<ConvOp>(); }))
      return failure();
    PerChannel known = matchPerChannel(op.getRhs(), variables);
    if (!known)
      return rewriter.notifyMatchFailure(op, "the offset is not a constant per channel");
    Value offset = known.make(rewriter);
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
    const DerivableVariables variables(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldScaleIntoFilter, MoveScaleBeforeShift, JoinShifts, TurnDifferenceIntoSum>(&getContext(),
                                                                                               variables);
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
