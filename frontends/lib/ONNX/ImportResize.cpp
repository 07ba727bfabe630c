// Resize: each dimension on its own, as a choice or a mixture of neighbours by places that the program computes.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// The places along one dimension from which the result's are taken.
class Axis {
public:
  Axis(NodeImporter &n, DimAttr from, DimAttr to, std::optional<double> scale) : n(n), from(from), to(to) {
    type = makeTensorType({to}, Float32Type::get(n.context));
    number = n.cast(n.emitAs<IotaOp>(makeTensorType({to}, IntegerType::get(n.context, 64)), 0), type.getElementType());
    if (scale)
      factor = n.splat(*scale, type);
    else
      factor = n.emit<DivOp>(size(to), size(from));
  }

  /// The place in the input's coordinates, which may lie outside of it.
  Value getPlaces(StringRef mode) {
    auto half = [&] { return n.splat(0.5, type); };
    auto halfPixel = [&] { return n.emit<SubOp>(n.emit<DivOp>(n.emit<AddOp>(number, half()), factor), half()); };
    if (mode == "half_pixel")
      return halfPixel();
    if (mode == "asymmetric")
      return n.emit<DivOp>(number, factor);
    // With one place there is nothing to divide by.
    Value isOne = n.emit<CompareOp>(ComparePredicate::le, size(to), n.splat(1, type));
    if (mode == "pytorch_half_pixel")
      return n.emit<SelectOp>(isOne, n.splat(0, type), halfPixel());
    if (mode == "align_corners") {
      Value last = n.emit<SubOp>(size(from), n.splat(1, type)), steps = n.emit<SubOp>(size(to), n.splat(1, type));
      return n.emit<SelectOp>(isOne, n.splat(0, type), n.emit<DivOp>(n.emit<MulOp>(number, last), steps));
    }
    throwUnsupported("expects 'coordinate_transformation_mode' to be half_pixel, pytorch_half_pixel, align_corners or "
                     "asymmetric, got '" +
                     mode + "'");
  }

  /// Whole places as indices inside of the input.
  Value toIndices(Value places) {
    Value bounded = n.emit<MinOp>(n.emit<MaxOp>(places, n.splat(0, type)), n.emit<SubOp>(size(from), n.splat(1, type)));
    return n.cast(bounded, IntegerType::get(n.context, 64));
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

  Value size(DimAttr dim) {
    return n.broadcastInDim(n.cast(n.emitDim(dim, IntegerType::get(n.context, 64)), type.getElementType()), {to}, {});
  }

  RankedTensorType type;

private:
  NodeImporter &n;
  DimAttr from, to;
  Value number, factor;
};

/// floor(size * scale), exactly: a float is a whole number over a power of two.
DimAttr scaleDim(NodeImporter &n, DimAttr size, double scale) {
  int exponent;
  double mantissa = std::frexp(scale, &exponent); // scale = mantissa * 2^exponent
  int64_t numerator = static_cast<int64_t>(std::ldexp(mantissa, 24));
  int shift = 24 - exponent;
  while (shift > 0 && numerator % 2 == 0) {
    numerator /= 2;
    --shift;
  }
  if (shift > 62 || shift < -30)
    throwUnsupported("expects 'scales' between 2^-30 and 2^30, got " + std::to_string(scale));
  if (shift <= 0)
    return mulDims(size, n.dim(numerator << -shift));
  return floorDivDims(mulDims(size, n.dim(numerator)), n.dim(int64_t(1) << shift));
}

} // namespace

static void importResize(NodeImporter &n) {
  Value input = n.getTensor(0);
  if (!isa<FloatType>(elementOf(input)))
    throwUnsupported("expects floats to resize, got " + describe(input.getType()));
  Dims dims = vx::getDims(typeOf(input));
  int64_t rank = dims.size();
  std::string mode = n.getString("mode", "nearest"), nearest = n.getString("nearest_mode", "round_prefer_floor");
  std::string coordinates =
      n.getString("coordinate_transformation_mode", n.version >= 11 ? "half_pixel" : "asymmetric");
  if (n.version < 11)
    nearest = "floor";
  if (mode != "nearest" && mode != "linear")
    throwUnsupported("expects 'mode' to be nearest or linear, got '" + mode + "'");
  if (n.version >= 18 &&
      (n.getFlag("antialias", false) || n.getString("keep_aspect_ratio_policy", "stretch") != "stretch"))
    throwUnsupported("'antialias' and 'keep_aspect_ratio_policy' are not imported");
  if (n.getFlag("exclude_outside", false))
    throwUnsupported("'exclude_outside' is not imported");
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (n.version >= 18)
    if (std::optional<SmallVector<int64_t>> listed = n.getInts("axes")) {
      axes.clear();
      for (int64_t axis : *listed)
        axes.push_back(n.normalizeAxis(axis, rank, "axes"));
    }
  unsigned scalesInput = n.version >= 11 ? 2 : 1;
  bool hasSizes = n.version >= 11 && n.hasInput(3);
  std::optional<SmallVector<double>> scales;
  Dims sizes;
  if (hasSizes) {
    sizes = n.getIntegers(3, axes.size());
  } else if (n.hasInput(scalesInput)) {
    scales = n.getConstantNumbers(scalesInput);
    if (!scales)
      throwUnsupported("expects 'scales' to be constant");
  } else {
    throwInvalid("expects 'scales' or 'sizes', got neither");
  }
  if ((scales ? scales->size() : sizes.size()) != axes.size())
    throwInvalid("expects one entry of '" + Twine(scales ? "scales" : "sizes") + "' for each of the " +
                 Twine(axes.size()) + " axes, got " + Twine(scales ? scales->size() : sizes.size()));
  for (auto [index, axis] : llvm::enumerate(axes)) {
    DimAttr from = vx::getDims(typeOf(input))[axis], to;
    std::optional<double> scale;
    if (scales) {
      scale = (*scales)[index];
      if (!(*scale > 0))
        throwInvalid("expects 'scales' above 0, got " + std::to_string(*scale));
      to = scaleDim(n, from, *scale);
    } else {
      to = sizes[index];
    }
    if (to == from && (!scale || *scale == 1))
      continue;
    Axis places(n, from, to, scale);
    Value at = places.getPlaces(coordinates);
    if (mode == "nearest") {
      input = n.emit<GatherOp>(input, places.toIndices(places.round(at, nearest)), axis, IntegerAttr());
      continue;
    }
    // Outside of the input its border counts.
    Value last = n.emit<SubOp>(places.size(from), n.splat(1, places.type));
    at = n.emit<MinOp>(n.emit<MaxOp>(at, n.splat(0, places.type)), last);
    Value below = n.emit<FloorOp>(at), above = n.emit<AddOp>(below, n.splat(1, places.type));
    Value low = n.emit<GatherOp>(input, places.toIndices(below), axis, IntegerAttr()),
          high = n.emit<GatherOp>(input, places.toIndices(above), axis, IntegerAttr());
    Value weight = n.cast(n.emit<SubOp>(at, below), elementOf(input));
    Value rest = n.emit<SubOp>(n.splatLike(1, weight), weight);
    Dims result = vx::getDims(typeOf(low));
    input = n.emit<AddOp>(n.emit<MulOp>(low, n.broadcastInDim(rest, result, axis)),
                          n.emit<MulOp>(high, n.broadcastInDim(weight, result, axis)));
  }
  n.setOutput(0, input);
}

static constexpr OpTableEntry resizeTable[] = {
    {"Resize", 10, newestOpset, importResize,
     "antialias@18 axes@18 coordinate_transformation_mode@11 cubic_coeff_a@11 exclude_outside@11 "
     "extrapolation_value@11 keep_aspect_ratio_policy@18 mode nearest_mode@11"},
};
const llvm::ArrayRef<OpTableEntry> resizeOps = resizeTable;

} // namespace vx::onnx
