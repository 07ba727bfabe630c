// Slices and padding, with bounds that may be expressions.
#include "OpFunctions.h"

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
static Dims bindBounds(NodeImporter &n, unsigned index, ArrayRef<DimAttr> sizes, ArrayRef<int64_t> steps) {
  RankedTensorType type = n.getTensorType(index);
  if (type.getRank() != 1 || !type.hasStaticShape() || type.getNumElements() != static_cast<int64_t>(sizes.size()))
    throwUnsupported("expects input " + Twine(index) + " to be a list of " + Twine(sizes.size()) + " integers, got " +
                     describe(type));
  if (llvm::any_of(steps, [](int64_t step) { return step < 0; }))
    throwUnsupported("slices backwards between bounds that are known at run time only are not imported");
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
    if (auto listed = n.getInts("axes"))
      axes = *listed;
  } else {
    RankedTensorType listType = n.getTensorType(1);
    if (listType.getRank() != 1 || !listType.hasStaticShape() || !isa<IntegerType>(listType.getElementType()))
      throwUnsupported("expects 'starts' to be a list of known length, got " + describe(listType));
    count = listType.getNumElements();
    if (n.hasInput(3))
      axes = n.getConstantIntegers(3);
    if (n.hasInput(4))
      steps = n.getConstantIntegers(4);
    startsKnown = n.getContents(1).has_value();
    endsKnown = n.getContents(2).has_value();
    if (startsKnown)
      starts = *n.getContents(1);
    if (endsKnown)
      ends = *n.getContents(2);
  }
  if (axes.empty() && !(n.version >= 10 && n.hasInput(3)))
    llvm::append_range(axes, llvm::seq<int64_t>(0, std::min<int64_t>(count, maxRank)));
  if (steps.empty())
    steps.assign(axes.size(), 1);
  if (axes.size() != count || steps.size() != count || (startsKnown && starts.size() != count) ||
      (endsKnown && ends.size() != count))
    throwInvalid("expects as many 'ends', 'axes' and 'steps' as 'starts', of which there are " + Twine(count));
  (void)n.normalizeAxes(axes, rank, "axes");
  Dims sizes;
  for (auto [axis, step] : llvm::zip(axes, steps)) {
    axis = n.normalizeAxis(axis, rank, "axes");
    sizes.push_back(input[axis]);
    if (step == 0 || step < -INT32_MAX)
      throwInvalid("expects 'steps' that are not 0 and above -2147483648, got " + Twine(step));
    // A longer step takes one element all the same.
    step = std::min<int64_t>(step, INT32_MAX);
  }
  if (!startsKnown)
    starts = bindBounds(n, 1, sizes, steps);
  if (!endsKnown)
    ends = bindBounds(n, 2, sizes, steps);

  Dims offsets(rank, n.dim(0)), results = input;
  SmallVector<int64_t> strides(rank, 1);
  for (size_t i = 0; i < count; ++i) {
    Range range = clampRange(starts[i], ends[i], steps[i], sizes[i]);
    offsets[axes[i]] = range.start;
    results[axes[i]] = range.size;
    strides[axes[i]] = range.step;
  }
  std::optional<Dims> contents = n.getContents(0);
  if (contents && rank == 1 && offsets[0].asConstant() && results[0].asConstant()) {
    Dims taken;
    for (int64_t i = 0; i < *results[0].asConstant(); ++i)
      taken.push_back((*contents)[*offsets[0].asConstant() + i * strides[0]]);
    return n.setContents(0, taken, makeTensorType(results, n.getTensorType(0).getElementType()));
  }
  n.setOutput(0, n.slice(n.getTensor(0), offsets, results, strides));
}

/// Pads one dimension by elements that it has: the last one at each side (edge), or those at the places that count on
/// from the other end (wrap) or back again (reflect).
static Value padFromInside(NodeImporter &n, Value value, int64_t axis, DimAttr low, DimAttr high, StringRef mode) {
  Type i64 = n.builder.getI64Type();
  DimAttr size = vx::getDim(typeOf(value), axis), result = addDims(addDims(size, low), high);
  RankedTensorType listType = makeTensorType(result, i64);
  auto spread = [&](DimAttr number) { return n.broadcastInDim(n.emitDim(number, i64), result, {}); };
  Value places = n.emit<SubOp>(n.emitAs<IotaOp>(listType, 0), spread(low)), last = spread(subDims(size, n.dim(1)));
  if (mode == "edge") {
    places = n.emit<MaxOp>(n.emit<MinOp>(places, last), n.splatLike(0, places));
  } else {
    DimAttr period = size;
    if (mode == "reflect") // of a single element all are that one
      period = maxDims(subDims(mulDims(size, n.dim(2)), n.dim(2)), n.dim(1));
    Value every = spread(period);
    places = n.emit<RemOp>(n.emit<AddOp>(n.emit<RemOp>(places, every), every), every);
    if (mode == "reflect")
      places = n.emit<SubOp>(last, n.emit<AbsOp>(n.emit<SubOp>(last, places)));
  }
  // Of a dimension without elements every place is a fault, which names the node.
  return n.emit<GatherOp>(value, places, axis, IntegerAttr());
}

static void importPad(NodeImporter &n) {
  Value input = n.getTensor(0);
  Type elementType = elementOf(input);
  int64_t rank = typeOf(input).getRank();
  std::string mode = n.getString("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    throwInvalid("expects 'mode' to be constant, reflect, edge or wrap, got '" + mode + "'");
  Dims pads, cuts;
  bool isRunTime = false;
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
      axes = n.getConstantIntegers(3);
      (void)n.normalizeAxes(axes, rank, "axes");
    }
  }
  if (isRunTime) {
    // A negative amount cuts off.
    Value list = n.getRunTimeIntegers(1), zero = n.splatLike(0, list);
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
    for (size_t index = 0; index < cuts.size(); ++index) {
      int64_t place = n.normalizeAxis(axes[index % axes.size()], rank, "axes");
      DimAttr &amount = index < axes.size() ? low[place] : high[place];
      amount = subDims(amount, cuts[index]);
    }
    for (int64_t axis = 0; axis < rank; ++axis)
      if (low[axis].asConstant() != 0 || high[axis].asConstant() != 0)
        input = padFromInside(n, input, axis, low[axis], high[axis], mode);
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
  Dims dims = vx::getDims(typeOf(value)), sizes = n.getIntegers(1), result = dims;
  int64_t rank = dims.size();
  auto axes = n.getInts("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
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
    {"CenterCropPad", 18, newestOpset, importCenterCropPad, "axes"},
    {"Pad", 1, newestOpset, importPad, "mode paddings@1-1 pads@2-10 value@1-10"},
    {"Slice", 1, newestOpset, importSlice, "axes@1-9 ends@1-9 starts@1-9"},
};
const llvm::ArrayRef<OpTableEntry> slicesOps = slicesTable;

} // namespace vx::onnx
