// Quantisation to integers of 8 and 16 bits, and back.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

/// A scale or zero point repeated to the shape of `like`: one number, or one for each place of dimension 'axis'.
static Value spreadParameter(NodeImporter &n, Value parameter, Value like, StringRef what) {
  Dims dims = vx::getDims(typeOf(like)), own = vx::getDims(typeOf(parameter));
  if (n.version >= 21 && n.getInt("block_size", 0) != 0)
    throwUnsupported("quantisation in blocks is not imported");
  if (own.empty())
    return n.broadcastInDim(parameter, dims, {});
  if (own.size() != 1)
    throwInvalid("expects " + what + " with one number or one for each place of 'axis', got " +
                 describe(parameter.getType()));
  if (own[0].asConstant() == 1)
    return n.broadcastInDim(n.reshape(parameter, {}), dims, {});
  int64_t axis = n.version >= 13 ? n.getAxis("axis", 1, dims.size()) : -1;
  if (axis < 0 || !mayBeEqual(own[0], dims[axis]))
    throwInvalid("expects " + what + " with one number or one for each of the " +
                 (axis < 0 ? "places" : dims[axis].str()) + " places of 'axis', got " + describe(parameter.getType()));
  return n.broadcastInDim(parameter, dims, axis);
}

static IntegerType checkQuantizedType(Type type, bool allowsWide) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || (integer.getWidth() != 8 && integer.getWidth() != 16 && !(allowsWide && integer.getWidth() == 32)))
    throwUnsupported("expects integers of 8 or 16 bits, got " + describe(type));
  return integer;
}

static void importQuantizeLinear(NodeImporter &n) {
  Value input = n.getTensor(0), scale = n.getTensor(1);
  if (!isa<FloatType>(elementOf(input)))
    throwUnsupported("expects floats to quantise, got " + describe(input.getType()));
  Type type = IntegerType::get(n.context, 8, IntegerType::Unsigned);
  if (n.hasInput(2))
    type = elementOf(n.getTensor(2));
  else if (n.version >= 21 && n.getInt("output_dtype", 0) != 0)
    throwUnsupported("'output_dtype' without a zero point is not imported");
  IntegerType integer = checkQuantizedType(type, false);
  // Computed in f32, which holds every integer of 16 bits and its sum with another.
  Type wide = elementOf(input).isF64() ? elementOf(input) : Type(Float32Type::get(n.context));
  Value quotient = n.emit<DivOp>(n.cast(input, wide), spreadParameter(n, n.cast(scale, wide), input, "a scale"));
  Value rounded = n.emit<RoundOp>(quotient);
  if (n.hasInput(2))
    rounded = n.emit<AddOp>(rounded, spreadParameter(n, n.cast(n.getTensor(2), wide), input, "a zero point"));
  int64_t width = integer.getWidth();
  double low = integer.isUnsigned() ? 0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, integer.isUnsigned() ? width : width - 1) - 1;
  // NaN, which the specification says nothing of, is the least number, as in ONNX Runtime.
  Value least = n.splatLike(low, rounded);
  Value isAbove = n.emit<CompareOp>(ComparePredicate::gt, rounded, least);
  Value bounded = n.emit<MinOp>(n.emit<SelectOp>(isAbove, rounded, least), n.splatLike(high, rounded));
  n.setOutput(0, n.cast(bounded, integer));
}

static void importDequantizeLinear(NodeImporter &n) {
  Value input = n.getTensor(0), scale = n.getTensor(1);
  checkQuantizedType(elementOf(input), true);
  Type type = elementOf(scale);
  // Both are whole numbers below 2^24, so their difference is exact; integers of 32 bits have no zero point.
  Value number = n.cast(input, type.isF64() ? type : Type(Float32Type::get(n.context)));
  if (n.hasInput(2))
    number =
        n.emit<SubOp>(number, spreadParameter(n, n.cast(n.getTensor(2), elementOf(number)), input, "a zero point"));
  Value result = n.emit<MulOp>(number, spreadParameter(n, n.cast(scale, elementOf(number)), input, "a scale"));
  n.setOutput(0, n.cast(result, type));
}

static constexpr OpTableEntry quantizationTable[] = {
    {"DequantizeLinear", 10, newestOpset, importDequantizeLinear, "axis@13 block_size@21 output_dtype@23"},
    {"QuantizeLinear", 10, newestOpset, importQuantizeLinear,
     "axis@13 block_size@21 output_dtype@21 precision@23 saturate@19"},
};
const llvm::ArrayRef<OpTableEntry> quantizationOps = quantizationTable;

} // namespace vx::onnx
