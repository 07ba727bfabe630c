// Gradients of contractions and convolutions.
#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"
#include "vx/Dialect/VX/IR/WindowSize.h"
#include "vx/Dialect/VX/Utils/TransposedConv.h"

using namespace mlir;

namespace vx {

/// The dimensions of an operand of a contraction that are neither paired nor summed, in their order.
static SmallVector<int64_t> getFree(Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> free;
  for (int64_t d = 0; d < cast<RankedTensorType>(operand.getType()).getRank(); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracting, d))
      free.push_back(d);
  return free;
}

/// The cotangent of one operand: the sum of the result's times the other operand, over the dimensions that the other
/// one alone has.
static Value contractWithOther(GraphBuilder &g, ContractOp op, Value gradient, bool isLhs) {
  Value own = isLhs ? op.getLhs() : op.getRhs(), other = isLhs ? op.getRhs() : op.getLhs();
  ArrayRef<int64_t> ownBatch = isLhs ? op.getLhsBatch() : op.getRhsBatch(),
                    otherBatch = isLhs ? op.getRhsBatch() : op.getLhsBatch(),
                    ownSummed = isLhs ? op.getLhsContracting() : op.getRhsContracting(),
                    otherSummed = isLhs ? op.getRhsContracting() : op.getLhsContracting();
  SmallVector<int64_t> ownFree = getFree(own, ownBatch, ownSummed), otherFree = getFree(other, otherBatch, otherSummed);
  // The gradient is [batch, free of lhs, free of rhs].
  int64_t batchRank = ownBatch.size(), lhsFree = isLhs ? ownFree.size() : otherFree.size();
  auto range = [](int64_t from, int64_t count) { return llvm::to_vector(llvm::seq(from, from + count)); };
  SmallVector<int64_t> batch = range(0, batchRank);
  SmallVector<int64_t> summed = isLhs ? range(batchRank + lhsFree, otherFree.size()) : range(batchRank, lhsFree);
  // What the product leaves of the other operand, in its order, is what the own one summed over.
  SmallVector<int64_t> left;
  for (int64_t d = 0; d < cast<RankedTensorType>(other.getType()).getRank(); ++d)
    if (const auto *found = llvm::find(otherSummed, d); found != otherSummed.end())
      left.push_back(ownSummed[found - otherSummed.begin()]);
  // The order of the operands that gives the dimensions as they are wanted, if one does.
  auto getOrder = [&](bool gradientFirst) {
    SmallVector<int64_t> order(ownBatch);
    llvm::append_range(order, gradientFirst ? ownFree : left);
    llvm::append_range(order, gradientFirst ? left : ownFree);
    return order;
  };
  bool gradientFirst = llvm::is_sorted(getOrder(true)) || !llvm::is_sorted(getOrder(false));
  Type element = cast<RankedTensorType>(own.getType()).getElementType();
  gradient = g.cast(gradient, element);
  Value product = gradientFirst ? g.emit<ContractOp>(gradient, other, batch, otherBatch, summed, otherFree,
                                                     op.getSumsAttr(), op.getFactorsAttr())
                                : g.emit<ContractOp>(other, gradient, otherBatch, batch, otherFree, summed,
                                                     op.getSumsAttr(), op.getFactorsAttr());
  SmallVector<int64_t> order = getOrder(gradientFirst), permutation(order.size());
  for (auto [place, dim] : llvm::enumerate(order))
    permutation[dim] = place;
  return g.cast(g.transpose(product, permutation), element);
}

void ContractOp::buildPullback(Pullback &p) {
  if (p.wants(0u))
    p.give(0u, contractWithOther(p.g, *this, p.of(), /*isLhs=*/true));
  if (p.wants(1u))
    p.give(1u, contractWithOther(p.g, *this, p.of(), /*isLhs=*/false));
}

static SmallVector<DimAttr> toDims(GraphBuilder &g, ArrayRef<int64_t> numbers) {
  return llvm::map_to_vector(numbers, [&](int64_t number) { return g.dim(number); });
}

void ConvOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  int64_t rank = getInput().getType().getRank();
  auto channelsFirst = [&](Value value) {
    return getChannelsLast() ? g.transpose(value, toChannelsFirst(rank)) : value;
  };
  Type element = getInput().getType().getElementType();
  Value gradient = g.cast(channelsFirst(p.of()), element);
  if (p.wants(0u)) {
    SmallVector<DimAttr> sizes;
    for (int64_t d = 0; d < rank - 2; ++d)
      sizes.push_back(getDim(getInput().getType(), getSpatialDim(d)));
    Value input = emitTransposedConv(g, gradient, getFilter(), sizes, getStrides(), getDilations(),
                                     toDims(g, getPadsLow()), getGroups());
    p.give(0u, getChannelsLast() ? g.transpose(input, toChannelsLast(rank)) : input);
  }
  if (p.wants(1u)) {
    SmallVector<DimAttr> sizes = getDims(getFilter().getType());
    ArrayAttr kernel = g.toArray(ArrayRef(sizes).drop_front(2));
    Value filter =
        g.emit<ConvFilterOp>(channelsFirst(getInput()), gradient, kernel, getStrides(), getDilations(), getPadsLow(),
                             getGroups(), /*channels_last=*/false, getSumsAttr(), getFactorsAttr());
    p.give(1u, g.cast(filter, element));
  }
}

/// It is linear in both: with a filter in the place of its result the input's cotangent is that of a convolution, and
/// the gradient's is its result.
void ConvFilterOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  int64_t rank = getInput().getType().getRank();
  SmallVector<int64_t> filterFirst = {rank - 1, rank - 2};
  for (int64_t d = 0; d < rank - 2; ++d)
    filterFirst.push_back(d);
  // Of no places nothing depends on anything; a convolution with no place for its window is no op.
  for (DimAttr size : getDims(getGradient().getType()))
    if (size && size.asConstant() == 0)
      return;
  Type element = getInput().getType().getElementType();
  Value filter = g.cast(getChannelsLast() ? g.transpose(p.of(), filterFirst) : p.of(), element);
  auto give = [&](unsigned number, Value value) {
    p.give(number, getChannelsLast() ? g.transpose(value, toChannelsLast(rank)) : value);
  };
  if (p.wants(0u)) {
    SmallVector<DimAttr> sizes;
    for (int64_t d = 0; d < rank - 2; ++d)
      sizes.push_back(getDim(getInput().getType(), getSpatialDim(d)));
    Value gradient = getGradient();
    if (getChannelsLast())
      gradient = g.transpose(gradient, toChannelsFirst(rank));
    give(0u, emitTransposedConv(g, gradient, filter, sizes, getStrides(), getDilations(), toDims(g, getPadsLow()),
                                getGroups()));
  }
  if (p.wants(1u)) {
    SmallVector<int64_t> zeros(rank - 2, 0);
    Value result = g.emit<ConvOp>(buildReachedInput(g), filter, getStrides(), getDilations(), zeros, zeros, getGroups(),
                                  /*channels_last=*/false, getSumsAttr(), getFactorsAttr());
    give(1u, g.cast(result, element));
  }
}

} // namespace vx
