// Floats of 8 bits and less as integers of 8 bits: no target converts all of them, and few have any.
#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

/// A format with a sign bit on top, below it the exponent and the mantissa. f8E8M0FNU, a bare exponent, is none.
struct NarrowFormat {
  explicit NarrowFormat(FloatType type) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    mantissaBits = static_cast<int>(APFloat::semanticsPrecision(semantics)) - 1;
    bias = 1 - APFloat::semanticsMinExponent(semantics);
    signBit = 1u << (type.getWidth() - 1);
    greatest = codeOf(APFloat::getLargest(semantics));
    hasInfinity = APFloat::semanticsHasInf(semantics);
    hasNaN = APFloat::semanticsHasNaN(semantics);
    nan = hasNaN ? codeOf(APFloat::getNaN(semantics)) : greatest;
    // What is above the greatest number is the one code behind it, or NaN, or the greatest number.
    overflow = hasInfinity ? greatest + 1 : nan;
    signedZero = APFloat::getZero(semantics, /*Negative=*/true).isNegative();
  }

  int mantissaBits, bias;
  unsigned signBit, greatest, overflow, nan;
  bool hasInfinity, hasNaN, signedZero;

private:
  static unsigned codeOf(const APFloat &number) {
    return static_cast<unsigned>(number.bitcastToAPInt().getZExtValue());
  }
};

/// Arithmetic on the bits of a float type of 32 or 64 bits.
class BitsBuilder {
public:
  BitsBuilder(OpBuilder &builder, Location loc, FloatType wide)
      : builder(builder), loc(loc), wide(wide), type(IntegerType::get(builder.getContext(), wide.getWidth())),
        mantissaBits(wide.isF64() ? 52 : 23), bias(wide.isF64() ? 1023 : 127) {}

  Value number(uint64_t value) const {
    APInt bits(64, value);
    return arith::ConstantOp::create(builder, loc, IntegerAttr::get(type, bits.trunc(type.getWidth())));
  }
  Value add(Value a, Value b) const { return arith::AddIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) const { return arith::SubIOp::create(builder, loc, a, b); }
  Value bitAnd(Value a, uint64_t mask) const { return arith::AndIOp::create(builder, loc, a, number(mask)); }
  Value bitOr(Value a, Value b) const { return arith::OrIOp::create(builder, loc, a, b); }
  Value shiftLeft(Value a, int count) const {
    return arith::ShLIOp::create(builder, loc, a, number(static_cast<uint64_t>(count)));
  }
  Value shiftRight(Value a, int count) const {
    return arith::ShRUIOp::create(builder, loc, a, number(static_cast<uint64_t>(count)));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, uint64_t b) const {
    return arith::CmpIOp::create(builder, loc, predicate, a, number(b));
  }
  Value select(Value condition, Value yes, Value no) const {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  Value toBits(Value value) const { return arith::BitcastOp::create(builder, loc, type, value); }
  Value toFloat(Value bits) const { return arith::BitcastOp::create(builder, loc, wide, bits); }
  Value toCode(Value bits) const { return arith::TruncIOp::create(builder, loc, builder.getI8Type(), bits); }
  /// The bits of a power of two.
  uint64_t powerOfTwo(int exponent) const { return static_cast<uint64_t>(exponent + bias) << mantissaBits; }
  uint64_t infinity() const { return powerOfTwo(bias + 1); }

  OpBuilder &builder;
  Location loc;
  FloatType wide;
  IntegerType type;
  int mantissaBits, bias;
};

constexpr int kPowerBias = 127;      // of f8E8M0FNU
constexpr uint64_t kPowerNaN = 0xff; // its NaN

} // namespace

Value decodeNarrowFloat(OpBuilder &builder, Location loc, Value code, FloatType type) {
  using P = arith::CmpIPredicate;
  BitsBuilder b(builder, loc, builder.getF32Type());
  Value bits = arith::ExtUIOp::create(builder, loc, b.type, code);
  Value nan = b.number(b.infinity() | (uint64_t(1) << (b.mantissaBits - 1)));
  if (isa<Float8E8M0FNUType>(type)) {
    // The least power is below f32's least normal number.
    Value least = b.number(uint64_t(1) << (b.mantissaBits - 1));
    Value power = b.select(b.compare(P::eq, bits, 0), least, b.shiftLeft(bits, b.mantissaBits));
    return b.toFloat(b.select(b.compare(P::eq, bits, kPowerNaN), nan, power));
  }
  NarrowFormat format(type);
  Value size = b.bitAnd(bits, format.signBit - 1);
  Value normal = b.add(b.shiftLeft(size, b.mantissaBits - format.mantissaBits), b.number(b.powerOfTwo(-format.bias)));
  // Below the least normal number all numbers are as far from each other, which f32 counts exactly.
  Value count = arith::UIToFPOp::create(builder, loc, b.wide, size);
  Value quantum = arith::ConstantOp::create(
      builder, loc, FloatAttr::get(b.wide, std::ldexp(1.0, 1 - format.bias - format.mantissaBits)));
  Value subnormal = b.toBits(arith::MulFOp::create(builder, loc, count, quantum));
  Value result = b.select(b.compare(P::ult, size, uint64_t(1) << format.mantissaBits), subnormal, normal);
  if (format.hasInfinity)
    result = b.select(b.compare(P::eq, size, format.overflow), b.number(b.infinity()), result);
  if (format.hasNaN && format.signedZero)
    result = b.select(b.compare(P::ugt, size, format.hasInfinity ? format.overflow : format.greatest), nan, result);
  Value sign = b.shiftLeft(b.bitAnd(bits, format.signBit), 32 - static_cast<int>(type.getWidth()));
  result = b.bitOr(result, sign);
  if (format.hasNaN && !format.signedZero) // what would be -0
    result = b.select(b.compare(P::eq, bits, format.signBit), nan, result);
  return b.toFloat(result);
}

/// The power of two that is nearest, of two equally near ones the greater.
static Value encodePowerOfTwo(const BitsBuilder &b, Value bits, Value size) {
  using P = arith::CmpIPredicate;
  uint64_t half = uint64_t(1) << (b.mantissaBits - 1);
  Value code = b.shiftRight(b.add(size, b.number(half)), b.mantissaBits);
  if (b.bias != kPowerBias)
    code = b.sub(code, b.number(static_cast<uint64_t>(b.bias - kPowerBias)));
  // Half way between the least two powers, of which f32 has the lower one as a subnormal number.
  uint64_t middle = b.bias == kPowerBias ? half | (half >> 1) : b.powerOfTwo(-kPowerBias) | half;
  code = b.select(b.compare(P::ult, size, middle), b.number(0), code);
  code = b.select(b.compare(P::ugt, code, kPowerNaN), b.number(kPowerNaN), code);
  Value ofNegative = b.select(b.compare(P::eq, size, 0), b.number(0), b.number(kPowerNaN));
  return b.toCode(b.select(b.compare(P::slt, bits, 0), ofNegative, code));
}

Value encodeNarrowFloat(OpBuilder &builder, Location loc, Value value, FloatType type) {
  using P = arith::CmpIPredicate;
  BitsBuilder b(builder, loc, cast<FloatType>(value.getType()));
  uint64_t signBit = uint64_t(1) << (b.type.getWidth() - 1);
  Value bits = b.toBits(value), size = b.bitAnd(bits, signBit - 1);
  if (isa<Float8E8M0FNUType>(type))
    return encodePowerOfTwo(b, bits, size);
  NarrowFormat format(type);
  int cut = b.mantissaBits - format.mantissaBits;
  // Nearest even: half of the last place, less one where it is even, is added before the rest is cut off.
  Value last = b.bitAnd(b.shiftRight(size, cut), 1);
  Value rounded = b.add(b.add(size, last), b.number((uint64_t(1) << (cut - 1)) - 1));
  Value normal =
      b.sub(b.shiftRight(rounded, cut), b.number(static_cast<uint64_t>(b.bias - format.bias) << format.mantissaBits));
  // Below the least normal number: added to one whose last place is what they differ by, they are rounded to that.
  uint64_t anchor = b.powerOfTwo(1 - format.bias - format.mantissaBits + b.mantissaBits);
  Value sum = arith::AddFOp::create(builder, loc, b.toFloat(size), b.toFloat(b.number(anchor)));
  Value subnormal = b.sub(b.toBits(sum), b.number(anchor));
  Value code = b.select(b.compare(P::ult, size, b.powerOfTwo(1 - format.bias)), subnormal, normal);
  code = b.select(b.compare(P::ugt, code, format.greatest), b.number(format.overflow), code);
  Value sign = b.bitAnd(b.shiftRight(bits, static_cast<int>(b.type.getWidth() - type.getWidth())), format.signBit);
  if (!format.signedZero) // neither 0 nor NaN has one
    sign = b.select(b.compare(P::eq, b.bitAnd(code, format.signBit - 1), 0), b.number(0), sign);
  code = b.bitOr(code, sign);
  return b.toCode(b.select(b.compare(P::ugt, size, b.infinity()), b.number(format.nan), code));
}

} // namespace vx
