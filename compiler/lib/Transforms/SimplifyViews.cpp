#include "ViewChain.h"
#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SIMPLIFYVIEWSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

RankedTensorType permuteType(RankedTensorType type, ArrayRef<int64_t> permutation) {
  SmallVector<DimAttr> dims;
  for (int64_t dim : permutation)
    dims.push_back(getDim(type, dim));
  return getTensorType(dims, type.getElementType());
}

SmallVector<int64_t> invert(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    inverse[from] = to;
  return inverse;
}

bool hasAllDims(Value value) { return !llvm::is_contained(getDims(typeOf(value)), DimAttr()); }

/// A gather of one element of a dimension by a constant index is a slice.
struct TurnGatherIntoSlice : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    auto constant = op.getIndices().getDefiningOp<ConstantOp>();
    auto elements = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
    if (!elements || elements.getNumElements() != 1 || op.getMembers())
      return rewriter.notifyMatchFailure(op, "the index is not one constant");
    RankedTensorType input = op.getInput().getType();
    int64_t axis = op.getAxis(), index = (*elements.value_begin<APInt>()).getSExtValue();
    if (input.isDynamicDim(axis) || !hasAllDims(op.getInput()))
      return rewriter.notifyMatchFailure(op, "the number of slices is not known");
    int64_t size = input.getDimSize(axis);
    if (index < -size || index >= size)
      return rewriter.notifyMatchFailure(op, "the index is out of range, which fails the call");
    SmallVector<DimAttr> dims = getDims(input);
    dims[axis] = DimAttr::constant(op.getContext(), 1);
    SmallVector<Attribute> starts(dims.size(), DimAttr::constant(op.getContext(), 0));
    starts[axis] = DimAttr::constant(op.getContext(), index < 0 ? index + size : index);
    Value slice = SliceOp::create(rewriter, op.getLoc(), getTensorType(dims, input.getElementType()), op.getInput(),
                                  rewriter.getArrayAttr(starts), SmallVector<int64_t>(dims.size(), 1));
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getResult().getType(), slice);
    return success();
  }
};

/// A slice of a concatenation that is one of its operands.
struct TakeOperandOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getInput().getDefiningOp<ConcatOp>();
    if (!concat || !hasAllDims(concat.getResult()))
      return failure();
    DimAttr offset = DimAttr::constant(op.getContext(), 0);
    for (Value input : concat.getInputs()) {
      bool isInput = input.getType() == op.getResult().getType();
      for (auto [d, start] : llvm::enumerate(op.getStarts()))
        isInput &=
            op.getStrides()[d] == 1 &&
            start == (d == static_cast<uint64_t>(concat.getAxis()) ? offset : DimAttr::constant(op.getContext(), 0));
      if (isInput) {
        rewriter.replaceOp(op, input);
        return success();
      }
      if (!hasAllDims(input))
        break;
      offset = offset + getDim(typeOf(input), concat.getAxis());
    }
    return rewriter.notifyMatchFailure(op, "it is no operand of the concatenation");
  }
};

/// A chain of views with fewer moves of elements.
struct ShortenChain : RewritePattern {
  explicit ShortenChain(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::View>() || !hasAllDims(op->getResult(0)))
      return failure();
    // The end of a chain decides; what is inside may go with it.
    if (llvm::all_of(op->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::View>(); }))
      return failure();
    ViewChain chain = ViewChain::trace(op->getResult(0));
    unsigned moves = chain.getNumMoves();
    if (moves == 0)
      return failure();
    chain.joinFactors();
    if (chain.getNumMovesToBuild() >= moves)
      return rewriter.notifyMatchFailure(op, "as many moves are needed");
    rewriter.replaceOp(op, chain.build(rewriter, op->getLoc(), typeOf(op->getResult(0))));
    return success();
  }
};

/// The dimensions of one operand of a contraction that are neither batch nor summed over.
SmallVector<int64_t> getFreeDims(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> free;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracting, d))
      free.push_back(d);
  return free;
}

/// One side of a contraction.
struct Side {
  Side(ContractOp op, bool isRhs) : isRhs(isRhs), value(isRhs ? op.getRhs() : op.getLhs()) {
    batch = SmallVector<int64_t>(isRhs ? op.getRhsBatch() : op.getLhsBatch());
    contracting = SmallVector<int64_t>(isRhs ? op.getRhsContracting() : op.getLhsContracting());
    free = getFreeDims(typeOf(value).getRank(), batch, contracting);
  }

  bool isRhs;
  Value value;
  SmallVector<int64_t> batch, contracting, free;
};

/// The contraction of `side` with the other side of `op`.
ContractOp contractWith(PatternRewriter &rewriter, ContractOp op, const Side &side) {
  Side other(op, !side.isRhs);
  const Side &lhs = side.isRhs ? other : side, &rhs = side.isRhs ? side : other;
  SmallVector<DimAttr> dims;
  RankedTensorType lhsType = typeOf(lhs.value), rhsType = typeOf(rhs.value);
  for (auto [l, r] : llvm::zip(lhs.batch, rhs.batch)) {
    DimAttr left = getDim(lhsType, l);
    dims.push_back(left.asConstant() ? left : getDim(rhsType, r).asConstant() ? getDim(rhsType, r) : left);
  }
  for (int64_t d : getFreeDims(lhsType.getRank(), lhs.batch, lhs.contracting))
    dims.push_back(getDim(lhsType, d));
  for (int64_t d : getFreeDims(rhsType.getRank(), rhs.batch, rhs.contracting))
    dims.push_back(getDim(rhsType, d));
  RankedTensorType type = getTensorType(dims, op.getResult().getType().getElementType());
  return ContractOp::create(rewriter, op.getLoc(), type, lhs.value, rhs.value, lhs.batch, rhs.batch, lhs.contracting,
                            rhs.contracting, op.getSumsAttr(), op.getFactorsAttr());
}

/// contract(transpose(x), y) -> contract(x, y), transposed behind where the order of the free dimensions changes.
struct FoldTransposeIntoContract : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    if (!hasAllDims(op.getLhs()) || !hasAllDims(op.getRhs()))
      return rewriter.notifyMatchFailure(op, "a size is not known");
    for (bool isRhs : {false, true}) {
      Side side(op, isRhs);
      auto transpose = side.value.getDefiningOp<TransposeOp>();
      if (!transpose)
        continue;
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      auto map = [&](ArrayRef<int64_t> dims) {
        SmallVector<int64_t> mapped;
        for (int64_t dim : dims)
          mapped.push_back(permutation[dim]);
        return mapped;
      };
      SmallVector<int64_t> free = map(side.free);
      bool keepsOrder = llvm::is_sorted(free);
      // Behind the contraction the transposition is a move of its own again; before one that moves anyway it costs
      // nothing.
      if (!keepsOrder && ViewChain::trace(transpose.getInput()).getNumMoves() != 0)
        continue;
      side.value = transpose.getInput();
      side.batch = map(side.batch);
      side.contracting = map(side.contracting);
      ContractOp folded = contractWith(rewriter, op, side);
      if (keepsOrder) {
        rewriter.replaceOp(op, folded);
        return success();
      }
      // Free dimension k of the old operand is now the one at the place of free[k] among the sorted ones.
      SmallVector<int64_t> sorted(free);
      auto result = llvm::to_vector(llvm::seq<int64_t>(0, op.getResult().getType().getRank()));
      llvm::sort(sorted);
      int64_t first = side.batch.size() + (isRhs ? Side(op, false).free.size() : 0);
      for (auto [k, dim] : llvm::enumerate(free))
        result[first + k] = first + (llvm::find(sorted, dim) - sorted.begin());
      rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getResult().getType(), folded.getResult(), result);
      return success();
    }
    return failure();
  }
};

/// transpose(contract(move(x), y)) -> contract(move'(x), y) when only free dimensions of one operand change places.
struct HoistTransposeOverContract : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto contract = op.getInput().getDefiningOp<ContractOp>();
    if (!contract || !contract->hasOneUse() || !hasAllDims(contract.getLhs()) || !hasAllDims(contract.getRhs()))
      return failure();
    ArrayRef<int64_t> permutation = op.getPermutation();
    for (bool isRhs : {false, true}) {
      Side side(contract, isRhs);
      int64_t first = side.batch.size() + (isRhs ? Side(contract, false).free.size() : 0), count = side.free.size();
      bool isOfSide = true;
      for (auto [to, from] : llvm::enumerate(permutation)) {
        bool inside = static_cast<int64_t>(to) >= first && static_cast<int64_t>(to) < first + count;
        isOfSide &= inside ? from >= first && from < first + count : from == static_cast<int64_t>(to);
      }
      if (!isOfSide)
        continue;
      auto operand = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(side.value).getRank()));
      for (int64_t k = 0; k < count; ++k)
        operand[side.free[k]] = side.free[permutation[first + k] - first];
      ViewChain chain = ViewChain::trace(side.value);
      if (chain.getNumMoves() == 0)
        continue;
      chain.permute(operand);
      chain.joinFactors();
      if (chain.getNumMovesToBuild() > 1)
        continue;
      side.value = chain.build(rewriter, op.getLoc(), permuteType(typeOf(side.value), operand));
      ContractOp hoisted = contractWith(rewriter, contract, side);
      rewriter.replaceOp(op, hoisted);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no operand moves its elements anyway");
  }
};

/// contract(reshape(x), y) -> reshape(contract(x', y)) where the reshape joins free dimensions, so that what follows in
/// the shape of x is the contraction's epilogue.
struct SplitFreeDims : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    Side side(op, false);
    auto reshape = side.value.getDefiningOp<ReshapeOp>();
    if (!reshape || !hasAllDims(reshape.getInput()) || !hasAllDims(reshape.getResult()) || !hasAllDims(op.getRhs()))
      return failure();
    if (op->use_empty() || !llvm::all_of(op->getUsers(), llvm::IsaPred<ReshapeOp>))
      return rewriter.notifyMatchFailure(op, "what follows has the joined shape");
    ViewChain chain = ViewChain::trace(reshape.getResult());
    // The chain may go on behind the reshape; its factors are the finest parts all the same.
    SmallVector<DimAttr> dims;
    SmallVector<int64_t> place; // of each old dimension, the first of its new ones
    bool splits = false;
    for (auto [d, dim] : llvm::enumerate(getDims(typeOf(side.value)))) {
      place.push_back(dims.size());
      ArrayRef<unsigned> group = chain.getGroups()[d];
      if (llvm::is_contained(side.free, d) && group.size() > 1) {
        splits = true;
        for (unsigned number : group)
          dims.push_back(chain.getFactors()[number].length);
      } else {
        dims.push_back(dim);
      }
    }
    if (!splits)
      return failure();
    auto map = [&](ArrayRef<int64_t> old) {
      SmallVector<int64_t> mapped;
      for (int64_t d : old)
        mapped.push_back(place[d]);
      return mapped;
    };
    RankedTensorType type = getTensorType(dims, typeOf(side.value).getElementType());
    side.value = ReshapeOp::create(rewriter, reshape.getLoc(), type, reshape.getInput());
    side.batch = map(side.batch);
    side.contracting = map(side.contracting);
    ContractOp split = contractWith(rewriter, op, side);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getResult().getType(), split.getResult());
    return success();
  }
};

/// f(transpose(x), broadcast(c)) -> transpose(f(x, broadcast'(c)))
struct SinkTransposeBelowElementwise : RewritePattern {
  explicit SinkTransposeBelowElementwise(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>())
      return failure();
    TransposeOp transpose;
    for (Value operand : op->getOperands()) {
      auto other = operand.getDefiningOp<TransposeOp>();
      if (!other)
        continue;
      if (!other->hasOneUse() && !llvm::all_of(other->getUsers(), [&](Operation *user) { return user == op; }))
        return rewriter.notifyMatchFailure(op, "the transposed value has another reader");
      if (transpose && transpose.getPermutation() != other.getPermutation())
        return rewriter.notifyMatchFailure(op, "the operands are transposed differently");
      transpose = other;
    }
    if (!transpose)
      return failure();
    SmallVector<int64_t> permutation(transpose.getPermutation()), inverse = invert(permutation);
    struct Repeated {
      BroadcastOp op;
      SmallVector<int64_t> dimensions;
    };
    SmallVector<std::optional<Repeated>> repeated;
    for (Value operand : op->getOperands()) {
      repeated.emplace_back();
      if (operand.getDefiningOp<TransposeOp>())
        continue;
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      if (!broadcast)
        return rewriter.notifyMatchFailure(op, "an operand is neither transposed nor repeated");
      repeated.back() = Repeated{broadcast, {}};
      for (int64_t dim : broadcast.getDimensions())
        repeated.back()->dimensions.push_back(permutation[dim]);
      if (!llvm::is_sorted(repeated.back()->dimensions))
        return rewriter.notifyMatchFailure(op, "the repeated value would have to be transposed");
    }
    auto resultType = typeOf(op->getResult(0));
    if (!hasAllDims(op->getResult(0)))
      return rewriter.notifyMatchFailure(op, "a size is not known");
    SmallVector<Value> operands;
    for (auto [operand, repeat] : llvm::zip(op->getOperands(), repeated)) {
      if (!repeat) {
        operands.push_back(operand.getDefiningOp<TransposeOp>().getInput());
        continue;
      }
      RankedTensorType type = permuteType(typeOf(operand), inverse);
      operands.push_back(
          BroadcastOp::create(rewriter, repeat->op.getLoc(), type, repeat->op.getInput(), repeat->dimensions));
    }
    OperationState state(op->getLoc(), op->getName(), operands, {}, op->getAttrs());
    state.addTypes(permuteType(resultType, inverse));
    Operation *moved = rewriter.create(state);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, resultType, moved->getResult(0), permutation);
    return success();
  }
};

/// scatter(transpose(x), i, u) -> transpose(scatter(x, i, u')) where something transposes the result back, so that rows
/// of x are replaced where x lies.
struct SinkTransposeBelowScatter : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!transpose)
      return failure();
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<int64_t> inverse = invert(permutation);
    if (llvm::none_of(op->getUsers(), [&](Operation *user) {
          auto back = dyn_cast<TransposeOp>(user);
          return back && back.getPermutation() == ArrayRef(inverse);
        }))
      return rewriter.notifyMatchFailure(op, "nothing transposes the result back");
    // The dimensions of x that are indexed, and those of a row in the order of the updates.
    SmallVector<int64_t> axes, row;
    for (auto [to, from] : llvm::enumerate(permutation))
      (llvm::is_contained(op.getAxes(), static_cast<int64_t>(to)) ? axes : row).push_back(from);
    if (!llvm::is_sorted(axes))
      return rewriter.notifyMatchFailure(op, "the members of the tuples would change places");
    Value updates = op.getUpdates();
    if (!llvm::is_sorted(row)) {
      if (!hasAllDims(updates))
        return rewriter.notifyMatchFailure(op, "a size is not known");
      int64_t first = typeOf(updates).getRank() - static_cast<int64_t>(row.size());
      SmallVector<int64_t> sorted(row), order = llvm::to_vector(llvm::seq<int64_t>(0, first));
      llvm::sort(sorted);
      for (int64_t dim : sorted)
        order.push_back(first + (llvm::find(row, dim) - row.begin()));
      updates = TransposeOp::create(rewriter, op.getLoc(), permuteType(typeOf(updates), order), updates, order);
    }
    Value input = transpose.getInput();
    auto scatter =
        ScatterOp::create(rewriter, op.getLoc(), input.getType(), op.getKind(), input, op.getIndices(), updates, axes);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getResult().getType(), scatter.getResult(), permutation);
    return success();
  }
};

struct SimplifyViewsPass : impl::SimplifyViewsPassBase<SimplifyViewsPass> {
  using SimplifyViewsPassBase::SimplifyViewsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ShortenChain>(&getContext());
    if (!chainsOnly)
      patterns.add<TurnGatherIntoSlice, TakeOperandOfConcat, FoldTransposeIntoContract, HoistTransposeOverContract,
                   SplitFreeDims, SinkTransposeBelowElementwise, SinkTransposeBelowScatter>(&getContext());
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
