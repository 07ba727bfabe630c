// Gradients of ops that move elements.
#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"

using namespace mlir;

namespace vx {

static SmallVector<DimAttr> getDimsOf(Value tensor) { return getDims(cast<RankedTensorType>(tensor.getType())); }

void ReshapeOp::buildPullback(Pullback &p) { p.give(0u, p.g.reshape(p.of(), getDimsOf(getInput()))); }

void TransposeOp::buildPullback(Pullback &p) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [place, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = place;
  p.give(0u, p.g.transpose(p.of(), inverse));
}

void PackOp::buildPullback(Pullback &p) {
  p.give(0u, p.g.emitAs<UnpackOp>(getInput().getType(), p.of(), getDim(), getPermutation(), getInner()));
}

void UnpackOp::buildPullback(Pullback &p) {
  p.give(0u, p.g.emit<PackOp>(p.of(), getDim(), getTile(), getPermutation(), getInner()));
}

/// The sum of what was repeated. A size that is 1 or the result's, as the call decides, splits the result's dimension
/// into itself and what it was repeated by: [1, n] where it is 1, [n, 1] where it is n.
void BroadcastOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  SmallVector<DimAttr> from = getDimsOf(getInput()), to = getDimsOf(getResult()), split;
  SmallVector<int64_t> summed;
  int64_t operand = 0;
  for (auto [d, size] : llvm::enumerate(to)) {
    bool isOld = operand < static_cast<int64_t>(from.size()) && getDimensions()[operand] == static_cast<int64_t>(d);
    DimAttr old = isOld ? from[operand++] : DimAttr();
    if (!isOld || old == size || old.asConstant() == 1) {
      // A size of 1 that is repeated is there again after the sum.
      if (!isOld || old != size)
        summed.push_back(split.size());
      split.push_back(size);
      continue;
    }
    split.push_back(old);
    summed.push_back(split.size());
    split.push_back(DimAttr::floorDiv(size, DimAttr::max(old, g.dim(1))));
  }
  p.give(0u, g.reshape(g.reduce(ReduceKind::sum, g.reshape(p.of(), split), summed), from));
}

void SliceOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  SmallVector<DimAttr> from = getDimsOf(getInput()), sizes = getDimsOf(getResult()), starts, low, high;
  SmallVector<int64_t> directions, steps;
  for (auto [d, stride] : llvm::enumerate(getStrides())) {
    int64_t step = std::abs(stride);
    DimAttr start = cast<DimAttr>(getStarts()[d]), first = start;
    if (stride < 0) // the last place that was read is the first one here
      first = start - (sizes[d] + (-1)) * step;
    starts.push_back(stride < 0 ? sizes[d] + (-1) : g.dim(0));
    directions.push_back(stride < 0 ? -1 : 1);
    steps.push_back(step);
    low.push_back(first);
    high.push_back(from[d] - first - sizes[d] * step);
  }
  Value turned = g.slice(p.of(), starts, sizes, directions);
  p.give(0u, g.pad(g.spreadPlaces(turned, steps), low, high));
}

void ConcatOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  SmallVector<DimAttr> starts(getDimsOf(getResult()).size(), g.dim(0));
  SmallVector<int64_t> strides(starts.size(), 1);
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    SmallVector<DimAttr> sizes = getDimsOf(input);
    if (p.wants(index))
      p.give(index, g.slice(p.of(), starts, sizes, strides));
    starts[getAxis()] = starts[getAxis()] + sizes[getAxis()];
  }
}

void PadOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  SmallVector<DimAttr> low, high;
  for (auto [before, after] : llvm::zip(getLow().getAsRange<DimAttr>(), getHigh().getAsRange<DimAttr>())) {
    low.push_back(g.dim(0) - before);
    high.push_back(g.dim(0) - after);
  }
  if (p.wants(0u))
    p.give(0u, g.pad(p.of(), low, high));
  if (!p.wants(1u))
    return;
  // The value stands in every place that is not the input's.
  Value isInput = g.splat(1, g.makeType(getDimsOf(getInput()), g.builder.getI1Type()));
  Value isOld =
      g.pad(isInput, llvm::to_vector(getLow().getAsRange<DimAttr>()), llvm::to_vector(getHigh().getAsRange<DimAttr>()));
  Expression gradient = {&g, p.of()};
  Value added = select({&g, isOld}, fill(0, gradient), gradient);
  p.give(1u, g.reduce(ReduceKind::sum, added, llvm::to_vector(llvm::seq<int64_t>(0, low.size()))));
}

} // namespace vx
