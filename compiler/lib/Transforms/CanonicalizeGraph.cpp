#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Reference/HostTensor.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CANONICALIZEGRAPHPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// The one element that a constant, repeated or not, consists of.
std::optional<reference::HostTensor> getSplat(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat())
    return std::nullopt;
  llvm::Expected<reference::HostTensor> tensor =
      reference::getHostTensor(dense.resizeSplat(RankedTensorType::get({1}, dense.getElementType())));
  if (tensor)
    return std::move(*tensor);
  llvm::consumeError(tensor.takeError());
  return std::nullopt;
}

bool isFloatSplat(Value value, double number) {
  std::optional<reference::HostTensor> splat = getSplat(value);
  return splat && reference::isFloat(splat->getElementType()) && splat->getFloat(0) == number &&
         std::signbit(splat->getFloat(0)) == std::signbit(number);
}

bool isIntSplat(Value value, int64_t number) {
  std::optional<reference::HostTensor> splat = getSplat(value);
  return splat && !reference::isFloat(splat->getElementType()) && splat->getInt(0) == number;
}

bool isOne(Value value) { return isFloatSplat(value, 1) || isIntSplat(value, 1); }

/// The operand that `op` gives back bit by bit, if there is one.
Value getIdentity(Operation *op) {
  auto isNeutralRight = [&](Value rhs) {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<MulOp, DivOp>([&](auto) { return isOne(rhs); })
        .Case([&](AddOp) { return isFloatSplat(rhs, -0.0) || isIntSplat(rhs, 0); })
        .Case([&](SubOp) { return isFloatSplat(rhs, 0.0) || isIntSplat(rhs, 0); })
        .Case<OrOp, XorOp>([&](auto) { return isIntSplat(rhs, 0); })
        .Case([&](AndOp) { return isIntSplat(rhs, 1) && getElementTypeOrSelf(rhs.getType()).isInteger(1); })
        .Default(false);
  };
  if (op->getNumOperands() == 2 && isa<MulOp, DivOp, AddOp, SubOp, AndOp, OrOp, XorOp>(op)) {
    if (isNeutralRight(op->getOperand(1)))
      return op->getOperand(0);
    return op->hasTrait<mlir::OpTrait::IsCommutative>() && isNeutralRight(op->getOperand(0)) ? op->getOperand(1)
                                                                                             : Value();
  }
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([](NegOp neg) {
        auto inner = neg.getInput().getDefiningOp<NegOp>();
        return inner ? inner.getInput() : Value();
      })
      .Case([](NotOp complement) {
        auto inner = complement.getInput().getDefiningOp<NotOp>();
        return inner ? inner.getInput() : Value();
      })
      .Case([](SelectOp select) -> Value {
        if (isIntSplat(select.getCondition(), 1))
          return select.getOnTrue();
        return isIntSplat(select.getCondition(), 0) ? select.getOnFalse() : Value();
      })
      .Case([](ConcatOp concat) { return concat.getInputs().size() == 1 ? concat.getInputs()[0] : Value(); })
      .Case([](PadOp pad) -> Value {
        auto isZero = [](Attribute dim) { return cast<DimAttr>(dim).asConstant() == 0; };
        return llvm::all_of(pad.getLow(), isZero) && llvm::all_of(pad.getHigh(), isZero) ? pad.getInput() : Value();
      })
      .Case([](ReduceOp reduce) { return reduce.getAxes().empty() ? reduce.getInput() : Value(); })
      .Case([](CastOp cast) -> Value {
        auto inner = cast.getInput().getDefiningOp<CastOp>();
        if (!inner || inner.getInput().getType() != cast.getResult().getType())
          return {};
        Type narrow = getElementTypeOrSelf(inner.getInput().getType()),
             wide = getElementTypeOrSelf(inner.getResult().getType());
        auto narrowInt = dyn_cast<IntegerType>(narrow), wideInt = dyn_cast<IntegerType>(wide);
        if (narrowInt && wideInt)
          return wideInt.getWidth() >= narrowInt.getWidth() && !wideInt.isInteger(1) ? inner.getInput() : Value();
        // f32 and f64 hold every number of the types below them.
        bool holdsAll = (narrow.isF32() && wide.isF64()) ||
                        (isa<Float16Type, BFloat16Type>(narrow) && (wide.isF32() || wide.isF64()));
        return holdsAll ? inner.getInput() : Value();
      })
      .Default(Value());
}

struct RemoveIdentity : RewritePattern {
  explicit RemoveIdentity(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || !isa_and_present<VXDialect>(op->getDialect()))
      return failure();
    Value value = getIdentity(op);
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
  return llvm::TypeSwitch<Operation *, Bounds>(op)
      .Case([](IotaOp iota) {
        DimAttr size = getDim(iota.getResult().getType(), iota.getAxis());
        return Bounds{DimAttr::constant(iota.getContext(), 0), size ? size + -1 : DimAttr()};
      })
      .Case([](DimValueOp dim) { return Bounds{dim.getValue(), dim.getValue()}; })
      .Case([](ConstantOp constant) {
        auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
        if (!dense || !dense.isSplat())
          return Bounds();
        DimAttr number = DimAttr::constant(constant.getContext(), dense.getSplatValue<APInt>().getSExtValue());
        return Bounds{number, number};
      })
      .Case<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(
          [&](auto move) { return getBounds(move.getInput(), depth + 1); })
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

struct CanonicalizeGraphPass : impl::CanonicalizeGraphPassBase<CanonicalizeGraphPass> {
  using CanonicalizeGraphPassBase::CanonicalizeGraphPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RemoveIdentity, ComposeTransposes, ComposeBroadcasts, FoldKnownComparison>(&getContext());
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
