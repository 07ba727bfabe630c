#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CANONICALIZEGRAPHPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

struct RemoveIdentity : RewritePattern {
  explicit RemoveIdentity(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto identity = dyn_cast<IdentityOpInterface>(op);
    Value value = identity ? identity.getIdentity() : Value();
    if (!value)
      return failure();
    if (value.getType() != op->getResult(0).getType())
      return rewriter.notifyMatchFailure(op, "the types know different sizes");
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct ComposeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);
    if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())) &&
        inner.getInput().getType() == op.getResult().getType())
      rewriter.replaceOp(op, inner.getInput());
    else
      rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getResult().getType(), inner.getInput(), permutation);
    return success();
  }
};

struct ComposeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<BroadcastOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> dimensions;
    for (int64_t dim : inner.getDimensions())
      dimensions.push_back(op.getDimensions()[dim]);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getResult().getType(), inner.getInput(), dimensions);
    return success();
  }
};

/// What is known of the elements of an i64 tensor; a null bound is unknown.
struct Bounds {
  DimAttr least, greatest;
};

Bounds getBounds(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 16 || !getElementTypeOrSelf(value.getType()).isInteger(64))
    return {};
  if (auto number = dyn_cast_or_null<IntegerAttr>(getSplatNumber(value))) {
    DimAttr bound = DimAttr::constant(op->getContext(), number.getValue().getSExtValue());
    return {bound, bound};
  }
  // What only moves elements has those of its operand.
  if (op->hasTrait<OpTrait::Moves>() && op->getNumOperands() == 1)
    return getBounds(op->getOperand(0), depth + 1);
  return llvm::TypeSwitch<Operation *, Bounds>(op)
      .Case([](IotaOp iota) {
        DimAttr size = getDim(iota.getResult().getType(), iota.getAxis());
        return Bounds{DimAttr::constant(iota.getContext(), 0), size ? size + -1 : DimAttr()};
      })
      .Case([](DimValueOp dim) { return Bounds{dim.getValue(), dim.getValue()}; })
      .Case([&](AddOp sum) {
        Bounds lhs = getBounds(sum.getLhs(), depth + 1), rhs = getBounds(sum.getRhs(), depth + 1);
        return Bounds{lhs.least && rhs.least ? lhs.least + rhs.least : DimAttr(),
                      lhs.greatest && rhs.greatest ? lhs.greatest + rhs.greatest : DimAttr()};
      })
      .Default(Bounds());
}

/// A comparison of places with sizes that is the same for every element.
struct FoldKnownComparison : OpRewritePattern<CompareOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CompareOp op, PatternRewriter &rewriter) const override {
    if (llvm::is_contained(getDims(op.getResult().getType()), DimAttr()))
      return rewriter.notifyMatchFailure(op, "a size is not known");
    Bounds lhs = getBounds(op.getLhs()), rhs = getBounds(op.getRhs());
    ComparePredicate predicate = op.getPredicate();
    if (predicate == ComparePredicate::gt || predicate == ComparePredicate::ge) {
      std::swap(lhs, rhs);
      predicate = predicate == ComparePredicate::gt ? ComparePredicate::lt : ComparePredicate::le;
    }
    if (predicate != ComparePredicate::lt && predicate != ComparePredicate::le)
      return failure();
    int64_t gap = predicate == ComparePredicate::lt;
    std::optional<bool> known;
    if (lhs.greatest && rhs.least && (lhs.greatest + gap).isAtMost(rhs.least))
      known = true;
    else if (rhs.greatest && lhs.least && (rhs.greatest + (1 - gap)).isAtMost(lhs.least))
      known = false;
    if (!known)
      return rewriter.notifyMatchFailure(op, "the bounds overlap");
    auto scalar = RankedTensorType::get({}, rewriter.getI1Type());
    Value constant = ConstantOp::create(rewriter, op.getLoc(), scalar, DenseElementsAttr::get(scalar, *known));
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getResult().getType(), constant, ArrayRef<int64_t>());
    return success();
  }
};

/// Takes values out of a loop that it carries for nothing else than their own next values.
struct DropUnreadCarried : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LoopOp loop, PatternRewriter &rewriter) const override {
    llvm::BitVector kept(loop.getNumResults());
    llvm::DenseSet<Operation *> read;
    findRead(loop, kept, read);
    if (kept.all())
      return failure();
    SmallVector<Value> inits;
    SmallVector<Type> types;
    for (unsigned i : kept.set_bits()) {
      inits.push_back(loop.getInits()[i]);
      types.push_back(loop.getResult(i).getType());
    }
    auto shorter = LoopOp::create(rewriter, loop.getLoc(), types, loop.getTripCount(), loop.getCondition(), inits,
                                  loop.getIterationAttr(), loop.getCommitsAttr());
    rewriter.inlineRegionBefore(loop.getBody(), shorter.getBody(), shorter.getBody().end());
    Block &body = shorter.getBody().front();
    auto yield = cast<YieldOp>(body.getTerminator());
    SmallVector<Value> values = {yield.getValues().front()};
    for (unsigned i : kept.set_bits())
      values.push_back(yield.getValues()[i + 1]);
    rewriter.modifyOpInPlace(yield, [&] { yield.getValuesMutable().assign(values); });
    SmallVector<Operation *> needless;
    for (Operation &op : body.without_terminator())
      if (!read.contains(&op))
        needless.push_back(&op);
    for (Operation *op : llvm::reverse(needless))
      rewriter.eraseOp(op);
    for (auto [index, i] : llvm::enumerate(kept.set_bits()))
      rewriter.replaceAllUsesWith(loop.getResult(i), shorter.getResult(index));
    rewriter.modifyOpInPlace(shorter, [&] { body.eraseArguments(kept.flip()); });
    rewriter.eraseOp(loop);
    return success();
  }

private:
  /// The carried values that something reads, or whose sizes are bound, and the ops of the body that they need.
  static void findRead(LoopOp loop, llvm::BitVector &kept, llvm::DenseSet<Operation *> &read) {
    Block &body = loop.getBody().front();
    SymbolRanges ranges(loop->getParentOfType<ModuleOp>());
    SmallVector<Value> work;
    auto keep = [&](unsigned i) {
      if (kept.test(i))
        return;
      kept.set(i);
      work.push_back(cast<YieldOp>(body.getTerminator()).getValues()[i + 1]);
    };
    auto readOp = [&](Operation *op) {
      if (read.insert(op).second)
        visitReads(op, [&](Value value) { work.push_back(value); });
    };
    work.push_back(cast<YieldOp>(body.getTerminator()).getValues().front());
    bool bindsSizes = mayBindSizes(loop, ranges);
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (bindsSizes || !loop.getResult(i).use_empty())
        keep(i);
    for (Operation &op : body.without_terminator())
      if (!onlyComputes(&op, ranges))
        readOp(&op);
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == &body)
          keep(argument.getArgNumber());
      } else if (Operation *op = body.findAncestorOpInBlock(*value.getDefiningOp())) {
        readOp(op);
      }
    }
  }
};

struct CanonicalizeGraphPass : impl::CanonicalizeGraphPassBase<CanonicalizeGraphPass> {
  using CanonicalizeGraphPassBase::CanonicalizeGraphPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RemoveIdentity, ComposeTransposes, ComposeBroadcasts, FoldKnownComparison, DropUnreadCarried>(
        &getContext());
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
