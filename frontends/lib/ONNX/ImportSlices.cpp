// Slices and padding, with bounds that may be expressions.
#include "OpFunctions.h"
#include "RunTimeLists.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace vx::onnx {

/// An index as ONNX counts it: a negative one from the end of a dimension of `size`.
static DimAttr countFromEnd(DimAttr index, DimAttr size) {
  MLIRContext *context = size.getContext();
  DimAttr zero = DimAttr::constant(context, 0);
  if (isNotNegative(index))
    return index;
  if (isLess(index, zero))
    return addDims(index, size);
  // The sign is known at run time only: 1 where it is negative, else 0.
  DimAttr isNegative =
      minDims(DimAttr::constant(context, 1), maxDims(zero, mulDims(index, DimAttr::constant(context, -1))));
  return addDims(index, mulDims(size, isNegative));
}

namespace {
struct Range {
  DimAttr start, size;
  int64_t step;
};
} // namespace

/// Bounds beyond any tensor mean "to the end".
static bool isFar(DimAttr bound) { return bound.asConstant() && *bound.asConstant() >= INT32_MAX; }
static bool isFarBelow(DimAttr bound) { return bound.asConstant() && *bound.asConstant() <= -INT32_MAX; }

static Range clampRange(DimAttr start, DimAttr end, int64_t step, DimAttr size) {
  MLIRContext *context = size.getContext();
  DimAttr zero = DimAttr::constant(context, 0), minusOne = DimAttr::constant(context, -1),
          last = addDims(size, minusOne);
  auto clamp = [&](DimAttr value, DimAttr low, DimAttr high) { return maxDims(minDims(value, high), low); };
  if (step > 0) {
    DimAttr from = isFar(start) ? size : isFarBelow(start) ? zero : clamp(countFromEnd(start, size), zero, size);
    DimAttr to = isFar(end) ? size : isFarBelow(end) ? zero : clamp(countFromEnd(end, size), zero, size);
    // The distance cannot be negative where one bound is an end of the dimension.
    DimAttr distance = maxDims(subDims(to, from), zero);
    if (from == zero)
      distance = to;
    else if (to == size && start.asConstant() && *start.asConstant() < 0)
      distance = minDims(size, mulDims(start, minusOne));
    else if (to == size)
      distance = subDims(size, from);
    return {from, ceilDivDims(distance, DimAttr::constant(context, step)), step};
  }
  // Of an empty dimension the last place is -1, before the first.
  DimAttr from = isFar(start)        ? last
                 : isFarBelow(start) ? minDims(zero, last)
                                     : minDims(maxDims(countFromEnd(start, size), zero), last);
  DimAttr to = isFar(end) ? last : isFarBelow(end) ? minusOne : clamp(countFromEnd(end, size), minusOne, last);
  DimAttr count = maxDims(ceilDivDims(subDims(from, to), DimAttr::constant(context, -step)), zero);
  return {from, count, step};
}

/// A slice bound that only the data knows: counted from the end and clamped by the program, then read back.
static Dims bindBounds(NodeImporter &n, unsigned index, ArrayRef<DimAttr> sizes) {
  RankedTensorType type = n.getTensorType(index);
  if (type.getRank() != 1 || !type.hasStaticShape() || type.getNumElements() != static_cast<int64_t>(sizes.size()))
    throwUnsupported(Advice::FixSizes, "expects input " + Twine(index) + " to be a list of " + Twine(sizes.size()) +
                                           " integers, got " + describe(type));
  Type i64 = n.builder.getI64Type();
  Value list = n.cast(n.getTensor(index), i64), zero = n.emitScalar(0, i64);
  Dims bounds;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Value bound = n.reshape(n.slice(list, n.dim(i), n.dim(1), 1), {});
    Value length = n.emitDim(size, i64);
    Value isNegative = n.emit<CompareOp>(ComparePredicate::lt, bound, zero);
    bound = n.emit<SelectOp>(isNegative, n.emit<AddOp>(bound, length), bound);
    bound = n.emit<MaxOp>(n.emit<MinOp>(bound, length), zero);
    bounds.push_back(n.bindSymbol(bound, n.proto.input(index) + "[" + Twine(i) + "]"));
  }
  return bounds;
}

static void normalizeSlicedAxes(NodeImporter &n, MutableArrayRef<int64_t> axes, int64_t rank) {
  (void)n.normalizeAxes(axes, rank, "axes");
  for (int64_t &axis : axes)
    axis = n.normalizeAxis(axis, rank, "axes");
}

static void limitSteps(MutableArrayRef<int64_t> steps) {
  for (int64_t &step : steps) {
    if (step == 0 || step < -INT32_MAX)
      throwInvalid("expects 'steps' that are not 0 and above -2147483648, got " + Twine(step));
    // A longer step takes one element all the same.
    step = std::min<int64_t>(step, INT32_MAX);
  }
}

/// A slice with axes or steps that are known at run time only, or a reversed one with such bounds. The program computes
/// the first index and the number of elements in each dimension.
static void sliceAtRunTime(NodeImporter &n, std::optional<SmallVector<int64_t>> knownAxes,
                           std::optional<SmallVector<int64_t>> knownSteps) {
  Dims input = n.getDims(0);
  int64_t rank = input.size();
  if (knownAxes)
    normalizeSlicedAxes(n, *knownAxes, rank);
  if (knownSteps)
    limitSteps(*knownSteps);
  DimAttr count = knownAxes ? n.dim(knownAxes->size()) : n.getDims(1)[0];
  auto getList = [&](unsigned index) {
    Value list = n.getRunTimeList(index);
    DimAttr have = vx::getDim(typeOf(list), 0);
    n.require(ConstraintKind::equal, have, count);
    return n.reshape(list, count);
  };
  Value starts = getList(1), ends = getList(2), steps = n.hasInput(4) ? getList(4) : n.splatLike(1, starts);
  if (!knownSteps) {
    if (std::optional<int64_t> known = count.asConstant(); known && *known <= maxRank) {
      (void)n.bindElements(n.emit<AbsOp>(steps), n.proto.input(4), 1); // 0 is none
    } else {
      Value isNone = n.emit<CompareOp>(ComparePredicate::eq, steps, n.splatLike(0, steps));
      Value nones = n.reduce(ReduceKind::sum, n.cast(isNone, n.builder.getI64Type()), int64_t(0));
      n.require(ConstraintKind::equal, n.bindSymbol(nones, n.proto.input(4) + ".zeros"), n.dim(0));
    }
  }
  // One longer than any dimension takes one element all the same.
  steps = n.emit<MaxOp>(n.emit<MinOp>(steps, n.splatLike(INT32_MAX, steps)), n.splatLike(-INT32_MAX, steps));

  SmallVector<int64_t> places; // the dimensions that may be sliced
  if (knownAxes)
    llvm::append_range(places, *knownAxes);
  else
    llvm::append_range(places, llvm::seq<int64_t>(0, rank));
  Dims sliced;
  for (int64_t place : places)
    sliced.push_back(input[place]);
  Value sizes = n.emitList(sliced), zero = n.splatLike(0, sizes), one = n.splatLike(1, sizes);
  if (!knownAxes) {
    Value axes = n.hasInput(3) ? getList(3) : n.emitAs<IotaOp>(typeOf(starts), 0);
    axes = checkAxes(n, axes, rank, n.hasInput(3) ? n.proto.input(3) : n.proto.input(1));
    starts = spreadOverAxes(n, starts, axes, zero);
    ends = spreadOverAxes(n, ends, axes, sizes);
    steps = spreadOverAxes(n, steps, axes, one);
  }
  auto select = [&](Value condition, Value then, Value otherwise) {
    return n.emit<SelectOp>(condition, then, otherwise);
  };
  auto isBelow = [&](Value lhs, Value rhs) { return n.emit<CompareOp>(ComparePredicate::lt, lhs, rhs); };
  auto fromStart = [&](Value bound) { return select(isBelow(bound, zero), n.emit<AddOp>(bound, sizes), bound); };
  Value isBackwards = isBelow(steps, zero), strides = n.emit<MaxOp>(n.emit<AbsOp>(steps), one);
  // Forwards from [0, size] to [0, size], backwards from [0, last] to [-1, last]; of no elements the last is -1.
  Value high = select(isBackwards, n.emit<SubOp>(sizes, one), sizes);
  Value from = n.emit<MinOp>(n.emit<MaxOp>(fromStart(starts), zero), high);
  Value low = select(isBackwards, n.emit<NegOp>(one), zero);
  Value to = n.emit<MaxOp>(n.emit<MinOp>(fromStart(ends), high), low);
  Value distance = select(isBackwards, n.emit<SubOp>(from, to), n.emit<SubOp>(to, from));
  distance = n.emit<MaxOp>(distance, zero);
  Value counts = n.emit<DivOp>(n.emit<SubOp>(n.emit<AddOp>(distance, strides), one), strides);

  Dims results = n.bindElements(counts, n.proto.output(0) + ".shape");
  Value value = n.getTensor(0);
  if (knownSteps && llvm::all_of(*knownSteps, [](int64_t step) { return step == 1; })) {
    Dims bound = n.bindElements(from, n.proto.output(0) + ".start"), offsets(rank, n.dim(0)), all = input;
    for (auto [i, place] : llvm::enumerate(places)) {
      offsets[place] = bound[i];
      all[place] = results[i];
    }
    return n.setOutput(0, n.slice(value, offsets, all, SmallVector<int64_t>(rank, 1)));
  }
  for (auto [i, place] : llvm::enumerate(places)) {
    RankedTensorType type = makeTensorType(results[i], n.builder.getI64Type());
    auto spread = [&](Value list) {
      return n.broadcastInDim(n.slice(list, n.dim(i), n.dim(1), 1), results[i], int64_t(0));
    };
    Value indices = n.emit<MulOp>(n.emitAs<IotaOp>(type, 0), spread(steps));
    indices = n.emit<AddOp>(indices, spread(from));
    value = n.emit<GatherOp>(value, indices, place, IntegerAttr(), /*in_range=*/true);
  }
  n.setOutput(0, value);
}

static void importSlice(NodeImporter &n) {
  Dims input = n.getDims(0);
  int64_t rank = input.size();
  SmallVector<int64_t> axes, steps;
  Dims starts, ends;
  auto toDims = [&](ArrayRef<int64_t> values) {
    Dims dims;
    for (int64_t value : values)
      dims.push_back(n.dim(value));
    return dims;
  };
  size_t count;
  bool startsKnown = true, endsKnown = true;
  if (n.version < 10) {
    auto from = n.getInts("starts"), to = n.getInts("ends");
    if (!from || !to)
      throwInvalid("expects attributes 'starts' and 'ends'");
    starts = toDims(*from);
    ends = toDims(*to);
    count = starts.size();
    axes = n.getInts("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, std::min<int64_t>(count, maxRank))));
  } else {
    RankedTensorType listType = n.getTensorType(1);
    if (listType.getRank() != 1 || !isa<IntegerType>(listType.getElementType()))
      throwInvalid("expects 'starts' to be a list of integers, got " + describe(listType));
    std::optional<SmallVector<int64_t>> knownAxes, knownSteps = SmallVector<int64_t>();
    if (n.hasInput(3))
      knownAxes = n.getConstantIntegers(3);
    else if (listType.hasStaticShape())
      knownAxes = llvm::to_vector(llvm::seq<int64_t>(0, std::min<int64_t>(listType.getNumElements(), maxRank)));
    if (n.hasInput(4))
      knownSteps = n.getConstantIntegers(4);
    startsKnown = n.getContents(1).has_value();
    endsKnown = n.getContents(2).has_value();
    bool isBackwards = knownSteps && llvm::any_of(*knownSteps, [](int64_t step) { return step < 0; });
    if (!listType.hasStaticShape() || !knownAxes || !knownSteps || (isBackwards && !(startsKnown && endsKnown)))
      return sliceAtRunTime(n, std::move(knownAxes), std::move(knownSteps));
    count = listType.getNumElements();
    axes = *knownAxes;
    steps = *knownSteps;
    if (startsKnown)
      starts = *n.getContents(1);
    if (endsKnown)
      ends = *n.getContents(2);
  }
  if (steps.empty())
    steps.assign(axes.size(), 1);
  if (axes.size() != count || steps.size() != count || (startsKnown && starts.size() != count) ||
      (endsKnown && ends.size() != count))
    throwInvalid("expects as many 'ends', 'axes' and 'steps' as 'starts', of which there are " + Twine(count));
  normalizeSlicedAxes(n, axes, rank);
  limitSteps(steps);
  Dims sizes;
  for (int64_t axis : axes)
    sizes.push_back(input[axis]);
  if (!startsKnown)
    starts = bindBounds(n, 1, sizes);
  if (!endsKnown)
    ends = bindBounds(n, 2, sizes);

  Dims offsets(rank, n.dim(0)), results = input;
  SmallVector<int64_t> strides(rank, 1);
  for (size_t i = 0; i < count; ++i) {
    Range range = clampRange(starts[i], ends[i], steps[i], sizes[i]);
    offsets[axes[i]] = range.start;
    results[axes[i]] = range.size;
    strides[axes[i]] = range.step;
  }
  std::optional<Dims> contents = n.getContents(0);
  auto isConstant = [](DimAttr dim) { return dim.asConstant().has_value(); };
  RankedTensorType type = n.getTensorType(0);
  if (contents && type.hasStaticShape() && llvm::all_of(offsets, isConstant) && llvm::all_of(results, isConstant)) {
    RankedTensorType resultType = makeTensorType(results, type.getElementType());
    SmallVector<int64_t> places = computeStrides(type.getShape());
    int64_t start = 0;
    for (int64_t axis = 0; axis < rank; ++axis) {
      start += *offsets[axis].asConstant() * places[axis];
      places[axis] *= strides[axis];
    }
    return n.setContents(0, takeContents(*contents, resultType.getShape(), start, places), resultType);
  }
  n.setOutput(0, n.slice(n.getTensor(0), offsets, results, strides));
}

/// Returns the elements of a dimension of `size` that lie at `count` positions, as a list. Position 0 is the
/// dimension's own begin, and `first` may be negative.
static Value getPlacesInside(NodeImporter &n, DimAttr size, DimAttr first, DimAttr count, StringRef mode) {
  Type i64 = n.builder.getI64Type();
  RankedTensorType listType = makeTensorType(count, i64);
  auto spread = [&](DimAttr number) { return n.broadcastInDim(n.emitDim(number, i64), count, {}); };
  Value places = n.emit<AddOp>(n.emitAs<IotaOp>(listType, 0), spread(first)), last = spread(subDims(size, n.dim(1)));
  if (mode == "edge")
    return n.emit<MaxOp>(n.emit<MinOp>(places, last), n.splatLike(0, places));
  DimAttr period = size;
  if (mode == "reflect") // of a single element all are that one
    period = maxDims(subDims(mulDims(size, n.dim(2)), n.dim(2)), n.dim(1));
  Value every = spread(period);
  places = n.emit<RemOp>(n.emit<AddOp>(n.emit<RemOp>(places, every), every), every);
  if (mode == "reflect")
    places = n.emit<SubOp>(last, n.emit<AbsOp>(n.emit<SubOp>(last, places)));
  return places;
}

/// The numbers of elements that a side of a dimension gains and loses: one of both is 0.
struct Side {
  DimAttr added, removed;
};

static Side splitAmount(DimAttr amount) {
  DimAttr zero = DimAttr::constant(amount.getContext(), 0);
  if (isNotNegative(amount))
    return {amount, zero};
  return {maxDims(amount, zero), maxDims(subDims(zero, amount), zero)};
}

/// Pads one dimension by its own elements: the outermost one at each side (edge), the elements from the other end
/// (wrap), or the mirrored elements (reflect). Removed elements are none of these, as in ONNX Runtime. Only the added
/// elements are gathered: the others are copied in rows.
static Value padFromInside(NodeImporter &n, Value value, int64_t axis, Side low, Side high, StringRef mode) {
  Dims dims = vx::getDims(typeOf(value));
  if (low.removed.asConstant() != 0 || high.removed.asConstant() != 0) {
    Dims starts(dims.size(), n.dim(0));
    starts[axis] = low.removed;
    dims[axis] = subDims(subDims(dims[axis], low.removed), high.removed);
    value = n.slice(value, starts, dims, SmallVector<int64_t>(dims.size(), 1));
  }
  DimAttr size = dims[axis];
  SmallVector<Value> parts;
  auto add = [&](DimAttr first, DimAttr count) {
    // Of a dimension without elements every place is a fault, which names the node.
    if (count.asConstant() != 0)
      parts.push_back(n.emit<GatherOp>(value, getPlacesInside(n, size, first, count, mode), axis, IntegerAttr()));
  };
  add(subDims(n.dim(0), low.added), low.added);
  parts.push_back(value);
  add(size, high.added);
  return parts.size() == 1 ? value : n.emit<ConcatOp>(ValueRange(parts), axis);
}

/// The pads of all dimensions where only the call knows to which axes those of the node belong.
static Value spreadPads(NodeImporter &n, int64_t rank) {
  Value list = n.getRunTimeList(1), axes = n.getRunTimeList(3);
  DimAttr count = vx::getDim(typeOf(axes), 0), pads = mulDims(count, n.dim(2));
  n.require(ConstraintKind::equal, vx::getDim(typeOf(list), 0), pads);
  list = n.reshape(list, pads);
  axes = checkAxes(n, axes, rank, n.proto.input(3));
  Value none = n.splat(0, makeTensorType(n.dim(rank), n.builder.getI64Type()));
  Value low = spreadOverAxes(n, n.slice(list, n.dim(0), count, 1), axes, none);
  Value high = spreadOverAxes(n, n.slice(list, count, count, 1), axes, none);
  return n.emit<ConcatOp>(ValueRange{low, high}, 0);
}

static void importPad(NodeImporter &n) {
  Value input = n.getTensor(0);
  Type elementType = elementOf(input);
  int64_t rank = typeOf(input).getRank();
  std::string mode = n.getString("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    throwInvalid("expects 'mode' to be constant, reflect, edge or wrap, got '" + mode + "'");
  Dims pads, cuts;
  bool isRunTime = false, isSpread = false; // over axes that only the call knows
  Value value;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (n.version < 11) {
    auto listed = n.getInts(n.version < 2 ? "paddings" : "pads");
    if (!listed)
      throwInvalid("expects attribute 'pads', got none");
    for (int64_t amount : *listed)
      pads.push_back(n.dim(amount));
    value = n.emitScalar(n.getFloat("value", 0.0f), elementType);
  } else {
    isRunTime = !n.getContents(1) || n.getEntry(1).contentsAreRead;
    if (!isRunTime)
      pads = *n.getContents(1);
    value = n.hasInput(2) ? n.reshape(n.getTensor(2), {}) : n.emitScalar(0, elementType);
    if (n.hasInput(3)) {
      std::optional<SmallVector<int64_t>> listed = n.getConstantIntegers(3);
      isSpread = !listed;
      if (listed) {
        axes = *listed;
        (void)n.normalizeAxes(axes, rank, "axes");
      }
    }
  }
  if (isRunTime || isSpread) {
    // A negative amount cuts off.
    Value list = isSpread ? spreadPads(n, rank) : n.getRunTimeIntegers(1, 2 * axes.size()), zero = n.splatLike(0, list);
    pads = n.bindElements(n.emit<MaxOp>(list, zero), n.proto.input(1));
    cuts = n.bindElements(n.emit<MaxOp>(n.emit<NegOp>(list), zero), n.proto.input(1) + "_cut");
  }
  if (pads.size() != 2 * axes.size())
    throwInvalid("expects two pads for each of " + Twine(axes.size()) + " axes, got " + Twine(pads.size()));
  Dims low(rank, n.dim(0)), high(rank, n.dim(0));
  for (auto [index, axis] : llvm::enumerate(axes)) {
    int64_t place = n.normalizeAxis(axis, rank, "axes");
    low[place] = pads[index];
    high[place] = pads[index + axes.size()];
  }
  if (mode != "constant") {
    SmallVector<Side> lows, highs;
    for (auto [side, amounts] : {std::pair(&lows, &low), std::pair(&highs, &high)})
      for (DimAttr amount : *amounts)
        side->push_back(splitAmount(amount));
    for (auto [index, cut] : llvm::enumerate(cuts)) {
      int64_t place = n.normalizeAxis(axes[index % axes.size()], rank, "axes");
      (index < axes.size() ? lows : highs)[place] = {pads[index], cut};
    }
    Dims result = vx::getDims(typeOf(input));
    for (int64_t axis = 0; axis < rank; ++axis) {
      input = padFromInside(n, input, axis, lows[axis], highs[axis], mode);
      // The elements that an amount of an unknown sign adds, less those that it removes, are that amount.
      if (cuts.empty()) {
        result[axis] = addDims(addDims(result[axis], low[axis]), high[axis]);
        input = n.reshape(input, result);
      }
    }
    return n.setOutput(0, input);
  }
  Value padded = n.emit<PadOp>(input, value, n.toArray(low), n.toArray(high));
  if (!cuts.empty()) {
    Dims starts(rank, n.dim(0)), sizes = vx::getDims(typeOf(padded));
    for (auto [index, axis] : llvm::enumerate(axes)) {
      int64_t place = n.normalizeAxis(axis, rank, "axes");
      starts[place] = cuts[index];
      sizes[place] = subDims(subDims(sizes[place], cuts[index]), cuts[index + axes.size()]);
    }
    padded = n.slice(padded, starts, sizes, SmallVector<int64_t>(rank, 1));
  }
  n.setOutput(0, padded);
}

static void importCenterCropPad(NodeImporter &n) {
  Value value = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(value)), result = dims;
  int64_t rank = dims.size();
  auto axes = n.getInts("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  Dims sizes = n.getIntegers(1, axes.size());
  (void)n.normalizeAxes(axes, rank, "axes");
  if (sizes.size() != axes.size())
    throwInvalid("expects one size for each of " + Twine(axes.size()) + " axes as input 1, got " + Twine(sizes.size()));
  DimAttr zero = n.dim(0);
  Dims low(rank, zero), high(rank, zero), starts(rank, zero);
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    int64_t place = n.normalizeAxis(axis, rank, "axes");
    if (size.asConstant() && *size.asConstant() < 0)
      throwInvalid("expects sizes of at least 0 as input 1, got " + Twine(*size.asConstant()));
    // An odd element more is added, or left out, at the end.
    DimAttr added = maxDims(subDims(size, dims[place]), zero), removed = maxDims(subDims(dims[place], size), zero);
    low[place] = floorDivDims(added, n.dim(2));
    high[place] = subDims(added, low[place]);
    starts[place] = floorDivDims(removed, n.dim(2));
    result[place] = size;
  }
  n.setOutput(0, n.slice(n.pad(value, low, high), starts, result, SmallVector<int64_t>(rank, 1)));
}

static constexpr OpTableEntry slicesTable[] = {
    {"CenterCropPad", 18, newestOpset, importCenterCropPad},
    {"Pad", 1, newestOpset, importPad},
    {"Slice", 1, newestOpset, importSlice},
};
const llvm::ArrayRef<OpTableEntry> slicesOps = slicesTable;

} // namespace vx::onnx
