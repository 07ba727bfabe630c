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

namespace {

/// Rounding to the numbers of an integer type, `quotient` and `zeroPoint` (null for none) in one float type and shape.
class Quantization {
public:
  Quantization(NodeImporter &n, IntegerType type) : n(n), type(type) {
    int64_t width = type.getWidth();
    low = type.isUnsigned() ? 0 : -std::ldexp(1.0, width - 1);
    high = std::ldexp(1.0, type.isUnsigned() ? width : width - 1) - 1;
  }

  Value emit(Value quotient, Value zeroPoint) {
    Value rounded = round(quotient, zeroPoint);
    // NaN, which the specification says nothing of, is the least number, as in ONNX Runtime.
    Value least = n.splatLike(low, rounded);
    Value isAbove = n.emit<CompareOp>(ComparePredicate::gt, rounded, least);
    Value bounded = n.emit<MinOp>(n.emit<SelectOp>(isAbove, rounded, least), n.splatLike(high, rounded));
    return n.cast(bounded, type);
  }

  /// The integer as a float again. Its gradient by the quotient is 1 where the integer is not at a bound that the
  /// quotient is beyond, else 0, as PyTorch's fake_quantize has it: rounding is passed as if it were not there.
  Value emitRoundTrip(Value quotient, Value zeroPoint) {
    SmallVector<Value> inputs = {quotient};
    if (zeroPoint)
      inputs.push_back(zeroPoint);
    SmallVector<Type> types(inputs.size(), quotient.getType());
    auto zeroOf = [&](Block *body) { return zeroPoint ? Value(body->getArgument(1)) : Value(); };
    OpBuilder::InsertPoint place = n.builder.saveInsertionPoint();
    Region forward, pullback;
    Block *body = addBlock(forward, types);
    Value number = n.cast(emit(body->getArgument(0), zeroOf(body)), elementOf(quotient));
    YieldOp::create(n.builder, n.location, number);

    types.append(2, quotient.getType());
    body = addBlock(pullback, types);
    Value rounded = round(body->getArgument(0), zeroOf(body)), gradient = body->getArguments().back();
    Value isInside = n.emit<AndOp>(n.emit<CompareOp>(ComparePredicate::ge, rounded, n.splatLike(low, rounded)),
                                   n.emit<CompareOp>(ComparePredicate::le, rounded, n.splatLike(high, rounded)));
    Value none = n.splatLike(0, gradient);
    SmallVector<Value> gradients(inputs.size(), none); // an integer's
    gradients[0] = n.emit<SelectOp>(isInside, gradient, none);
    YieldOp::create(n.builder, n.location, gradients);

    n.builder.restoreInsertionPoint(place);
    OperationState state(n.location, CustomGradientOp::getOperationName());
    CustomGradientOp::build(n.builder, state, TypeRange(quotient.getType()), inputs);
    state.regions[0]->takeBody(forward);
    state.regions[1]->takeBody(pullback);
    return n.finish(state)->getResult(0);
  }

private:
  Value round(Value quotient, Value zeroPoint) {
    Value rounded = n.emit<RoundOp>(quotient);
    return zeroPoint ? n.emit<AddOp>(rounded, zeroPoint) : rounded;
  }
  Block *addBlock(Region &region, TypeRange types) {
    return n.builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), n.location));
  }

  NodeImporter &n;
  IntegerType type;
  double low, high;
};

/// What `Quantization::emit` made these integers of.
struct Quantized {
  Value quotient, zeroPoint;
};

} // namespace

static std::optional<Quantized> findQuantized(Value integers) {
  auto cast = integers.getDefiningOp<CastOp>();
  auto bounded = cast ? cast.getInput().getDefiningOp<MinOp>() : MinOp();
  auto select = bounded ? bounded.getLhs().getDefiningOp<SelectOp>() : SelectOp();
  if (!select)
    return std::nullopt;
  Value rounded = select.getOnTrue();
  auto add = rounded.getDefiningOp<AddOp>();
  auto round = (add ? add.getLhs() : rounded).getDefiningOp<RoundOp>();
  if (!round)
    return std::nullopt;
  return Quantized{round.getInput(), add ? add.getRhs() : Value()};
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
  Value zeroPoint;
  if (n.hasInput(2))
    zeroPoint = spreadParameter(n, n.cast(n.getTensor(2), wide), input, "a zero point");
  n.setOutput(0, Quantization(n, integer).emit(quotient, zeroPoint));
}

static void importDequantizeLinear(NodeImporter &n) {
  Value input = n.getTensor(0), scale = n.getTensor(1);
  IntegerType integer = checkQuantizedType(elementOf(input), true);
  Type type = elementOf(scale);
  // Both are whole numbers below 2^24, so their difference is exact; integers of 32 bits have no zero point.
  Value number = input;
  if (std::optional<Quantized> quantized = findQuantized(input))
    number = Quantization(n, integer).emitRoundTrip(quantized->quotient, quantized->zeroPoint);
  number = n.cast(number, type.isF64() ? type : Type(Float32Type::get(n.context)));
  if (n.hasInput(2))
    number =
        n.emit<SubOp>(number, spreadParameter(n, n.cast(n.getTensor(2), elementOf(number)), input, "a zero point"));
  Value result = n.emit<MulOp>(number, spreadParameter(n, n.cast(scale, elementOf(number)), input, "a scale"));
  n.setOutput(0, n.cast(result, type));
}

static void importDynamicQuantizeLinear(NodeImporter &n) {
  Value input = n.getTensor(0);
  Type type = elementOf(input);
  if (!type.isF32())
    throwInvalid("expects f32 to quantise, got " + describe(input.getType()));
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(input).getRank()));
  Value zero = n.emitScalar(0, type), low = n.emit<MinOp>(n.reduce(ReduceKind::min, input, all), zero);
  Value high = n.emit<MaxOp>(n.reduce(ReduceKind::max, input, all), zero);
  Value scale = n.emit<DivOp>(n.emit<SubOp>(high, low), n.emitScalar(255, type));
  IntegerType integer = IntegerType::get(n.context, 8, IntegerType::Unsigned);
  Quantization quantization(n, integer);
  Value zeroPoint = quantization.emit(n.emit<DivOp>(n.emit<NegOp>(low), scale), Value());
  Dims dims = vx::getDims(typeOf(input));
  Value quotient = n.emit<DivOp>(input, n.broadcastInDim(scale, dims, {}));
  n.setOutput(0, quantization.emit(quotient, n.broadcastInDim(n.cast(zeroPoint, type), dims, {})));
  n.setOutput(1, scale);
  n.setOutput(2, zeroPoint);
}

static constexpr OpTableEntry quantizationTable[] = {
    {"DequantizeLinear", 10, newestOpset, importDequantizeLinear, "axis@13 block_size@21 output_dtype@23"},
    {"DynamicQuantizeLinear", 11, newestOpset, importDynamicQuantizeLinear, ""},
    {"QuantizeLinear", 10, newestOpset, importQuantizeLinear,
     "axis@13 block_size@21 output_dtype@21 precision@23 saturate@19"},
};
const llvm::ArrayRef<OpTableEntry> quantizationOps = quantizationTable;

} // namespace vx::onnx
