// Sorts, and what stands on them: the greatest elements, and the different ones.
#include "OpFunctions.h"

#include <limits>

using namespace mlir;

namespace vx::onnx {

/// The least number of levels of runs after which all of `length` places are one run.
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

/// The places of a row's keys, [rows, n, members], in their order: [rows, n], i64. Equal keys keep theirs.
static Value sortPlaces(NodeImporter &n, Value keys, bool descending) {
  Dims dims = vx::getDims(typeOf(keys));
  Type i64 = n.builder.getI64Type();
  Value places = n.emitAs<IotaOp>(makeTensorType({dims[0], dims[1]}, i64), 1);
  DimAttr levels = countLevels(n, dims[1]);
  return emitCountedLoop(n, levels, places, [&](DimAttr level, ValueRange values) -> SmallVector<Value> {
    return {n.emit<MergeRunsOp>(keys, values[0], n.emitDim(level, i64), descending)};
  })[0];
}

/// Of each row of `values`, [rows, n], the elements at its `places`, which are in range.
static Value takeInRows(NodeImporter &n, Value values, Value places) {
  Dims dims = vx::getDims(typeOf(values)), taken = vx::getDims(typeOf(places));
  Type i64 = n.builder.getI64Type();
  Value first =
      n.emit<MulOp>(n.emitAs<IotaOp>(typeOf(places), 0), n.broadcastInDim(n.emitDim(dims[1], i64), taken, {}));
  Value flat = n.reshape(values, mulDims(dims[0], dims[1]));
  return n.emit<GatherOp>(flat, n.emit<AddOp>(first, places), 0, IntegerAttr(), /*in_range=*/true);
}

static Value takeFirst(NodeImporter &n, Value rows, DimAttr count) {
  Dims dims = vx::getDims(typeOf(rows));
  return n.slice(rows, {n.dim(0), n.dim(0)}, {dims[0], count}, {1, 1});
}

/// The first `count` places of each row in its order.
static Value selectPlaces(NodeImporter &n, Value rows, DimAttr count, bool descending) {
  Dims dims = vx::getDims(typeOf(rows)), keyDims = dims;
  keyDims.push_back(n.dim(1));
  return takeFirst(n, sortPlaces(n, n.reshape(rows, keyDims), descending), count);
}

/// What stands behind all others, whatever they are.
static Value emitLast(NodeImporter &n, Type type, bool descending) {
  if (isa<FloatType>(type)) {
    double number = descending ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return n.emitScalar(number, type);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger();
  APInt least = isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  APInt most = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  return n.emitConstant(DenseElementsAttr::get(RankedTensorType::get({}, type), descending ? least : most));
}

/// The best element of each block of `parts`, [rows, blocks, places], as a key that orders the blocks.
static Value emitBestKeys(NodeImporter &n, Value parts, bool descending) {
  Dims keyDims = vx::getDims(typeOf(parts));
  keyDims.back() = n.dim(1);
  auto asMember = [&](Value value) { return n.reshape(value, keyDims); };
  if (descending) // a NaN is the greatest to a reduction, too
    return asMember(n.reduce(ReduceKind::max, parts, int64_t(2)));
  if (!isa<FloatType>(elementOf(parts)))
    return asMember(n.reduce(ReduceKind::min, parts, int64_t(2)));
  // The least number, and whether there is none.
  Value isNan = n.emit<IsNanOp>(parts);
  Value numbers = n.emit<SelectOp>(isNan, n.splatLike(std::numeric_limits<double>::infinity(), parts), parts);
  Value hasNone = n.cast(n.reduce(ReduceKind::and_, isNan, int64_t(2)), elementOf(parts));
  return n.emit<ConcatOp>(ValueRange{asMember(n.reduce(ReduceKind::min, numbers, int64_t(2))), asMember(hasNone)}, 2);
}

/// The same, of long rows of which few places are wanted: those of as many blocks are sorted, the ones with the best
/// elements. An element of another block has one before it in each of these.
static Value selectFewPlaces(NodeImporter &n, Value rows, int64_t count, int64_t block, bool descending) {
  Dims dims = vx::getDims(typeOf(rows));
  Type i64 = n.builder.getI64Type();
  DimAttr blocks = ceilDivDims(dims[1], n.dim(block)), padded = mulDims(blocks, n.dim(block));
  Dims none = {n.dim(0), n.dim(0)}, behind = {n.dim(0), subDims(padded, dims[1])};
  Value all = n.emit<PadOp>(rows, emitLast(n, elementOf(rows), descending), n.toArray(none), n.toArray(behind));
  Value keys = emitBestKeys(n, n.reshape(all, {dims[0], blocks, n.dim(block)}), descending);
  Value chosen = takeFirst(n, sortPlaces(n, keys, descending), n.dim(count));
  // Equal elements stay in the order of their places.
  chosen = takeInRows(n, chosen, selectPlaces(n, chosen, n.dim(count), /*descending=*/false));
  Dims spread = {dims[0], n.dim(count), n.dim(block)};
  Value first = n.emit<MulOp>(chosen, n.splatLike(double(block), chosen));
  Value places =
      n.emit<AddOp>(n.broadcastInDim(first, spread, {0, 1}), n.emitAs<IotaOp>(makeTensorType(spread, i64), 2));
  places = n.reshape(places, {dims[0], n.dim(count * block)});
  return takeInRows(n, places, selectPlaces(n, takeInRows(n, all, places), n.dim(count), descending));
}

/// The length of blocks by which few of many places are selected; 0 where all are sorted. The blocks are about as many
/// as the elements of those that are chosen.
static int64_t getBlockLength(std::optional<int64_t> count, std::optional<int64_t> size) {
  if (!count || *count < 1 || !size || *size / *count < 64)
    return 0;
  return int64_t(1) << (llvm::Log2_64(*size / *count) / 2);
}

static void importTopK(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  Type type = elementOf(input);
  if (dims.empty() || type.isInteger(1) || !isa<FloatType, IntegerType>(type))
    throwInvalid("expects numbers of 1 or more dimensions as input 0, got " + describe(input.getType()));
  int64_t rank = dims.size(), axis = n.getAxis("axis", -1, rank);
  bool isLargest = n.getFlag("largest", true);
  DimAttr count;
  if (n.version < 10) {
    count = n.dim(n.getInt("k"));
  } else {
    RankedTensorType countType = n.getTensorType(1);
    if (countType.getRank() > 1 || (countType.getRank() == 1 && !mayBeEqual(vx::getDim(countType, 0), n.dim(1))))
      throwInvalid("expects one integer as input 1, got " + describe(countType));
    count = n.getIntegers(1).front();
  }
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
  int64_t block = getBlockLength(known, size);
  Value places =
      block > 0 ? selectFewPlaces(n, rows, *known, block, isLargest) : selectPlaces(n, rows, count, isLargest);
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

  auto sortList = [&](Value numbers) { // [n] or [n, members]
    Dims keyDims = vx::getDims(typeOf(numbers)), single = {n.dim(1)};
    llvm::append_range(single, keyDims);
    if (single.size() == 2)
      single.push_back(n.dim(1));
    return n.reshape(sortPlaces(n, n.reshape(numbers, single), /*descending=*/false), keyDims[0]);
  };
  auto take = [&](Value values, Value places) {
    return n.emit<GatherOp>(values, places, 0, IntegerAttr(), /*in_range=*/true);
  };
  Value order = sortList(keys), sorted = take(keys, order);
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
    Value sequence = sortList(indices);
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
