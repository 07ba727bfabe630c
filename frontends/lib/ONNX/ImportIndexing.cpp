// Ops whose element addresses come from data.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

/// Indices as vx.gather takes them: i32 or i64.
static Value toIndices(NodeImporter &n, Value indices) {
  Type type = elementOf(indices);
  if (!isa<IntegerType>(type))
    throwInvalid("expects integer indices, got " + describe(indices.getType()));
  bool isIndex = type.isSignlessInteger(32) || type.isSignlessInteger(64);
  return isIndex ? indices : n.cast(indices, n.builder.getI64Type());
}

static void importGather(NodeImporter &n) {
  RankedTensorType type = n.getTensorType(0), indexType = n.getTensorType(1);
  int64_t axis = n.getAxis("axis", 0, type.getRank());
  std::optional<Dims> contents = n.getContents(0), indices = n.getContents(1);
  if (contents && indices && type.getRank() == 1 && indexType.getRank() <= 1) {
    Dims taken;
    int64_t count = contents->size();
    for (DimAttr index : *indices)
      if (std::optional<int64_t> place = index.asConstant()) {
        if (*place < -count || *place >= count)
          throwInvalid("expects indices from " + Twine(-count) + " to " + Twine(count - 1) + ", got " + Twine(*place));
        taken.push_back((*contents)[*place < 0 ? *place + count : *place]);
      }
    if (taken.size() == indices->size())
      return n.setContents(0, taken, RankedTensorType::get(indexType.getShape(), type.getElementType()));
  }
  n.setOutput(0, n.emit<GatherOp>(n.getTensor(0), toIndices(n, n.getTensor(1)), axis, IntegerAttr()));
}

/// How many dimensions of the first input, from `first` on, the tuples along the last dimension of the second one
/// index.
static int64_t getTupleSize(NodeImporter &n, int64_t first, std::optional<int64_t> otherwise = std::nullopt) {
  Dims dims = n.getDims(0), indexDims = n.getDims(1);
  Type input = n.getTensor(0).getType(), indices = n.getTensor(1).getType();
  if (dims.empty() || indexDims.empty())
    throwInvalid("expects tensors of 1 or more dimensions, got " + describe(input) + " and " + describe(indices));
  int64_t most = dims.size() - first;
  std::optional<int64_t> size = indexDims.back().asConstant();
  if (!size)
    size = otherwise;
  if (!size || *size < 1 || *size > most)
    throwUnsupported(Advice::FixSizes, "expects tuples of 1 to " + Twine(most) + " indices, got " + describe(indices));
  return *size;
}

static Value gatherTuples(NodeImporter &n, Value input, Value tuples, int64_t size, bool areChecked = false) {
  return n.emit<GatherOp>(input, tuples, 0, n.builder.getI64IntegerAttr(size), areChecked);
}

/// Tuples of one index of each of `members`, which have one shape.
static Value joinIndices(NodeImporter &n, ArrayRef<Value> members) {
  Dims dims = vx::getDims(typeOf(members.front()));
  dims.push_back(n.dim(1));
  SmallVector<Value> columns;
  for (Value member : members)
    columns.push_back(n.reshape(member, dims));
  return columns.size() == 1 ? columns.front() : n.emit<ConcatOp>(ValueRange(columns), int64_t(dims.size() - 1));
}

static void importGatherND(NodeImporter &n) {
  Dims dims = n.getDims(0), indexDims = n.getDims(1);
  int64_t batches = n.getInt("batch_dims", 0), most = std::min(dims.size(), indexDims.size());
  if (batches < 0 || (batches > 0 && batches >= most))
    throwInvalid("expects 'batch_dims' from 0 to " + Twine(std::max<int64_t>(most - 1, 0)) + ", got " + Twine(batches));
  int64_t size = getTupleSize(n, batches);
  Value input = n.getTensor(0), indices = toIndices(n, n.getTensor(1));
  if (batches == 0)
    return n.setOutput(0, gatherTuples(n, input, indices, size));
  // All batch dimensions become one. Its index is the first in each tuple.
  ArrayRef<DimAttr> all = dims, allIndices = indexDims;
  for (int64_t d = 0; d < batches; ++d) {
    if (!mayBeEqual(dims[d], indexDims[d]))
      throwInvalid("expects 'batch_dims' dimensions that are equal, got " + describe(input.getType()) + " and " +
                   describe(indices.getType()));
    n.require(ConstraintKind::equal, dims[d], indexDims[d]);
  }
  DimAttr count = productOf(n.context, all.take_front(batches));
  Dims flat = {count}, flatIndices = {count};
  flat.append(all.drop_front(batches).begin(), all.end());
  flatIndices.append(allIndices.drop_front(batches).begin(), allIndices.end());
  indices = n.reshape(indices, flatIndices);
  flatIndices.back() = n.dim(1);
  Value number = n.emitAs<IotaOp>(makeTensorType(flatIndices, elementOf(indices)), 0);
  Value tuples = n.emit<ConcatOp>(ValueRange{number, indices}, int64_t(flatIndices.size() - 1));
  Dims result(allIndices.drop_back());
  result.append(all.drop_front(batches + size).begin(), all.end());
  n.setOutput(0, n.reshape(gatherTuples(n, n.reshape(input, flat), tuples, size + 1), result));
}

/// Reverses the first elements of each batch along time. A list has their number for each batch.
static void importReverseSequence(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  int64_t batchAxis = n.getInt("batch_axis", 1), timeAxis = n.getInt("time_axis", 0);
  if (dims.size() < 2)
    throwInvalid("expects an input of 2 or more dimensions, got " + describe(input.getType()));
  if (batchAxis + timeAxis != 1 || batchAxis < 0 || timeAxis < 0)
    throwInvalid("expects 0 and 1 as 'batch_axis' and 'time_axis', got " + Twine(batchAxis) + " and " +
                 Twine(timeAxis));
  DimAttr batch = dims[batchAxis], time = dims[timeAxis];
  RankedTensorType lengthsType = n.getTensorType(1);
  if (lengthsType.getRank() != 1 || !isa<IntegerType>(lengthsType.getElementType()) ||
      !mayBeEqual(vx::getDim(lengthsType, 0), batch))
    throwInvalid("expects a list of " + batch.str() + " integers as input 1, got " + describe(lengthsType));
  const Dims leading = {dims[0], dims[1]};
  RankedTensorType type = makeTensorType(leading, n.builder.getI64Type());
  Value lengths = n.cast(n.reshape(n.getTensor(1), batch), type.getElementType());
  lengths = n.emit<CheckIndicesOp>(lengths, n.toArray(addDims(time, n.dim(1))), /*from_start=*/true);
  lengths = n.broadcastInDim(lengths, leading, {batchAxis});
  Value place = n.emitAs<IotaOp>(type, timeAxis), isReversed = n.emit<CompareOp>(ComparePredicate::lt, place, lengths);
  Value reversed = n.emit<SubOp>(n.emit<SubOp>(lengths, place), n.splat(1, type));
  Value tuple[2];
  tuple[batchAxis] = n.emitAs<IotaOp>(type, batchAxis);
  tuple[timeAxis] = n.emit<SelectOp>(isReversed, reversed, place);
  // All elements of a position are one dimension: a row of memory, which is moved in long vectors.
  Value rows = n.reshape(input, {dims[0], dims[1], productOf(n.context, ArrayRef(dims).drop_front(2))});
  n.setOutput(0, n.reshape(gatherTuples(n, rows, joinIndices(n, tuple), 2, /*areChecked=*/true), dims));
}

/// Writes new elements into a cache. A list has the first position for each batch.
static void importTensorScatter(NodeImporter &n) {
  Value cache = n.getTensor(0), update = n.getTensor(1);
  Dims dims = vx::getDims(typeOf(cache)), updateDims = vx::getDims(typeOf(update));
  int64_t rank = dims.size(), axis = n.getAxis("axis", -2, rank);
  std::string mode = n.getString("mode", "linear");
  if (mode != "linear" && mode != "circular")
    throwInvalid("expects 'mode' to be linear or circular, got '" + mode + "'");
  if (axis == 0)
    throwInvalid("expects 'axis' after that of the batch, got " + Twine(n.getInt("axis", -2)));
  bool isAlike = static_cast<int64_t>(updateDims.size()) == rank && elementOf(cache) == elementOf(update);
  for (int64_t d = 0; isAlike && d < rank; ++d)
    isAlike = d == axis || mayBeEqual(dims[d], updateDims[d]);
  if (!isAlike)
    throwInvalid("expects an update like the cache but for dimension " + Twine(axis) + ", got " +
                 describe(update.getType()) + " for " + describe(cache.getType()));
  for (int64_t d = 0; d < rank; ++d)
    n.require(d == axis ? ConstraintKind::at_least : ConstraintKind::equal, dims[d], updateDims[d]);
  updateDims[0] = dims[0];
  Dims shape = {dims[0], updateDims[axis]};
  RankedTensorType type = makeTensorType(shape, n.builder.getI64Type());
  Value place = n.emitAs<IotaOp>(type, 1);
  if (n.hasInput(2)) {
    if (n.getTensorType(2).getRank() != 1 || !isa<IntegerType>(n.getTensorType(2).getElementType()) ||
        !mayBeEqual(n.getDims(2)[0], dims[0]))
      throwInvalid("expects a list of " + dims[0].str() + " integers as input 2, got " + describe(n.getTensorType(2)));
    Value starts = n.cast(n.reshape(n.getTensor(2), dims[0]), type.getElementType());
    place = n.emit<AddOp>(place, n.broadcastInDim(starts, shape, {0}));
  }
  if (mode == "circular") {
    Value length = n.broadcastInDim(n.emitDim(dims[axis], type.getElementType()), shape, {});
    place = n.emit<RemOp>(n.emit<AddOp>(n.emit<RemOp>(place, length), length), length);
  }
  Value tuples = n.emit<CheckIndicesOp>(joinIndices(n, {n.emitAs<IotaOp>(type, 0), place}),
                                        n.toArray({dims[0], dims[axis]}), /*from_start=*/true);
  SmallVector<int64_t> order = {0, axis}, axes = {0, axis};
  for (int64_t d = 1; d < rank; ++d)
    if (d != axis)
      order.push_back(d);
  n.setOutput(0, n.emit<ScatterOp>(ScatterKind::set, cache, tuples, n.transpose(update, order), axes));
}

/// Returns the reduction of several updates of one element with its old value; nullopt if the last update replaces it.
static std::optional<ReduceKind> getScatterReduction(NodeImporter &n) {
  std::string reduction = n.getString("reduction", "none");
  if (reduction == "none")
    return std::nullopt;
  if (reduction == "add")
    return ReduceKind::sum;
  if (reduction == "mul")
    return ReduceKind::prod;
  if (reduction == "max")
    return ReduceKind::max;
  if (reduction == "min")
    return ReduceKind::min;
  throwInvalid("expects 'reduction' to be none, add, mul, max or min, got '" + Twine(reduction) + "'");
}

/// Reduces each of `updates` with all others along `axis` of the same number in `numbers`. The dimensions of `numbers`
/// are the first of `updates`. Each is compared with each.
static Value reduceEqual(NodeImporter &n, ReduceKind kind, Value numbers, Value updates, int64_t axis) {
  auto pair = [&](Value value) {
    Dims dims = vx::getDims(typeOf(value));
    dims.insert(dims.begin() + axis, dims[axis]);
    Value theirs = n.broadcastAlong(value, dims, axis + 1), own = n.broadcastAlong(value, dims, axis);
    return std::pair(theirs, own);
  };
  auto [theirNumbers, ownNumbers] = pair(numbers);
  auto [theirs, own] = pair(updates);
  Value isEqual = n.emit<CompareOp>(ComparePredicate::eq, theirNumbers, ownNumbers);
  isEqual = n.broadcastInDim(isEqual, vx::getDims(typeOf(theirs)),
                             llvm::to_vector(llvm::seq<int64_t>(0, typeOf(isEqual).getRank())));
  Value others = kind == ReduceKind::prod ? n.splatLike(1, own) : own; // changes nothing
  return n.reduce(kind, n.emit<SelectOp>(isEqual, theirs, others), axis);
}

/// Writes `updates` at the tuples `places`, which are in range. `numbers` returns one number for all updates of one
/// element along `axis`. It is called if updates are reduced before they are written.
static Value scatter(NodeImporter &n, std::optional<ReduceKind> reduction, Value input, Value places, Value updates,
                     llvm::function_ref<Value()> numbers, int64_t axis) {
  int64_t size = *vx::getDims(typeOf(places)).back().asConstant();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, size));
  if (reduction && *reduction != ReduceKind::sum) {
    updates = reduceEqual(n, *reduction, numbers(), updates, axis);
    Value before = gatherTuples(n, input, places, size);
    if (*reduction == ReduceKind::prod)
      updates = n.emit<MulOp>(before, updates);
    else if (*reduction == ReduceKind::max)
      updates = n.emit<MaxOp>(before, updates);
    else
      updates = n.emit<MinOp>(before, updates);
  }
  auto kind = reduction == ReduceKind::sum ? ScatterKind::add : ScatterKind::set;
  return n.emit<ScatterOp>(kind, input, places, updates, axes);
}

static void importScatterND(NodeImporter &n) {
  std::optional<ReduceKind> reduction = getScatterReduction(n);
  Value input = n.getTensor(0), updates = n.getTensor(2);
  Dims dims = vx::getDims(typeOf(input)), indexDims = n.getDims(1);
  // The dimensions of the updates tell it too: those of the indices but the last, and those that no index replaces.
  int64_t ofUpdates = int64_t(indexDims.size()) - 1 + int64_t(dims.size()) - typeOf(updates).getRank();
  int64_t size = getTupleSize(n, 0, ofUpdates);
  ArrayRef<DimAttr> sizes = ArrayRef<DimAttr>(dims).take_front(size);
  indexDims.back() = n.dim(size);
  Value places = n.emit<CheckIndicesOp>(n.reshape(toIndices(n, n.getTensor(1)), indexDims), n.toArray(sizes));
  if (reduction && *reduction != ReduceKind::sum) { // one list of tuples
    Dims flat = vx::getDims(typeOf(places)), written = vx::getDims(typeOf(updates));
    ArrayRef<DimAttr> list = ArrayRef<DimAttr>(flat).drop_back();
    if (written.size() < list.size())
      throwInvalid("expects updates of " + Twine(list.size()) + " or more dimensions, got " +
                   describe(updates.getType()));
    DimAttr count = productOf(n.context, list);
    written.erase(written.begin(), written.begin() + list.size());
    written.insert(written.begin(), count);
    updates = n.reshape(updates, written);
    places = n.reshape(places, {count, n.dim(size)});
  }
  auto numbers = [&] {
    Dims strides;
    for (int64_t d = 0; d < size; ++d)
      strides.push_back(productOf(n.context, sizes.drop_front(d + 1)));
    Value wide = n.cast(places, n.builder.getI64Type());
    Value parts = n.emit<MulOp>(wide, n.broadcast(n.emitList(strides), vx::getDims(typeOf(wide))));
    return n.reduce(ReduceKind::sum, parts, int64_t(1));
  };
  n.setOutput(0, scatter(n, reduction, input, places, updates, numbers, 0));
}

static void importNonZero(NodeImporter &n) {
  Value input = n.getTensor(0);
  // A scalar counts as a list of one element.
  if (typeOf(input).getRank() == 0)
    input = n.reshape(input, n.dim(1));
  Value count = n.emitAs<CountNonzeroOp>(RankedTensorType::get({}, n.builder.getI64Type()), input);
  DimAttr symbol = n.bindSymbol(count, n.proto.output(0) + ".shape[1]");
  Dims dims = {n.dim(typeOf(input).getRank()), symbol};
  n.setOutput(0, n.emitAs<NonzeroOp>(makeTensorType(dims, n.builder.getI64Type()), input));
}

/// Indices along `axis` of the first input, each for the place in the other dimensions that is its own.
static Value readElementIndices(NodeImporter &n, int64_t axis) {
  Dims dims = n.getDims(0), indexDims = n.getDims(1);
  if (dims.size() != indexDims.size())
    throwInvalid("expects indices of " + Twine(dims.size()) + " dimensions, got " + describe(n.getTensorType(1)));
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    if (d != axis)
      n.require(ConstraintKind::at_least, dims[d], indexDims[d]);
  return toIndices(n, n.getTensor(1));
}

/// Returns the flat indices into the first input. Tuples of indices would be several times as long.
static Value readElementPlaces(NodeImporter &n, int64_t axis) {
  Dims dims = n.getDims(0);
  Value indices = n.emit<CheckIndicesOp>(readElementIndices(n, axis), n.toArray(dims[axis]));
  Type i64 = n.builder.getI64Type();
  Dims indexDims = vx::getDims(typeOf(indices));
  Value places;
  for (int64_t d = 0; d < int64_t(dims.size()); ++d) {
    DimAttr stride = productOf(n.context, ArrayRef<DimAttr>(dims).drop_front(d + 1));
    Value index = d == axis ? n.cast(indices, i64) : n.emitAs<IotaOp>(makeTensorType(indexDims[d], i64), 0);
    if (stride.asConstant() != 1)
      index = n.emit<MulOp>(index, n.broadcastInDim(n.emitDim(stride, i64), vx::getDims(typeOf(index)), {}));
    if (d != axis)
      index = n.broadcastInDim(index, indexDims, d);
    places = places ? n.emit<AddOp>(places, index) : index;
  }
  return places;
}

static void importGatherElements(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  Value places = readElementPlaces(n, n.getAxis("axis", 0, dims.size()));
  Value all = n.reshape(input, productOf(n.context, dims));
  n.setOutput(0, n.emit<GatherOp>(all, places, 0, IntegerAttr(), /*in_range=*/true));
}

static void importScatterElements(NodeImporter &n) {
  std::optional<ReduceKind> reduction = getScatterReduction(n);
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  int64_t axis = n.getAxis("axis", 0, dims.size());
  Value places = readElementPlaces(n, axis);
  Dims tuples = vx::getDims(typeOf(places));
  tuples.push_back(n.dim(1));
  Value all = n.reshape(input, productOf(n.context, dims));
  // Only along the axis do updates meet.
  Value result = scatter(n, reduction, all, n.reshape(places, tuples), n.getTensor(2), [&] { return places; }, axis);
  n.setOutput(0, n.reshape(result, dims));
}

static void importOneHot(NodeImporter &n) {
  Type i64 = n.builder.getI64Type();
  Value indices = n.cast(n.getTensor(0), i64);
  RankedTensorType valuesType = n.getTensorType(2);
  n.checkIsSingle(1, "depth");
  if (valuesType.getRank() != 1 || !mayBeEqual(vx::getDims(valuesType)[0], n.dim(2)))
    throwInvalid("expects the value off and the value on, got " + describe(valuesType));
  n.require(ConstraintKind::equal, vx::getDims(valuesType)[0], n.dim(2));
  DimAttr depth;
  if (std::optional<Dims> contents = n.getContents(1))
    depth = contents->front();
  else if (std::optional<SmallVector<double>> numbers = n.getConstantNumbers(1))
    depth = n.dim(int64_t(numbers->front()));
  else
    depth = n.bindSymbol(n.getTensor(1), n.proto.input(1));

  Dims dims = vx::getDims(typeOf(indices));
  int64_t axis = n.getAxis("axis", -1, dims.size() + 1);
  if (n.version >= 11) { // an index may count from the end
    Value fromEnd = n.emit<AddOp>(indices, n.broadcastInDim(n.emitDim(depth, i64), dims, {}));
    Value isNegative = n.emit<CompareOp>(ComparePredicate::lt, indices, n.splatLike(0, indices));
    indices = n.emit<SelectOp>(isNegative, fromEnd, indices);
  }
  dims.insert(dims.begin() + axis, depth);
  Value place = n.emitAs<IotaOp>(n.makeType(dims, i64), axis);
  Value isOn = n.emit<CompareOp>(ComparePredicate::eq, place, n.broadcastAlong(indices, dims, axis));
  auto take = [&](int64_t which) {
    return n.broadcastInDim(n.reshape(n.slice(n.getTensor(2), n.dim(which), n.dim(1), 1), {}), dims, {});
  };
  n.setOutput(0, n.emit<SelectOp>(isOn, take(1), take(0)));
}

Value emitPlacesOfTrue(NodeImporter &n, Value condition) {
  Type i64 = n.builder.getI64Type();
  Value count = n.emitAs<CountNonzeroOp>(RankedTensorType::get({}, i64), condition);
  DimAttr symbol = n.bindSymbol(count, n.proto.output(0) + ".count");
  return n.reshape(n.emitAs<NonzeroOp>(makeTensorType({n.dim(1), symbol}, i64), condition), symbol);
}

static void importCompress(NodeImporter &n) {
  Value input = n.getTensor(0), condition = n.getTensor(1);
  if (typeOf(condition).getRank() != 1 || !elementOf(condition).isInteger(1))
    throwInvalid("expects a list of bools as input 1, got " + describe(condition.getType()));
  Value places = emitPlacesOfTrue(n, condition);
  Dims dims = vx::getDims(typeOf(input));
  int64_t axis = 0;
  if (n.hasAttribute("axis"))
    axis = n.getAxis("axis", std::nullopt, dims.size());
  else
    input = n.reshape(input, productOf(n.context, dims));
  n.setOutput(0, n.emit<GatherOp>(input, places, axis, IntegerAttr()));
}

static constexpr OpTableEntry indexingTable[] = {
    {"Compress", 9, newestOpset, importCompress},
    {"Gather", 1, newestOpset, importGather},
    {"GatherElements", 11, newestOpset, importGatherElements},
    {"GatherND", 11, newestOpset, importGatherND},
    {"NonZero", 9, newestOpset, importNonZero},
    {"OneHot", 9, newestOpset, importOneHot},
    {"ReverseSequence", 10, newestOpset, importReverseSequence},
    {"Scatter", 9, newestOpset, importScatterElements},
    {"ScatterElements", 11, newestOpset, importScatterElements},
    {"ScatterND", 11, newestOpset, importScatterND},
    {"TensorScatter", 24, newestOpset, importTensorScatter},
};
const llvm::ArrayRef<OpTableEntry> indexingOps = indexingTable;

} // namespace vx::onnx
