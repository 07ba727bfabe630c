// Quantisation to integers and floats of few bits, dequantisation, and products of quantised values.
#include "IntegerParts.h"

using namespace mlir;

namespace vx::onnx {

Value spreadBlocks(NodeImporter &n, Value parameter, ArrayRef<DimAttr> dims, int64_t axis, int64_t blockSize) {
  const int64_t rank = dims.size();
  Dims own = vx::getDims(typeOf(parameter)), split = own, repeated(dims), joined(dims), starts(rank, n.dim(0));
  for (int64_t d = 0; d < rank; ++d)
    n.require(ConstraintKind::equal, own[d], d == axis ? ceilDivDims(dims[d], n.dim(blockSize)) : dims[d]);
  split.insert(split.begin() + axis + 1, n.dim(1));
  repeated[axis] = own[axis];
  repeated.insert(repeated.begin() + axis + 1, n.dim(blockSize));
  joined[axis] = own[axis] * blockSize;
  SmallVector<int64_t> dimensions = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
  Value blocks = n.reshape(n.broadcastInDim(n.reshape(parameter, split), repeated, dimensions), joined);
  // The last block may be smaller.
  return n.slice(blocks, starts, dims, SmallVector<int64_t>(rank, 1));
}

/// Repeats a scale or zero point to the shape of `like`: one value, one for each index of dimension 'axis', or, with
/// 'block_size', one for each block of indices along it.
static Value spreadParameter(NodeImporter &n, Value parameter, Value like, StringRef what) {
  Dims dims = vx::getDims(typeOf(like)), own = vx::getDims(typeOf(parameter));
  int64_t rank = dims.size(), blockSize = n.version >= 21 ? n.getInt("block_size", 0) : 0;
  if (blockSize < 0)
    throwInvalid("expects 'block_size' of at least 0, got " + Twine(blockSize));
  if (own.empty())
    return n.broadcastInDim(parameter, dims, {});
  if (blockSize != 0 && own.size() == dims.size())
    return spreadBlocks(n, parameter, dims, n.getAxis("axis", 1, rank), blockSize);
  if (own.size() != 1)
    throwInvalid("expects " + what + " with one number or one for each place of 'axis'" +
                 (blockSize != 0 ? ", or with the " + std::to_string(rank) + " dimensions of what is quantised" : "") +
                 ", got " + describe(parameter.getType()));
  // Where no dimension is 'axis', a length of the call can only be 1.
  bool hasAxis = n.version >= 13 && (n.hasAttribute("axis") || rank > 1);
  if (own[0].asConstant() == 1 || (!hasAxis && !own[0].asConstant()))
    return n.broadcastInDim(n.reshape(parameter, {}), dims, {});
  int64_t axis = hasAxis ? n.getAxis("axis", 1, rank) : -1;
  if (axis < 0 || !mayBeEqual(own[0], dims[axis]))
    throwInvalid("expects " + what + " with one number or one for each of the " +
                 (axis < 0 ? "places" : dims[axis].str()) + " places of 'axis', got " + describe(parameter.getType()));
  return n.broadcastInDim(parameter, dims, axis);
}

/// Integers of at most 16 bits, for what is only read of 32 too, and floats of at most 8 bits that have a sign.
static Type checkQuantizedType(Type type, bool allowsWide) {
  auto integer = dyn_cast<IntegerType>(type);
  bool isKnown = integer ? integer.getWidth() != 1 && integer.getWidth() <= (allowsWide ? 32 : 16) &&
                               !(integer.getWidth() == 32 && integer.isUnsigned())
                         : isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 8 && !isa<Float8E8M0FNUType>(type);
  if (!isKnown)
    throwUnsupported(Advice::CastElements, "expects integers of 2 to " + Twine(allowsWide ? 32 : 16) +
                                               " bits, or floats of 8 or 4 bits with a sign, got " + describe(type));
  return type;
}

/// f64 where `type` is that, else f32, which holds every integer of 16 bits and its sum with another.
static Type getComputedType(NodeImporter &n, Type type) {
  return type.isF64() ? type : Type(Float32Type::get(n.context));
}

/// The common shape of the operands, as they know it best, and the zero point where there is one.
static Type getCommonType(NodeImporter &n, SmallVector<Value> operands, Value zeroPoint, Type element) {
  if (zeroPoint)
    operands.push_back(zeroPoint);
  SmallVector<Type> types;
  if (failed(inferElementwise(n.location, operands, element, types)))
    return {};
  return types.front();
}

Value emitQuantized(NodeImporter &n, Value number, Value scale, Value zeroPoint, Type type) {
  return n.emitAs<QuantizeOp>(getCommonType(n, {number, scale}, zeroPoint, type), number, scale, zeroPoint);
}

Value emitDequantized(NodeImporter &n, Value integers, Value scale, Value zeroPoint) {
  return n.emitAs<DequantizeOp>(getCommonType(n, {integers, scale}, zeroPoint, elementOf(scale)), integers, scale,
                                zeroPoint);
}

/// vx.dequantize(vx.quantize(x, s, z), t, w) with the gradients that PyTorch's fake_quantize has: rounding is passed as
/// if it were not there, where the integer is not at a bound that the quotient is beyond.
static Value emitRoundTrip(NodeImporter &n, QuantizeOp quantize, Value scale, Value zero) {
  // Floats first: each has a gradient.
  SmallVector<Value> inputs = {quantize.getInput(), quantize.getScale(), scale};
  for (Value integer : {Value(quantize.getZero()), zero})
    if (integer)
      inputs.push_back(integer);
  SmallVector<Type> types(ValueRange(inputs).getTypes());
  Type type = scale.getType(), wide = getComputedType(n, elementOf(scale));
  auto addBlock = [&](Region &region) {
    return n.builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), n.location));
  };
  auto emitQuantize = [&](Block *body) {
    Value own = quantize.getZero() ? Value(body->getArgument(3)) : Value();
    return n.emitAs<QuantizeOp>(quantize.getType(), body->getArgument(0), body->getArgument(1), own);
  };
  auto emitDequantize = [&](Block *body, Value integers, Value by) {
    return n.emitAs<DequantizeOp>(by.getType(), integers, by,
                                  zero ? Value(body->getArgument(inputs.size() - 1)) : Value());
  };
  OpBuilder::InsertPoint place = n.builder.saveInsertionPoint();
  Region forward, pullback;
  Block *body = addBlock(forward);
  YieldOp::create(n.builder, n.location, emitDequantize(body, emitQuantize(body), body->getArgument(2)));

  types.append(2, type); // the result and its gradient
  body = addBlock(pullback);
  Value x = n.cast(body->getArgument(0), wide), own = n.cast(body->getArgument(1), wide);
  Value other = n.cast(body->getArgument(2), wide), gradient = n.cast(body->getArguments().back(), wide);
  Value quotient = n.emit<DivOp>(x, own), number = n.emit<RoundOp>(quotient);
  if (quantize.getZero())
    number = n.emit<AddOp>(number, n.cast(body->getArgument(3), wide));
  auto [low, high] = getBounds(cast<IntegerType>(elementOf(quantize)));
  Value isInside = n.emit<AndOp>(n.emit<CompareOp>(ComparePredicate::ge, number, n.splatLike(low, number)),
                                 n.emit<CompareOp>(ComparePredicate::le, number, n.splatLike(high, number)));
  Value ofNumber = n.emit<SelectOp>(isInside, n.emit<MulOp>(gradient, other), n.splatLike(0, number));
  Value ofInput = n.emit<DivOp>(ofNumber, own);
  Value ofScale = n.emit<NegOp>(n.emit<MulOp>(ofInput, quotient));
  Value integers = emitDequantize(body, emitQuantize(body), n.splatLike(1, other));
  Value gradients[] = {n.cast(ofInput, elementOf(inputs[0])), n.cast(ofScale, elementOf(inputs[1])),
                       n.cast(n.emit<MulOp>(gradient, integers), elementOf(inputs[2]))};
  YieldOp::create(n.builder, n.location, gradients);

  n.builder.restoreInsertionPoint(place);
  OperationState state(n.location, CustomGradientOp::getOperationName());
  CustomGradientOp::build(n.builder, state, TypeRange(type), inputs);
  state.regions[0]->takeBody(forward);
  state.regions[1]->takeBody(pullback);
  return n.finish(state)->getResult(0);
}

/// The quantised type: the zero point's, which 'output_dtype' may repeat.
static Type getQuantizedType(NodeImporter &n) {
  Type stated;
  if (int64_t number = n.version >= 21 ? n.getInt("output_dtype", 0) : 0)
    stated = getElementType(n.context, number, "the result");
  if (!n.hasInput(2))
    return stated ? stated : Type(IntegerType::get(n.context, 8, IntegerType::Unsigned));
  Type type = elementOf(n.getTensor(2));
  if (stated && stated != type)
    throwInvalid("expects 'output_dtype' to be the zero point's type: " + describe(type) + ", got " + describe(stated));
  return type;
}

static void importQuantizeLinear(NodeImporter &n) {
  Value input = n.getTensor(0), scale = n.getTensor(1);
  Type own = elementOf(input);
  if (!isa<FloatType>(own) && !own.isSignlessInteger(32))
    throwUnsupported(Advice::CastElements, "expects floats or i32 to quantise, got " + describe(input.getType()));
  Type type = checkQuantizedType(getQuantizedType(n), false);
  // The quotient is rounded to the scale's type, unless it is stated.
  Type precision = isa<FloatType>(elementOf(scale)) && elementOf(scale).getIntOrFloatBitWidth() >= 16
                       ? elementOf(scale)
                       : getComputedType(n, own);
  if (int64_t number = n.version >= 23 ? n.getInt("precision", 0) : 0)
    precision = getElementType(n.context, number, "the quotient");
  if (!isa<FloatType>(precision) || precision.getIntOrFloatBitWidth() < 16)
    throwInvalid("expects 'precision' to be a float of 16 bits or more, got " + describe(precision));
  Value number = n.cast(input, precision), divisor = spreadParameter(n, n.cast(scale, precision), input, "a scale");
  Value zeroPoint;
  if (n.hasInput(2))
    zeroPoint = spreadParameter(n, n.getTensor(2), input, "a zero point");
  if (isa<IntegerType>(type))
    return n.setOutput(0, emitQuantized(n, number, divisor, zeroPoint, type));
  Value quotient = n.cast(n.emit<DivOp>(number, divisor), getComputedType(n, precision));
  if (zeroPoint)
    quotient = n.emit<AddOp>(quotient, n.cast(zeroPoint, elementOf(quotient)));
  n.setOutput(0, castTo(n, quotient, type, getCastRules(n)));
}

static void importDequantizeLinear(NodeImporter &n) {
  Value input = n.getTensor(0), scale = n.getTensor(1);
  Type quantized = checkQuantizedType(elementOf(input), true), type = elementOf(scale);
  if (n.hasInput(2) && n.getEntry(0).sixBits != n.getEntry(2).sixBits)
    throwInvalid("expects inputs 0 and 2 of one type, got one of 6 bits and another");
  if (int64_t stated = n.version >= 23 ? n.getInt("output_dtype", 0) : 0)
    type = getElementType(n.context, stated, "the result");
  if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() < 16)
    throwInvalid("expects a result of floats of 16 bits or more, got " + describe(type) +
                 " of 'output_dtype' or the scale");
  Type computed = elementOf(scale) == type ? type : getComputedType(n, type);
  Value factor = spreadParameter(n, n.cast(scale, computed), input, "a scale"), zeroPoint;
  if (n.hasInput(2))
    zeroPoint = spreadParameter(n, n.getTensor(2), input, "a zero point");
  Value result;
  bool isWide = isa<IntegerType>(quantized) && quantized.getIntOrFloatBitWidth() == 32;
  if (auto quantize = input.getDefiningOp<QuantizeOp>()) {
    result = emitRoundTrip(n, quantize, factor, zeroPoint);
  } else if (isa<IntegerType>(quantized) && !(isWide && zeroPoint)) {
    result = emitDequantized(n, input, factor, zeroPoint);
  } else {
    Value number = n.cast(input, getComputedType(n, type));
    if (zeroPoint)
      number = n.emit<SubOp>(number, n.cast(zeroPoint, elementOf(number)));
    result = n.emit<MulOp>(number, n.cast(factor, elementOf(number)));
  }
  n.setOutput(0, n.cast(result, type));
}

DynamicIntegers quantizeDynamically(NodeImporter &n, Value input) {
  Type type = elementOf(input);
  if (!type.isF32())
    throwInvalid("expects f32 to quantise, got " + describe(input.getType()));
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(input).getRank()));
  Value zero = n.emitScalar(0, type), low = n.emit<MinOp>(n.reduce(ReduceKind::min, input, all), zero);
  Value high = n.emit<MaxOp>(n.reduce(ReduceKind::max, input, all), zero);
  // Of zeros alone the scale is 1, as in ONNX Runtime: a dequantised 0 is no NaN.
  Value isNone = n.emit<CompareOp>(ComparePredicate::eq, high, low);
  Value scale = n.emit<DivOp>(n.emit<SubOp>(high, low), n.emitScalar(255, type));
  scale = n.emit<SelectOp>(isNone, n.emitScalar(1, type), scale);
  IntegerType integer = IntegerType::get(n.context, 8, IntegerType::Unsigned);
  Value zeroPoint = emitQuantized(n, n.emit<NegOp>(low), scale, Value(), integer);
  auto spread = [&](Value number) { return n.broadcastInDim(number, vx::getDims(typeOf(input)), {}); };
  return {emitQuantized(n, input, spread(scale), spread(zeroPoint), integer), scale, zeroPoint};
}

static void importDynamicQuantizeLinear(NodeImporter &n) {
  DynamicIntegers made = quantizeDynamically(n, n.getTensor(0));
  n.setOutput(0, made.elements);
  n.setOutput(1, made.scale);
  n.setOutput(2, made.zeroPoint);
}

Value alignWithMatrix(NodeImporter &n, Value parameter, Value like, bool isLeft, StringRef what) {
  Dims dims = vx::getDims(typeOf(like)), own = vx::getDims(typeOf(parameter));
  if (own.empty() || (own.size() == 1 && own[0].asConstant() == 1))
    return n.reshape(parameter, {});
  if (own.size() == 1) {
    // A vector has a single row, or column.
    DimAttr count = dims.size() < 2 ? n.dim(1) : dims[dims.size() - (isLeft ? 2 : 1)];
    n.require(ConstraintKind::repeat, own[0], count); // the call may give one number for all
    return isLeft && dims.size() >= 2 ? n.reshape(parameter, {own[0], n.dim(1)}) : parameter;
  }
  if (own.size() != dims.size())
    throwInvalid("expects " + what + " with one number or one for each " + (isLeft ? "row" : "column") + " of " +
                 describe(like.getType()) + ", got " + describe(parameter.getType()));
  return parameter;
}

/// Integers or floats of 8 bits in a type in which their products are exact and summed.
static Value widenFactor(NodeImporter &n, Value factor) {
  Type type = elementOf(factor);
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() != 8)
    throwUnsupported(Advice::CastElements, "expects factors of 8 bits, got " + describe(factor.getType()));
  return n.cast(factor, isa<FloatType>(type) ? Type(n.builder.getF32Type()) : n.builder.getI32Type());
}

/// The zero point of input `index`, which stands at `zeroIndex` where it is given: of the input's type, and aligned
/// with it. Null for none.
static Value getZeroPoint(NodeImporter &n, unsigned index, unsigned zeroIndex,
                          llvm::function_ref<Value(Value, Value)> align) {
  if (!n.hasInput(zeroIndex))
    return {};
  Value factor = n.getTensor(index), zero = n.getTensor(zeroIndex);
  if (elementOf(zero) != elementOf(factor))
    throwInvalid("expects a zero point of the elements' type: " + describe(elementOf(factor)) + ", got " +
                 describe(zero.getType()));
  return align(zero, factor);
}

static Value subtractZero(NodeImporter &n, Value wide, Value zero) {
  return n.emit<SubOp>(wide, n.broadcast(n.cast(zero, elementOf(wide)), vx::getDims(typeOf(wide))));
}

/// Input `index` less its zero point.
static Value getFactor(NodeImporter &n, unsigned index, unsigned zeroIndex,
                       llvm::function_ref<Value(Value, Value)> align) {
  Value wide = widenFactor(n, n.getTensor(index)), zero = getZeroPoint(n, index, zeroIndex, align);
  return zero ? subtractZero(n, wide, zero) : wide;
}

/// Returns nullopt for an input of another type.
static std::optional<Bytes> getBytes(NodeImporter &n, unsigned index, unsigned zeroIndex,
                                     llvm::function_ref<Value(Value, Value)> align) {
  Value elements = n.getTensor(index);
  if (!elementOf(elements).isInteger(8))
    return std::nullopt;
  Value zero = getZeroPoint(n, index, zeroIndex, align);
  std::optional<SmallVector<int64_t>> known = zero ? n.getConstantIntegers(zeroIndex) : std::nullopt;
  if (known && llvm::all_of(*known, [](int64_t value) { return value == 0; }))
    zero = {};
  return Bytes{elements, zero};
}

static Value emitWideSum(NodeImporter &n, Value value, ArrayRef<int64_t> axes) {
  return n.reduce(ReduceKind::sum, n.cast(value, n.builder.getI32Type()), axes);
}

Value emitBytesMatMul(NodeImporter &n, const Bytes &lhs, const Bytes &rhs) {
  Type i32 = n.builder.getI32Type();
  Value sums = emitMatMul(n, lhs.elements, rhs.elements, TypeAttr::get(i32));
  Dims dims = vx::getDims(typeOf(sums));
  auto subtract = [&](Value zero, Value others, int64_t axis) {
    Dims kept = vx::getDims(typeOf(others));
    kept[axis] = n.dim(1);
    Value sum = n.reshape(emitWideSum(n, others, {axis}), kept);
    sums = n.emit<SubOp>(sums, n.emit<MulOp>(n.broadcast(n.cast(zero, i32), dims), n.broadcast(sum, dims)));
  };
  if (rhs.zero)
    subtract(rhs.zero, lhs.elements, typeOf(lhs.elements).getRank() - 1);
  if (lhs.zero)
    subtract(lhs.zero, rhs.zero ? subtractZero(n, n.cast(rhs.elements, i32), rhs.zero) : rhs.elements,
             typeOf(rhs.elements).getRank() - 2);
  return sums;
}

/// The matrix product of two inputs, each less its zero point.
static Value emitIntegerMatMul(NodeImporter &n, unsigned left, unsigned leftZero, unsigned right, unsigned rightZero) {
  auto align = [&](bool isLeft) {
    return [&n, isLeft](Value zero, Value like) { return alignWithMatrix(n, zero, like, isLeft, "a zero point"); };
  };
  std::optional<Bytes> lhs = getBytes(n, left, leftZero, align(true));
  std::optional<Bytes> rhs = getBytes(n, right, rightZero, align(false));
  bool areMatrices = n.getTensorType(left).getRank() >= 2 && n.getTensorType(right).getRank() >= 2;
  if (!lhs || !rhs || ((lhs->zero || rhs->zero) && !areMatrices))
    return emitMatMul(n, getFactor(n, left, leftZero, align(true)), getFactor(n, right, rightZero, align(false)));
  return emitBytesMatMul(n, *lhs, *rhs);
}

/// `sums` by a factor, rounded to the type of the zero point, which is input `zeroIndex`.
static void setQuantizedProduct(NodeImporter &n, Value sums, Value factor, unsigned zeroIndex) {
  Type f32 = n.builder.getF32Type();
  Dims dims = vx::getDims(typeOf(sums));
  Value quotient = n.emit<MulOp>(n.cast(sums, f32), n.broadcast(n.cast(factor, f32), dims));
  Value zero = n.getTensor(zeroIndex);
  Type type = checkQuantizedType(elementOf(zero), false);
  if (typeOf(zero).getRank() == 1 && vx::getDims(typeOf(zero))[0].asConstant() == 1)
    zero = n.reshape(zero, {});
  zero = n.broadcast(zero, dims);
  if (isa<IntegerType>(type))
    return n.setOutput(0, emitQuantized(n, quotient, n.splatLike(1, quotient), zero, type));
  n.setOutput(0, castTo(n, n.emit<AddOp>(quotient, n.cast(zero, f32)), type, CastRules()));
}

static void importMatMulInteger(NodeImporter &n) { n.setOutput(0, emitIntegerMatMul(n, 0, 2, 1, 3)); }

static void importQLinearMatMul(NodeImporter &n) {
  Value scales;
  for (bool isLeft : {true, false}) {
    unsigned first = isLeft ? 0 : 3;
    Value scale = alignWithMatrix(n, n.getTensor(first + 1), n.getTensor(first), isLeft, "a scale");
    if (!scales) {
      scales = scale;
      continue;
    }
    Value both[] = {scales, scale};
    n.broadcastTogether(both);
    scales = n.emit<MulOp>(both[0], both[1]);
  }
  // The factor is rounded to the scales' type.
  Value sums = emitIntegerMatMul(n, 0, 2, 3, 5);
  Value divided[] = {scales, alignWithMatrix(n, n.getTensor(6), sums, /*isLeft=*/true, "a scale")};
  n.broadcastTogether(divided);
  setQuantizedProduct(n, sums, n.emit<DivOp>(divided[0], divided[1]), 7);
}

/// One number for all filters, or one for each, as a tensor that broadcasts to one of `rank` dimensions of which
/// `filterDim` counts them.
static Value alignWithFilters(NodeImporter &n, Value parameter, int64_t rank, int64_t filterDim, StringRef what) {
  Dims own = vx::getDims(typeOf(parameter));
  if (own.empty() || (own.size() == 1 && own[0].asConstant() == 1))
    return n.reshape(parameter, {});
  if (own.size() != 1)
    throwInvalid("expects " + what + " with one number or one for each filter, got " + describe(parameter.getType()));
  Dims dims(rank - filterDim, n.dim(1));
  dims[0] = own[0];
  return n.reshape(parameter, dims);
}

/// Returns the sums of products of a convolution with the input at `input` and the filter at `filter`.
static Value emitIntegerConv(NodeImporter &n, unsigned input, unsigned inputZero, unsigned filter,
                             unsigned filterZero) {
  int64_t rank = n.getTensorType(filter).getRank();
  auto alignInput = [&](Value zero, Value) {
    Dims own = vx::getDims(typeOf(zero));
    if (own.size() > 1 || (own.size() == 1 && !mayBeEqual(own[0], n.dim(1))))
      throwInvalid("expects a zero point of the input with one number, got " + describe(zero.getType()));
    return n.reshape(zero, {}); // the call may decide that it is one
  };
  auto alignFilter = [&](Value zero, Value) { return alignWithFilters(n, zero, rank, 0, "a zero point"); };
  std::optional<Bytes> elements = getBytes(n, input, inputZero, alignInput);
  std::optional<Bytes> weights = getBytes(n, filter, filterZero, alignFilter);
  if (!elements || !weights || weights->zero)
    return emitConv(n, getFactor(n, input, inputZero, alignInput), getFactor(n, filter, filterZero, alignFilter));
  // Outside of the input lies its zero point, so that each window's sum is too large by that many times the filter's.
  Type i32 = n.builder.getI32Type();
  Value sums = emitConv(n, elements->elements, weights->elements, TypeAttr::get(i32), elements->zero);
  if (!elements->zero)
    return sums;
  Dims dims = vx::getDims(typeOf(sums));
  Value ofFilters = emitWideSum(n, weights->elements, llvm::to_vector(llvm::seq<int64_t>(1, rank)));
  return n.emit<SubOp>(sums, n.emit<MulOp>(n.broadcastInDim(n.cast(elements->zero, i32), dims, {}),
                                           n.broadcastInDim(ofFilters, dims, 1)));
}

static void importConvInteger(NodeImporter &n) { n.setOutput(0, emitIntegerConv(n, 0, 2, 1, 3)); }

static void importQLinearConv(NodeImporter &n) {
  Value sums = emitIntegerConv(n, 0, 2, 3, 5);
  Dims dims = vx::getDims(typeOf(sums));
  if (n.hasInput(8)) {
    Value bias = n.getTensor(8);
    if (typeOf(bias).getRank() != 1 || elementOf(bias) != elementOf(sums))
      throwInvalid("expects a bias of one i32 for each filter, got " + describe(bias.getType()));
    n.require(ConstraintKind::equal, vx::getDim(typeOf(bias), 0), dims[1]); // one would be repeated
    sums = n.emit<AddOp>(sums, n.broadcastInDim(bias, dims, 1));
  }
  Value scales[] = {alignWithFilters(n, n.getTensor(1), dims.size(), 1, "a scale"),
                    alignWithFilters(n, n.getTensor(4), dims.size(), 1, "a scale"),
                    alignWithFilters(n, n.getTensor(6), dims.size(), 1, "a scale")};
  n.broadcastTogether(scales);
  setQuantizedProduct(n, sums, n.emit<DivOp>(n.emit<MulOp>(scales[0], scales[1]), scales[2]), 7);
}

static constexpr OpTableEntry quantizationTable[] = {
    {"ConvInteger", 10, newestOpset, importConvInteger},
    {"DequantizeLinear", 10, newestOpset, importDequantizeLinear},
    {"DynamicQuantizeLinear", 11, newestOpset, importDynamicQuantizeLinear},
    {"MatMulInteger", 10, newestOpset, importMatMulInteger},
    {"QLinearConv", 10, newestOpset, importQLinearConv},
    {"QLinearMatMul", 10, newestOpset, importQLinearMatMul},
    {"QuantizeLinear", 10, newestOpset, importQuantizeLinear},
};
const llvm::ArrayRef<OpTableEntry> quantizationOps = quantizationTable;

} // namespace vx::onnx
