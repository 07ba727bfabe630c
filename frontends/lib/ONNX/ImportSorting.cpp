// Sorts, and ops that need them: the greatest elements, and the unique ones.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/LastInOrder.h"

using namespace mlir;

namespace vx::onnx {

/// The least number of levels of runs after which all of `length` runs of the first level are one.
static DimAttr countLevels(NodeImporter &n, DimAttr length) {
  if (std::optional<int64_t> known = length.asConstant())
    return n.dim(*known < 2 ? 0 : int64_t(llvm::Log2_64_Ceil(*known)));
  // One for each bit up to the highest of length - 1.
  Type i64 = n.builder.getI64Type();
  RankedTensorType bits = makeTensorType(n.dim(62), i64);
  SmallVector<int64_t> powers;
  for (int64_t bit = 0; bit < 62; ++bit)
    powers.push_back(int64_t(1) << bit);
  Value power = n.emitConstant(DenseElementsAttr::get(bits, ArrayRef<int64_t>(powers)));
  Value spread = n.broadcastInDim(n.emitDim(subDims(length, n.dim(1)), i64), n.dim(62), {});
  Value isBelow = n.cast(n.emit<CompareOp>(ComparePredicate::le, power, spread), i64);
  return n.bindSymbol(n.reduce(ReduceKind::sum, isBelow, int64_t(0)), n.proto.output(0) + ".levels");
}

/// Of `places`, [rows, n], whose `runs` runs of 2^`first` places are in the order of `keys`, [rows, n, members], all in
/// order. Equal keys stay in theirs.
static Value mergePlaces(NodeImporter &n, Value keys, Value places, DimAttr runs, int64_t first, bool descending) {
  return emitCountedLoop(n, countLevels(n, runs), places, [&](DimAttr level, ValueRange values) -> SmallVector<Value> {
    Value number = n.emitDim(addDims(level, n.dim(first)), n.builder.getI64Type());
    return {n.emit<MergeRunsOp>(keys, values[0], number, descending)};
  })[0];
}

static Value takeFirst(NodeImporter &n, Value rows, DimAttr count) {
  Dims dims = vx::getDims(typeOf(rows));
  return n.slice(rows, {n.dim(0), n.dim(0)}, {dims[0], count}, {1, 1});
}

/// Returns the indices that sort each row of `rows`, [rows, n]: [rows, n], i64. Longer rows are sorted in blocks, which
/// are then merged.
static Value sortPlaces(NodeImporter &n, Value rows, bool descending) {
  constexpr int64_t block = TopPlacesOp::mostCount;
  Dims dims = vx::getDims(typeOf(rows));
  if (std::optional<int64_t> length = dims[1].asConstant(); length && *length <= block)
    return n.emit<TopPlacesOp>(rows, *length, descending);
  Type i64 = n.builder.getI64Type();
  DimAttr blocks = ceilDivDims(dims[1], n.dim(block)), padded = mulDims(blocks, n.dim(block));
  Dims none = {n.dim(0), n.dim(0)}, behind = {n.dim(0), subDims(padded, dims[1])};
  Value all = n.emit<PadOp>(rows, emitLastInOrder(n, elementOf(rows), descending), n.toArray(none), n.toArray(behind));
  Value ofBlocks = n.reshape(all, {mulDims(dims[0], blocks), n.dim(block)});
  Dims split = {dims[0], blocks, n.dim(block)};
  Value places = n.reshape(n.emit<TopPlacesOp>(ofBlocks, block, descending), split);
  Value number = n.emitAs<IotaOp>(makeTensorType(split, i64), 1);
  places = n.emit<AddOp>(places, n.emit<MulOp>(number, n.splatLike(double(block), number)));
  places = mergePlaces(n, n.reshape(all, {dims[0], padded, n.dim(1)}), n.reshape(places, {dims[0], padded}), blocks,
                       llvm::Log2_64(block), descending);
  return takeFirst(n, places, dims[1]);
}

/// The same of tuples, [n, members]: [n].
static Value sortTuples(NodeImporter &n, Value tuples) {
  Dims dims = vx::getDims(typeOf(tuples)), single = {n.dim(1), dims[0], dims[1]};
  if (dims[1].asConstant() == 1)
    return n.reshape(sortPlaces(n, n.reshape(tuples, {n.dim(1), dims[0]}), /*descending=*/false), dims[0]);
  Value places = n.emitAs<IotaOp>(makeTensorType({n.dim(1), dims[0]}, n.builder.getI64Type()), 1);
  places = mergePlaces(n, n.reshape(tuples, single), places, dims[0], /*first=*/0, /*descending=*/false);
  return n.reshape(places, dims[0]);
}

/// Returns the elements of each row of `values`, [rows, n], at its `places`, which are in range.
static Value takeInRows(NodeImporter &n, Value values, Value places) {
  Dims dims = vx::getDims(typeOf(values)), taken = vx::getDims(typeOf(places));
  Type i64 = n.builder.getI64Type();
  Value first =
      n.emit<MulOp>(n.emitAs<IotaOp>(typeOf(places), 0), n.broadcastInDim(n.emitDim(dims[1], i64), taken, {}));
  Value flat = n.reshape(values, mulDims(dims[0], dims[1]));
  return n.emit<GatherOp>(flat, n.emit<AddOp>(first, places), 0, IntegerAttr(), /*in_range=*/true);
}

/// Returns the first `count` indices that sort each row.
static Value selectPlaces(NodeImporter &n, Value rows, DimAttr count, bool descending) {
  if (std::optional<int64_t> known = count.asConstant(); known && *known <= TopPlacesOp::mostCount)
    return n.emit<TopPlacesOp>(rows, *known, descending);
  return takeFirst(n, sortPlaces(n, rows, descending), count);
}

static void importTopK(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  Type type = elementOf(input);
  if (dims.empty() || type.isInteger(1) || !isa<FloatType, IntegerType>(type))
    throwInvalid("expects numbers of 1 or more dimensions as input 0, got " + describe(input.getType()));
  int64_t rank = dims.size(), axis = n.getAxis("axis", -1, rank);
  bool isLargest = n.getFlag("largest", true);
  DimAttr count = n.version < 10 ? n.dim(n.getInt("k")) : n.getInteger(1);
  std::optional<int64_t> known = count.asConstant(), size = dims[axis].asConstant();
  if (known && (*known < 0 || (size && *known > *size)))
    throwInvalid("expects from 0 to " + dims[axis].str() + " elements of dimension " + Twine(axis) + ", got " +
                 Twine(*known));
  n.require(ConstraintKind::at_least, count, n.dim(0));
  n.require(ConstraintKind::at_least, dims[axis], count);

  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  order.erase(order.begin() + axis);
  order.push_back(axis); // the axis to the end
  Value moved = n.transpose(input, order);
  Dims outer = vx::getDims(typeOf(moved));
  outer.pop_back();
  Value rows = n.reshape(moved, {productOf(n.context, outer), dims[axis]});
  Value places = selectPlaces(n, rows, count, isLargest);
  Value values = takeInRows(n, rows, places);
  outer.push_back(count);
  SmallVector<int64_t> back = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  back.insert(back.begin() + axis, rank - 1);
  n.setOutput(0, n.transpose(n.reshape(values, outer), back));
  n.setOutput(1, n.transpose(n.reshape(places, outer), back));
}

static void importUnique(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  Type i64 = n.builder.getI64Type(), type = elementOf(input);
  // [n, members]
  Value list = input;
  int64_t axis = 0;
  if (n.hasAttribute("axis")) {
    axis = n.getAxis("axis", std::nullopt, dims.size());
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(dims.size())));
    std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
    list = n.transpose(input, order);
    Dims others = dims;
    others.erase(others.begin() + axis);
    list = n.reshape(list, {dims[axis], productOf(n.context, others)});
  } else {
    DimAttr all = productOf(n.context, dims);
    input = n.reshape(input, all);
    list = n.reshape(input, {all, n.dim(1)});
  }
  DimAttr length = getDim(typeOf(list), 0);
  Value keys = type.isInteger(1) ? n.cast(list, n.builder.getIntegerType(8)) : list;
  if (!isa<FloatType, IntegerType>(type))
    throwInvalid("expects numbers or bools as input 0, got " + describe(input.getType()));

  auto take = [&](Value values, Value places) {
    return n.emit<GatherOp>(values, places, 0, IntegerAttr(), /*in_range=*/true);
  };
  Value order = sortTuples(n, keys), sorted = take(keys, order);
  // One that differs from the one before it is another; that before the first one is any.
  RankedTensorType numbers = makeTensorType(length, i64);
  Value number = n.emitAs<IotaOp>(numbers, 0), zero = n.splatLike(0, number), one = n.splatLike(1, number);
  Value before = take(sorted, n.emit<MaxOp>(n.emit<SubOp>(number, one), zero));
  Value differs = n.emit<CompareOp>(ComparePredicate::ne, sorted, before);
  if (isa<FloatType>(type)) {
    Value areNan = n.emit<AndOp>(n.emit<IsNanOp>(sorted), n.emit<IsNanOp>(before));
    differs = n.emit<AndOp>(differs, n.emit<NotOp>(areNan));
  }
  Value isFirst = n.emit<CompareOp>(ComparePredicate::eq, number, zero);
  Value isNew = n.emit<OrOp>(n.reduce(ReduceKind::or_, differs, int64_t(1)), isFirst);
  DimAttr count = n.bindSymbol(n.emitAs<CountNonzeroOp>(RankedTensorType::get({}, i64), isNew),
                               n.proto.output(0) + ".shape[" + Twine(axis) + "]");
  Value starts = n.reshape(n.emitAs<NonzeroOp>(makeTensorType({n.dim(1), count}, i64), isNew), count);
  Value indices = take(order, starts);
  Value group = n.emit<SubOp>(emitCumulativeSum(n, n.cast(isNew, i64)), one);
  Dims column = {count, n.dim(1)};
  auto scatter = [&](Value into, Value places, Value updates) {
    Dims tuple = vx::getDims(typeOf(places));
    tuple.push_back(n.dim(1));
    return n.emit<ScatterOp>(ScatterKind::set, into, n.reshape(places, tuple), updates, ArrayRef<int64_t>(0));
  };
  Value ends;
  if (n.wantsOutput(3)) {
    Value last = n.reshape(n.emitDim(length, i64), n.dim(1));
    Value next = n.emit<ConcatOp>(ValueRange{starts, last}, 0);
    ends = n.slice(next, n.dim(1), count, 1);
  }
  Value counts = ends ? n.emit<SubOp>(ends, starts) : Value();
  Value inverse = n.wantsOutput(2) ? scatter(n.splatLike(0, order), order, group) : Value();
  if (!n.getFlag("sorted", true)) {
    // In the order in which they come first.
    Value sequence = sortTuples(n, n.reshape(indices, {count, n.dim(1)}));
    indices = take(indices, sequence);
    if (counts)
      counts = take(counts, sequence);
    if (inverse) {
      Value rank = scatter(n.splatLike(0, sequence), sequence, n.emitAs<IotaOp>(makeTensorType(count, i64), 0));
      inverse = take(rank, inverse);
    }
  }
  n.setOutput(0, n.emit<GatherOp>(input, indices, axis, IntegerAttr(), /*in_range=*/true));
  n.setOutput(1, indices);
  if (inverse)
    n.setOutput(2, inverse);
  if (counts)
    n.setOutput(3, counts);
}

static constexpr OpTableEntry sortingTable[] = {
    {"TopK", 1, newestOpset, importTopK},
    {"Unique", 11, newestOpset, importUnique},
};
const llvm::ArrayRef<OpTableEntry> sortingOps = sortingTable;

} // namespace vx::onnx
