#include "RunTimeLists.h"

using namespace mlir;

namespace vx::onnx {

static constexpr int64_t alongList = 0;

static DimAttr getLength(Value list) { return getDim(typeOf(list), 0); }

static Value number(NodeImporter &n, Value list) {
  return n.emitAs<IotaOp>(makeTensorType(getLength(list), n.builder.getI64Type()), alongList);
}

/// Whether the number in row r of `rows` is that in column c of `columns`.
static Value holdAgainst(NodeImporter &n, ComparePredicate predicate, Value rows, Value columns) {
  Dims dims = {getLength(rows), getLength(columns)};
  return n.emit<CompareOp>(predicate, n.broadcastInDim(rows, dims, {0}), n.broadcastInDim(columns, dims, {1}));
}

Value placeInList(NodeImporter &n, Value values, Value places, int64_t count) {
  Value all = n.emitAs<IotaOp>(makeTensorType(n.dim(count), n.builder.getI64Type()), alongList);
  Value isThere = holdAgainst(n, ComparePredicate::eq, places, all);
  Value rows = n.broadcastInDim(values, vx::getDims(typeOf(isThere)), {0});
  return n.reduce(ReduceKind::sum, n.emit<SelectOp>(isThere, rows, n.splatLike(0, rows)), alongList);
}

Value markAxes(NodeImporter &n, Value axes, int64_t rank) {
  Value counts = placeInList(n, n.splatLike(1, axes), axes, rank);
  return n.emit<CompareOp>(ComparePredicate::ne, counts, n.splatLike(0, counts));
}

Value checkAxes(NodeImporter &n, Value list, int64_t rank, const Twine &name) {
  if (std::optional<int64_t> count = getLength(list).asConstant(); count && *count > rank)
    throwInvalid("expects at most " + Twine(rank) + " axes, got " + Twine(*count));
  Value axes = n.emit<CheckIndicesOp>(list, n.toArray(n.dim(rank)));
  Value different = n.reduce(ReduceKind::sum, n.cast(markAxes(n, axes, rank), n.builder.getI64Type()), alongList);
  n.require(ConstraintKind::equal, n.bindSymbol(different, name + ".different"), getLength(list));
  return axes;
}

Value spreadOverAxes(NodeImporter &n, Value values, Value axes, Value others) {
  int64_t rank = *getLength(others).asConstant();
  return n.emit<SelectOp>(markAxes(n, axes, rank), placeInList(n, values, axes, rank), others);
}

/// For each place how many before it are not marked.
static Value countUnmarkedBefore(NodeImporter &n, Value isMarked) {
  Value places = number(n, isMarked), isBefore = holdAgainst(n, ComparePredicate::lt, places, places);
  Value isUnmarked = n.broadcastInDim(n.emit<NotOp>(isMarked), vx::getDims(typeOf(isBefore)), {0});
  Value counts = n.cast(n.emit<AndOp>(isBefore, isUnmarked), n.builder.getI64Type());
  return n.reduce(ReduceKind::sum, counts, alongList);
}

Value leaveOutMarked(NodeImporter &n, Value list, Value isMarked, int64_t count) {
  Value places = countUnmarkedBefore(n, isMarked);
  return placeInList(n, list, n.emit<SelectOp>(isMarked, n.splatLike(-1, places), places), count);
}

Value fillUnmarked(NodeImporter &n, Value list, Value isMarked, int64_t other) {
  Value places = countUnmarkedBefore(n, isMarked),
        isTaken = holdAgainst(n, ComparePredicate::eq, number(n, list), places);
  Value rows = n.broadcastInDim(list, vx::getDims(typeOf(isTaken)), {0});
  Value taken = n.reduce(ReduceKind::sum, n.emit<SelectOp>(isTaken, rows, n.splatLike(0, rows)), alongList);
  return n.emit<SelectOp>(isMarked, n.splatLike(double(other), taken), taken);
}

} // namespace vx::onnx
