// Samples of images at points that data tells, and the grids of such points.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

static void importAffineGrid(NodeImporter &n) {
  Value theta = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(theta)), size = n.getIntegers(1);
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
  // From -1 to 1 over the places, or over their outer bounds; the last dimension of space is the first coordinate.
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
  /// channels], in the type of the coordinates.
  Value sample(Value image, ArrayRef<Value> coordinates) {
    Dims dims = vx::getDims(typeOf(image));
    sizes = Dims(ArrayRef<DimAttr>(dims).drop_front().drop_back());
    pointDims = vx::getDims(typeOf(coordinates[0]));
    DimAttr places = productOf(n.context, sizes);
    rows = n.reshape(image, {mulDims(dims[0], places), dims.back()});
    Type i64 = n.builder.getI64Type();
    first = n.emit<MulOp>(n.emitAs<IotaOp>(makeTensorType(pointDims, i64), 0), spread(places, i64));
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

  /// Back and forth between the places of the first and the last element, or their outer bounds.
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
    // Neighbours of a cubic are at the border, and not its point: that is what PyTorch and ONNX Runtime compute.
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

  /// The sum over the neighbours along dimension `d` and those behind it.
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
    throwUnsupported("expects 'mode' " + mode + " only of 2 dimensions of space, got " + Twine(dimensions));
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
    throwUnsupported("expects at most 3 dimensions of space, got " + Twine(count));
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

static constexpr OpTableEntry samplingTable[] = {
    {"AffineGrid", 20, newestOpset, importAffineGrid, "align_corners"},
    {"GridSample", 16, newestOpset, importGridSample, "align_corners mode padding_mode"},
};
const llvm::ArrayRef<OpTableEntry> samplingOps = samplingTable;

} // namespace vx::onnx
