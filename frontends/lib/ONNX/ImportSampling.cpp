// Samples of images at points from data, grids of such points, and ops of them: pooled regions, and deformable
// convolutions.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include <limits>

using namespace mlir;

namespace vx::onnx {

static void importAffineGrid(NodeImporter &n) {
  Value theta = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(theta));
  // The matrices have the number of sizes if the list's length is known at run time only.
  std::optional<int64_t> rows = dims.size() == 3 ? dims[1].asConstant() : std::nullopt;
  Dims size = n.getIntegers(1, rows ? std::optional(*rows + 2) : std::nullopt);
  int64_t count = int64_t(size.size()) - 2; // of dimensions of space
  if (!isa<FloatType>(elementOf(theta)) || dims.size() != 3)
    throwInvalid("expects matrices of floats as input 0, got " + describe(theta.getType()));
  if (count != 2 && count != 3)
    throwInvalid("expects 4 or 5 sizes as input 1, got " + Twine(size.size()));
  if (!mayBeEqual(dims[1], n.dim(count)) || !mayBeEqual(dims[2], n.dim(count + 1)) || !mayBeEqual(dims[0], size[0]))
    throwInvalid("expects a matrix of " + Twine(count) + " x " + Twine(count + 1) + " for each of " + size[0].str() +
                 " images, got " + describe(theta.getType()));
  n.require(ConstraintKind::equal, dims[0], size[0]);
  n.require(ConstraintKind::equal, dims[1], n.dim(count));
  n.require(ConstraintKind::equal, dims[2], n.dim(count + 1));
  Value wide = n.widen(theta);
  Type type = elementOf(wide);
  bool aligns = n.getFlag("align_corners", false);
  ArrayRef<DimAttr> space = ArrayRef<DimAttr>(size).drop_front(2);
  Dims column(space);
  column.push_back(n.dim(1));
  SmallVector<Value> coordinates;
  // From -1 to 1 over the elements' centers, or over their outer bounds. The last dimension of space is the first
  // coordinate.
  for (int64_t d = count - 1; d >= 0; --d) {
    Value places = n.emitAs<IotaOp>(makeTensorType(space[d], type), 0), two = n.splatLike(2, places);
    auto spread = [&](DimAttr number) { return n.broadcastInDim(n.emitDim(number, type), space[d], {}); };
    places = n.emit<MulOp>(places, two);
    if (!aligns)
      places = n.emit<AddOp>(places, n.splatLike(1, places));
    places = n.emit<DivOp>(places, spread(aligns ? subDims(space[d], n.dim(1)) : space[d]));
    places = n.emit<SubOp>(places, n.splatLike(1, places));
    coordinates.push_back(n.broadcastInDim(places, column, d));
  }
  coordinates.push_back(n.splat(1, makeTensorType(column, type)));
  DimAttr points = productOf(n.context, space);
  Value grid = n.reshape(n.emit<ConcatOp>(ValueRange(coordinates), count), {points, n.dim(count + 1)});
  Value moved = n.emit<ContractOp>(wide, grid, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>(2),
                                   ArrayRef<int64_t>(1));
  Dims result = {size[0]};
  result.append(space.begin(), space.end());
  result.push_back(n.dim(count));
  n.setOutput(0, n.cast(n.reshape(n.transpose(moved, {0, 2, 1}), result), elementOf(theta)));
}

namespace {

enum class Interpolation { Nearest, Linear, Cubic };
enum class Outside { Zeros, Border, Reflection };

/// Takes rows of an image, one for each point of a list, by one coordinate for each dimension of space.
class Sampler {
public:
  Sampler(NodeImporter &n, Interpolation interpolation, Outside outside, bool aligns)
      : n(n), interpolation(interpolation), outside(outside), aligns(aligns) {}

  /// `image` is [batch, space..., channels], `coordinates` are of [batch, points], in places. Gives [batch, points,
  /// channels], in the type of the coordinates. With `images`, i64 numbers from 0 on, each row of the coordinates is of
  /// the image that its number says.
  Value sample(Value image, ArrayRef<Value> coordinates, Value images = {}) {
    Dims dims = vx::getDims(typeOf(image));
    sizes = Dims(ArrayRef<DimAttr>(dims).drop_front().drop_back());
    pointDims = vx::getDims(typeOf(coordinates[0]));
    DimAttr places = productOf(n.context, sizes);
    rows = n.reshape(image, {mulDims(dims[0], places), dims.back()});
    Type i64 = n.builder.getI64Type();
    Value number =
        images ? n.broadcastInDim(images, pointDims, 0) : n.emitAs<IotaOp>(makeTensorType(pointDims, i64), 0);
    first = n.emit<MulOp>(number, spread(places, i64));
    steps.resize(sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d)
      steps[d] = getSteps(d, coordinates[d]);
    return combine(0, first, Value(), Value());
  }

private:
  /// One of the neighbours along a dimension.
  struct Step {
    Value place;    // i64, inside of the image
    Value weight;   // null for 1
    Value isInside; // null for always
  };

  Value spread(DimAttr number, Type type) { return n.broadcastInDim(n.emitDim(number, type), pointDims, {}); }
  Value like(double number, Value value) { return n.splatLike(number, value); }

  Value clamp(Value place, DimAttr size) {
    Value last = spread(subDims(size, n.dim(1)), elementOf(place));
    return n.emit<MaxOp>(n.emit<MinOp>(place, last), like(0, place));
  }

  /// Reflects a position between the centers of the first and the last element, or their outer bounds.
  Value reflect(Value place, DimAttr size) {
    Type type = elementOf(place);
    Value low = like(aligns ? 0 : -0.5, place);
    Value range = spread(aligns ? subDims(size, n.dim(1)) : size, type);
    Value period = n.emit<MaxOp>(n.emit<AddOp>(range, range), like(1, range)); // of a single place any will do
    Value distance = n.emit<RemOp>(n.emit<AbsOp>(n.emit<SubOp>(place, low)), period);
    Value isBack = n.emit<CompareOp>(ComparePredicate::gt, distance, range);
    distance = n.emit<SelectOp>(isBack, n.emit<SubOp>(period, distance), distance);
    return n.emit<AddOp>(low, distance);
  }

  Step getStep(size_t d, Value place, Value weight) {
    Step step{{}, weight, {}};
    if (outside == Outside::Zeros) {
      Value last = spread(subDims(sizes[d], n.dim(1)), elementOf(place));
      step.isInside = n.emit<AndOp>(n.emit<CompareOp>(ComparePredicate::ge, place, like(0, place)),
                                    n.emit<CompareOp>(ComparePredicate::le, place, last));
    } else if (outside == Outside::Reflection) {
      place = reflect(place, sizes[d]);
    }
    step.place = n.cast(clamp(place, sizes[d]), n.builder.getI64Type());
    return step;
  }

  SmallVector<Step> getSteps(size_t d, Value place) {
    if (interpolation == Interpolation::Nearest)
      place = n.emit<RoundOp>(place);
    // A cubic clamps the neighbours to the border and not the point, as PyTorch and ONNX Runtime do.
    if (outside == Outside::Border && interpolation != Interpolation::Cubic)
      place = clamp(place, sizes[d]);
    else if (outside == Outside::Reflection)
      place = reflect(place, sizes[d]);
    if (interpolation == Interpolation::Nearest)
      return {getStep(d, place, Value())};
    Value below = n.emit<FloorOp>(place), share = n.emit<SubOp>(place, below);
    Value rest = n.emit<SubOp>(like(1, share), share);
    auto at = [&](double offset) { return n.emit<AddOp>(below, like(offset, below)); };
    if (interpolation == Interpolation::Linear)
      return {getStep(d, below, rest), getStep(d, at(1), share)};
    return {getStep(d, at(-1), getFarWeight(n.emit<AddOp>(share, like(1, share)))),
            getStep(d, below, getNearWeight(share)), getStep(d, at(1), getNearWeight(rest)),
            getStep(d, at(2), getFarWeight(n.emit<AddOp>(rest, like(1, rest))))};
  }

  /// Keys' cubic convolution (1981) with a = -0.75, by distances of up to 1 and from 1 to 2.
  Value getNearWeight(Value x) {
    Value sum = n.emit<SubOp>(n.emit<MulOp>(like(a + 2, x), x), like(a + 3, x));
    return n.emit<AddOp>(n.emit<MulOp>(n.emit<MulOp>(sum, x), x), like(1, x));
  }
  Value getFarWeight(Value x) {
    Value sum = n.emit<SubOp>(n.emit<MulOp>(like(a, x), x), like(5 * a, x));
    sum = n.emit<AddOp>(n.emit<MulOp>(sum, x), like(8 * a, x));
    return n.emit<SubOp>(n.emit<MulOp>(sum, x), like(4 * a, x));
  }

  /// The weighted sum over the neighbours along dimension `d` and the following ones.
  Value combine(size_t d, Value place, Value weight, Value isInside) {
    if (d == steps.size()) {
      Value taken = n.emit<GatherOp>(rows, place, 0, IntegerAttr(), true);
      Dims dims = vx::getDims(typeOf(taken));
      auto ofPoints = [&](Value value) { return n.broadcastInDim(value, dims, {0, 1}); };
      if (weight)
        taken = n.emit<MulOp>(n.cast(taken, elementOf(weight)), ofPoints(weight));
      return isInside ? n.emit<SelectOp>(ofPoints(isInside), taken, like(0, taken)) : taken;
    }
    Value sum;
    for (const Step &step : steps[d]) {
      ArrayRef<DimAttr> inner = ArrayRef<DimAttr>(sizes).drop_front(d + 1);
      Value offset = n.emit<MulOp>(step.place, spread(productOf(n.context, inner), n.builder.getI64Type()));
      Value both = weight && step.weight ? n.emit<MulOp>(weight, step.weight) : step.weight;
      Value areInside = isInside && step.isInside ? n.emit<AndOp>(isInside, step.isInside) : step.isInside;
      Value part = combine(d + 1, n.emit<AddOp>(place, offset), both, areInside);
      sum = sum ? n.emit<AddOp>(sum, part) : part;
    }
    return sum;
  }

  static constexpr double a = -0.75;
  NodeImporter &n;
  const Interpolation interpolation;
  const Outside outside;
  const bool aligns;
  Dims sizes, pointDims;
  Value rows, first;
  SmallVector<SmallVector<Step>> steps;
};

} // namespace

static Interpolation getInterpolation(NodeImporter &n, size_t dimensions) {
  bool isOld = n.version < 20;
  std::string mode = n.getString("mode", isOld ? "bilinear" : "linear");
  if (mode == "nearest")
    return Interpolation::Nearest;
  if (mode == (isOld ? "bilinear" : "linear"))
    return Interpolation::Linear;
  if (mode != (isOld ? "bicubic" : "cubic"))
    throwInvalid(Twine("expects 'mode' to be nearest, ") + (isOld ? "bilinear or bicubic" : "linear or cubic") +
                 ", got '" + mode + "'");
  if (dimensions != 2)
    throwUnsupported(Advice::ChangeSetting,
                     "expects 'mode' " + mode + " only of 2 dimensions of space, got " + Twine(dimensions));
  return Interpolation::Cubic;
}

static Outside getOutside(NodeImporter &n) {
  std::string mode = n.getString("padding_mode", "zeros");
  if (mode != "zeros" && mode != "border" && mode != "reflection")
    throwInvalid("expects 'padding_mode' to be zeros, border or reflection, got '" + mode + "'");
  return mode == "zeros" ? Outside::Zeros : mode == "border" ? Outside::Border : Outside::Reflection;
}

static void importGridSample(NodeImporter &n) {
  Value image = n.getTensor(0), grid = n.getTensor(1);
  Dims dims = vx::getDims(typeOf(image)), gridDims = vx::getDims(typeOf(grid));
  if (dims.size() < 3 || gridDims.size() != dims.size() || !isa<FloatType>(elementOf(grid)) ||
      !isa<FloatType>(elementOf(image)))
    throwInvalid("expects an image and a grid of floats, of one rank from 3 on, got " + describe(image.getType()) +
                 " and " + describe(grid.getType()));
  int64_t count = dims.size() - 2;
  if (count > 3)
    throwUnsupported(Advice::ChangeSetting, "expects at most 3 dimensions of space, got " + Twine(count));
  if (!mayBeEqual(gridDims.back(), n.dim(count)) || !mayBeEqual(gridDims[0], dims[0]))
    throwInvalid("expects a grid of " + Twine(count) + " coordinates for each of " + dims[0].str() + " images, got " +
                 describe(grid.getType()));
  n.require(ConstraintKind::equal, gridDims.back(), n.dim(count));
  n.require(ConstraintKind::equal, gridDims[0], dims[0]);
  bool aligns = n.getFlag("align_corners", false);
  Sampler sampler(n, getInterpolation(n, count), getOutside(n), aligns);

  ArrayRef<DimAttr> outer = ArrayRef<DimAttr>(gridDims).drop_front().drop_back();
  Dims points = {dims[0], productOf(n.context, outer)}, flat = points;
  flat.push_back(n.dim(count));
  Value wide = n.widen(grid);
  wide = n.reshape(wide, flat);
  Type type = elementOf(wide);
  SmallVector<Value> coordinates;
  for (int64_t d = 0; d < count; ++d) {
    // The first coordinate is that of the last dimension; from -1 to 1 over the places, or over their outer bounds.
    Dims column = {points[0], points[1], n.dim(1)};
    Value x = n.reshape(n.slice(wide, {n.dim(0), n.dim(0), n.dim(count - 1 - d)}, column, {1, 1, 1}), points);
    Value one = n.splatLike(1, x), half = n.splatLike(0.5, x);
    DimAttr size = aligns ? subDims(dims[d + 2], n.dim(1)) : dims[d + 2];
    x = n.emit<MulOp>(n.emit<AddOp>(x, one), n.broadcastInDim(n.emitDim(size, type), points, {}));
    coordinates.push_back(n.emit<MulOp>(aligns ? x : n.emit<SubOp>(x, one), half));
  }
  auto last = llvm::to_vector(llvm::seq<int64_t>(0, count + 2));
  std::rotate(last.begin() + 1, last.begin() + 2, last.end()); // channels to the end
  Value samples = sampler.sample(n.transpose(image, last), coordinates);
  Dims result = {dims[0], dims[1]};
  result.append(outer.begin(), outer.end());
  n.setOutput(0, n.cast(n.reshape(n.transpose(samples, {0, 2, 1}), result), elementOf(image)));
}

//===-- RoiAlign ------------------------------------------------------------------------------===//

namespace {

/// Regions of images, each cut into `bins` along both dimensions of space, of which a grid of points is sampled.
class RegionPool {
public:
  explicit RegionPool(NodeImporter &n) : n(n) {}

  void import() {
    readInputs();
    SmallVector<Value> coordinates;
    for (int64_t d : {0, 1})
      sides.push_back(getSide(d));
    // [regions, bins, bins, points, points]
    Dims grid = {regions, n.dim(bins[0]), n.dim(bins[1]), sides[0].points, sides[1].points};
    Value isInside, isCounted;
    auto both = [&](Value lhs, Value rhs) { return lhs ? n.emit<AndOp>(lhs, rhs) : rhs; };
    DimAttr count = productOf(n.context, ArrayRef<DimAttr>(grid).drop_front());
    for (int64_t d : {0, 1}) {
      const Side &side = sides[d];
      auto number = [&](int64_t axis) { return n.emitAs<IotaOp>(makeTensorType(grid, type), axis); };
      auto ofRegions = [&](Value value) { return n.broadcastInDim(value, grid, 0); };
      Value place = n.emit<DivOp>(emitShifted(n, number(3 + d), 0.5), ofRegions(side.counted));
      place = n.emit<MulOp>(n.emit<AddOp>(number(1 + d), place), ofRegions(side.bin));
      place = n.emit<AddOp>(ofRegions(side.start), place);
      Value size = n.broadcastInDim(n.emitDim(space[d], type), grid, {});
      isInside = both(isInside, n.emit<CompareOp>(ComparePredicate::ge, place, n.splatLike(-1, place)));
      isInside = both(isInside, n.emit<CompareOp>(ComparePredicate::le, place, size));
      isCounted = both(isCounted, n.emit<CompareOp>(ComparePredicate::lt, number(3 + d), ofRegions(side.counted)));
      coordinates.push_back(n.reshape(place, {regions, count}));
    }
    Sampler sampler(n, Interpolation::Linear, Outside::Border, /*aligns=*/true);
    Value samples = sampler.sample(n.transpose(n.getTensor(0), {0, 2, 3, 1}), coordinates, images);
    grid.push_back(channels);
    samples = n.reshape(samples, grid);
    auto mask = [&](Value condition, double other) {
      condition = n.broadcastInDim(condition, grid, {0, 1, 2, 3, 4});
      samples = n.emit<SelectOp>(condition, samples, n.splatLike(other, samples));
    };
    mask(isInside, 0);
    Value pooled, size = n.emit<MulOp>(sides[0].counted, sides[1].counted);
    Value hasPoints = n.emit<CompareOp>(ComparePredicate::gt, size, n.splatLike(0, size));
    if (isMax) {
      mask(isCounted, -std::numeric_limits<double>::infinity());
      pooled = n.reduce(ReduceKind::max, samples, {3, 4});
    } else {
      mask(isCounted, 0);
      pooled = n.reduce(ReduceKind::sum, samples, {3, 4});
      pooled = n.emit<DivOp>(pooled, n.broadcastInDim(size, vx::getDims(typeOf(pooled)), 0));
    }
    Dims dims = vx::getDims(typeOf(pooled));
    pooled = n.emit<SelectOp>(n.broadcastInDim(hasPoints, dims, 0), pooled, n.splatLike(0, pooled));
    n.setOutput(0, n.cast(n.transpose(pooled, {0, 3, 1, 2}), n.getTensorType(0).getElementType()));
  }

private:
  /// A dimension of space of all regions: where they start, how long a bin is, and into how many points one is cut, of
  /// each region and at most.
  struct Side {
    Value start, bin, counted;
    DimAttr points;
  };

  void readInputs() {
    RankedTensorType image = n.getTensorType(0), corners = n.getTensorType(1), numbers = n.getTensorType(2);
    Type element = image.getElementType();
    if (image.getRank() != 4 || !isa<FloatType>(element) || corners.getElementType() != element)
      throwInvalid("expects images of 4 dimensions and regions, of floats of one type, got " + describe(image) +
                   " and " + describe(corners));
    if (numbers.getRank() != 1 || !numbers.getElementType().isSignlessInteger(64))
      throwInvalid("expects a list of i64 as input 2, got " + describe(numbers));
    regions = vx::getDim(numbers, 0);
    n.requireShape(1, {regions, n.dim(4)});
    channels = getDim(image, 1);
    space = {getDim(image, 2), getDim(image, 3)};
    std::string mode = n.getString("mode", "avg");
    if (mode != "avg" && mode != "max")
      throwInvalid("expects 'mode' to be avg or max, got '" + mode + "'");
    isMax = mode == "max";
    std::string transformation =
        n.getString("coordinate_transformation_mode", n.version < 16 ? "output_half_pixel" : "half_pixel");
    if (transformation != "half_pixel" && transformation != "output_half_pixel")
      throwInvalid("expects 'coordinate_transformation_mode' to be half_pixel or output_half_pixel, got '" +
                   transformation + "'");
    isHalfPixel = transformation == "half_pixel";
    for (StringRef name : {"output_height", "output_width"}) {
      bins.push_back(n.getInt(name, 1));
      if (bins.back() < 1)
        throwInvalid("expects '" + name + "' to be at least 1, got " + Twine(bins.back()));
    }
    ratio = n.getInt("sampling_ratio", 0);
    if (ratio < 0)
      throwInvalid("expects 'sampling_ratio' to be at least 0, got " + Twine(ratio));
    images = n.emit<CheckIndicesOp>(n.getTensor(2), n.toArray(getDim(image, 0)));
    rois = emitScaled(n, n.widen(n.getTensor(1)), n.getFloat("spatial_scale", 1.0f));
    type = elementOf(rois);
    if (isHalfPixel)
      rois = emitShifted(n, rois, -0.5);
  }

  Side getSide(int64_t d) {
    // x of the first corner, y of it, and those of the last one.
    auto column = [&](int64_t which) {
      return n.reshape(n.slice(rois, {n.dim(0), n.dim(which)}, {regions, n.dim(1)}, {1, 1}), regions);
    };
    Side side;
    side.start = column(1 - d);
    Value length = n.emit<SubOp>(column(3 - d), side.start);
    if (!isHalfPixel) // at least a place, as the older versions have it
      length = n.emit<MaxOp>(length, n.splatLike(1, length));
    side.bin = emitScaled(n, length, 1.0 / double(bins[d]));
    if (ratio > 0) {
      side.counted = n.splatLike(double(ratio), length);
      side.points = n.dim(ratio);
      return side;
    }
    side.counted = n.emit<CeilOp>(n.emit<DivOp>(length, n.splatLike(double(bins[d]), length)));
    side.counted = n.emit<MaxOp>(side.counted, n.splatLike(0, side.counted));
    Value most = n.reduce(ReduceKind::max, n.cast(side.counted, n.builder.getI64Type()), int64_t(0));
    most = n.emit<MaxOp>(most, n.splatLike(0, most)); // of no region
    side.points = n.bindSymbol(most, n.proto.output(0) + (d == 0 ? ".rows" : ".columns"));
    return side;
  }

  NodeImporter &n;
  DimAttr regions, channels;
  SmallVector<DimAttr> space;
  SmallVector<int64_t> bins;
  SmallVector<Side> sides;
  bool isMax = false, isHalfPixel = false;
  int64_t ratio = 0;
  Value rois, images;
  Type type;
};

} // namespace

static void importRoiAlign(NodeImporter &n) { RegionPool(n).import(); }

//===-- DeformConv ----------------------------------------------------------------------------===//

static void importDeformConv(NodeImporter &n) {
  Value input = n.getTensor(0), filter = n.getTensor(1), offset = n.getTensor(2);
  Dims dims = n.getDims(0), filterDims = n.getDims(1), offsetDims = n.getDims(2);
  Type element = elementOf(input);
  if (!isa<FloatType>(element) || elementOf(filter) != element || elementOf(offset) != element || dims.size() < 3 ||
      filterDims.size() != dims.size() || offsetDims.size() != dims.size())
    throwInvalid("expects an input, a filter and offsets of floats of one type and rank, 3 or more, got " +
                 describe(input.getType()) + ", " + describe(filter.getType()) + " and " + describe(offset.getType()));
  int64_t count = dims.size() - 2, groups = n.getInt("group", 1), parts = n.getInt("offset_group", 1);
  if (groups < 1 || parts < 1)
    throwInvalid("expects 'group' and 'offset_group' of at least 1, got " + Twine(groups) + " and " + Twine(parts));
  ArrayRef<DimAttr> kernel = ArrayRef<DimAttr>(filterDims).drop_front(2), space = ArrayRef<DimAttr>(dims).drop_front(2),
                    places = ArrayRef<DimAttr>(offsetDims).drop_front(2);
  if (std::optional<SmallVector<int64_t>> stated = n.getInts("kernel_shape")) {
    Dims want = {filterDims[0], filterDims[1]};
    llvm::append_range(want, llvm::map_range(*stated, [&](int64_t size) { return n.dim(size); }));
    n.requireShape(1, want);
  }
  SmallVector<int64_t> strides = getWindowList(n, "strides", count, 1, 1),
                       dilations = getWindowList(n, "dilations", count, 1, 1),
                       pads = getWindowList(n, "pads", 2 * count, 0, 0);
  DimAttr batch = dims[0], taps = productOf(n.context, kernel), points = productOf(n.context, places);
  DimAttr ofGroup = floorDivDims(dims[1], n.dim(groups)), ofPart = floorDivDims(dims[1], n.dim(parts)),
          results = floorDivDims(filterDims[0], n.dim(groups));
  for (auto [size, divisor] : {std::pair(dims[1], groups), std::pair(dims[1], parts), std::pair(filterDims[0], groups)})
    n.require(ConstraintKind::multiple, size, n.dim(divisor));
  Dims wantFilter = {filterDims[0], ofGroup}, wantOffset = {batch, mulDims(n.dim(parts * count), taps)};
  llvm::append_range(wantFilter, kernel);
  for (int64_t d = 0; d < count; ++d) {
    DimAttr reach = addDims(mulDims(subDims(kernel[d], n.dim(1)), n.dim(dilations[d])), n.dim(1));
    DimAttr room = subDims(addDims(space[d], n.dim(pads[d] + pads[count + d])), reach);
    wantOffset.push_back(addDims(floorDivDims(room, n.dim(strides[d])), n.dim(1)));
  }
  n.requireShape(1, wantFilter);
  n.requireShape(2, wantOffset);

  // [batch, parts, kernel..., coordinates, places...]
  Dims offsetParts = {batch, n.dim(parts)};
  llvm::append_range(offsetParts, kernel);
  offsetParts.push_back(n.dim(count));
  llvm::append_range(offsetParts, places);
  offset = n.reshape(n.widen(offset), offsetParts);
  Type type = elementOf(offset);
  Value mask;
  if (n.hasInput(4)) {
    Dims maskDims = {batch, mulDims(n.dim(parts), taps)};
    llvm::append_range(maskDims, places);
    n.requireShape(4, maskDims);
    Dims split = {batch, n.dim(parts), taps, points};
    mask = n.transpose(n.reshape(n.widen(n.getTensor(4)), split), {0, 3, 2, 1});
  }
  // For the kernel's positions at each position of the result: [batch, places..., kernel...].
  Dims all = {batch};
  llvm::append_range(all, places);
  llvm::append_range(all, kernel);
  auto last = llvm::to_vector(llvm::seq<int64_t>(0, count + 2));
  std::rotate(last.begin() + 1, last.begin() + 2, last.end()); // channels to the end
  Value image = n.transpose(input, last);
  SmallVector<Value> columns;
  for (int64_t part = 0; part < parts; ++part) {
    SmallVector<Value> coordinates;
    for (int64_t d = 0; d < count; ++d) {
      Dims starts(offsetParts.size(), n.dim(0)), sizes = offsetParts, own = {batch};
      starts[1] = n.dim(part);
      starts[2 + count] = n.dim(d);
      sizes[1] = sizes[2 + count] = n.dim(1);
      llvm::append_range(own, kernel);
      llvm::append_range(own, places);
      Value moved = n.reshape(n.slice(offset, starts, sizes, SmallVector<int64_t>(sizes.size(), 1)), own);
      auto order = llvm::to_vector(llvm::seq<int64_t>(1, 1 + 2 * count));
      std::rotate(order.begin(), order.begin() + count, order.end());
      order.insert(order.begin(), 0);
      moved = n.transpose(moved, order);
      RankedTensorType grid = makeTensorType(all, type);
      Value place = emitShifted(n, emitScaled(n, n.emitAs<IotaOp>(grid, 1 + d), double(strides[d])), -double(pads[d]));
      place = n.emit<AddOp>(place, emitScaled(n, n.emitAs<IotaOp>(grid, 1 + count + d), double(dilations[d])));
      coordinates.push_back(n.reshape(n.emit<AddOp>(place, moved), {batch, mulDims(points, taps)}));
    }
    Dims starts(dims.size(), n.dim(0)), sizes = vx::getDims(typeOf(image));
    starts.back() = mulDims(n.dim(part), ofPart);
    sizes.back() = ofPart;
    Value own = n.slice(image, starts, sizes, SmallVector<int64_t>(sizes.size(), 1));
    Sampler sampler(n, Interpolation::Linear, Outside::Zeros, /*aligns=*/true);
    Value column = n.reshape(sampler.sample(own, coordinates), {batch, points, taps, n.dim(1), ofPart});
    columns.push_back(column);
  }
  Value column = columns.size() == 1 ? columns[0] : n.emit<ConcatOp>(ValueRange(columns), 3);
  if (mask)
    column = n.emit<MulOp>(column, n.broadcastInDim(mask, vx::getDims(typeOf(column)), {0, 1, 2, 3}));
  column = n.reshape(column, {batch, points, taps, n.dim(groups), ofGroup});
  Value factors = n.reshape(n.widen(filter), {n.dim(groups), results, ofGroup, taps});
  int64_t summed[] = {2, 4}, factorSummed[] = {3, 2};
  Value product = n.emit<ContractOp>(column, factors, ArrayRef<int64_t>(3), ArrayRef<int64_t>(0), ArrayRef(summed),
                                     ArrayRef(factorSummed)); // [groups, batch, points, results]
  product = n.transpose(product, {1, 0, 3, 2});
  Dims result = {batch, filterDims[0]};
  llvm::append_range(result, places);
  product = n.reshape(product, result);
  if (n.hasInput(3)) {
    n.requireShape(3, filterDims[0]);
    product = n.emit<AddOp>(product, n.broadcastInDim(n.widen(n.getTensor(3)), result, 1));
  }
  n.setOutput(0, n.cast(product, element));
}

static constexpr OpTableEntry samplingTable[] = {
    {"AffineGrid", 20, newestOpset, importAffineGrid},
    {"DeformConv", 19, newestOpset, importDeformConv},
    {"GridSample", 16, newestOpset, importGridSample},
    {"RoiAlign", 10, newestOpset, importRoiAlign},
};
const llvm::ArrayRef<OpTableEntry> samplingOps = samplingTable;

} // namespace vx::onnx
