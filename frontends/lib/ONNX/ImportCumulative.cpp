// Sums and products of all elements before each one along a dimension.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// Which elements count for a place: those before it, or behind it with `reverse`, and it itself unless `exclusive`.
struct Cumulation {
  ReduceKind kind;
  bool exclusive, reverse;

  double getUnit() const { return kind == ReduceKind::prod ? 1 : 0; }
  ComparePredicate getCounted() const {
    if (exclusive)
      return reverse ? ComparePredicate::gt : ComparePredicate::lt;
    return reverse ? ComparePredicate::ge : ComparePredicate::le;
  }
};

} // namespace

/// Reduces, for each place along dimension `axis`, what counts for it: n * n elements are looked at.
static Value cumulateDirectly(NodeImporter &n, Value value, int64_t axis, const Cumulation &how) {
  Dims dims = vx::getDims(typeOf(value)), spread = dims;
  spread.insert(spread.begin() + axis, dims[axis]); // the place, before the element
  SmallVector<int64_t> dimensions;
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    dimensions.push_back(d < axis ? d : d + 1);
  RankedTensorType square = makeTensorType({dims[axis], dims[axis]}, n.builder.getI32Type());
  Value counts = n.emit<CompareOp>(how.getCounted(), n.emitAs<IotaOp>(square, 1), n.emitAs<IotaOp>(square, 0));
  Value elements = n.broadcastInDim(value, spread, dimensions);
  counts = n.broadcastInDim(counts, spread, {axis, axis + 1});
  return n.reduce(how.kind, n.emit<SelectOp>(counts, elements, n.splatLike(how.getUnit(), elements)), axis + 1);
}

/// Of [outer, n, inner], along the middle. More elements than a block has are cumulated in blocks, each then with the
/// sum of all blocks before it, which are cumulated the same way. Two levels of blocks keep what is looked at near to
/// `block` times the elements up to millions of them.
static Value cumulate(NodeImporter &n, Value value, const Cumulation &how, int levels = 2) {
  constexpr int64_t block = 32;
  Dims dims = vx::getDims(typeOf(value));
  if (std::optional<int64_t> size = dims[1].asConstant(); levels == 0 || (size && *size <= block))
    return cumulateDirectly(n, value, 1, how);
  DimAttr blocks = ceilDivDims(dims[1], n.dim(block)), padded = mulDims(blocks, n.dim(block));
  Dims low = {n.dim(0), n.dim(0), n.dim(0)}, high = {n.dim(0), subDims(padded, dims[1]), n.dim(0)};
  value = n.emit<PadOp>(value, n.emitScalar(how.getUnit(), elementOf(value)), n.toArray(low), n.toArray(high));
  Dims split = {dims[0], blocks, n.dim(block), dims[2]};
  value = n.reshape(value, split);
  Value whole = n.reduce(how.kind, value, 2);
  Value before = n.broadcastAlong(cumulate(n, whole, {how.kind, true, how.reverse}, levels - 1), split, 2);
  Value inside = cumulateDirectly(n, value, 2, how);
  Value joined = how.kind == ReduceKind::prod ? n.emit<MulOp>(inside, before) : n.emit<AddOp>(inside, before);
  return n.slice(n.reshape(joined, {dims[0], padded, dims[2]}), low, dims, {1, 1, 1});
}

Value emitCumulativeSum(NodeImporter &n, Value list) {
  DimAttr length = getDim(typeOf(list), 0);
  Cumulation how{ReduceKind::sum, /*exclusive=*/false, /*reverse=*/false};
  return n.reshape(cumulate(n, n.reshape(list, {n.dim(1), length, n.dim(1)}), how), length);
}

AroundAxis bindAroundAxis(NodeImporter &n, unsigned input, ArrayRef<DimAttr> dims) {
  Type i64 = n.builder.getI64Type();
  DimAttr rank = n.dim(dims.size());
  RankedTensorType listType = makeTensorType(rank, i64);
  Value axis = n.reshape(n.cast(n.getTensor(input), i64), {}), zero = n.emitScalar(0, i64);
  Value isNegative = n.emit<CompareOp>(ComparePredicate::lt, axis, zero);
  axis = n.emit<SelectOp>(isNegative, n.emit<AddOp>(axis, n.emitDim(rank, i64)), axis);
  // One that is too great is -1, as one that is too small is below 0.
  Value isTooGreat = n.emit<CompareOp>(ComparePredicate::ge, axis, n.emitDim(rank, i64));
  axis = n.emit<SelectOp>(isTooGreat, n.emitScalar(-1, i64), axis);
  std::string name = n.proto.input(input);
  DimAttr place = n.bindSymbol(axis, name);
  Value places = n.emitAs<IotaOp>(listType, 0), list = n.emitList(dims), ones = n.splat(1, listType);
  Value spread = n.broadcastInDim(axis, rank, {});
  Dims around;
  for (auto [predicate, what] : {std::pair(ComparePredicate::lt, "before"), std::pair(ComparePredicate::eq, "along"),
                                 std::pair(ComparePredicate::gt, "behind")}) {
    Value counted = n.emit<SelectOp>(n.emit<CompareOp>(predicate, places, spread), list, ones);
    around.push_back(n.bindSymbol(n.reduce(ReduceKind::prod, counted, 0), Twine(what) + "(" + name + ")"));
  }
  return {place, around[0], around[1], around[2]};
}

static void importCumulation(NodeImporter &n, ReduceKind kind) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  RankedTensorType axisType = n.getTensorType(1);
  if (!isa<IntegerType>(axisType.getElementType()) || axisType.getRank() > 1 ||
      (axisType.getRank() == 1 && vx::getDim(axisType, 0).asConstant() != 1))
    throwInvalid("expects one integer as input 1, got " + describe(axisType));
  if (dims.empty())
    throwInvalid("expects a tensor of 1 or more dimensions, got " + describe(input.getType()));
  Dims around;
  std::optional<Dims> contents = n.getContents(1);
  if (std::optional<int64_t> listed = contents ? contents->front().asConstant() : std::nullopt) {
    int64_t axis = n.normalizeAxis(*listed, dims.size(), "axis");
    ArrayRef<DimAttr> all = dims;
    around = {productOf(n.context, all.take_front(axis)), dims[axis], productOf(n.context, all.drop_front(axis + 1))};
  } else {
    AroundAxis bound = bindAroundAxis(n, 1, dims);
    around = {bound.before, bound.along, bound.behind};
  }
  Cumulation how{kind, n.getFlag("exclusive", false), n.getFlag("reverse", false)};
  n.setOutput(0, n.reshape(cumulate(n, n.reshape(input, around), how), dims));
}
static void importCumProd(NodeImporter &n) { importCumulation(n, ReduceKind::prod); }
static void importCumSum(NodeImporter &n) { importCumulation(n, ReduceKind::sum); }

static constexpr OpTableEntry cumulativeTable[] = {
    {"CumProd", 26, newestOpset, importCumProd},
    {"CumSum", 11, newestOpset, importCumSum},
};
const llvm::ArrayRef<OpTableEntry> cumulativeOps = cumulativeTable;

} // namespace vx::onnx
