// Gradients of ops whose element addresses come from data.
#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"

using namespace mlir;

namespace vx {

/// What a tuple of indices of `sizes.size()` members names, and whether it names anything.
struct Tuples {
  Value indices;  // [..., members]; those out of range are 0
  Value isInside; // [...]
};

/// The sizes one by one as [members], in the type of the indices.
static Value makeSizes(GraphBuilder &g, ArrayRef<DimAttr> sizes, Type element) {
  SmallVector<Value> parts;
  for (DimAttr size : sizes)
    parts.push_back(g.reshape(g.emitDim(size, element), g.dim(1)));
  return parts.size() == 1 ? parts[0] : g.emit<ConcatOp>(ValueRange(parts), 0);
}

/// Tuples that lie outside of [0, size) in a member name nothing.
static Tuples checkTuples(GraphBuilder &g, Value indices, ArrayRef<DimAttr> sizes) {
  SmallVector<DimAttr> dims = getDims(g.typeOf(indices));
  int64_t last = dims.size() - 1;
  Expression index = {&g, indices};
  Value limit = g.broadcast(makeSizes(g, sizes, g.typeOf(indices).getElementType()), dims);
  Value isValid = g.emit<AndOp>(compare(ComparePredicate::ge, index, 0).value,
                                compare(ComparePredicate::lt, index, {&g, limit}).value);
  Value isInside = g.reduce(ReduceKind::and_, isValid, last);
  return {selectOrZero({&g, isValid}, index), isInside};
}

/// The elements of `tensor` at the tuples, which name places along its first dimensions. Where one of these may have no
/// place, it gets one, for tuples that name nothing.
static Value gatherChecked(GraphBuilder &g, Value tensor, const Tuples &tuples) {
  RankedTensorType type = g.typeOf(tensor), indices = g.typeOf(tuples.indices);
  if (!type || !indices)
    return {};
  int64_t members = indices.getShape().back();
  SmallVector<DimAttr> low(type.getRank(), g.dim(0)), high = low;
  for (int64_t d = 0; d < members; ++d)
    if (DimAttr size = getDim(type, d); size.asConstant().value_or(0) < 1)
      high[d] = DimAttr::max(g.dim(1) - size, g.dim(0));
  return g.emit<GatherOp>(g.pad(tensor, low, high), tuples.indices, 0, g.builder.getI64IntegerAttr(members));
}

/// The elements of `tensor` at the tuples, which name places along `axes`: [..., other dimensions].
static Value gatherTuples(GraphBuilder &g, Value tensor, const Tuples &tuples, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> permutation(axes);
  for (int64_t d = 0; d < g.typeOf(tensor).getRank(); ++d)
    if (!llvm::is_contained(axes, d))
      permutation.push_back(d);
  Value gathered = gatherChecked(g, g.transpose(tensor, permutation), tuples);
  SmallVector<DimAttr> dims = getDims(g.typeOf(gathered));
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, g.typeOf(tuples.isInside).getRank()));
  Value isInside = g.broadcastInDim(tuples.isInside, dims, leading);
  return selectOrZero({&g, isInside}, {&g, gathered});
}

void GatherOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  RankedTensorType input = getInput().getType(), indices = getIndices().getType();
  SmallVector<DimAttr> inputDims = getDims(input), indexDims = getDims(indices);
  int64_t axis = getAxis(), members = getMembers().value_or(1);
  int64_t leading = indexDims.size() - (getMembers() ? 1 : 0);
  // Counted from 0; that all are in range the op itself has seen, or what is outside reads 0 and gets nothing.
  SmallVector<DimAttr> tuple = indexDims;
  if (!getMembers())
    tuple.push_back(g.dim(1));
  Value index = g.reshape(getIndices(), tuple);
  SmallVector<DimAttr> sizes(ArrayRef(inputDims).slice(axis, members));
  Expression place = {&g, index};
  if (!getInRange()) {
    Value limit = g.broadcast(makeSizes(g, sizes, indices.getElementType()), tuple);
    place = select(compare(ComparePredicate::lt, place, 0), place + Expression{&g, limit}, place);
  }
  // [a..., i..., b...] -> [i..., a..., b...]
  SmallVector<int64_t> permutation, axes;
  int64_t rank = getResult().getType().getRank();
  for (int64_t d = 0; d < leading; ++d)
    permutation.push_back(axis + d);
  for (int64_t d = 0; d < rank; ++d)
    if (d < axis || d >= axis + leading)
      permutation.push_back(d);
  for (int64_t m = 0; m < members; ++m)
    axes.push_back(axis + m);
  p.give(0u,
         g.emit<ScatterOp>(ScatterKind::add, makeZeros(g, getInput()), place, g.transpose(p.of(), permutation), axes));
}

void ScatterOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  SmallVector<DimAttr> inputDims = getDims(getInput().getType()), sizes;
  for (int64_t axis : getAxes())
    sizes.push_back(inputDims[axis]);
  if (getKind() == ScatterKind::add)
    p.give(0u, p.of());
  else if (p.wants(0u))
    p.give(0u, g.emit<ScatterOp>(ScatterKind::set, p.of(), getIndices(), g.splatLike(0, getUpdates()), getAxes()));
  if (!p.wants(2u))
    return;
  Tuples tuples = checkTuples(g, getIndices(), sizes);
  Value gathered = gatherTuples(g, p.of(), tuples, getAxes());
  if (getKind() == ScatterKind::set) {
    // Of several tuples for one place only the last one is in the result: each place keeps the number of its tuple.
    SmallVector<DimAttr> leading = getDims(g.typeOf(tuples.isInside)), single = leading;
    DimAttr count = g.dim(1);
    for (DimAttr size : leading)
      count = count * size;
    Type i64 = g.builder.getI64Type();
    Value numbers = g.reshape(g.emitAs<IotaOp>(g.makeType(count, i64), 0), leading);
    Value owners = g.emit<ScatterOp>(ScatterKind::set, g.splat(-1, g.makeType(sizes, i64)), getIndices(), numbers,
                                     llvm::to_vector(llvm::seq<int64_t>(0, sizes.size())));
    Value owner = gatherChecked(g, owners, tuples);
    Value isLast = g.emit<CompareOp>(ComparePredicate::eq, owner, numbers);
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, leading.size()));
    Value isWritten = g.broadcastInDim(isLast, getDims(g.typeOf(gathered)), dims);
    gathered = selectOrZero({&g, isWritten}, {&g, gathered});
  }
  p.give(2u, gathered);
}

void UpdateSliceOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  if (p.wants(0u))
    p.give(0u, g.emit<UpdateSliceOp>(p.of(), getStarts(), g.splatLike(0, getUpdates()), getAxes()));
  if (!p.wants(2u))
    return;
  // The box begins at 0 along the dimensions that are not named. It lies inside of all, or nothing was written.
  SmallVector<DimAttr> inputDims = getDims(getInput().getType()), updateDims = getDims(getUpdates().getType()), sizes;
  Type element = getStarts().getType().getElementType();
  SmallVector<DimAttr> grid;
  for (int64_t axis : getAxes())
    grid.push_back(updateDims[axis]);
  SmallVector<Value> members;
  SmallVector<DimAttr> column = grid;
  column.push_back(g.dim(1));
  Value isInside;
  for (auto [place, axis] : llvm::enumerate(getAxes())) {
    sizes.push_back(inputDims[axis]);
    Value start = g.reshape(g.slice(getStarts(), g.dim(place), g.dim(1), int64_t(1)), {});
    Value last = g.emit<SubOp>(g.emitDim(inputDims[axis], element), g.emitDim(updateDims[axis], element));
    Value fits = g.emit<AndOp>(compare(ComparePredicate::ge, {&g, start}, 0).value,
                               compare(ComparePredicate::le, {&g, start}, {&g, last}).value);
    isInside = isInside ? g.emit<AndOp>(isInside, fits) : fits;
    Value index = g.emit<AddOp>(g.emitAs<IotaOp>(g.makeType(grid, element), place), g.broadcast(start, grid));
    members.push_back(g.reshape(index, column));
  }
  Value indices = members.size() == 1 ? members[0] : g.emit<ConcatOp>(ValueRange(members), grid.size());
  Tuples tuples = {selectOrZero({&g, g.broadcast(isInside, getDims(g.typeOf(indices)))}, {&g, indices}),
                   g.broadcast(isInside, grid)};
  Value gathered = gatherTuples(g, p.of(), tuples, getAxes());
  // [axes..., others...] in the order of the dimensions; of the others the box's part.
  SmallVector<int64_t> permutation(updateDims.size());
  int64_t other = getAxes().size();
  for (int64_t d = 0, named = 0; d < static_cast<int64_t>(updateDims.size()); ++d)
    permutation[d] = llvm::is_contained(getAxes(), d) ? named++ : other++;
  SmallVector<DimAttr> starts(updateDims.size(), g.dim(0));
  p.give(2u,
         g.slice(g.transpose(gathered, permutation), starts, updateDims, SmallVector<int64_t>(updateDims.size(), 1)));
}

} // namespace vx
