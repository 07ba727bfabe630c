// Elementwise arithmetic, comparison, logic, selection and casts, with numpy's broadcasting made explicit.
#include "OpFunctions.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx::onnx {

using DimFunction = llvm::function_ref<DimAttr(DimAttr, DimAttr)>;

/// When both inputs are short integer lists that are known, gives the output as expressions. `combine` answers null
/// where it does not know the result.
static bool followIntegers(NodeImporter &n, Type resultElement, DimFunction combine) {
  if (n.getEntry(0).leastRank || n.getEntry(1).leastRank)
    return false;
  RankedTensorType lhsType = n.getTensorType(0), rhsType = n.getTensorType(1);
  if (lhsType.getRank() > 1 || rhsType.getRank() > 1)
    return false;
  std::optional<Dims> lhs = n.getContents(0), rhs = n.getContents(1);
  if (!lhs || !rhs || (lhs->size() != rhs->size() && lhs->size() != 1 && rhs->size() != 1))
    return false;
  size_t count = lhs->size() == 1 ? rhs->size() : lhs->size();
  Dims contents;
  for (size_t i = 0; i < count; ++i) {
    DimAttr value = combine((*lhs)[lhs->size() == 1 ? 0 : i], (*rhs)[rhs->size() == 1 ? 0 : i]);
    if (!value || !fitsType(value, resultElement))
      return false;
    contents.push_back(value);
  }
  Dims dims = n.broadcastShapes(vx::getDims(lhsType), vx::getDims(rhsType));
  n.setContents(0, contents, makeTensorType(dims, resultElement));
  return true;
}

bool fitsType(DimAttr value, Type elementType) {
  std::optional<int64_t> constant = value.asConstant();
  auto integer = dyn_cast<IntegerType>(elementType);
  if (!constant || !integer)
    return integer != nullptr;
  if (integer.isUnsigned() || integer.getWidth() == 1)
    return *constant >= 0 && (integer.getWidth() >= 63 || llvm::isUIntN(integer.getWidth(), *constant));
  return llvm::isIntN(integer.getWidth(), *constant);
}

/// Broadcasting before version 7: only the second input, its dimensions aligned from attribute `axis` on.
static Value alignLegacy(NodeImporter &n, Value lhs, Value rhs) {
  if (n.version >= 7 || !n.hasAttribute("axis") || !n.getFlag("broadcast", false))
    return rhs;
  int64_t rank = typeOf(lhs).getRank(), count = typeOf(rhs).getRank(), axis = n.getAxis("axis", std::nullopt, rank);
  Dims dims = vx::getDims(typeOf(rhs));
  for (int64_t i = axis + count; i < rank; ++i)
    dims.push_back(n.dim(1));
  return n.reshape(rhs, dims);
}

static std::pair<Value, Value> getPair(NodeImporter &n) {
  Value values[] = {n.getBroadcastInput(0), n.getBroadcastInput(1)};
  values[1] = alignLegacy(n, values[0], values[1]);
  n.broadcastTogether(values);
  return {values[0], values[1]};
}

template <typename Op>
static void importBinary(NodeImporter &n) {
  auto [lhs, rhs] = getPair(n);
  n.setBroadcastOutput(n.emit<Op>(lhs, rhs));
}

static void importAdd(NodeImporter &n) {
  if (followIntegers(n, n.getElementType(0), addDims))
    return;
  importBinary<AddOp>(n);
  followFloats(n, FloatFunction::add);
}
static void importSub(NodeImporter &n) {
  if (followIntegers(n, n.getElementType(0), subDims))
    return;
  importBinary<SubOp>(n);
  followFloats(n, FloatFunction::sub);
}
static void importMul(NodeImporter &n) {
  if (followIntegers(n, n.getElementType(0), mulDims))
    return;
  importBinary<MulOp>(n);
  followFloats(n, FloatFunction::mul);
}

static void importDiv(NodeImporter &n) {
  // Integers truncate; expressions round down, which is the same where nothing is negative.
  auto divide = [](DimAttr lhs, DimAttr rhs) -> DimAttr {
    std::optional<int64_t> l = lhs.asConstant(), r = rhs.asConstant();
    if (l && r)
      return *r == 0 || (*l == INT64_MIN && *r == -1) ? DimAttr() : DimAttr::constant(lhs.getContext(), *l / *r);
    // (h - 1) / 2 is 0 for an h of 0, too.
    if (r && *r > 0 && isLess(DimAttr::constant(lhs.getContext(), -*r), lhs))
      lhs = maxDims(lhs, DimAttr::constant(lhs.getContext(), 0));
    return isNotNegative(lhs) && isNotNegative(rhs) && r != 0 ? floorDivDims(lhs, rhs) : DimAttr();
  };
  if (followIntegers(n, n.getElementType(0), divide))
    return;
  importBinary<DivOp>(n);
  followFloats(n, FloatFunction::div);
}

static void importMod(NodeImporter &n) {
  bool isFmod = n.getFlag("fmod", false);
  auto modulo = [isFmod](DimAttr lhs, DimAttr rhs) -> DimAttr {
    // Expressions round down: the sign is that of the divisor, as that of the op is, but for fmod.
    bool isAlike = !isFmod || isNotNegative(lhs);
    return isAlike && isNotNegative(rhs) && rhs.asConstant() != 0 ? modDims(lhs, rhs) : DimAttr();
  };
  Type elementType = n.getElementType(0);
  if (followIntegers(n, elementType, modulo))
    return;
  if (!isFmod && isa<FloatType>(elementType) && n.version < 28)
    throwInvalid("expects integers when 'fmod' is 0 in version " + Twine(n.version) + ", got " +
                 describe(n.getTensorType(0)));
  auto [lhs, rhs] = getPair(n);
  Value remainder = n.emit<RemOp>(lhs, rhs);
  if (isFmod || elementType.isUnsignedInteger())
    return n.setBroadcastOutput(remainder);
  // The remainder takes the sign of the divisor. Of a divisor of 0, which has none here, a float's remainder is NaN.
  Value zero = n.splatLike(0, remainder);
  Value isNegative = n.emit<CompareOp>(ComparePredicate::lt, remainder, zero);
  Value wantsNegative = n.emit<CompareOp>(ComparePredicate::lt, rhs, zero);
  Value differs = n.emit<XorOp>(isNegative, wantsNegative);
  Value isNotZero = n.emit<CompareOp>(ComparePredicate::ne, remainder, zero);
  Value moved = n.emit<SelectOp>(differs, n.emit<AddOp>(remainder, rhs), remainder);
  if (isa<FloatType>(elementType))
    zero = n.emit<SelectOp>(wantsNegative, n.splatLike(-0.0, remainder), zero);
  n.setBroadcastOutput(n.emit<SelectOp>(isNotZero, moved, zero));
}

/// base^exponent of i64, which is not exact in floats, by squaring; a result that overflows is wrapped. For exponents
/// that are not integers the power is computed in f64.
static Value emitWidePower(NodeImporter &n, Value base, Value exponent) {
  Type type = elementOf(base), own = elementOf(exponent), f64 = n.builder.getF64Type();
  auto compare = [&](ComparePredicate predicate, Value value, double number) {
    return n.emit<CompareOp>(predicate, value, n.splatLike(number, value));
  };
  Value whole = n.cast(exponent, type), result = n.splatLike(1, base), square = base;
  // From 64 on only the powers of 0, 1 and -1 fit, which the lowest bit decides. An unsigned one may be below 0 here.
  constexpr int mostBits = 6;
  Value isNegative = compare(ComparePredicate::lt, whole, 0);
  Value isFew = n.emit<AndOp>(compare(ComparePredicate::lt, whole, 1 << mostBits), n.emit<NotOp>(isNegative));
  Value few = n.emit<AddOp>(n.splatLike((1 << mostBits) - 2, whole), n.emit<AndOp>(whole, n.splatLike(1, whole)));
  Value bits = n.emit<SelectOp>(isFew, whole, few);
  for (int bit = 0; bit < mostBits; ++bit) {
    Value isSet = compare(ComparePredicate::ne, n.emit<AndOp>(bits, n.splatLike(1 << bit, bits)), 0);
    result = n.emit<SelectOp>(isSet, n.emit<MulOp>(result, square), result);
    if (bit + 1 < mostBits)
      square = n.emit<MulOp>(square, square);
  }
  if (own.isUnsignedInteger())
    return result;
  if (isa<IntegerType>(own)) {
    // A part of 1, unless it is 1 or -1.
    Value isUnit = n.emit<OrOp>(compare(ComparePredicate::eq, base, 1), compare(ComparePredicate::eq, base, -1));
    Value isZero = n.emit<AndOp>(isNegative, n.emit<NotOp>(isUnit));
    return n.emit<SelectOp>(isZero, n.splatLike(0, result), result);
  }
  Value isWhole = n.emit<CompareOp>(ComparePredicate::eq, n.cast(whole, own), exponent);
  isWhole = n.emit<AndOp>(isWhole, n.emit<AndOp>(compare(ComparePredicate::ge, exponent, 0),
                                                 compare(ComparePredicate::lt, exponent, 0x1p63)));
  Value other = n.cast(n.emit<PowOp>(n.cast(base, f64), n.cast(exponent, f64)), type);
  return n.emit<SelectOp>(isWhole, result, other);
}

static void importPow(NodeImporter &n) {
  Value base = n.getTensor(0);
  Type elementType = elementOf(base);
  std::optional<SmallVector<double>> exponents = n.getConstantNumbers(1);
  bool isSquare = exponents && exponents->size() == 1 && (*exponents)[0] == 2 && n.getTensorType(1).getRank() == 0;
  if (isSquare)
    return n.setOutput(0, n.emit<MulOp>(base, base));
  Value exponent = alignLegacy(n, base, n.getTensor(1));
  if (isa<FloatType>(elementType)) {
    Value values[] = {base, n.cast(exponent, elementType)};
    n.broadcastTogether(values);
    return n.setOutput(0, n.emit<PowOp>(values[0], values[1]));
  }
  if (!elementType.isIntOrFloat())
    throwInvalid("expects numbers, got " + describe(base.getType()));
  if (elementType.getIntOrFloatBitWidth() > 32) {
    Value values[] = {base, exponent};
    n.broadcastTogether(values);
    return n.setOutput(0, emitWidePower(n, values[0], values[1]));
  }
  Type f64 = n.builder.getF64Type();
  Value values[] = {n.cast(base, f64), n.cast(exponent, f64)};
  n.broadcastTogether(values);
  n.setOutput(0, n.cast(n.emit<PowOp>(values[0], values[1]), elementType));
}

template <typename Op>
static Value combineAll(NodeImporter &n) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < n.getNumInputs(); ++i)
    values.push_back(n.getTensor(i));
  if (values.empty())
    throwInvalid("expects at least 1 input, got 0");
  n.broadcastTogether(values);
  Value result = values[0];
  for (Value value : ArrayRef(values).drop_front())
    result = n.emit<Op>(result, value);
  return result;
}

static void importMax(NodeImporter &n) {
  if (n.getNumInputs() != 2 || !followIntegers(n, n.getElementType(0), maxDims))
    n.setOutput(0, combineAll<MaxOp>(n));
}
static void importMin(NodeImporter &n) {
  if (n.getNumInputs() != 2 || !followIntegers(n, n.getElementType(0), minDims))
    n.setOutput(0, combineAll<MinOp>(n));
}
static void importSum(NodeImporter &n) { n.setOutput(0, combineAll<AddOp>(n)); }
static void importMean(NodeImporter &n) {
  Value sum = combineAll<AddOp>(n);
  n.setOutput(0, n.emit<DivOp>(sum, n.splatLike(n.getNumInputs(), sum)));
}

/// A comparison of known integers as 0 or 1, where it comes out the same for all symbol values.
static DimAttr compareDims(ComparePredicate predicate, DimAttr lhs, DimAttr rhs) {
  auto answer = [&](bool value) { return DimAttr::constant(lhs.getContext(), value); };
  switch (predicate) {
  case ComparePredicate::eq:
  case ComparePredicate::ne:
    if (std::optional<bool> equal = areEqual(lhs, rhs))
      return answer(*equal == (predicate == ComparePredicate::eq));
    return {};
  case ComparePredicate::gt:
    return compareDims(ComparePredicate::lt, rhs, lhs);
  case ComparePredicate::ge:
    return compareDims(ComparePredicate::le, rhs, lhs);
  case ComparePredicate::lt:
    return isLess(lhs, rhs) ? answer(true) : rhs.isAtMost(lhs) ? answer(false) : DimAttr();
  case ComparePredicate::le:
    return lhs.isAtMost(rhs) ? answer(true) : isLess(rhs, lhs) ? answer(false) : DimAttr();
  }
  return {};
}

template <ComparePredicate predicate>
static void importComparison(NodeImporter &n) {
  auto compare = [](DimAttr lhs, DimAttr rhs) { return compareDims(predicate, lhs, rhs); };
  if (followIntegers(n, n.builder.getI1Type(), compare))
    return;
  std::optional<Dims> left = n.getContents(0), right = n.getContents(1);
  auto [lhs, rhs] = getPair(n);
  n.setBroadcastOutput(n.emit<CompareOp>(predicate, lhs, rhs));
  if (predicate == ComparePredicate::eq && left && right && left->size() == 1 && right->size() == 1 && n.wantsOutput(0))
    n.model.lookup(n.proto.output(0)).equals = std::pair(left->front(), right->front());
}
static void importEqual(NodeImporter &n) { importComparison<ComparePredicate::eq>(n); }
static void importGreater(NodeImporter &n) { importComparison<ComparePredicate::gt>(n); }
static void importGreaterOrEqual(NodeImporter &n) { importComparison<ComparePredicate::ge>(n); }
static void importLess(NodeImporter &n) { importComparison<ComparePredicate::lt>(n); }
static void importLessOrEqual(NodeImporter &n) { importComparison<ComparePredicate::le>(n); }

static void importAnd(NodeImporter &n) { importBinary<AndOp>(n); }
static void importOr(NodeImporter &n) { importBinary<OrOp>(n); }
static void importXor(NodeImporter &n) { importBinary<XorOp>(n); }

static void importBitShift(NodeImporter &n) {
  std::string direction = n.getString("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    throwInvalid("expects 'direction' to be LEFT or RIGHT, got '" + direction + "'");
  const bool isLeft = direction == "LEFT";
  auto [value, amount] = getPair(n);
  auto type = dyn_cast<IntegerType>(elementOf(value));
  if (!type || type.getWidth() < 8 || elementOf(amount) != type)
    throwInvalid("expects integers of one type of 8 to 64 bits, got " + describe(n.getTensorType(0)) + " and " +
                 describe(n.getTensorType(1)));
  const bool isSigned = !type.isUnsigned();
  Value zero = n.splatLike(0, value);
  // Shifted right, a negative number is its complement, which is not negative: v >> n = ~(~v >> n).
  Value isComplement = isSigned && !isLeft ? n.emit<CompareOp>(ComparePredicate::lt, value, zero) : Value();
  auto complement = [&](Value number) {
    return isComplement ? n.emit<SelectOp>(isComplement, n.emit<NotOp>(number), number) : number;
  };
  value = complement(value);
  // For each bit of the amount that is set, a product with 2^(that bit's number), or the quotient.
  Value shifted = value;
  for (unsigned bit = 1; bit < type.getWidth(); bit *= 2) {
    Value isSet = n.emit<CompareOp>(ComparePredicate::ne, n.emit<AndOp>(amount, n.splatLike(bit, amount)), zero);
    Value power = n.splatLike(std::ldexp(1.0, int(bit)), value);
    Value part = isLeft ? n.emit<MulOp>(shifted, power) : n.emit<DivOp>(shifted, power);
    shifted = n.emit<SelectOp>(isSet, part, shifted);
  }
  // All bits are shifted out by the type's width or more, and by less than 0.
  Value isInside = n.emit<CompareOp>(ComparePredicate::lt, amount, n.splatLike(type.getWidth(), amount));
  if (isSigned)
    isInside = n.emit<AndOp>(isInside, n.emit<CompareOp>(ComparePredicate::ge, amount, zero));
  n.setBroadcastOutput(complement(n.emit<SelectOp>(isInside, shifted, zero)));
}

static void importNot(NodeImporter &n) {
  std::optional<Dims> contents = n.getContents(0);
  if (contents && n.getTensorType(0).getElementType().isInteger(1) && n.getTensorType(0).getRank() <= 1) {
    for (DimAttr &dim : *contents)
      dim = n.dim(dim.asConstant() == 0);
    return n.setContents(0, *contents, n.getTensorType(0));
  }
  n.setOutput(0, n.emit<NotOp>(n.getTensor(0)));
}

static void importWhere(NodeImporter &n) {
  std::optional<Dims> condition = n.getContents(0), onTrue = n.getContents(1), onFalse = n.getContents(2);
  Type elementType = n.getTensorType(1).getElementType();
  Dims shape = n.broadcastShapes(n.broadcastShapes(n.getDims(0), n.getDims(1)), n.getDims(2));
  if (condition && onTrue && onFalse && shape.size() <= 1) {
    size_t count = std::max({condition->size(), onTrue->size(), onFalse->size()});
    bool isEmpty = condition->empty() || onTrue->empty() || onFalse->empty();
    Dims contents;
    for (size_t i = 0; i < count && !isEmpty; ++i) {
      auto at = [&](const Dims &list) { return list[list.size() == 1 ? 0 : i]; };
      contents.push_back(at(*condition).asConstant() == 0 ? at(*onFalse) : at(*onTrue));
    }
    return n.setContents(0, contents, makeTensorType(shape, elementType));
  }
  Value values[] = {n.getTensor(0), n.getTensor(1), n.getTensor(2)};
  n.broadcastTogether(values);
  n.setOutput(0, n.emit<SelectOp>(values[0], values[1], values[2]));
}

static void importClip(NodeImporter &n) {
  Value value = n.getTensor(0);
  Type elementType = elementOf(value);
  Value low, high;
  if (n.version < 11) {
    if (n.hasAttribute("min"))
      low = n.emitScalar(n.getFloat("min"), elementType);
    if (n.hasAttribute("max"))
      high = n.emitScalar(n.getFloat("max"), elementType);
  } else {
    if (n.hasInput(1))
      low = n.getTensor(1);
    if (n.hasInput(2))
      high = n.getTensor(2);
  }
  for (Value *bound : {&low, &high})
    if (*bound) {
      if (typeOf(*bound).getRank() == 1)
        *bound = n.reshape(*bound, {});
      *bound = n.broadcast(*bound, vx::getDims(typeOf(value)));
    }
  if (low)
    value = n.emit<MaxOp>(value, low);
  if (high)
    value = n.emit<MinOp>(value, high);
  n.setOutput(0, value);
}

CastRules getCastRules(NodeImporter &n) {
  CastRules rules;
  if (n.version >= 19)
    rules.saturates = n.getFlag("saturate", true);
  if (n.version >= 24) {
    std::string mode = n.getString("round_mode", "up");
    if (mode != "up" && mode != "down" && mode != "nearest")
      throwInvalid("expects 'round_mode' to be up, down or nearest, got '" + mode + "'");
    rules.roundMode = mode == "up" ? CastRules::Up : mode == "down" ? CastRules::Down : CastRules::Nearest;
  }
  return rules;
}

/// Rounds values to powers of two, as f32 or f64, by arithmetic on their bits. The bits of positive floats have the
/// order of the values.
static Value roundToPowers(NodeImporter &n, Value value, const CastRules &rules) {
  bool isDouble = elementOf(value).isF64();
  unsigned width = isDouble ? 64 : 32, mantissaBits = isDouble ? 52 : 23;
  auto bitsOf = [](const llvm::fltSemantics &semantics, int exponent) -> int64_t {
    return scalbn(APFloat(semantics, 1), exponent, APFloat::rmNearestTiesToEven).bitcastToAPInt().getSExtValue();
  };
  const llvm::fltSemantics &semantics = cast<FloatType>(elementOf(value)).getFloatSemantics();
  int64_t least = bitsOf(semantics, -127), greatest = bitsOf(semantics, 127),
          infinity = APFloat::getInf(semantics).bitcastToAPInt().getSExtValue(),
          mantissa = (int64_t(1) << mantissaBits) - 1;
  Type bitsType = n.builder.getIntegerType(width);
  Dims dims = vx::getDims(typeOf(value));
  auto number = [&](int64_t bits) {
    auto elements = DenseElementsAttr::get(RankedTensorType::get({}, bitsType), APInt(width, bits, /*isSigned=*/true));
    return n.broadcastInDim(n.emitConstant(elements), dims, {});
  };
  auto bitcast = [&](Value from, Type type) { return n.emitAs<BitcastOp>(makeTensorType(dims, type), from); };
  Value bits = bitcast(value, bitsType);
  auto holds = [&](ComparePredicate predicate, int64_t bound) {
    return n.emit<CompareOp>(predicate, bits, number(bound));
  };
  if (rules.saturates) {
    // A value below the least power is rounded to it. Only NaN is above infinity.
    Value isAbove = n.emit<AndOp>(holds(ComparePredicate::gt, greatest), holds(ComparePredicate::le, infinity));
    bits = n.emit<SelectOp>(isAbove, number(greatest), bits);
  } else {
    Value isInside = n.emit<AndOp>(holds(ComparePredicate::ge, least), holds(ComparePredicate::le, greatest));
    bits = n.emit<SelectOp>(isInside, bits, number(infinity + 1));
  }
  if (rules.roundMode != CastRules::Nearest) {
    Value whole = rules.roundMode == CastRules::Up ? n.emit<AddOp>(bits, number(mantissa)) : bits;
    whole = n.emit<AndOp>(whole, number(~mantissa));
    Value isNumber = n.emit<AndOp>(holds(ComparePredicate::gt, least), holds(ComparePredicate::lt, infinity));
    bits = n.emit<SelectOp>(isNumber, whole, bits);
  }
  return bitcast(bits, elementOf(value));
}

Value castTo(NodeImporter &n, Value value, Type elementType, const CastRules &rules) {
  Type from = elementOf(value);
  auto own = dyn_cast<FloatType>(from), type = dyn_cast<FloatType>(elementType);
  unsigned width = elementType.getIntOrFloatBitWidth();
  // What few bits do not hold the specification leaves open; ONNX's data have the low bits, and -0 for what is no
  // number.
  if (own && !type && width > 1 && width < 8)
    return n.cast(n.cast(value, n.builder.getI32Type()), elementType);
  if (own && type && width == 4 && from != elementType) {
    value = n.widen(value);
    return n.cast(n.emit<SelectOp>(n.emit<IsNanOp>(value), n.splatLike(-0.0, value), value), elementType);
  }
  if (!type || width != 8 || from == elementType)
    return n.cast(value, elementType);
  if (isa<Float8E8M0FNUType>(type)) {
    bool isWide = own ? own.getWidth() == 64 : from.getIntOrFloatBitWidth() > 16;
    value = n.cast(value, isWide ? Type(n.builder.getF64Type()) : n.builder.getF32Type());
    return n.cast(roundToPowers(n, value, rules), elementType);
  }
  if (!own || own.getWidth() < 16)
    value = n.cast(value, n.builder.getF32Type()); // exactly, or so much that any of these types is too small
  if (rules.saturates) {
    double greatest = APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
    value = n.emit<MaxOp>(n.emit<MinOp>(value, n.splatLike(greatest, value)), n.splatLike(-greatest, value));
  }
  return n.cast(value, elementType);
}

static void importCastTo(NodeImporter &n, Type elementType) {
  RankedTensorType type = n.getTensorType(0);
  std::optional<Dims> contents = n.getContents(0);
  if (isa<IntegerType>(elementType) && !elementType.isInteger(1) && type.getRank() <= 1)
    if (std::optional<Dims> whole = castFloatSizes(n))
      contents = whole;
  if (contents && isa<IntegerType>(elementType)) {
    bool fits = true;
    for (DimAttr &dim : *contents) {
      if (elementType.isInteger(1) && dim.asConstant())
        dim = n.dim(*dim.asConstant() != 0);
      fits &= elementType.isInteger(1) ? dim.asConstant().has_value() : fitsType(dim, elementType);
    }
    if (fits)
      return n.setContents(0, *contents, makeTensorType(vx::getDims(type), elementType));
  }
  if (isString(elementType) || isString(elementOf(n.getTensor(0))))
    return n.setOutput(0, castStrings(n, n.getTensor(0), elementType));
  n.setOutput(0, castTo(n, n.getTensor(0), elementType, getCastRules(n)));
  if (contents && type.getRank() <= 1 && isa<FloatType>(elementType) && n.wantsOutput(0))
    n.model.lookup(n.proto.output(0)).floatSizes = makeFloatSizes(*contents);
}

static void importBitCast(NodeImporter &n) {
  Type elementType = getElementType(n.context, n.getInt("to"), "the result");
  Value input = n.getTensor(0);
  n.setOutput(0, elementOf(input) == elementType
                     ? input
                     : n.emitAs<BitcastOp>(makeTensorType(n.getDims(0), elementType), input));
}

static void importCast(NodeImporter &n) { importCastTo(n, getElementType(n.context, n.getInt("to"), "the result")); }
static void importCastLike(NodeImporter &n) { importCastTo(n, n.getElementType(1)); }

static void importIdentity(NodeImporter &n) {
  Entry entry = n.getEntry(0);
  n.setEntry(0, std::move(entry));
}

/// Whether the file has the node drop elements, and not for a training step to decide.
static bool dropsByItself(NodeImporter &n) {
  if (n.version < 7 && !n.getFlag("is_test", false) && n.wantsOutput(1))
    throwUnsupported(Advice::ExportForInference, "dropout in training is not imported");
  if (!n.hasInput(2))
    return false;
  std::optional<Dims> isTraining = n.getContents(2);
  return !isTraining || isTraining->size() != 1 || (*isTraining)[0].asConstant() != 0;
}

/// Returns true if inputs decide at run time whether, or how many, elements are dropped.
static bool dropsAtRunTime(NodeImporter &n) {
  std::optional<Dims> isTraining = n.getContents(2);
  bool isKnown = isTraining && isTraining->size() == 1 && (*isTraining)[0].asConstant();
  return !isKnown || (n.hasInput(1) && !n.getConstantNumbers(1));
}

static Value getDropoutKey(NodeImporter &n) {
  if (!n.hasAttribute("seed"))
    throwUnsupported(Advice::ExportForInference,
                     "dropout in training draws random numbers: it needs an attribute 'seed', or a model that is "
                     "trained (--train)");
  return n.emitConstant(DenseElementsAttr::get(RankedTensorType::get({}, n.builder.getI64Type()), n.getInt("seed")));
}

/// As vx.dropout, with a ratio and a mode that the call gives.
static void dropAtRunTime(NodeImporter &n) {
  Value input = n.getTensor(0), key = getDropoutKey(n);
  Dims dims = vx::getDims(typeOf(input));
  Type i64 = n.builder.getI64Type(), i1 = n.builder.getI1Type();
  Value drops = n.cast(n.reshape(n.getTensor(2), {}), i1);
  Value ratio = n.hasInput(1) ? n.reshape(n.getTensor(1), {}) : n.emitScalar(0.5, n.builder.getF32Type());
  if (!isa<FloatType>(elementOf(ratio)))
    throwInvalid("expects 'ratio' to be a float, got " + describe(ratio.getType()));
  ratio = n.widen(ratio);
  Value one = n.splatLike(1, ratio);
  if (n.hasInput(1)) {
    Value isRatio = n.emit<AndOp>(n.emit<CompareOp>(ComparePredicate::ge, ratio, n.splatLike(0, ratio)),
                                  n.emit<CompareOp>(ComparePredicate::lt, ratio, one));
    Value isRight = n.cast(n.emit<OrOp>(isRatio, n.emit<NotOp>(drops)), i64);
    n.require(ConstraintKind::equal, n.bindSymbol(isRight, n.proto.input(1) + ".from_0_below_1"), n.dim(1));
  }
  Value bits =
      n.emitAs<RandomBitsOp>(makeTensorType(dims, IntegerType::get(n.context, 32, IntegerType::Unsigned)), key, 0);
  Value limit = n.emit<RoundOp>(n.emit<MulOp>(ratio, n.splatLike(std::ldexp(1, 32), ratio)));
  limit = n.emit<MinOp>(n.cast(limit, i64), n.emitScalar(std::ldexp(1, 32) - 1, i64));
  Value isKept = n.emit<CompareOp>(ComparePredicate::ge, n.cast(bits, i64), n.broadcastInDim(limit, dims, {}));
  Value scale = n.cast(n.emit<DivOp>(one, n.emit<SubOp>(one, ratio)), elementOf(input));
  Value scaled = n.emit<MulOp>(input, n.broadcastInDim(scale, dims, {}));
  Value dropped = n.emit<SelectOp>(isKept, scaled, n.splatLike(0, input));
  Value isDropping = n.broadcastInDim(drops, dims, {});
  n.setOutput(0, n.emit<SelectOp>(isDropping, dropped, input));
  if (n.wantsOutput(1))
    n.setOutput(1, n.emit<OrOp>(isKept, n.emit<NotOp>(isDropping)));
}

static double getDropoutRatio(NodeImporter &n) {
  double ratio = 0.5;
  if (n.version < 12)
    ratio = n.getFloat("ratio", 0.5f);
  else if (n.hasInput(1)) {
    std::optional<SmallVector<double>> numbers = n.getConstantNumbers(1);
    if (!numbers || numbers->size() != 1)
      throwUnsupported(Advice::ExportForInference,
                       "expects 'ratio' to be one constant where elements are dropped, got " +
                           describe(n.getTensorType(1)));
    ratio = numbers->front();
  }
  if (!(ratio >= 0 && ratio < 1))
    throwInvalid("expects 'ratio' to be at least 0 and below 1, got " + std::to_string(ratio));
  return ratio;
}

static void importDropout(NodeImporter &n) {
  Value value = n.getTensor(0);
  bool mayDrop = n.model.options.trains || dropsByItself(n);
  if (mayDrop && !n.model.options.trains && n.version >= 12 && dropsAtRunTime(n))
    return dropAtRunTime(n);
  if (double ratio = mayDrop ? getDropoutRatio(n) : 0; ratio > 0) {
    Value key = n.model.options.trains ? Value() : getDropoutKey(n);
    OperationState state(n.location, DropoutOp::getOperationName());
    DropoutOp::build(n.builder, state, value, key, n.builder.getF64FloatAttr(ratio), n.builder.getI64IntegerAttr(0));
    auto dropout = llvm::cast<DropoutOp>(n.finish(state));
    SmallVector<Value> results(dropout.getResults());
    if (key) {
      results = dropout.decompose(n);
      dropout.erase();
    }
    n.setOutput(0, results[0]);
    if (n.wantsOutput(1))
      n.setOutput(1, results[1]);
    return;
  }
  if (n.wantsOutput(1))
    n.setOutput(1, n.splat(1, makeTensorType(n.getDims(0), n.builder.getI1Type())));
  n.setOutput(0, value);
}

static constexpr OpTableEntry arithmeticTable[] = {
    {"Add", 1, newestOpset, importAdd},
    {"And", 1, newestOpset, importAnd},
    {"BitShift", 11, newestOpset, importBitShift},
    {"BitCast", 26, newestOpset, importBitCast},
    {"BitwiseAnd", 18, newestOpset, importAnd},
    {"BitwiseNot", 18, newestOpset, importNot},
    {"BitwiseOr", 18, newestOpset, importOr},
    {"BitwiseXor", 18, newestOpset, importXor},
    {"Cast", 6, newestOpset, importCast},
    {"CastLike", 15, newestOpset, importCastLike},
    {"Clip", 6, newestOpset, importClip},
    {"Div", 1, newestOpset, importDiv},
    {"Dropout", 1, newestOpset, importDropout},
    {"Equal", 1, newestOpset, importEqual},
    {"Greater", 1, newestOpset, importGreater},
    {"GreaterOrEqual", 12, newestOpset, importGreaterOrEqual},
    {"Identity", 1, newestOpset, importIdentity},
    {"Less", 1, newestOpset, importLess},
    {"LessOrEqual", 12, newestOpset, importLessOrEqual},
    {"Max", 6, newestOpset, importMax},
    {"Mean", 6, newestOpset, importMean},
    {"Min", 6, newestOpset, importMin},
    {"Mod", 10, newestOpset, importMod},
    {"Mul", 1, newestOpset, importMul},
    {"Not", 1, newestOpset, importNot},
    {"Or", 1, newestOpset, importOr},
    {"Pow", 1, newestOpset, importPow},
    {"Sub", 1, newestOpset, importSub},
    {"Sum", 6, newestOpset, importSum},
    {"Where", 9, newestOpset, importWhere},
    {"Xor", 1, newestOpset, importXor},
};
const llvm::ArrayRef<OpTableEntry> arithmeticOps = arithmeticTable;

} // namespace vx::onnx
