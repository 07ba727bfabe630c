// Convolutions with their channels innermost, and everything between them in the same layout.

#include "ChannelsLast.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/IR/WindowSize.h"
#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_USECHANNELSLASTPASS
#include "vx/Transforms/FusionPasses.h.inc"

int64_t getPlaceWithChannelsLast(int64_t d, int64_t rank) { return d == 0 ? 0 : d == 1 ? rank - 1 : d - 1; }

namespace {

DenseElementsAttr getSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() ? elements : DenseElementsAttr();
}

/// Where the dimensions of the broadcast's input go with channels last.
SmallVector<int64_t> getPlaces(BroadcastOp op) {
  SmallVector<int64_t> places;
  for (int64_t d : op.getDimensions())
    places.push_back(getPlaceWithChannelsLast(d, typeOf(op).getRank()));
  return places;
}

} // namespace

Value getChannelsLast(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  int64_t rank = typeOf(value).getRank();
  if (!transpose || rank < 3 || transpose.getPermutation() != ArrayRef<int64_t>(toChannelsFirst(rank)))
    return {};
  return transpose.getInput();
}

bool isFreeInEither(Value value) {
  if (getSplat(value))
    return true;
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return false;
  RankedTensorType input = typeOf(broadcast.getInput());
  int64_t wide = llvm::count_if(llvm::seq<int64_t>(0, input.getRank()), [&](int64_t d) {
    DimAttr size = getDim(input, d);
    return !size || size.asConstant() != 1;
  });
  return llvm::is_sorted(getPlaces(broadcast)) || (wide <= 1 && input.hasStaticShape());
}

bool computesInEitherLayout(Operation *op) {
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.getRank() >= 3;
}

namespace {

/// The type of the same tensor with its dimensions in the order of `permutation`.
RankedTensorType permute(RankedTensorType type, ArrayRef<int64_t> permutation) {
  SmallVector<DimAttr> dims;
  for (int64_t d : permutation)
    dims.push_back(getDim(type, d));
  return getTensorType(dims, type.getElementType());
}

/// The type of a channels-first tensor with channels last. What takes an op's place knows the sizes that the op knew,
/// which may be more than follows from its operands.
RankedTensorType withChannelsLast(RankedTensorType type) { return permute(type, toChannelsLast(type.getRank())); }

/// Replaces `op` by the view with channels first of `result`, which has them last.
LogicalResult replaceWithView(PatternRewriter &rewriter, Operation *op, Value result) {
  rewriter.replaceOpWithNewOp<TransposeOp>(op, typeOf(op->getResult(0)), result,
                                           toChannelsFirst(typeOf(result).getRank()));
  return success();
}

/// The list with the entries of channels-first dimensions in the order of channels last.
SmallVector<int64_t> reordered(ArrayRef<int64_t> list) {
  SmallVector<int64_t> result;
  for (int64_t d : toChannelsLast(list.size()))
    result.push_back(list[d]);
  return result;
}

/// True for a product that was chosen with its channels last, and has them first.
bool isWanted(Operation *op) {
  ProductAttr product = getProduct(op);
  auto conv = dyn_cast<ConvOp>(op);
  auto filter = dyn_cast<ConvFilterOp>(op);
  return product && product.getChannelsLast() &&
         ((conv && !conv.getChannelsLast()) || (filter && !filter.getChannelsLast()));
}

struct ConvertConv : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &rewriter) const override {
    if (!isWanted(op))
      return failure();
    RankedTensorType type = typeOf(op.getInput());
    Value input = TransposeOp::create(rewriter, op.getLoc(), withChannelsLast(type), op.getInput(),
                                      toChannelsLast(type.getRank()));
    auto result = ConvOp::create(rewriter, op.getLoc(), withChannelsLast(typeOf(op)), input, op.getFilter(),
                                 op.getStrides(), op.getDilations(), op.getPadsLow(), op.getPadsHigh(), op.getGroups(),
                                 /*channels_last=*/true, op.getSumsAttr(), op.getFactorsAttr());
    result->setAttr(kProductAttr, getProduct(op));
    return replaceWithView(rewriter, op, result);
  }
};

/// Both operands have their channels last, and the result has its filters and channels behind the places of the kernel.
struct ConvertConvFilter : OpRewritePattern<ConvFilterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvFilterOp op, PatternRewriter &rewriter) const override {
    if (!isWanted(op))
      return failure();
    auto convert = [&](Value value) -> Value {
      RankedTensorType type = typeOf(value);
      return TransposeOp::create(rewriter, op.getLoc(), withChannelsLast(type), value, toChannelsLast(type.getRank()));
    };
    int64_t rank = typeOf(op).getRank();
    SmallVector<int64_t> there, back = {rank - 1, rank - 2};
    for (int64_t d = 2; d < rank; ++d) {
      there.push_back(d);
      back.push_back(d - 2);
    }
    there.append({1, 0});
    auto result = ConvFilterOp::create(rewriter, op.getLoc(), permute(typeOf(op), there), convert(op.getInput()),
                                       convert(op.getGradient()), op.getKernel(), op.getStrides(), op.getDilations(),
                                       op.getPadsLow(), op.getGroups(), /*channels_last=*/true, op.getSumsAttr(),
                                       op.getFactorsAttr());
    result->setAttr(kProductAttr, getProduct(op));
    rewriter.replaceOpWithNewOp<TransposeOp>(op, typeOf(op), result, back);
    return success();
  }
};

/// An elementwise op computes with channels last when one of its operands lies so and the others can be had so for
/// nothing.
struct SinkThroughElementwise : RewritePattern {
  explicit SinkThroughElementwise(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto isFree = [](Value value) { return getChannelsLast(value) || isFreeInEither(value); };
    if (!computesInEitherLayout(op) ||
        llvm::none_of(op->getOperands(), [](Value operand) { return !!getChannelsLast(operand); }) ||
        !llvm::all_of(op->getOperands(), isFree))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(convert(rewriter, operand));
    Operation *copy = rewriter.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(withChannelsLast(typeOf(op->getResult(0))));
    return replaceWithView(rewriter, op, copy->getResult(0));
  }

private:
  static Value convert(PatternRewriter &rewriter, Value value) {
    if (Value inner = getChannelsLast(value))
      return inner;
    RankedTensorType type = withChannelsLast(typeOf(value));
    if (DenseElementsAttr splat = getSplat(value))
      return ConstantOp::create(rewriter, value.getLoc(), type,
                                splat.resizeSplat(RankedTensorType::get(type.getShape(), type.getElementType())));
    auto broadcast = value.getDefiningOp<BroadcastOp>();
    SmallVector<int64_t> places = getPlaces(broadcast);
    Value input = broadcast.getInput();
    if (!llvm::is_sorted(places)) {
      // At most one dimension is not 1, so that any order of them is the same memory.
      SmallVector<std::pair<int64_t, DimAttr>> order;
      for (auto [d, place] : llvm::enumerate(places))
        order.push_back({place, getDim(typeOf(input), d)});
      llvm::sort(order, [](const auto &a, const auto &b) { return a.first < b.first; });
      SmallVector<DimAttr> dims;
      places.clear();
      for (auto &[place, size] : order) {
        places.push_back(place);
        dims.push_back(size);
      }
      input = ReshapeOp::create(rewriter, value.getLoc(), getTensorType(dims, type.getElementType()), input);
    }
    return BroadcastOp::create(rewriter, value.getLoc(), type, input, places);
  }
};

struct SinkThroughReduceWindow : OpRewritePattern<ReduceWindowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceWindowOp op, PatternRewriter &rewriter) const override {
    Value input = getChannelsLast(op.getInput());
    if (!input)
      return failure();
    Value result =
        ReduceWindowOp::create(rewriter, op.getLoc(), withChannelsLast(typeOf(op)), op.getKind(), input,
                               reordered(op.getWindow()), reordered(op.getStrides()), reordered(op.getDilations()),
                               reordered(op.getPadsLow()), reordered(op.getPadsHigh()));
    return replaceWithView(rewriter, op, result);
  }
};

struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    Value input = getChannelsLast(op.getInput());
    if (!input)
      return failure();
    int64_t rank = typeOf(input).getRank();
    SmallVector<int64_t> axes, kept;
    for (int64_t axis : op.getAxes())
      axes.push_back(getPlaceWithChannelsLast(axis, rank));
    llvm::sort(axes);
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(op.getAxes(), d))
        kept.push_back(getPlaceWithChannelsLast(d, rank));
    // The places of what is left, in the order of the op's result and in that of the new one.
    SmallVector<int64_t> sorted(kept), permutation, inverse;
    llvm::sort(sorted);
    for (int64_t place : kept)
      permutation.push_back(llvm::find(sorted, place) - sorted.begin());
    for (int64_t place : sorted)
      inverse.push_back(llvm::find(kept, place) - kept.begin());
    RankedTensorType type = typeOf(op);
    Value result = ReduceOp::create(rewriter, op.getLoc(), permute(type, inverse), op.getKind(), input, axes);
    if (kept == sorted)
      rewriter.replaceOp(op, result);
    else
      rewriter.replaceOpWithNewOp<TransposeOp>(op, type, result, permutation);
    return success();
  }
};

struct SinkThroughConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs())
      inputs.push_back(getChannelsLast(input));
    if (!llvm::all_of(inputs, [](Value input) { return !!input; }))
      return failure();
    int64_t rank = typeOf(op.getResult()).getRank();
    Value result = ConcatOp::create(rewriter, op.getLoc(), withChannelsLast(typeOf(op)), inputs,
                                    getPlaceWithChannelsLast(op.getAxis(), rank));
    return replaceWithView(rewriter, op, result);
  }
};

struct SinkThroughPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    Value input = getChannelsLast(op.getInput());
    if (!input)
      return failure();
    int64_t rank = typeOf(input).getRank();
    SmallVector<Attribute> low, high;
    for (int64_t d : toChannelsLast(rank)) {
      low.push_back(op.getLow()[d]);
      high.push_back(op.getHigh()[d]);
    }
    Value result = PadOp::create(rewriter, op.getLoc(), withChannelsLast(typeOf(op)), input, op.getValue(),
                                 rewriter.getArrayAttr(low), rewriter.getArrayAttr(high));
    return replaceWithView(rewriter, op, result);
  }
};

/// A transpose that moves nothing but dimensions of size 1 is a view.
struct TransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = typeOf(op.getInput());
    SmallVector<int64_t> wide;
    for (int64_t d : op.getPermutation())
      if (DimAttr size = getDim(type, d); !size || size.asConstant() != 1)
        wide.push_back(d);
    if (!llvm::is_sorted(wide) || getChannelsLast(op))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getResult().getType(), op.getInput());
    return success();
  }
};

struct UseChannelsLastPass : impl::UseChannelsLastPassBase<UseChannelsLastPass> {
  void runOnOperation() override {
    bool isAnyWanted = false;
    getOperation().walk([&](Operation *op) { isAnyWanted |= isWanted(op); });
    if (!isAnyWanted)
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ConvertConv, ConvertConvFilter, SinkThroughElementwise, SinkThroughReduceWindow, SinkThroughReduce,
                 SinkThroughConcat, SinkThroughPad, TransposeToReshape>(&getContext());
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
