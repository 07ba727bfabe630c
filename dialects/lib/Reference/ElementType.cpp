#include "vx/Reference/ElementType.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace vx::reference {

namespace {

struct TypeFacts {
  ElementType type;
  llvm::StringLiteral name;
  unsigned bits;
  bool isFloat;
  bool isSigned;
};

constexpr TypeFacts facts[] = {
    {ElementType::Bool, "bool", 8, false, false},
    {ElementType::I2, "i2", 2, false, true},
    {ElementType::I4, "i4", 4, false, true},
    {ElementType::I8, "i8", 8, false, true},
    {ElementType::I16, "i16", 16, false, true},
    {ElementType::I32, "i32", 32, false, true},
    {ElementType::I64, "i64", 64, false, true},
    {ElementType::U2, "u2", 2, false, false},
    {ElementType::U4, "u4", 4, false, false},
    {ElementType::U8, "u8", 8, false, false},
    {ElementType::U16, "u16", 16, false, false},
    {ElementType::U32, "u32", 32, false, false},
    {ElementType::U64, "u64", 64, false, false},
    {ElementType::F16, "f16", 16, true, true},
    {ElementType::BF16, "bf16", 16, true, true},
    {ElementType::F32, "f32", 32, true, true},
    {ElementType::F64, "f64", 64, true, true},
    {ElementType::F8E4M3FN, "f8E4M3FN", 8, true, true},
    {ElementType::F8E4M3FNUZ, "f8E4M3FNUZ", 8, true, true},
    {ElementType::F8E5M2, "f8E5M2", 8, true, true},
    {ElementType::F8E5M2FNUZ, "f8E5M2FNUZ", 8, true, true},
    {ElementType::F8E8M0FNU, "f8E8M0FNU", 8, true, false},
    {ElementType::F4E2M1FN, "f4E2M1FN", 4, true, true},
};

const TypeFacts &getFacts(ElementType type) { return facts[static_cast<size_t>(type)]; }

/// A float format with a sign bit on top, below it the exponent and the mantissa. `greatest` is the code of the
/// greatest finite number, `overflow` what stands for greater ones, `nan` the code of NaN with all its bits;
/// `signedZero` says whether a sign bit alone is -0.
struct FloatFormat {
  int exponentBits, mantissaBits, bias;
  uint32_t greatest, overflow, nan;
  bool signedZero;
};

FloatFormat getFormat(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return {5, 10, 15, 0x7bff, 0x7c00, 0x7e00, true};
  case ElementType::BF16:
    return {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, true};
  case ElementType::F8E4M3FN:
    return {4, 3, 7, 0x7e, 0x7f, 0x7f, true};
  case ElementType::F8E4M3FNUZ:
    return {4, 3, 8, 0x7f, 0x80, 0x80, false};
  case ElementType::F8E5M2:
    return {5, 2, 15, 0x7b, 0x7c, 0x7e, true};
  case ElementType::F8E5M2FNUZ:
    return {5, 2, 16, 0x7f, 0x80, 0x80, false};
  default: // f4E2M1FN
    return {2, 1, 1, 0x7, 0x7, 0x7, true};
  }
}

} // namespace

unsigned getStorageBits(ElementType type) { return getFacts(type).bits; }
bool isFloat(ElementType type) { return getFacts(type).isFloat; }
bool isSigned(ElementType type) { return getFacts(type).isSigned; }
llvm::StringRef getName(ElementType type) { return getFacts(type).name; }

std::optional<ElementType> parseElementType(llvm::StringRef name) {
  for (const TypeFacts &fact : facts)
    if (name.equals_insensitive(fact.name))
      return fact.type;
  return std::nullopt;
}

std::optional<ElementType> getElementType(Type type) {
  if (auto integer = llvm::dyn_cast<IntegerType>(type)) {
    if (integer.isSigned())
      return std::nullopt;
    if (integer.getWidth() == 1)
      return integer.isSignless() ? std::optional(ElementType::Bool) : std::nullopt;
    for (const TypeFacts &fact : facts)
      if (!fact.isFloat && fact.type != ElementType::Bool && fact.bits == integer.getWidth() &&
          fact.isSigned == integer.isSignless())
        return fact.type;
    return std::nullopt;
  }
  return llvm::TypeSwitch<Type, std::optional<ElementType>>(type)
      .Case([](Float16Type) { return ElementType::F16; })
      .Case([](BFloat16Type) { return ElementType::BF16; })
      .Case([](Float32Type) { return ElementType::F32; })
      .Case([](Float64Type) { return ElementType::F64; })
      .Case([](Float8E4M3FNType) { return ElementType::F8E4M3FN; })
      .Case([](Float8E4M3FNUZType) { return ElementType::F8E4M3FNUZ; })
      .Case([](Float8E5M2Type) { return ElementType::F8E5M2; })
      .Case([](Float8E5M2FNUZType) { return ElementType::F8E5M2FNUZ; })
      .Case([](Float8E8M0FNUType) { return ElementType::F8E8M0FNU; })
      .Case([](Float4E2M1FNType) { return ElementType::F4E2M1FN; })
      .Default([](Type) { return std::nullopt; });
}

Type getType(MLIRContext *context, ElementType type) {
  switch (type) {
  case ElementType::Bool:
    return IntegerType::get(context, 1);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F64:
    return Float64Type::get(context);
  case ElementType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ElementType::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ElementType::F8E5M2:
    return Float8E5M2Type::get(context);
  case ElementType::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case ElementType::F8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case ElementType::F4E2M1FN:
    return Float4E2M1FNType::get(context);
  default:
    return IntegerType::get(context, getStorageBits(type),
                            isSigned(type) ? IntegerType::Signless : IntegerType::Unsigned);
  }
}

double decodeFloat(ElementType type, uint64_t bits) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (type == ElementType::F64)
    return llvm::bit_cast<double>(bits);
  if (type == ElementType::F32)
    return llvm::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == ElementType::F8E8M0FNU)
    return (bits & 0xff) == 0xff ? nan : std::ldexp(1.0, static_cast<int>(bits & 0xff) - 127);

  FloatFormat format = getFormat(type);
  uint32_t signBit = 1u << (format.exponentBits + format.mantissaBits);
  uint32_t magnitude = bits & (signBit - 1);
  bool negative = bits & signBit;
  if (!format.signedZero && negative && magnitude == 0)
    return nan;
  if (magnitude > format.greatest)
    return magnitude == format.overflow && format.overflow != format.nan
               ? (negative ? -1 : 1) * std::numeric_limits<double>::infinity()
               : nan;
  int exponent = static_cast<int>(magnitude >> format.mantissaBits);
  uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
  if (exponent == 0)
    exponent = 1; // subnormal
  else
    mantissa |= 1u << format.mantissaBits;
  double value = std::ldexp(static_cast<double>(mantissa), exponent - format.bias - format.mantissaBits);
  return negative ? -value : value;
}

static uint64_t encodePowerOfTwo(double value) {
  constexpr uint64_t nan = 0xff;
  if (std::isnan(value) || std::isinf(value) || std::signbit(value))
    return value == 0 ? 0 : nan;
  if (value <= std::ldexp(1.0, -127))
    return 0;
  int exponent = std::ilogb(value);
  if (std::ldexp(value, -exponent) >= 1.5)
    ++exponent;
  return exponent > 127 ? nan : static_cast<uint64_t>(exponent + 127);
}

uint64_t encodeFloat(ElementType type, double value) {
  if (type == ElementType::F64)
    return llvm::bit_cast<uint64_t>(value);
  if (type == ElementType::F32)
    return llvm::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == ElementType::F8E8M0FNU)
    return encodePowerOfTwo(value);

  FloatFormat format = getFormat(type);
  if (std::isnan(value))
    return format.nan;
  uint32_t code;
  if (std::isinf(value)) {
    code = format.overflow;
  } else {
    double magnitude = std::fabs(value);
    int exponent = magnitude == 0 ? INT32_MIN : std::ilogb(magnitude);
    exponent = std::max(exponent, 1 - format.bias);
    // The number of quanta, a whole number after one rounding; scaling by a power of two is exact.
    double quanta = std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent));
    // With the leading bit at its place, the sum carries into the exponent by itself, also from the subnormal numbers.
    int64_t wide =
        (static_cast<int64_t>(exponent + format.bias - 1) << format.mantissaBits) + static_cast<int64_t>(quanta);
    code = wide > format.greatest ? format.overflow : static_cast<uint32_t>(wide);
  }
  uint32_t signBit = 1u << (format.exponentBits + format.mantissaBits);
  if (!std::signbit(value) || code == signBit || (code == 0 && !format.signedZero))
    return code;
  return code | signBit;
}

double getHighestFloat(ElementType type) {
  switch (type) {
  case ElementType::F32:
  case ElementType::F64:
    return std::numeric_limits<double>::infinity();
  case ElementType::F8E8M0FNU:
    return decodeFloat(type, 0xfe);
  default: {
    FloatFormat format = getFormat(type);
    return decodeFloat(type, format.overflow == format.nan ? format.greatest : format.overflow);
  }
  }
}

double getLowestFloat(ElementType type) {
  return type == ElementType::F8E8M0FNU ? decodeFloat(type, 0) : -getHighestFloat(type);
}

int64_t getLowestInt(ElementType type) {
  return isSigned(type) ? static_cast<int64_t>(~uint64_t(0) << (getStorageBits(type) - 1)) : 0;
}

int64_t getHighestInt(ElementType type) {
  if (type == ElementType::Bool)
    return 1;
  if (isSigned(type))
    return ~getLowestInt(type);
  return static_cast<int64_t>(~uint64_t(0) >> (64 - getStorageBits(type)));
}

int64_t wrapInt(ElementType type, int64_t value) {
  if (type == ElementType::Bool)
    return value != 0;
  unsigned shift = 64 - getStorageBits(type);
  uint64_t high = static_cast<uint64_t>(value) << shift;
  return isSigned(type) ? static_cast<int64_t>(high) >> shift : static_cast<int64_t>(high >> shift);
}

} // namespace vx::reference
