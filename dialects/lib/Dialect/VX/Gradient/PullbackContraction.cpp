// Gradients of contractions and convolutions.
#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"
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

/// The cotangent of the filter: a convolution of the input by the gradients, which stand apart by the strides; batch
/// and channels change places.
///
///     result[m, c, k...] = sum over n, o... of input[n, g*C/groups + c, o*strides + k*dilations - pads] * gradient[n,
///     m, o...]
static Value convolveByGradient(GraphBuilder &g, ConvOp op, Value input, Value gradient) {
  SmallVector<DimAttr> from = getDims(g.typeOf(input)), to = getDims(g.typeOf(gradient)),
                       filter = getDims(op.getFilter().getType());
  int64_t groups = op.getGroups();
  // Exactly what the windows reach: there are as many places as the filter has.
  SmallVector<DimAttr> low = {g.dim(0), g.dim(0)}, high = low;
  for (size_t d = 2; d < from.size(); ++d) {
    DimAttr reach = (filter[d] + (-1)) * op.getDilations()[d - 2] + (to[d] + (-1)) * op.getStrides()[d - 2] + 1;
    low.push_back(g.dim(op.getPadsLow()[d - 2]));
    high.push_back(reach - from[d] - low.back());
  }
  input = g.pad(input, low, high);
  // [N, groups, C / groups, ...] -> [C / groups, groups * N, ...]
  SmallVector<DimAttr> sizes = getDims(g.typeOf(input)), split = {sizes[0], g.dim(groups), filter[1]},
                       joined = {filter[1], sizes[0] * groups};
  SmallVector<int64_t> permutation = {2, 1, 0}, swapped = {1, 0};
  for (size_t d = 2; d < sizes.size(); ++d) {
    split.push_back(sizes[d]);
    joined.push_back(sizes[d]);
    permutation.push_back(d + 1);
    swapped.push_back(d);
  }
  input = g.reshape(g.transpose(g.reshape(input, split), permutation), joined);
  SmallVector<int64_t> zeros(sizes.size() - 2, 0);
  Value result = g.emit<ConvOp>(input, g.transpose(gradient, swapped), op.getDilations(), op.getStrides(), zeros, zeros,
                                groups, /*channels_last=*/false, op.getSumsAttr(), op.getFactorsAttr());
  return g.transpose(result, swapped);
}

void ConvOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  int64_t rank = getInput().getType().getRank();
  // As [N, channels, spatial...].
  SmallVector<int64_t> toFirst = {0, rank - 1}, toLast = {0};
  for (int64_t d = 2; d < rank; ++d) {
    toFirst.push_back(d - 1);
    toLast.push_back(d);
  }
  toLast.push_back(1);
  auto channelsFirst = [&](Value value) { return getChannelsLast() ? g.transpose(value, toFirst) : value; };
  Type element = getInput().getType().getElementType();
  Value gradient = g.cast(channelsFirst(p.of()), element);
  if (p.wants(0u)) {
    SmallVector<DimAttr> sizes;
    for (int64_t d = 0; d < rank - 2; ++d)
      sizes.push_back(getDim(getInput().getType(), getSpatialDim(d)));
    Value input =
        emitTransposedConv(g, gradient, getFilter(), sizes, getStrides(), getDilations(), getPadsLow(), getGroups());
    p.give(0u, getChannelsLast() ? g.transpose(input, toLast) : input);
  }
  if (p.wants(1u))
    p.give(1u, g.cast(convolveByGradient(g, *this, channelsFirst(getInput()), gradient), element));
}

} // namespace vx
