#include "ViewChain.h"
#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_RECOGNIZEATTENTIONPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// An integer tensor that counts along one of its dimensions from a number on, or is that number (no dimension).
struct Counter {
  std::optional<int64_t> dim;
  DimAttr first;
};

std::optional<Counter> matchCounter(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto iota = dyn_cast<IotaOp>(op))
    return Counter{static_cast<int64_t>(iota.getAxis()), DimAttr::constant(op->getContext(), 0)};
  if (auto dim = dyn_cast<DimValueOp>(op))
    return Counter{std::nullopt, dim.getValue()};
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto elements = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!elements || !isa<IntegerType>(elements.getElementType()))
      return std::nullopt;
    return Counter{std::nullopt, DimAttr::constant(op->getContext(), elements.getSplatValue<APInt>().getSExtValue())};
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    std::optional<Counter> counter = matchCounter(broadcast.getInput());
    if (counter && counter->dim) {
      // A count along one place only is its first number.
      bool counts = typeOf(broadcast.getInput()).getDimSize(*counter->dim) != 1;
      counter->dim = counts ? std::optional<int64_t>(broadcast.getDimensions()[*counter->dim]) : std::nullopt;
    }
    return counter;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    std::optional<Counter> counter = matchCounter(reshape.getInput());
    if (!counter || !counter->dim)
      return counter;
    // Dimensions of size 1 may come and go.
    SmallVector<int64_t> from, to;
    SmallVector<DimAttr> input = getDims(reshape.getInput().getType()), result = getDims(reshape.getResult().getType());
    for (auto [d, dim] : llvm::enumerate(input))
      if (!dim || dim.asConstant() != 1)
        from.push_back(d);
    for (auto [d, dim] : llvm::enumerate(result))
      if (!dim || dim.asConstant() != 1)
        to.push_back(d);
    if (from.size() != to.size())
      return std::nullopt;
    for (auto [f, t] : llvm::zip(from, to)) {
      if (!input[f] || input[f] != result[t])
        return std::nullopt;
      if (f == *counter->dim)
        return Counter{t, counter->first};
    }
    return Counter{std::nullopt, counter->first};
  }
  if (auto sum = dyn_cast<AddOp>(op)) {
    std::optional<Counter> lhs = matchCounter(sum.getLhs()), rhs = matchCounter(sum.getRhs());
    if (!lhs || !rhs || (lhs->dim && rhs->dim))
      return std::nullopt;
    return Counter{lhs->dim ? lhs->dim : rhs->dim, lhs->first + rhs->first};
  }
  return std::nullopt;
}

/// The parts of attention, gathered from its last contraction backwards.
class Attention {
public:
  Attention(ContractOp last, PatternRewriter &rewriter) : last(last), rewriter(rewriter), context(last.getContext()) {}

  LogicalResult match() {
    if (failed(matchValueContraction()) || failed(matchWeights()) || failed(matchScores()))
      return failure();
    return matchDots();
  }

  void build() {
    Location location = rewriter.getFusedLoc(locations);
    rewriter.setInsertionPoint(last);
    auto [query, queryDims] =
        operand(dots.getLhs(), dots.getLhsBatch(), lhsLength, dots.getLhsContracting().front(), true, false);
    auto getKey = [&](bool takesRepeats) {
      return operand(dots.getRhs(), dots.getRhsBatch(), rhsLength, dots.getRhsContracting().front(), true,
                     takesRepeats);
    };
    auto getValue = [&](bool takesRepeats) {
      return operand(last.getRhs(), last.getRhsBatch(), last.getRhsContracting().front(), valueDepth, false,
                     takesRepeats);
    };
    auto [key, keyDims] = getKey(true);
    auto [value, valueDims] = getValue(true);
    // Keys may be repeated in a way that is not recognised, and values in one that is.
    if (getDim(typeOf(key), keyDims[AttentionOp::Heads]) != getDim(typeOf(value), valueDims[AttentionOp::Heads])) {
      std::tie(key, keyDims) = getKey(false);
      std::tie(value, valueDims) = getValue(false);
    }

    // [batch, heads, length, depth], or without those that the contraction does not have.
    auto resultType = last.getResult().getType();
    SmallVector<DimAttr> sizes = withHeads(getDims(resultType));
    SmallVector<int64_t> resultDims = {0, 1, 2, 3};
    TransposeOp behind;
    if (batches == 2 && last->hasOneUse())
      behind = dyn_cast<TransposeOp>(*last->user_begin());
    RankedTensorType type = getTensorType(sizes, resultType.getElementType());
    if (behind) {
      for (auto [to, from] : llvm::enumerate(behind.getPermutation()))
        resultDims[from] = to;
      type = behind.getResult().getType();
      location = rewriter.getFusedLoc({location, behind.getLoc()});
    }
    auto attention = AttentionOp::create(
        rewriter, location, type, Type(), query, key, value, toScoreShape(mask), toScoreShape(bias),
        rewriter.getF64FloatAttr(scale), softcap ? rewriter.getF64FloatAttr(*softcap) : FloatAttr(),
        causal ? rewriter.getUnitAttr() : UnitAttr(), IntegerAttr(),
        causal && past.asConstant() != 0 ? past : DimAttr(), zeroInvalid ? rewriter.getUnitAttr() : UnitAttr(),
        rewriter.getDenseI64ArrayAttr(queryDims), rewriter.getDenseI64ArrayAttr(keyDims),
        rewriter.getDenseI64ArrayAttr(valueDims), rewriter.getDenseI64ArrayAttr(resultDims));
    if (behind) {
      rewriter.replaceOp(behind, attention.getResult());
      rewriter.eraseOp(last);
    } else if (type == resultType) {
      rewriter.replaceOp(last, attention.getResult());
    } else {
      rewriter.replaceOpWithNewOp<ReshapeOp>(last, resultType, attention.getResult());
    }
  }

private:
  LogicalResult refuse(const Twine &reason) { return rewriter.notifyMatchFailure(last, reason); }

  void visit(Operation *op) { locations.push_back(op->getLoc()); }

  /// weights [batch..., length, keys] x value [batch..., keys, depth]
  LogicalResult matchValueContraction() {
    visit(last);
    batches = last.getLhsBatch().size();
    RankedTensorType lhs = last.getLhs().getType(), rhs = last.getRhs().getType();
    if (!isa<FloatType>(lhs.getElementType()) || batches > 2 || lhs.getRank() != batches + 2 ||
        rhs.getRank() != batches + 2)
      return refuse("the last contraction is not one of weights and values");
    if (last.getLhsContracting() != ArrayRef<int64_t>(batches + 1) ||
        !llvm::equal(last.getLhsBatch(), llvm::seq<int64_t>(0, batches)))
      return refuse("the weights are not summed along their last dimension");
    for (RankedTensorType type : {lhs, rhs, last.getResult().getType()})
      if (llvm::is_contained(getDims(type), DimAttr()))
        return refuse("a size is not known");
    valueDepth = freeDim(rhs, last.getRhsBatch(), last.getRhsContracting().front());
    return success();
  }

  /// softmax, with or without the choice of 0 where it is NaN
  LogicalResult matchWeights() {
    Value weights = last.getLhs();
    if (auto select = weights.getDefiningOp<SelectOp>()) {
      auto isNan = select.getCondition().getDefiningOp<IsNanOp>();
      std::optional<double> zero = getFloatSplat(select.getOnTrue());
      if (!isNan || isNan.getInput() != select.getOnFalse() || zero != 0.0 || std::signbit(*zero))
        return refuse("the weights are chosen in another way");
      if (!select->hasOneUse() || !isNan->hasOneUse())
        return refuse("the weights have another reader");
      zeroInvalid = true;
      visit(select);
      weights = select.getOnFalse();
    }
    softmax = weights.getDefiningOp<SoftmaxOp>();
    if (!softmax || softmax.getLog() || static_cast<int64_t>(softmax.getAxis()) != batches + 1)
      return refuse("the weights are no softmax along the keys");
    if (!llvm::all_of(softmax->getUsers(), [&](Operation *user) {
          return user == last.getOperation() ||
                 (zeroInvalid && (isa<IsNanOp>(user) || user == last.getLhs().getDefiningOp()));
        }))
      return refuse("the softmax has another reader");
    visit(softmax);
    return success();
  }

  bool takeConstantFactor(Operation *op) {
    if (!isa<MulOp, DivOp>(op))
      return false;
    for (unsigned side : {1u, 0u})
      if (std::optional<double> factor = getFloatSplat(op->getOperand(side)); factor && (side == 1 || isa<MulOp>(op))) {
        if (!std::isfinite(*factor) || (isa<DivOp>(op) && *factor == 0))
          return false;
        scale = isa<MulOp>(op) ? scale * *factor : scale / *factor;
        scores = op->getOperand(1 - side);
        visit(op);
        return true;
      }
    return false;
  }

  /// From the softmax back to the first contraction: mask, bias, cap, scale.
  LogicalResult matchScores() {
    scores = softmax.getInput();
    auto step = [&](auto take) {
      Operation *op = scores.getDefiningOp();
      return op && op->hasOneUse() && take(op);
    };
    step([&](Operation *op) { return takeMask(op); });
    step([&](Operation *op) { return takeBias(op); });
    step([&](Operation *op) { return takeCap(op); });
    while (step([&](Operation *op) { return takeConstantFactor(op); }))
      ;
    return success();
  }

  /// What a mask or bias is before it is repeated: dimension d of `source` is dimension `dimensions[d]` of the scores.
  struct Repeated {
    Value source;
    SmallVector<int64_t> dimensions;
    bool isNegated = false;
  };

  static Repeated unrepeat(Value value) {
    Repeated result{value, llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()))};
    for (;;) {
      if (auto broadcast = result.source.getDefiningOp<BroadcastOp>()) {
        SmallVector<int64_t> through;
        for (int64_t dim : broadcast.getDimensions())
          through.push_back(result.dimensions[dim]);
        result.dimensions = through;
        result.source = broadcast.getInput();
      } else if (auto complement = result.source.getDefiningOp<NotOp>()) {
        result.isNegated = !result.isNegated;
        result.source = complement.getInput();
      } else {
        return result;
      }
    }
  }

  /// select(condition, x, -inf), or the other way round
  bool takeMask(Operation *op) {
    auto select = dyn_cast<SelectOp>(op);
    if (!select)
      return false;
    bool onFalse = getFloatSplat(select.getOnFalse()) == -INFINITY,
         onTrue = getFloatSplat(select.getOnTrue()) == -INFINITY;
    if (onFalse == onTrue)
      return false;
    Repeated condition = unrepeat(select.getCondition());
    condition.isNegated ^= onTrue;
    scores = onTrue ? select.getOnFalse() : select.getOnTrue();
    visit(op);
    if (takeCausal(condition))
      return true;
    if (auto both = condition.source.getDefiningOp<AndOp>(); both && !condition.isNegated)
      for (unsigned side : {0u, 1u}) {
        auto part = [&](Value value) {
          Repeated result = unrepeat(value);
          for (int64_t &dim : result.dimensions)
            dim = condition.dimensions[dim];
          return result;
        };
        if (takeCausal(part(both->getOperand(side)))) {
          mask = part(both->getOperand(1 - side));
          return true;
        }
      }
    mask = condition;
    return true;
  }

  /// key <= query + past
  bool takeCausal(const Repeated &condition) {
    auto compare = condition.source.getDefiningOp<CompareOp>();
    if (!compare)
      return false;
    std::optional<Counter> key = matchCounter(compare.getLhs()), query = matchCounter(compare.getRhs());
    if (!key || !query || !key->dim || !query->dim)
      return false;
    using P = ComparePredicate;
    P predicate = compare.getPredicate();
    if (condition.isNegated)
      predicate = predicate == P::le   ? P::gt
                  : predicate == P::lt ? P::ge
                  : predicate == P::ge ? P::lt
                  : predicate == P::gt ? P::le
                                       : P::eq;
    if (predicate == P::ge || predicate == P::gt) {
      std::swap(key, query);
      predicate = predicate == P::ge ? P::le : P::lt;
    }
    if (predicate != P::le && predicate != P::lt)
      return false;
    if (condition.dimensions[*key->dim] != batches + 1 || condition.dimensions[*query->dim] != batches)
      return false;
    causal = true;
    past = query->first - key->first;
    if (predicate == P::lt)
      past = past + -1;
    return true;
  }

  bool takeBias(Operation *op) {
    auto sum = dyn_cast<AddOp>(op);
    if (!sum)
      return false;
    // The scores are the side that a contraction leads to.
    for (unsigned side : {0u, 1u}) {
      Operation *producer = sum->getOperand(side).getDefiningOp();
      while (isa_and_present<MulOp, DivOp, TanhOp>(producer))
        producer = producer->getOperand(getFloatSplat(producer->getOperand(0)) ? 1 : 0).getDefiningOp();
      if (!isa_and_present<ContractOp>(producer))
        continue;
      bias = unrepeat(sum->getOperand(1 - side));
      scores = sum->getOperand(side);
      visit(op);
      return true;
    }
    return false;
  }

  /// c * tanh(x / c)
  bool takeCap(Operation *op) {
    auto product = dyn_cast<MulOp>(op);
    if (!product)
      return false;
    for (unsigned side : {0u, 1u}) {
      auto tanh = product->getOperand(side).getDefiningOp<TanhOp>();
      std::optional<double> cap = getFloatSplat(product->getOperand(1 - side));
      if (!tanh || !tanh->hasOneUse() || !cap || !(*cap > 0) || std::isinf(*cap))
        continue;
      // The factors before tanh, the division by the cap among them, give score / cap.
      scores = tanh.getInput();
      softcap = *cap;
      scale = *cap;
      visit(tanh);
      visit(op);
      return true;
    }
    return false;
  }

  /// query [batch..., length, depth] x key [batch..., keys, depth]
  LogicalResult matchDots() {
    dots = scores.getDefiningOp<ContractOp>();
    if (!dots || !dots->hasOneUse())
      return refuse("the scores are no contraction of their own");
    RankedTensorType lhs = dots.getLhs().getType(), rhs = dots.getRhs().getType();
    if (static_cast<int64_t>(dots.getLhsBatch().size()) != batches || lhs.getRank() != batches + 2 ||
        rhs.getRank() != batches + 2 || dots.getLhsContracting().size() != 1)
      return refuse("the scores have other dimensions than the weights");
    for (RankedTensorType type : {lhs, rhs})
      if (llvm::is_contained(getDims(type), DimAttr()))
        return refuse("a size is not known");
    lhsLength = freeDim(lhs, dots.getLhsBatch(), dots.getLhsContracting().front());
    rhsLength = freeDim(rhs, dots.getRhsBatch(), dots.getRhsContracting().front());
    SmallVector<DimAttr> full = getDims(dots.getResult().getType());
    for (const std::optional<Repeated> &tensor : {mask, bias})
      if (tensor && !fits(*tensor, full))
        return refuse("a mask or bias has other dimensions than the scores");
    visit(dots);
    return success();
  }

  static int64_t freeDim(RankedTensorType type, ArrayRef<int64_t> batch, int64_t contracting) {
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (d != contracting && !llvm::is_contained(batch, d))
        return d;
    return -1;
  }

  /// The sizes of batch, heads, ... from those of a tensor without all of them: one batch dimension is the batch, none
  /// a batch of one.
  SmallVector<DimAttr> withHeads(SmallVector<DimAttr> dims) {
    while (dims.size() < 4)
      dims.insert(dims.begin() + std::min<int64_t>(batches, dims.size() - 2), DimAttr::constant(context, 1));
    return dims;
  }

  static bool fits(const Repeated &tensor, ArrayRef<DimAttr> full) {
    for (auto [dim, place] : llvm::zip(getDims(typeOf(tensor.source)), tensor.dimensions))
      if (!dim || (dim.asConstant() != 1 && dim != full[place]))
        return false;
    return true;
  }

  /// [batch or 1, heads or 1, length or 1, keys or 1]; null for none.
  Value toScoreShape(const std::optional<Repeated> &tensor) {
    if (!tensor)
      return {};
    Value source = tensor->source;
    Location location = source.getLoc();
    SmallVector<DimAttr> dims(batches + 2, DimAttr::constant(context, 1));
    for (auto [dim, place] : llvm::zip(getDims(typeOf(source)), tensor->dimensions))
      dims[place] = dim;
    if (tensor->isNegated)
      source = NotOp::create(rewriter, location, source.getType(), source);
    RankedTensorType type = getTensorType(withHeads(dims), typeOf(source).getElementType());
    return source.getType() == type ? source : Value(ReshapeOp::create(rewriter, location, type, source));
  }

  /// `value` without the constant factors in the views that lead to it.
  Value stripFactors(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    if (isa<MulOp>(op))
      for (unsigned side : {1u, 0u})
        if (std::optional<double> factor = getFloatSplat(op->getOperand(side)); factor && std::isfinite(*factor)) {
          scale *= *factor;
          visit(op);
          return stripFactors(op->getOperand(1 - side));
        }
    if (!op->hasTrait<OpTrait::View>())
      return value;
    Value stripped = stripFactors(op->getOperand(0));
    if (stripped == op->getOperand(0))
      return value;
    Operation *copy = rewriter.clone(*op);
    copy->setOperand(0, stripped);
    return copy->getResult(0);
  }

  /// A view of a broadcast that repeats each head: of what is repeated, with the heads that this has.
  Value stripRepeatedHeads(Value value, int64_t heads) {
    ViewChain chain = ViewChain::trace(value);
    if (!chain.skipRepeats(heads))
      return value;
    return chain.build(rewriter, value.getLoc(), getTensorType(chain.getDims(), typeOf(value).getElementType()));
  }

  /// Query, key or value as a tensor of rank 4, with the places of its batch, heads, length and depth.
  std::pair<Value, SmallVector<int64_t>> operand(Value value, ArrayRef<int64_t> batch, int64_t length, int64_t depth,
                                                 bool takesFactors, bool takesRepeats) {
    if (takesFactors)
      value = stripFactors(value);
    SmallVector<int64_t> roles(batch);
    roles.push_back(length);
    roles.push_back(depth);
    if (batches == 2 && takesRepeats)
      value = stripRepeatedHeads(value, roles[AttentionOp::Heads]);
    if (batches == 2) {
      ViewChain chain = ViewChain::trace(value);
      chain.joinFactors();
      unsigned ones = 0, used = 0;
      bool isPlain = true;
      for (ArrayRef<unsigned> group : chain.getGroups()) {
        ones += group.empty();
        used += group.size();
        isPlain &= group.size() <= 1;
      }
      if (isPlain && used == chain.getFactors().size() && chain.getNumMoves() > 0) {
        SmallVector<int64_t> places;
        unsigned nextOne = 0;
        for (int64_t role : roles) {
          ArrayRef<unsigned> group = chain.getGroups()[role];
          places.push_back(group.empty() ? nextOne++ : ones + group.front());
        }
        return {chain.buildFactors(rewriter, value.getLoc(), ones), places};
      }
      return {value, roles};
    }
    // Without heads: transposed views are left alone, which contractions of that form hardly have.
    SmallVector<int64_t> order(roles);
    if (!llvm::is_sorted(order)) {
      SmallVector<DimAttr> dims;
      for (int64_t d : order)
        dims.push_back(getDim(typeOf(value), d));
      value = TransposeOp::create(rewriter, value.getLoc(), getTensorType(dims, typeOf(value).getElementType()), value,
                                  order);
    }
    RankedTensorType type = getTensorType(withHeads(getDims(typeOf(value))), typeOf(value).getElementType());
    return {ReshapeOp::create(rewriter, value.getLoc(), type, value), {0, 1, 2, 3}};
  }

  ContractOp last, dots;
  PatternRewriter &rewriter;
  MLIRContext *context;
  SoftmaxOp softmax;
  Value scores;
  std::optional<Repeated> mask, bias;
  double scale = 1;
  std::optional<double> softcap;
  bool causal = false, zeroInvalid = false;
  DimAttr past;
  int64_t batches = 0, lhsLength = 0, rhsLength = 0, valueDepth = 0;
  SmallVector<Location> locations;
};

struct RecognizeAttention : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    Attention attention(op, rewriter);
    if (failed(attention.match()))
      return failure();
    attention.build();
    return success();
  }
};

struct RecognizeAttentionPass : impl::RecognizeAttentionPassBase<RecognizeAttentionPass> {
  using RecognizeAttentionPassBase::RecognizeAttentionPassBase;

  void runOnOperation() override {
    if (strictMath)
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeAttention>(&getContext());
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
