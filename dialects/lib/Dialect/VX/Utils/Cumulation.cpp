#include "vx/Dialect/VX/Utils/Cumulation.h"

using namespace mlir;

namespace vx {

using Dims = SmallVector<DimAttr>;

static double getUnit(ReduceKind kind) { return kind == ReduceKind::prod ? 1 : 0; }

static ComparePredicate getCounted(const Cumulation &how) {
  if (how.exclusive)
    return how.reverse ? ComparePredicate::gt : ComparePredicate::lt;
  return how.reverse ? ComparePredicate::ge : ComparePredicate::le;
}

/// Reduces, for each place along dimension `axis`, what counts for it: n * n elements are looked at.
static Value cumulateDirectly(GraphBuilder &g, Value value, int64_t axis, const Cumulation &how) {
  Dims dims = getDims(g.typeOf(value)), spread = dims;
  spread.insert(spread.begin() + axis, dims[axis]); // the place, before the element
  SmallVector<int64_t> dimensions;
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    dimensions.push_back(d < axis ? d : d + 1);
  RankedTensorType square = getTensorType({dims[axis], dims[axis]}, g.builder.getI32Type());
  Value counts = g.emit<CompareOp>(getCounted(how), g.emitAs<IotaOp>(square, 1), g.emitAs<IotaOp>(square, 0));
  Value elements = g.broadcastInDim(value, spread, dimensions);
  counts = g.broadcastInDim(counts, spread, {axis, axis + 1});
  return g.reduce(how.kind, g.emit<SelectOp>(counts, elements, g.splatLike(getUnit(how.kind), elements)), axis + 1);
}

/// More elements than a block has are cumulated in blocks, each then with the sum of all blocks before it, which are
/// cumulated the same way. Two levels of blocks keep what is looked at near to `block` times the elements up to
/// millions of them.
static Value cumulate(GraphBuilder &g, Value value, const Cumulation &how, int levels) {
  constexpr int64_t block = 32;
  Dims dims = getDims(g.typeOf(value));
  if (std::optional<int64_t> size = dims[1].asConstant(); levels == 0 || (size && *size <= block))
    return cumulateDirectly(g, value, 1, how);
  DimAttr blocks = DimAttr::ceilDiv(dims[1], g.dim(block)), padded = blocks * block;
  Dims low = {g.dim(0), g.dim(0), g.dim(0)}, high = {g.dim(0), padded - dims[1], g.dim(0)};
  Value unit = g.emitScalar(getUnit(how.kind), getElementTypeOrSelf(value.getType()));
  value = g.emit<PadOp>(value, unit, g.toArray(low), g.toArray(high));
  Dims split = {dims[0], blocks, g.dim(block), dims[2]};
  value = g.reshape(value, split);
  Value whole = g.reduce(how.kind, value, 2);
  Value before = g.broadcastAlong(cumulate(g, whole, {how.kind, true, how.reverse}, levels - 1), split, 2);
  Value inside = cumulateDirectly(g, value, 2, how);
  Value joined = how.kind == ReduceKind::prod ? g.emit<MulOp>(inside, before) : g.emit<AddOp>(inside, before);
  return g.slice(g.reshape(joined, {dims[0], padded, dims[2]}), low, dims, {1, 1, 1});
}

Value emitCumulation(GraphBuilder &g, Value value, const Cumulation &how) {
  return cumulate(g, value, how, /*levels=*/2);
}

} // namespace vx
