#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include <cmath>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_RECOGNIZENORMSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

SmallVector<DimAttr> getWideDims(Value value) {
  SmallVector<DimAttr> wide;
  for (DimAttr dim : getDims(typeOf(value)))
    if (!dim || dim.asConstant() != 1)
      wide.push_back(dim);
  return wide;
}

/// `value` before dimensions of size 1 came or went.
Value strip(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, BroadcastOp>(op) || getWideDims(op->getOperand(0)) != getWideDims(value))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// One number for each row: repeated along the dimensions from `axis` on, and in place along those before.
Value matchPerRow(Value value, int64_t axis) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  SmallVector<DimAttr> dims = getDims(typeOf(value));
  SmallVector<bool> isKept(dims.size());
  for (auto [dim, place] : llvm::zip(getDims(broadcast.getInput().getType()), broadcast.getDimensions())) {
    if (dim && dim.asConstant() == 1)
      continue;
    if (place >= axis || !dim || dim != dims[place])
      return {};
    isKept[place] = true;
  }
  for (int64_t d = 0; d < axis; ++d)
    if (!isKept[d] && (!dims[d] || dims[d].asConstant() != 1))
      return {};
  return strip(broadcast.getInput());
}

/// sum(x) / n along the dimensions from some axis on: x, and the axis.
std::optional<std::pair<Value, int64_t>> matchMean(Value value) {
  auto quotient = value.getDefiningOp<DivOp>();
  if (!quotient)
    return std::nullopt;
  auto sum = strip(quotient.getLhs()).getDefiningOp<ReduceOp>();
  std::optional<double> count = getFloatSplat(quotient.getRhs());
  if (!sum || sum.getKind() != ReduceKind::sum || sum.getAxes().empty() || !count)
    return std::nullopt;
  RankedTensorType type = sum.getInput().getType();
  int64_t axis = sum.getAxes().front();
  if (!llvm::equal(sum.getAxes(), llvm::seq<int64_t>(axis, type.getRank())))
    return std::nullopt;
  double elements = 1;
  for (int64_t d = axis; d < type.getRank(); ++d) {
    if (type.isDynamicDim(d))
      return std::nullopt;
    elements *= type.getDimSize(d);
  }
  if (elements != *count)
    return std::nullopt;
  return std::pair(sum.getInput(), axis);
}

/// The mean of squares of `squared` along the rows under a root, with `epsilon`.
struct Root {
  Value squared;
  int64_t axis;
  double epsilon;
};

std::optional<Root> matchRoot(Value perRow) {
  auto sqrt = perRow.getDefiningOp<SqrtOp>();
  auto sum = sqrt ? strip(sqrt.getInput()).getDefiningOp<AddOp>() : AddOp();
  if (!sum)
    return std::nullopt;
  for (unsigned side : {1u, 0u}) {
    std::optional<double> epsilon = getFloatSplat(sum->getOperand(side));
    if (!epsilon || !(*epsilon >= 0) || std::isinf(*epsilon))
      continue;
    auto mean = matchMean(strip(sum->getOperand(1 - side)));
    auto square = mean ? mean->first.getDefiningOp<MulOp>() : MulOp();
    if (square && square.getLhs() == square.getRhs())
      return Root{square.getLhs(), mean->second, *epsilon};
  }
  return std::nullopt;
}

/// x / root or x * (1 / root), with the root of the mean of x^2 of each row.
std::optional<Root> matchNormalized(Operation *op) {
  auto match = [&](Value x, Value factor, bool isQuotient) -> std::optional<Root> {
    RankedTensorType type = typeOf(x);
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      Value row = matchPerRow(factor, axis);
      if (!row)
        continue;
      if (!isQuotient) {
        auto inverse = row.getDefiningOp<DivOp>();
        if (!inverse || getFloatSplat(inverse.getLhs()) != 1.0)
          continue;
        row = strip(inverse.getRhs());
      }
      std::optional<Root> root = matchRoot(row);
      if (root && root->squared == x && root->axis == axis)
        return root;
    }
    return std::nullopt;
  };
  if (auto quotient = dyn_cast<DivOp>(op))
    return match(quotient.getLhs(), quotient.getRhs(), true);
  if (auto product = dyn_cast<MulOp>(op))
    for (unsigned side : {0u, 1u})
      if (std::optional<Root> root = match(product->getOperand(side), product->getOperand(1 - side), false))
        return root;
  return std::nullopt;
}

Value splat(PatternRewriter &rewriter, Location location, RankedTensorType type, double number) {
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value value = ConstantOp::create(
      rewriter, location, scalar, DenseElementsAttr::get(scalar, rewriter.getFloatAttr(type.getElementType(), number)));
  return BroadcastOp::create(rewriter, location, type, value, ArrayRef<int64_t>());
}

RankedTensorType rowType(RankedTensorType type, int64_t axis) {
  return getTensorType(ArrayRef(getDims(type)).drop_front(axis), type.getElementType());
}

struct RecognizeNorm : RewritePattern {
  explicit RecognizeNorm(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    std::optional<Root> root = matchNormalized(op);
    if (!root)
      return failure();
    RankedTensorType type = typeOf(op->getResult(0)), row = rowType(type, root->axis);
    Location location = op->getLoc();
    // Of centred values it is a layer norm.
    auto centred = root->squared.getDefiningOp<SubOp>();
    Value mean = centred ? matchPerRow(centred.getRhs(), root->axis) : Value();
    auto matched = mean ? matchMean(mean) : std::nullopt;
    if (matched && matched->first == centred.getLhs() && matched->second == root->axis) {
      rewriter.replaceOpWithNewOp<LayerNormOp>(op, type, centred.getLhs(), splat(rewriter, location, row, 1),
                                               splat(rewriter, location, row, 0), root->axis,
                                               APFloat(float(root->epsilon)));
      return success();
    }
    if (root->axis != type.getRank() - 1 || root->epsilon == 0)
      return rewriter.notifyMatchFailure(op, "rms_norm is of the innermost dimension and has an epsilon");
    rewriter.replaceOpWithNewOp<RmsNormOp>(op, type, root->squared, splat(rewriter, location, row, 1),
                                           APFloat(float(root->epsilon)));
    return success();
  }
};

/// A row that is repeated over the dimensions before `axis`, as a tensor of the row's type.
Value matchRow(Value value, int64_t axis, PatternRewriter &rewriter) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  RankedTensorType type = rowType(typeOf(value), axis);
  SmallVector<DimAttr> kept;
  SmallVector<int64_t> dimensions;
  for (auto [dim, place] : llvm::zip(getDims(broadcast.getInput().getType()), broadcast.getDimensions())) {
    if (place < axis && (!dim || dim.asConstant() != 1))
      return {};
    if (place >= axis) {
      kept.push_back(dim);
      dimensions.push_back(place - axis);
    }
  }
  Value input = broadcast.getInput();
  if (static_cast<int64_t>(kept.size()) != typeOf(input).getRank())
    input = ReshapeOp::create(rewriter, value.getLoc(), getTensorType(kept, type.getElementType()), input);
  if (input.getType() == type)
    return input;
  return BroadcastOp::create(rewriter, value.getLoc(), type, input, dimensions);
}

/// norm(x) * row and norm(x) + row, where the norm has no scale or bias yet
struct TakeScaleAndBias : RewritePattern {
  explicit TakeScaleAndBias(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<MulOp, AddOp>(op))
      return failure();
    for (unsigned side : {0u, 1u}) {
      Operation *norm = op->getOperand(side).getDefiningOp();
      if (!isa_and_present<LayerNormOp, RmsNormOp>(norm) || !norm->hasOneUse())
        continue;
      auto layerNorm = dyn_cast<LayerNormOp>(norm);
      bool hasScale = getFloatSplat(norm->getOperand(1)) != 1.0;
      std::optional<double> bias = layerNorm ? getFloatSplat(layerNorm.getBias()) : std::nullopt;
      if (isa<MulOp>(op) ? hasScale || (layerNorm && bias != 0.0) : !layerNorm || bias != 0.0)
        continue;
      RankedTensorType type = typeOf(op->getResult(0));
      int64_t axis = cast<RowsOpInterface>(norm).getRowAxes().front();
      if (norm->getResult(0).getType() != type)
        continue;
      Value row = matchRow(op->getOperand(1 - side), axis, rewriter);
      if (!row)
        continue;
      Operation *joined = rewriter.clone(*norm);
      joined->setLoc(rewriter.getFusedLoc({norm->getLoc(), op->getLoc()}));
      joined->setOperand(isa<MulOp>(op) ? 1 : 2, row);
      rewriter.replaceOp(op, joined->getResults());
      return success();
    }
    return failure();
  }
};

/// x^2 and x^3 as products
struct ExpandSmallPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    std::optional<double> exponent = getFloatSplat(op.getRhs());
    if (exponent != 2.0 && exponent != 3.0)
      return rewriter.notifyMatchFailure(op, "the exponent is neither 2 nor 3");
    Type type = op.getResult().getType();
    Value product = MulOp::create(rewriter, op.getLoc(), type, op.getLhs(), op.getLhs());
    if (exponent == 3.0)
      product = MulOp::create(rewriter, op.getLoc(), type, product, op.getLhs());
    rewriter.replaceOp(op, product);
    return success();
  }
};

struct RecognizeNormsPass : impl::RecognizeNormsPassBase<RecognizeNormsPass> {
  using RecognizeNormsPassBase::RecognizeNormsPassBase;

  void runOnOperation() override {
    if (strictMath)
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeNorm, TakeScaleAndBias, ExpandSmallPower>(&getContext());
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
