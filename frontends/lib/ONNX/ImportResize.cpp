// Resize: each dimension by itself, as a selection or a weighted sum of neighbours at positions that the program
// computes.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

namespace {

enum class Mode { nearest, linear, cubic };

/// The settings of a node, except sizes.
struct Resizing {
  Mode mode = Mode::nearest;
  std::string coordinates, nearest;
  bool antialias = false, excludeOutside = false;
  double cubicA = -0.75;
  /// Where they are an attribute.
  std::optional<SmallVector<double>> scales;
  /// Where the input is cut out, as shares of it: the start of each axis, then the end of each; of tf_crop_and_resize.
  Value roi;
};

/// One dimension as it is resized.
struct Target {
  Target(int64_t axis, DimAttr from) : axis(axis), from(from) {}

  int64_t axis;
  DimAttr from, to;
  /// Result by input, as a scalar; null where it is the quotient of the sizes.
  Value scale;
  /// Where it is known.
  std::optional<double> knownScale;
  /// 1 / scale rounded up, at least 1, and the same for 2 / scale: the reach of a downsampling filter.
  DimAttr reach, twiceReach;
  /// In the roi.
  Value start, end;
};

/// The source positions of the result along one dimension.
class Axis {
public:
  Axis(NodeImporter &n, const Target &target) : n(n), target(target) {
    type = makeTensorType({target.to}, Float32Type::get(n.context));
    number = n.cast(n.emitAs<IotaOp>(makeTensorType({target.to}, IntegerType::get(n.context, 64)), 0),
                    type.getElementType());
    scale = target.scale ? spread(target.scale) : n.emit<DivOp>(size(target.to), size(target.from));
  }

  /// The place in the input's coordinates, which may lie outside of it.
  Value getPlaces(StringRef mode) {
    auto half = [&] { return n.splat(0.5, type); };
    auto center = [&] { return n.emit<DivOp>(n.emit<AddOp>(number, half()), scale); };
    auto halfPixel = [&] { return n.emit<SubOp>(center(), half()); };
    if (mode == "half_pixel")
      return halfPixel();
    if (mode == "asymmetric")
      return n.emit<DivOp>(number, scale);
    if (mode == "half_pixel_symmetric") {
      // The centers of both meet, also where a fraction of a place was left out.
      Value whole = n.emit<DivOp>(size(target.to), n.emit<MulOp>(scale, size(target.from)));
      Value middle = n.emit<MulOp>(size(target.from), half());
      Value offset = n.emit<MulOp>(middle, n.emit<SubOp>(n.splat(1, type), whole));
      // In this order, in which ONNX Runtime rounds.
      return n.emit<SubOp>(n.emit<AddOp>(offset, center()), half());
    }
    // With one place there is nothing to divide by.
    Value isOne = n.emit<CompareOp>(ComparePredicate::le, size(target.to), n.splat(1, type));
    if (mode == "pytorch_half_pixel")
      return n.emit<SelectOp>(isOne, n.splat(0, type), halfPixel());
    Value steps = n.emit<SubOp>(size(target.to), n.splat(1, type));
    if (mode == "align_corners")
      return n.emit<SelectOp>(isOne, n.splat(0, type), n.emit<DivOp>(n.emit<MulOp>(number, getLast()), steps));
    if (mode == "tf_crop_and_resize") {
      Value start = spread(target.start), end = spread(target.end);
      Value length = n.emit<MulOp>(n.emit<SubOp>(end, start), getLast());
      Value inside =
          n.emit<AddOp>(n.emit<MulOp>(start, getLast()), n.emit<DivOp>(n.emit<MulOp>(number, length), steps));
      Value middle = n.emit<MulOp>(n.emit<MulOp>(half(), n.emit<AddOp>(start, end)), getLast());
      return n.emit<SelectOp>(isOne, middle, inside);
    }
    throwInvalid("expects 'coordinate_transformation_mode' to be half_pixel, half_pixel_symmetric, pytorch_half_pixel, "
                 "align_corners, asymmetric or tf_crop_and_resize, got '" +
                 mode + "'");
  }

  /// Integer positions of any shape as indices inside of the input.
  Value toIndices(Value places) {
    return n.cast(n.emit<MinOp>(n.emit<MaxOp>(places, n.splatLike(0, places)), spreadLike(getLast(), places)),
                  IntegerType::get(n.context, 64));
  }
  Value isOutside(Value places) {
    return n.emit<OrOp>(n.emit<CompareOp>(ComparePredicate::lt, places, n.splatLike(0, places)),
                        n.emit<CompareOp>(ComparePredicate::gt, places, spreadLike(getLast(), places)));
  }

  Value round(Value places, StringRef mode) {
    auto half = [&] { return n.splat(0.5, type); };
    if (mode == "floor")
      return n.emit<FloorOp>(places);
    if (mode == "ceil")
      return n.emit<CeilOp>(places);
    if (mode == "round_prefer_floor")
      return n.emit<CeilOp>(n.emit<SubOp>(places, half()));
    if (mode == "round_prefer_ceil")
      return n.emit<FloorOp>(n.emit<AddOp>(places, half()));
    throwInvalid("expects 'nearest_mode' to be round_prefer_floor, round_prefer_ceil, floor or ceil, got '" + mode +
                 "'");
  }

  Value size(DimAttr dim) { return spread(n.emitDim(dim, IntegerType::get(n.context, 64))); }
  Value getLast() { return n.emit<SubOp>(size(target.from), n.splat(1, type)); }
  /// Repeats a scalar to all positions.
  Value spread(Value scalar) { return n.broadcastInDim(n.cast(scalar, type.getElementType()), {target.to}, {}); }
  /// One value for each place, for each of its neighbours.
  Value spreadLike(Value places, Value like) { return n.broadcastInDim(places, vx::getDims(n.typeOf(like)), {0}); }

  RankedTensorType type;
  Value scale;

private:
  NodeImporter &n;
  const Target &target;
  Value number;
};

/// The weight of elements at these distances: linear, or Keys' cubic with parameter `a`.
Value weigh(NodeImporter &n, Value distance, const Resizing &resizing) {
  auto number = [&](double value) { return n.splatLike(value, distance); };
  if (resizing.mode == Mode::linear)
    return n.emit<MaxOp>(n.emit<SubOp>(number(1), distance), number(0));
  double a = resizing.cubicA;
  auto polynomial = [&](ArrayRef<double> coefficients) {
    Value sum = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = n.emit<AddOp>(n.emit<MulOp>(sum, distance), number(coefficient));
    return sum;
  };
  auto isWithin = [&](double limit) { return n.emit<CompareOp>(ComparePredicate::le, distance, number(limit)); };
  Value far = n.emit<SelectOp>(isWithin(2), polynomial({a, -5 * a, 8 * a, -4 * a}), number(0));
  return n.emit<SelectOp>(isWithin(1), polynomial({a + 2, -(a + 3), 0, 1}), far);
}

/// The mean of all neighbours of each place by the weights of a filter, which is as wide as the places are apart where
/// there are fewer than the input has. The filter's places are a dimension behind `axis` until they are summed.
Value filter(NodeImporter &n, Value input, Axis &places, const Target &target, Value at, const Resizing &resizing) {
  DimAttr reach = resizing.mode == Mode::linear ? n.dim(1) : n.dim(2);
  Value narrow;
  if (resizing.antialias) {
    reach = resizing.mode == Mode::linear ? target.reach : target.twiceReach;
    narrow = n.emit<MinOp>(places.scale, n.splat(1, places.type));
  }
  DimAttr count = mulDims(reach, n.dim(2));
  Dims dims = {target.to, count};
  RankedTensorType type = makeTensorType(dims, places.type.getElementType());
  Value offsets = n.cast(n.emitAs<IotaOp>(makeTensorType(count, n.builder.getI64Type()), 0), type.getElementType());
  Value first = n.cast(n.emitDim(subDims(n.dim(1), reach), n.builder.getI64Type()), type.getElementType());
  offsets = n.emit<AddOp>(offsets, n.broadcastInDim(first, count, {}));
  Value below = n.emit<FloorOp>(at);
  // Distances from the whole place below are exact.
  Value beyond =
      n.emit<SubOp>(n.broadcastInDim(offsets, dims, {1}), n.broadcastInDim(n.emit<SubOp>(at, below), dims, {0}));
  Value neighbours = n.emit<AddOp>(places.spreadLike(below, beyond), n.broadcastInDim(offsets, dims, {1}));
  Value distance = n.emit<AbsOp>(beyond);
  if (narrow)
    distance = n.emit<MulOp>(distance, places.spreadLike(narrow, distance));
  Value weights = weigh(n, distance, resizing);
  if (resizing.excludeOutside)
    weights = n.emit<SelectOp>(places.isOutside(neighbours), n.splatLike(0, weights), weights);
  if (resizing.excludeOutside || narrow) {
    Value sum = n.emit<ReduceOp>(ReduceKind::sum, weights, ArrayRef<int64_t>(1));
    weights = n.emit<DivOp>(weights, places.spreadLike(sum, weights));
  }
  Value taken = n.emit<GatherOp>(input, places.toIndices(neighbours), target.axis, IntegerAttr());
  weights = n.cast(weights, elementOf(input));
  weights = n.broadcastInDim(weights, vx::getDims(typeOf(taken)), {target.axis, target.axis + 1});
  return n.emit<ReduceOp>(ReduceKind::sum, n.emit<MulOp>(taken, weights), target.axis + 1);
}

/// Up to this numerator of a scale its products are the same in f32 for all sizes that a tensor has: 2, 1.5, 0.75.
constexpr int64_t mostExactNumerator = 15;

/// floor(size * scale) where the product is rounded to f32, as ONNX Runtime and PyTorch have it: 5 * 2.6 is 13. Null
/// where no expression says it for all sizes.
DimAttr scaleDim(NodeImporter &n, DimAttr size, double scale) {
  if (std::optional<int64_t> known = size.asConstant()) {
    float product = float(*known) * float(scale);
    if (!(product <= double(maxElements)))
      throwInvalid("expects tensors of at most " + Twine(maxElements) + " elements, got 'scales' of " +
                   std::to_string(scale) + " for a size of " + Twine(*known));
    return n.dim(int64_t(product));
  }
  // A float is a whole number over a power of two.
  int exponent;
  double mantissa = std::frexp(scale, &exponent); // scale = mantissa * 2^exponent
  int64_t numerator = static_cast<int64_t>(std::ldexp(mantissa, 24));
  int shift = 24 - exponent;
  while (shift > 0 && numerator % 2 == 0) {
    numerator /= 2;
    --shift;
  }
  if (shift > 62 || shift < -30)
    throwUnsupported(Advice::ChangeSetting, "expects 'scales' between 2^-30 and 2^30, got " + std::to_string(scale));
  if (numerator > mostExactNumerator)
    return {};
  if (shift <= 0)
    return mulDims(size, n.dim(numerator << -shift));
  return floorDivDims(mulDims(size, n.dim(numerator)), n.dim(int64_t(1) << shift));
}

/// How far apart the places of a filter may be, as the inverse of a scale.
void setReach(NodeImporter &n, Target &target, double scale) {
  double inverse = 1 / std::min(scale, 1.0);
  if (inverse > double(INT32_MAX))
    throwUnsupported(Advice::ChangeSetting,
                     "expects 'scales' of at least 2^-31 where 'antialias' is set, got " + std::to_string(scale));
  target.reach = n.dim(int64_t(std::ceil(inverse)));
  target.twiceReach = n.dim(int64_t(std::ceil(2 * inverse)));
}

/// The sizes that a list of scales gives, which the node states or the call may decide. A roi cuts the input before.
void setScales(NodeImporter &n, unsigned index, SmallVectorImpl<Target> &targets, const Resizing &resizing) {
  std::optional<SmallVector<double>> known = resizing.scales;
  RankedTensorType type = known ? RankedTensorType() : n.getTensorType(index);
  if (type && (type.getRank() != 1 || !isa<FloatType>(type.getElementType())))
    throwInvalid("expects 'scales' to be a list of floats, got " + describe(type));
  if (type)
    known = n.getConstantNumbers(index);
  auto checkCount = [&](int64_t count) {
    if (count != static_cast<int64_t>(targets.size()))
      throwInvalid("expects one entry of 'scales' for each of the " + Twine(targets.size()) + " axes, got " +
                   Twine(count));
  };
  Type f32 = n.builder.getF32Type(), f64 = n.builder.getF64Type(), i64 = n.builder.getI64Type();
  std::string name = known ? "" : n.proto.input(index);
  Value list;
  if (known) {
    checkCount(known->size());
  } else {
    if (type.hasStaticShape())
      checkCount(type.getNumElements());
    list = n.cast(n.reshape(n.getTensor(index), n.dim(targets.size())), f64);
    Value isPositive = n.emit<CompareOp>(ComparePredicate::gt, list, n.splatLike(0, list));
    Value count = n.reduce(ReduceKind::sum, n.cast(isPositive, i64), int64_t(0));
    n.require(ConstraintKind::equal, n.bindSymbol(count, name + ".above_0"), n.dim(targets.size()));
  }
  for (auto [i, target] : llvm::enumerate(targets)) {
    std::string element = (known ? "scales" : name) + "[" + std::to_string(i) + "]";
    Value scale, cut = resizing.roi ? n.cast(n.emit<SubOp>(target.end, target.start), f64) : Value();
    if (known) {
      double value = (*known)[i];
      if (!(value > 0))
        throwInvalid("expects 'scales' above 0, got " + std::to_string(value));
      target.knownScale = value;
      target.scale = n.emitScalar(value, f32);
      scale = n.emitScalar(value, f64);
      setReach(n, target, value);
      target.to = cut ? DimAttr() : scaleDim(n, target.from, value);
      if (target.to)
        continue;
    } else {
      scale = n.reshape(n.slice(list, n.dim(i), n.dim(1), 1), {});
      target.scale = n.cast(scale, f32);
      if (resizing.antialias) {
        Value one = n.splatLike(1, scale), inverse = n.emit<DivOp>(one, n.emit<MinOp>(scale, one));
        target.reach = n.bindSymbol(n.cast(n.emit<CeilOp>(inverse), i64), element + ".reach", 1);
        target.twiceReach =
            n.bindSymbol(n.cast(n.emit<CeilOp>(n.emit<AddOp>(inverse, inverse)), i64), element + ".twice_reach", 2);
      }
    }
    Value length = n.cast(n.emitDim(target.from, i64), cut ? f64 : f32);
    if (cut)
      length = n.emit<MulOp>(length, cut);
    Value product = n.emit<MulOp>(length, cut ? scale : target.scale);
    target.to = n.bindSymbol(n.cast(n.emit<FloorOp>(product), i64), element + ".size");
  }
}

/// The sizes that a list gives, as they are, or of one scale for all axes by which none is larger, or smaller.
void setSizes(NodeImporter &n, unsigned index, MutableArrayRef<Target> targets, StringRef policy) {
  Dims sizes = n.getIntegers(index, targets.size());
  if (sizes.size() != targets.size())
    throwInvalid("expects one entry of 'sizes' for each of the " + Twine(targets.size()) + " axes, got " +
                 Twine(sizes.size()));
  auto atLeastOne = [&](DimAttr dim) { return maxDims(dim, n.dim(1)); };
  auto setReach = [&](Target &target, DimAttr from, DimAttr to, function_ref<DimAttr(DimAttr, DimAttr)> join) {
    DimAttr reach = ceilDivDims(from, atLeastOne(to)), twice = ceilDivDims(mulDims(from, n.dim(2)), atLeastOne(to));
    target.reach = target.reach ? join(target.reach, reach) : reach;
    target.twiceReach = target.twiceReach ? join(target.twiceReach, twice) : twice;
  };
  bool isLeast = policy == "not_larger";
  Value scale;
  if (policy != "stretch") {
    for (auto [target, size] : llvm::zip(targets, sizes)) {
      Type f32 = n.builder.getF32Type();
      Value own = n.emit<DivOp>(n.emitDim(size, f32), n.emitDim(atLeastOne(target.from), f32));
      scale = !scale ? own : isLeast ? n.emit<MinOp>(scale, own) : n.emit<MaxOp>(scale, own);
    }
  }
  for (auto [index, target] : llvm::enumerate(targets)) {
    if (policy == "stretch") {
      target.to = sizes[index];
      setReach(target, target.from, target.to, maxDims);
    } else {
      target.scale = scale;
      for (auto [other, size] : llvm::zip(targets, sizes)) {
        // from * size / other.from, halves rounded up.
        DimAttr length = atLeastOne(other.from), twice = n.dim(2);
        DimAttr rounded =
            floorDivDims(addDims(mulDims(mulDims(target.from, size), twice), length), mulDims(length, twice));
        target.to = !target.to ? rounded : isLeast ? minDims(target.to, rounded) : maxDims(target.to, rounded);
        setReach(target, other.from, size, isLeast ? maxDims : minDims);
      }
    }
    target.reach = atLeastOne(target.reach);
    target.twiceReach = maxDims(target.twiceReach, n.dim(2));
  }
}

Value resizeAxis(NodeImporter &n, Value input, const Target &target, Axis &places, Value at, const Resizing &resizing) {
  if (resizing.mode == Mode::nearest)
    return n.emit<GatherOp>(input, places.toIndices(places.round(at, resizing.nearest)), target.axis, IntegerAttr());
  bool grows = target.knownScale ? *target.knownScale >= 1 : target.from.isAtMost(target.to);
  if (resizing.mode == Mode::cubic || (resizing.antialias && !grows))
    return filter(n, input, places, target, at, resizing);
  // Outside of the input its border counts.
  at = n.emit<MinOp>(n.emit<MaxOp>(at, n.splat(0, places.type)), places.getLast());
  Value below = n.emit<FloorOp>(at), above = n.emit<AddOp>(below, n.splat(1, places.type));
  Value low = n.emit<GatherOp>(input, places.toIndices(below), target.axis, IntegerAttr()),
        high = n.emit<GatherOp>(input, places.toIndices(above), target.axis, IntegerAttr());
  Value weight = n.cast(n.emit<SubOp>(at, below), elementOf(input));
  Value rest = n.emit<SubOp>(n.splatLike(1, weight), weight);
  Dims result = vx::getDims(typeOf(low));
  return n.emit<AddOp>(n.emit<MulOp>(low, n.broadcastInDim(rest, result, target.axis)),
                       n.emit<MulOp>(high, n.broadcastInDim(weight, result, target.axis)));
}

/// The element type in which means are computed.
Type getMeanType(NodeImporter &n, Type type) {
  if (auto floats = dyn_cast<FloatType>(type))
    return floats.getWidth() < 32 ? Type(n.builder.getF32Type()) : type;
  auto integers = dyn_cast<IntegerType>(type);
  if (!integers || integers.getWidth() == 1)
    throwInvalid("expects numbers to take means of, got elements of " + describe(type));
  return integers.getWidth() <= 16 ? n.builder.getF32Type() : n.builder.getF64Type();
}

/// Means in the element type of the input: of integers the nearest that the type has.
Value toElements(NodeImporter &n, Value value, Type type) {
  auto integers = dyn_cast<IntegerType>(type);
  if (!integers || elementOf(value) == type)
    return n.cast(value, type);
  unsigned width = integers.getWidth();
  double low = integers.isUnsigned() ? 0 : -std::ldexp(1.0, width - 1);
  double high =
      std::ldexp(1.0, integers.isUnsigned() ? width : width - 1) - (width > 52 ? std::ldexp(1.0, width - 53) : 1);
  value = n.emit<MaxOp>(n.emit<RoundOp>(value), n.splatLike(low, value));
  return n.cast(n.emit<MinOp>(value, n.splatLike(high, value)), type);
}

/// Resizes each dimension in turn. `index` is the input of the scales, and the next one of the sizes.
void resize(NodeImporter &n, Resizing resizing, ArrayRef<int64_t> axes, unsigned index, bool hasSizes) {
  Value input = n.getTensor(0);
  Type type = elementOf(input);
  SmallVector<Target> targets;
  for (int64_t axis : axes)
    targets.emplace_back(axis, n.getDims(0)[axis]);
  if (resizing.coordinates == "tf_crop_and_resize") {
    int64_t count = targets.size();
    RankedTensorType list = n.getTensorType(1);
    if (list.getRank() != 1 || !isa<FloatType>(list.getElementType()) ||
        !mayBeEqual(vx::getDim(list, 0), n.dim(2 * count)))
      throwInvalid("expects 'roi' to be a list of " + Twine(2 * count) + " floats, got " + describe(list));
    resizing.roi = n.cast(n.reshape(n.getTensor(1), n.dim(2 * count)), n.builder.getF32Type());
    auto take = [&](int64_t place) { return n.reshape(n.slice(resizing.roi, n.dim(place), n.dim(1), 1), {}); };
    for (auto [place, target] : llvm::enumerate(targets)) {
      target.start = take(place);
      target.end = take(count + place);
    }
  }
  std::string policy = n.version >= 18 ? n.getString("keep_aspect_ratio_policy", "stretch") : "stretch";
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    throwInvalid("expects 'keep_aspect_ratio_policy' to be stretch, not_larger or not_smaller, got '" + policy + "'");
  if (hasSizes)
    setSizes(n, index + 1, targets, policy);
  else
    setScales(n, index, targets, resizing);
  if (resizing.mode != Mode::nearest)
    input = n.cast(input, getMeanType(n, type));
  SmallVector<std::pair<int64_t, Value>> outside; // of the input, by axis
  for (Target &target : targets) {
    bool isOne = target.from.asConstant() == 1 && target.to.asConstant() == 1;
    bool isSame = target.to == target.from && (hasSizes ? policy == "stretch" : target.knownScale == 1);
    if (isOne || (isSame && !resizing.roi))
      continue;
    Axis places(n, target);
    Value at = places.getPlaces(resizing.coordinates);
    if (resizing.roi)
      outside.push_back({target.axis, places.isOutside(at)});
    input = resizeAxis(n, input, target, places, at, resizing);
  }
  Dims result = vx::getDims(typeOf(input));
  for (auto [axis, isOutside] : outside) {
    Value value = n.splatLike(n.getFloat("extrapolation_value", 0.0f), input);
    input = n.emit<SelectOp>(n.broadcastInDim(isOutside, result, axis), value, input);
  }
  n.setOutput(0, toElements(n, input, type));
}

Mode getMode(NodeImporter &n) {
  std::string mode = n.getString("mode", "nearest");
  if (mode == "nearest")
    return Mode::nearest;
  if (mode == "linear")
    return Mode::linear;
  if (mode == "cubic")
    return Mode::cubic;
  throwInvalid("expects 'mode' to be nearest, linear or cubic, got '" + mode + "'");
}

} // namespace

static void importResize(NodeImporter &n) {
  int64_t rank = n.getDims(0).size();
  Resizing resizing;
  resizing.mode = getMode(n);
  resizing.nearest = n.version >= 11 ? n.getString("nearest_mode", "round_prefer_floor") : "floor";
  resizing.coordinates = n.getString("coordinate_transformation_mode", n.version >= 11 ? "half_pixel" : "asymmetric");
  resizing.excludeOutside = n.getFlag("exclude_outside", false);
  resizing.antialias = n.version >= 18 && n.getFlag("antialias", false);
  resizing.cubicA = n.getFloat("cubic_coeff_a", -0.75f);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (n.version >= 18)
    if (std::optional<SmallVector<int64_t>> listed = n.getInts("axes")) {
      (void)n.normalizeAxes(*listed, rank, "axes");
      axes.clear();
      for (int64_t axis : *listed)
        axes.push_back(n.normalizeAxis(axis, rank, "axes"));
    }
  unsigned scales = n.version >= 11 ? 2 : 1;
  bool hasSizes = n.version >= 11 && n.hasInput(3);
  if (!hasSizes && !n.hasInput(scales))
    throwInvalid("expects 'scales' or 'sizes', got neither");
  resize(n, resizing, axes, scales, hasSizes);
}

/// The former name of Resize, before version 10.
static void importUpsample(NodeImporter &n) {
  Resizing resizing;
  resizing.mode = getMode(n);
  resizing.nearest = "floor";
  resizing.coordinates = "asymmetric";
  if (n.version < 9)
    resizing.scales = llvm::to_vector_of<double>(n.getFloats("scales"));
  resize(n, resizing, llvm::to_vector(llvm::seq<int64_t>(0, n.getDims(0).size())), 1, /*hasSizes=*/false);
}

static constexpr OpTableEntry resizeTable[] = {
    {"Resize", 10, newestOpset, importResize},
    {"Upsample", 7, 9, importUpsample},
};
const llvm::ArrayRef<OpTableEntry> resizeOps = resizeTable;

} // namespace vx::onnx
