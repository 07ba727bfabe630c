// Convolution and pooling.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/TransposedConv.h"

using namespace mlir;

namespace vx::onnx {

namespace {
/// A window over the spatial dimensions. A filter's sizes, and pads that depend on a size known at run time only, are
/// expressions.
struct Window {
  Dims kernel;
  SmallVector<int64_t> strides, dilations;
  Dims low, high;
};
} // namespace

/// Strides, pads and the like of real models are far below this; the bound keeps products in 64 bits.
static constexpr int64_t maxWindow = int64_t(1) << 31;

SmallVector<int64_t> getWindowList(NodeImporter &n, StringRef name, size_t count, int64_t otherwise, int64_t least) {
  std::optional<SmallVector<int64_t>> listed = n.getInts(name);
  if (!listed || listed->empty())
    return SmallVector<int64_t>(count, otherwise);
  if (listed->size() != count)
    throwInvalid("expects '" + name + "' with " + Twine(count) + " entries, got " + Twine(listed->size()));
  for (int64_t value : *listed)
    if (value < least || value > maxWindow)
      throwInvalid("expects '" + name + "' from " + Twine(least) + " to " + Twine(maxWindow) + ", got " + Twine(value));
  return *listed;
}

/// How far a window reaches: (kernel - 1) * dilation + 1.
static DimAttr getReach(NodeImporter &n, DimAttr kernel, int64_t dilation) {
  return addDims(mulDims(subDims(kernel, n.dim(1)), n.dim(dilation)), n.dim(1));
}
static DimAttr getReach(NodeImporter &n, const Window &window, size_t i) {
  return getReach(n, window.kernel[i], window.dilations[i]);
}

static Window getWindow(NodeImporter &n, ArrayRef<DimAttr> spatial, Dims kernel) {
  size_t count = spatial.size();
  Window window{
      std::move(kernel), getWindowList(n, "strides", count, 1, 1), getWindowList(n, "dilations", count, 1, 1), {}, {}};
  std::string autoPad = n.getString("auto_pad", "NOTSET");
  SmallVector<int64_t> pads = getWindowList(n, "pads", 2 * count, 0, -maxWindow);
  for (size_t i = 0; i < count; ++i) {
    if (autoPad == "NOTSET") {
      window.low.push_back(n.dim(pads[i]));
      window.high.push_back(n.dim(pads[i + count]));
    } else if (autoPad == "VALID") {
      window.low.push_back(n.dim(0));
      window.high.push_back(n.dim(0));
    } else if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      // ceil(size / stride) positions; an odd pad goes to the side in the name.
      DimAttr stride = n.dim(window.strides[i]);
      DimAttr places = ceilDivDims(spatial[i], stride);
      DimAttr covered = addDims(mulDims(subDims(places, n.dim(1)), stride), getReach(n, window, i));
      DimAttr total = maxDims(subDims(covered, spatial[i]), n.dim(0));
      DimAttr small = floorDivDims(total, n.dim(2)), large = subDims(total, small);
      window.low.push_back(autoPad == "SAME_UPPER" ? small : large);
      window.high.push_back(autoPad == "SAME_UPPER" ? large : small);
    } else {
      throwInvalid("expects 'auto_pad' to be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got '" + autoPad + "'");
    }
  }
  return window;
}

static bool isConstant(ArrayRef<DimAttr> dims) {
  return llvm::all_of(dims, [](DimAttr dim) { return dim.asConstant().has_value(); });
}

/// A vx.pad before the window, which is left without pads.
static Value emitPads(NodeImporter &n, Value input, Window &window, Value padding) {
  Dims low = {n.dim(0), n.dim(0)}, high = low;
  low.append(window.low);
  high.append(window.high);
  window.low.assign(window.low.size(), n.dim(0));
  window.high = window.low;
  return n.emit<PadOp>(input, padding, n.toArray(low), n.toArray(high));
}

/// Pads that are not constant become a vx.pad before the window.
static Value applyPads(NodeImporter &n, Value input, Window &window, double padding) {
  if (isConstant(window.low) && isConstant(window.high))
    return input;
  return emitPads(n, input, window, n.emitScalar(padding, elementOf(input)));
}

static SmallVector<int64_t> getConstants(ArrayRef<DimAttr> dims) {
  SmallVector<int64_t> values;
  for (DimAttr dim : dims)
    values.push_back(*dim.asConstant());
  return values;
}

/// The spatial sizes of a filter; only the call may know them. Where the node states them, the filter is one of these.
static Dims takeKernel(NodeImporter &n, Value &filter) {
  Dims dims = vx::getDims(typeOf(filter)), kernel(ArrayRef<DimAttr>(dims).drop_front(2));
  for (DimAttr size : kernel)
    if (size.asConstant() && (*size.asConstant() < 1 || *size.asConstant() > maxWindow))
      throwInvalid("expects a filter with at least one element in each dimension, got " + describe(filter.getType()));
  std::optional<SmallVector<int64_t>> stated = n.getInts("kernel_shape");
  if (stated && (stated->size() != kernel.size() || !llvm::all_of(llvm::zip(*stated, kernel), [&](auto pair) {
                   return mayBeEqual(n.dim(std::get<0>(pair)), std::get<1>(pair));
                 })))
    throwInvalid("expects 'kernel_shape' to be the filter's, which is " + describe(filter.getType()));
  for (auto [d, size] : llvm::enumerate(kernel)) {
    n.require(ConstraintKind::at_least, size, n.dim(1));
    if (!stated)
      continue;
    n.require(ConstraintKind::equal, size, n.dim((*stated)[d]));
    dims[d + 2] = size = n.dim((*stated)[d]);
  }
  filter = n.reshape(filter, dims);
  return kernel;
}

Value emitChannelBias(NodeImporter &n, Value result, unsigned index) {
  if (!n.hasInput(index))
    return result;
  Value bias = n.getTensor(index);
  if (typeOf(bias).getRank() != 1)
    throwInvalid("expects a bias of one value for each filter, got " + describe(bias.getType()));
  n.require(ConstraintKind::equal, vx::getDim(typeOf(result), 1), vx::getDim(typeOf(bias), 0)); // one would be repeated
  return n.emit<AddOp>(result, n.broadcastInDim(bias, vx::getDims(typeOf(result)), 1));
}

Value emitConv(NodeImporter &n, Value input, Value filter, TypeAttr sums, Value padding) {
  Dims dims = vx::getDims(typeOf(input)), filterDims = vx::getDims(typeOf(filter));
  if (dims.size() < 3 || filterDims.size() != dims.size())
    throwInvalid("expects an input and a filter of one rank, 3 or more, got " + describe(input.getType()) + " and " +
                 describe(filter.getType()));
  Window window = getWindow(n, ArrayRef<DimAttr>(dims).drop_front(2), takeKernel(n, filter));
  input = padding ? emitPads(n, input, window, padding) : applyPads(n, input, window, 0);
  int64_t groups = n.getInt("group", 1);
  if (groups < 1)
    throwInvalid("expects 'group' of at least 1, got " + Twine(groups));
  return n.emit<ConvOp>(input, filter, window.strides, window.dilations, getConstants(window.low),
                        getConstants(window.high), groups, /*channels_last=*/false, sums, TypeAttr());
}

static void importConv(NodeImporter &n) {
  n.setOutput(0, emitChannelBias(n, emitConv(n, n.getTensor(0), n.getTensor(1)), 2));
}

static void importConvTranspose(NodeImporter &n) {
  Value input = n.getTensor(0), filter = n.getTensor(1);
  Dims dims = n.getDims(0), filterDims = n.getDims(1);
  if (dims.size() < 3 || filterDims.size() != dims.size())
    throwInvalid("expects an input and a filter of one rank, 3 or more, got " + describe(input.getType()) + " and " +
                 describe(filter.getType()));
  Dims kernel = takeKernel(n, filter);
  size_t count = kernel.size();
  SmallVector<int64_t> strides = getWindowList(n, "strides", count, 1, 1),
                       dilations = getWindowList(n, "dilations", count, 1, 1);
  SmallVector<int64_t> more = getWindowList(n, "output_padding", count, 0, 0),
                       pads = getWindowList(n, "pads", 2 * count, 0, -maxWindow);
  int64_t groups = n.getInt("group", 1);
  std::optional<int64_t> channels = filterDims[0].asConstant();
  if (groups < 1 || (channels && *channels % groups != 0))
    throwInvalid("expects 'group' to divide the " + filterDims[0].str() + " channels of the filter, got " +
                 Twine(groups));
  n.require(ConstraintKind::multiple, filterDims[0], n.dim(groups));
  std::string autoPad = n.getString("auto_pad", "NOTSET");
  std::optional<SmallVector<int64_t>> wanted = n.getInts("output_shape");
  if (wanted && wanted->size() != count)
    throwInvalid("expects 'output_shape' with " + Twine(count) + " entries, got " + Twine(wanted->size()));
  if (autoPad != "NOTSET" && autoPad != "VALID" && autoPad != "SAME_UPPER" && autoPad != "SAME_LOWER")
    throwInvalid("expects 'auto_pad' to be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got '" + autoPad + "'");
  Dims low, sizes;
  DimAttr zero = n.dim(0);
  for (size_t d = 0; d < count; ++d) {
    DimAttr padLow = n.dim(pads[d]), padHigh = n.dim(pads[d + count]), stride = n.dim(strides[d]);
    if (autoPad == "VALID")
      padLow = padHigh = zero;
    DimAttr whole = addDims(mulDims(subDims(dims[d + 2], n.dim(1)), stride),
                            addDims(getReach(n, kernel[d], dilations[d]), n.dim(more[d])));
    if (wanted || autoPad.starts_with("SAME")) {
      // Excess elements of the result are cut off at both ends.
      DimAttr total = subDims(whole, wanted ? n.dim((*wanted)[d]) : mulDims(dims[d + 2], stride));
      // A negative total widens the result, at its end.
      DimAttr cut = maxDims(total, zero), half = floorDivDims(cut, n.dim(2));
      padLow = autoPad == "SAME_UPPER" ? half : subDims(cut, half);
      padHigh = subDims(total, padLow);
    }
    low.push_back(padLow);
    sizes.push_back(subDims(subDims(whole, padLow), padHigh));
  }
  Value result = emitTransposedConv(n, input, filter, sizes, strides, dilations, low, groups);
  n.setOutput(0, emitChannelBias(n, result, 2));
}

/// The window of a pooling op, with the pads that `ceil_mode` adds at the end.
static Window getPoolWindow(NodeImporter &n, ArrayRef<DimAttr> spatial) {
  std::optional<SmallVector<int64_t>> kernel = n.getInts("kernel_shape");
  if (!kernel)
    throwInvalid("expects attribute 'kernel_shape', got none");
  Dims sizes;
  for (int64_t size : getWindowList(n, "kernel_shape", spatial.size(), 1, 1))
    sizes.push_back(n.dim(size));
  return getWindow(n, spatial, std::move(sizes));
}

/// Returns the padding of `ceil_mode` at the end of each dimension. There are ceil((size - reach) / stride) + 1
/// positions, without those that start after the input and its leading pad. It is negative if the last elements are in
/// no window.
static Dims getCeilPads(NodeImporter &n, ArrayRef<DimAttr> spatial, const Window &window) {
  Dims extra;
  for (size_t i = 0; i < spatial.size(); ++i) {
    if (!n.getFlag("ceil_mode", false)) {
      extra.push_back(n.dim(0));
      continue;
    }
    DimAttr stride = n.dim(window.strides[i]), reach = getReach(n, window, i);
    DimAttr begin = addDims(spatial[i], window.low[i]), size = addDims(begin, window.high[i]);
    DimAttr places = addDims(ceilDivDims(subDims(size, reach), stride), n.dim(1));
    places = minDims(places, ceilDivDims(begin, stride));
    extra.push_back(subDims(addDims(mulDims(subDims(places, n.dim(1)), stride), reach), size));
  }
  return extra;
}

static Value emitReduceWindow(NodeImporter &n, ReduceKind kind, Value input, const Window &window) {
  auto withUnits = [](ArrayRef<int64_t> values, int64_t unit) {
    SmallVector<int64_t> all = {unit, unit};
    llvm::append_range(all, values);
    return all;
  };
  return n.emit<ReduceWindowOp>(kind, input, withUnits(getConstants(window.kernel), 1), withUnits(window.strides, 1),
                                withUnits(window.dilations, 1), withUnits(getConstants(window.low), 0),
                                withUnits(getConstants(window.high), 0));
}

static Dims getSpatial(Value input) {
  Dims dims = vx::getDims(typeOf(input));
  if (dims.size() < 3)
    throwInvalid("expects an input of 3 or more dimensions, got " + describe(input.getType()));
  return Dims(ArrayRef<DimAttr>(dims).drop_front(2));
}

/// Returns the flat index in the whole input of each window's greatest element; the first of several. Pads have no
/// index.
static Value findGreatest(NodeImporter &n, Value input, Value greatest, const Window &window) {
  Dims dims = vx::getDims(typeOf(input)), result = vx::getDims(typeOf(greatest));
  int64_t rank = dims.size(), count = rank - 2;
  Type i64 = n.builder.getI64Type();
  auto spread = [&](DimAttr number, ArrayRef<DimAttr> shape) {
    return n.broadcastInDim(n.emitDim(number, i64), shape, {});
  };
  auto times = [&](Value value, int64_t factor) { return n.emit<MulOp>(value, n.splatLike(double(factor), value)); };
  // Dimension d of the windows becomes two: 2 * d for their positions, and 2 * d + 1 for the positions in them.
  Value elements = input;
  SmallVector<Value> inside;
  for (int64_t d = 0; d < count; ++d) {
    Dims shape = {result[d + 2], window.kernel[d]};
    RankedTensorType type = makeTensorType(shape, i64);
    Value place = n.emit<AddOp>(times(n.emitAs<IotaOp>(type, 0), window.strides[d]),
                                times(n.emitAs<IotaOp>(type, 1), window.dilations[d]));
    place = n.emit<SubOp>(place, spread(window.low[d], shape));
    Value zero = n.splat(0, type), size = spread(dims[d + 2], shape);
    inside.push_back(n.emit<AndOp>(n.emit<CompareOp>(ComparePredicate::ge, place, zero),
                                   n.emit<CompareOp>(ComparePredicate::lt, place, size)));
    place = n.emit<MaxOp>(n.emit<MinOp>(place, n.emit<SubOp>(size, n.splat(1, type))), zero);
    elements = n.emit<GatherOp>(elements, place, 2 + 2 * d, IntegerAttr(), /*in_range=*/true);
  }
  Dims all = vx::getDims(typeOf(elements));
  SmallVector<int64_t> places = {0, 1}, order;
  for (int64_t d = 0; d < count; ++d)
    places.push_back(2 + 2 * d);
  order = places;
  for (int64_t d = 0; d < count; ++d)
    order.push_back(3 + 2 * d);
  Value isGreatest = n.emit<CompareOp>(ComparePredicate::ge, elements, n.broadcastInDim(greatest, all, places));
  if (isa<FloatType>(elementOf(elements)))
    isGreatest = n.emit<OrOp>(isGreatest, n.emit<IsNanOp>(elements));
  for (int64_t d = 0; d < count; ++d)
    isGreatest = n.emit<AndOp>(isGreatest, n.broadcastInDim(inside[d], all, {2 + 2 * d, 3 + 2 * d}));
  Dims flat = result;
  flat.push_back(productOf(n.context, window.kernel));
  Value found = n.reshape(n.transpose(n.cast(isGreatest, n.builder.getI32Type()), order), flat);
  Value number = n.emit<ArgReduceOp>(ReduceKind::max, found, rank, /*last=*/false);

  RankedTensorType type = makeTensorType(result, i64);
  Value sum =
      n.emit<AddOp>(n.emit<MulOp>(n.emitAs<IotaOp>(type, 0), spread(dims[1], result)), n.emitAs<IotaOp>(type, 1));
  ArrayRef<DimAttr> spatial = ArrayRef<DimAttr>(dims).drop_front(2);
  sum = n.emit<MulOp>(sum, spread(productOf(n.context, spatial), result));
  bool isColumnMajor = n.getInt("storage_order", 0) != 0;
  for (int64_t d = count - 1; d >= 0; --d) {
    Value size = spread(window.kernel[d], result);
    Value place = n.emit<AddOp>(times(n.emitAs<IotaOp>(type, d + 2), window.strides[d]),
                                times(n.emit<RemOp>(number, size), window.dilations[d]));
    place = n.emit<SubOp>(place, spread(window.low[d], result));
    DimAttr step = productOf(n.context, isColumnMajor ? spatial.take_front(d) : spatial.drop_front(d + 1));
    sum = n.emit<AddOp>(sum, n.emit<MulOp>(place, spread(step, result)));
    number = n.emit<DivOp>(number, size);
  }
  return sum;
}

static void importMaxPool(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims spatial = getSpatial(input);
  Window window = getPoolWindow(n, spatial);
  for (auto [high, extra] : llvm::zip(window.high, getCeilPads(n, spatial, window)))
    high = addDims(high, extra);
  Type type = elementOf(input);
  double least = -std::numeric_limits<double>::infinity();
  if (auto integers = dyn_cast<IntegerType>(type))
    least = getBounds(integers).first;
  Window whole = window;
  Value greatest = emitReduceWindow(n, ReduceKind::max, applyPads(n, input, window, least), window);
  n.setOutput(0, greatest);
  if (n.wantsOutput(1))
    n.setOutput(1, findGreatest(n, input, greatest, whole));
}

Value emitAveragePool(NodeImporter &n, Value input) {
  Type type = elementOf(input);
  if (!isa<FloatType>(type))
    throwInvalid("expects floats, got " + describe(input.getType()));
  Dims spatial = getSpatial(input);
  Window window = getPoolWindow(n, spatial);
  bool countPads = n.getFlag("count_include_pad", false);
  Dims extra = getCeilPads(n, spatial, window);
  // Counts the input with or without its pads: ones in its shape are summed like the input itself.
  Dims counted = {n.dim(1), n.dim(1)};
  Window countWindow = window;
  bool isWhole = true;
  for (size_t i = 0; i < spatial.size(); ++i) {
    DimAttr low = window.low[i], high = window.high[i];
    counted.push_back(countPads ? addDims(addDims(spatial[i], low), high) : spatial[i]);
    if (countPads)
      countWindow.low[i] = countWindow.high[i] = n.dim(0);
    window.high[i] = addDims(high, extra[i]);
    countWindow.high[i] = addDims(countWindow.high[i], extra[i]);
    isWhole &= countWindow.low[i].asConstant() == 0 && countWindow.high[i].asConstant() == 0;
  }
  Value sum = emitReduceWindow(n, ReduceKind::sum, applyPads(n, input, window, 0), window);
  if (isWhole) {
    double count = 1;
    for (int64_t size : getConstants(window.kernel))
      count *= double(size);
    return n.emit<DivOp>(sum, n.splatLike(count, sum));
  }
  Value ones = n.splat(1, makeTensorType(counted, type));
  Value counts = emitReduceWindow(n, ReduceKind::sum, applyPads(n, ones, countWindow, 0), countWindow);
  return n.emit<DivOp>(sum, n.broadcast(counts, vx::getDims(typeOf(sum))));
}

static void importAveragePool(NodeImporter &n) { n.setOutput(0, emitAveragePool(n, n.getTensor(0))); }

/// Divides by a power of the sum of squares over some channels around each.
static void importLRN(NodeImporter &n) {
  Value input = n.getTensor(0), x = n.widen(input);
  int64_t rank = typeOf(x).getRank(), size = n.getInt("size");
  if (rank < 2 || !isa<FloatType>(elementOf(x)))
    throwInvalid("expects floats of 2 or more dimensions, got " + describe(input.getType()));
  if (size < 1 || size > maxWindow)
    throwInvalid("expects 'size' from 1 to " + Twine(maxWindow) + ", got " + Twine(size));
  SmallVector<int64_t> window(rank, 1), ones(rank, 1), low(rank, 0), high(rank, 0);
  window[1] = size;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  Value sum = n.emit<ReduceWindowOp>(ReduceKind::sum, n.emit<MulOp>(x, x), window, ones, ones, low, high);
  Value scaled = n.emit<MulOp>(sum, n.splatLike(double(n.getFloat("alpha", 1e-4f)) / double(size), sum));
  Value base = n.emit<AddOp>(scaled, n.splatLike(n.getFloat("bias", 1.0f), scaled));
  Value power = n.emit<PowOp>(base, n.splatLike(n.getFloat("beta", 0.75f), base));
  n.setOutput(0, n.cast(n.emit<DivOp>(x, power), elementOf(input)));
}

static void importLpPool(NodeImporter &n) {
  Value input = n.getTensor(0);
  if (!isa<FloatType>(elementOf(input)))
    throwInvalid("expects floats, got " + describe(input.getType()));
  int64_t p = getNormPower(n);
  Dims spatial = getSpatial(input);
  Window window = getPoolWindow(n, spatial);
  for (auto [high, extra] : llvm::zip(window.high, getCeilPads(n, spatial, window)))
    high = addDims(high, extra);
  Value power = n.emit<AbsOp>(n.widen(input));
  if (p != 1)
    power = p == 2 ? n.emit<MulOp>(power, power) : n.emit<PowOp>(power, n.splatLike(double(p), power));
  power = applyPads(n, power, window, 0);
  Value sum = emitReduceWindow(n, ReduceKind::sum, power, window);
  n.setOutput(0, n.cast(emitRootOfPowers(n, sum, p), elementOf(input)));
}

/// Returns the number of dimensions of an image from one of the two lists of sizes or an attribute; nullopt if none has
/// it.
static std::optional<int64_t> countSpace(NodeImporter &n) {
  for (unsigned index : {1, 2})
    if (RankedTensorType type = n.getTensorType(index); type.getRank() == 1 && type.hasStaticShape())
      return type.getNumElements();
  for (StringRef name : {"strides", "dilations", "pads"})
    if (auto list = n.getInts(name))
      return static_cast<int64_t>(list->size()) / (name == "pads" ? 2 : 1);
  return std::nullopt;
}

/// Adds the elements of blocks to their positions in the image.
static void importCol2Im(NodeImporter &n) {
  Value input = n.getTensor(0);
  std::optional<int64_t> known = countSpace(n);
  Dims dims = vx::getDims(typeOf(input)), image = n.getIntegers(1, known), block = n.getIntegers(2, known);
  size_t count = image.size();
  if (dims.size() != 3)
    throwInvalid("expects an input of 3 dimensions, got " + describe(input.getType()));
  if (count < 1 || block.size() != count)
    throwInvalid("expects as many sizes of blocks as of the image, got " + Twine(block.size()) + " and " +
                 Twine(count));
  SmallVector<int64_t> strides = getWindowList(n, "strides", count, 1, 1),
                       dilations = getWindowList(n, "dilations", count, 1, 1),
                       pads = getWindowList(n, "pads", 2 * count, 0, 0);
  DimAttr elements = productOf(n.context, block);
  if (elements.asConstant() && *elements.asConstant() < 1)
    throwInvalid("expects blocks of at least one element, got " + elements.str());
  DimAttr channels = floorDivDims(dims[1], elements);
  n.require(ConstraintKind::equal, mulDims(channels, elements), dims[1]);
  // The positions of the elements of each block along each dimension: [block..., blocks..., dimension].
  Dims blocks, spread(block);
  for (size_t d = 0; d < count; ++d) {
    DimAttr reach = addDims(mulDims(subDims(block[d], n.dim(1)), n.dim(dilations[d])), n.dim(1));
    DimAttr room = subDims(addDims(image[d], n.dim(pads[d] + pads[d + count])), reach);
    blocks.push_back(addDims(floorDivDims(room, n.dim(strides[d])), n.dim(1)));
  }
  DimAttr all = productOf(n.context, blocks);
  if (!mayBeEqual(all, dims[2]))
    throwInvalid("expects " + all.str() + " blocks, got " + describe(input.getType()));
  n.require(ConstraintKind::equal, all, dims[2]);
  spread.append(blocks);
  Dims split = {dims[0], channels};
  split.append(spread);
  // Parts of a sum of fewer bits would be rounded.
  Type element = elementOf(input);
  if (canSumTaps(block, strides) && element.isIntOrFloat() && element.getIntOrFloatBitWidth() >= 32) {
    Dims low;
    for (size_t d = 0; d < count; ++d)
      low.push_back(n.dim(pads[d]));
    n.setOutput(0, emitTapSums(n, n.reshape(input, split), image, strides, dilations, low));
    return;
  }
  Type i64 = n.builder.getI64Type();
  Dims column = spread;
  column.push_back(n.dim(1));
  SmallVector<Value> places;
  for (size_t d = 0; d < count; ++d) {
    RankedTensorType type = makeTensorType({block[d], blocks[d]}, i64);
    auto times = [&](int64_t axis, int64_t factor) {
      return n.emit<MulOp>(n.emitAs<IotaOp>(type, axis), n.splat(double(factor), type));
    };
    Value sum = n.emit<AddOp>(times(0, dilations[d]), times(1, strides[d]));
    sum = n.emit<SubOp>(sum, n.splat(double(pads[d]), type));
    places.push_back(n.broadcastInDim(sum, column, {int64_t(d), int64_t(d + count)}));
  }
  SmallVector<int64_t> order, axes;
  for (size_t d = 0; d < 2 * count; ++d)
    order.push_back(d + 2);
  for (size_t d = 0; d < count; ++d)
    axes.push_back(d + 2);
  order.append({0, 1});
  Value updates = n.transpose(n.reshape(input, split), order);
  Dims result = {dims[0], channels};
  result.append(image);
  Value zeros = n.splat(0, makeTensorType(result, element));
  // An element in a pad has a position outside of the image and is left out.
  Value tuples = places.size() == 1 ? places[0] : n.emit<ConcatOp>(ValueRange(places), int64_t(2 * count));
  n.setOutput(0, n.emit<ScatterOp>(ScatterKind::add, zeros, tuples, updates, axes));
}

static constexpr OpTableEntry windowsTable[] = {
    {"AveragePool", 1, newestOpset, importAveragePool},
    {"Col2Im", 18, newestOpset, importCol2Im},
    {"Conv", 1, newestOpset, importConv},
    {"ConvTranspose", 1, newestOpset, importConvTranspose},
    {"LRN", 1, newestOpset, importLRN},
    {"LpPool", 2, newestOpset, importLpPool},
    {"MaxPool", 1, newestOpset, importMaxPool},
};
const llvm::ArrayRef<OpTableEntry> windowsOps = windowsTable;

} // namespace vx::onnx
