#include "tensor.h"

#include "vx/base/json_text.h"
#include "vx/base/printable.h"
#include "vx/base/tensor_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace vx::tools {

// A float type of 16 bits or less: sign, exponent, mantissa.
struct SmallFloat {
  int exponentBits;
  int mantissaBits;
  int bias;
  bool isSigned;
  enum Specials {
    Ieee,            // the greatest exponent is inf and NaN
    OnlyNan,         // all bits set (after the sign) is NaN
    NegativeZeroNan, // the code of -0 is NaN
    None
  } specials;
};

static std::optional<SmallFloat> smallFloat(vx_element_type type) {
  switch (type) {
  case VX_F16:
    return SmallFloat{5, 10, 15, true, SmallFloat::Ieee};
  case VX_BF16:
    return SmallFloat{8, 7, 127, true, SmallFloat::Ieee};
  case VX_F8E4M3FN:
    return SmallFloat{4, 3, 7, true, SmallFloat::OnlyNan};
  case VX_F8E4M3FNUZ:
    return SmallFloat{4, 3, 8, true, SmallFloat::NegativeZeroNan};
  case VX_F8E5M2:
    return SmallFloat{5, 2, 15, true, SmallFloat::Ieee};
  case VX_F8E5M2FNUZ:
    return SmallFloat{5, 2, 16, true, SmallFloat::NegativeZeroNan};
  case VX_F8E8M0:
    return SmallFloat{8, 0, 127, false, SmallFloat::OnlyNan};
  case VX_F4E2M1:
    return SmallFloat{2, 1, 1, true, SmallFloat::None};
  default:
    return std::nullopt;
  }
}

static double decode(const SmallFloat &format, uint32_t code) {
  const int valueBits = format.exponentBits + format.mantissaBits;
  const bool negative = format.isSigned && (code >> valueBits & 1);
  const uint32_t magnitude = code & ((1u << valueBits) - 1);
  const uint32_t exponent = magnitude >> format.mantissaBits;
  const uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
  const uint32_t greatest = (1u << format.exponentBits) - 1;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.specials == SmallFloat::Ieee && exponent == greatest)
    return mantissa ? nan : negative ? -HUGE_VAL : HUGE_VAL;
  if (format.specials == SmallFloat::OnlyNan && magnitude == (1u << valueBits) - 1)
    return nan;
  if (format.specials == SmallFloat::NegativeZeroNan && negative && magnitude == 0)
    return nan;
  // Without a mantissa there is no zero and there are no denormals.
  const bool normal = exponent > 0 || format.mantissaBits == 0;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -format.mantissaBits) + (normal ? 1 : 0);
  const double value = std::ldexp(fraction, (normal ? static_cast<int>(exponent) : 1) - format.bias);
  return negative ? -value : value;
}

// The code of a magnitude. From one power of two to the next the codes lie at equal distances, and below the least one
// as there.
static uint32_t roundToCode(const SmallFloat &format, double magnitude, uint32_t largest) {
  if (magnitude >= decode(format, largest))
    return largest;
  const int least = (format.mantissaBits > 0 ? 1 : 0) - format.bias;
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), least) : least;
  const double units = std::ldexp(magnitude, format.mantissaBits - exponent);
  const double whole = std::floor(units);
  const int64_t below = (int64_t(exponent - least) << format.mantissaBits) + static_cast<int64_t>(whole) -
                        (format.mantissaBits > 0 ? 0 : 1);
  if (below < 0)
    return 0;
  const double rest = units - whole;
  return static_cast<uint32_t>(below + (rest > 0.5 || (rest == 0.5 && below % 2 == 1)));
}

// The code whose value is nearest; ties go to the even code, and what is too large to the largest value there is.
static uint32_t encode(const SmallFloat &format, double value) {
  const int valueBits = format.exponentBits + format.mantissaBits;
  const uint32_t sign = format.isSigned && std::signbit(value) ? 1u << valueBits : 0;
  const uint32_t codes = 1u << valueBits;
  if (std::isnan(value)) {
    for (uint32_t code = codes * (format.isSigned ? 2 : 1); code-- > 0;)
      if (std::isnan(decode(format, code)))
        return code;
    return 0;
  }
  const double magnitude = std::fabs(value);
  const uint32_t inf = codes - (1u << format.mantissaBits);
  if (format.specials == SmallFloat::Ieee && std::isinf(magnitude))
    return sign | inf;
  const uint32_t largest = format.specials == SmallFloat::Ieee      ? inf - 1
                           : format.specials == SmallFloat::OnlyNan ? codes - 2
                                                                    : codes - 1;
  const uint32_t code = roundToCode(format, magnitude, largest);
  if (format.specials == SmallFloat::NegativeZeroNan && code == 0)
    return 0;
  return sign | code;
}

std::optional<vx_element_type> elementTypeFromName(std::string_view name) {
  for (int type = VX_BOOL; type < VX_STRING; ++type)
    if (name == vx_element_type_name(static_cast<vx_element_type>(type)))
      return static_cast<vx_element_type>(type);
  return std::nullopt;
}

uint64_t byteCount(vx_element_type type, uint64_t count) {
  const uint64_t bits = vx_element_type_bits(type);
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

std::optional<uint64_t> elementCount(vx_element_type type, const std::vector<int64_t> &dims) {
  uint64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count))
      return std::nullopt;
  }
  if (count > (uint64_t(1) << 60))
    return std::nullopt;
  return empty ? 0 : count;
}

bool isFloat(vx_element_type type) { return type == VX_F32 || type == VX_F64 || smallFloat(type).has_value(); }

static bool isSignedInteger(vx_element_type type) {
  return type == VX_I8 || type == VX_I16 || type == VX_I32 || type == VX_I64 || type == VX_I4 || type == VX_I2;
}

// The element's bits, zero-extended.
static uint64_t elementBits(const Tensor &tensor, uint64_t index) {
  const uint32_t bits = vx_element_type_bits(tensor.type);
  if (tensor.type == VX_STRING)
    return 0;
  if (bits >= 8) {
    uint64_t value = 0;
    std::memcpy(&value, tensor.bytes.data() + index * (bits / 8), bits / 8);
    return value;
  }
  const uint32_t perByte = 8 / bits;
  return tensor.bytes[index / perByte] >> (index % perByte * bits) & ((1u << bits) - 1);
}

static void setElementBits(Tensor &tensor, uint64_t index, uint64_t value) {
  const uint32_t bits = vx_element_type_bits(tensor.type);
  if (bits >= 8) {
    std::memcpy(tensor.bytes.data() + index * (bits / 8), &value, bits / 8);
    return;
  }
  const uint32_t perByte = 8 / bits;
  const uint32_t shift = static_cast<uint32_t>(index % perByte) * bits;
  const uint32_t mask = ((1u << bits) - 1) << shift;
  uint8_t &byte = tensor.bytes[index / perByte];
  byte = static_cast<uint8_t>((byte & ~mask) | (static_cast<uint32_t>(value) << shift & mask));
}

static int64_t signExtend(uint64_t value, uint32_t bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

double elementAsDouble(const Tensor &tensor, uint64_t index) {
  const uint64_t bits = elementBits(tensor, index);
  if (tensor.type == VX_F32)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (tensor.type == VX_F64)
    return std::bit_cast<double>(bits);
  if (auto format = smallFloat(tensor.type))
    return decode(*format, static_cast<uint32_t>(bits));
  if (isSignedInteger(tensor.type))
    return static_cast<double>(signExtend(bits, vx_element_type_bits(tensor.type)));
  return static_cast<double>(bits);
}

std::string elementText(const Tensor &tensor, uint64_t index) {
  if (tensor.type == VX_STRING)
    return printableLine(vx::jsonText(nlohmann::json(tensor.strings[index])));
  const uint64_t bits = elementBits(tensor, index);
  if (tensor.type == VX_BOOL)
    return bits ? "true" : "false";
  if (tensor.type == VX_F64)
    return fmt::format("{}", std::bit_cast<double>(bits));
  if (isFloat(tensor.type))
    return fmt::format("{}", static_cast<float>(elementAsDouble(tensor, index)));
  if (isSignedInteger(tensor.type))
    return fmt::format("{}", signExtend(bits, vx_element_type_bits(tensor.type)));
  return fmt::format("{}", bits);
}

void setElement(Tensor &tensor, uint64_t index, double value) {
  if (tensor.type == VX_F32)
    return setElementBits(tensor, index, std::bit_cast<uint32_t>(static_cast<float>(value)));
  if (tensor.type == VX_F64)
    return setElementBits(tensor, index, std::bit_cast<uint64_t>(value));
  if (auto format = smallFloat(tensor.type))
    return setElementBits(tensor, index, encode(*format, value));
  setElementBits(tensor, index, static_cast<uint64_t>(static_cast<int64_t>(std::llrint(value))));
}

void copyElement(const Tensor &from, uint64_t index, Tensor &to, uint64_t place) {
  setElementBits(to, place, elementBits(from, index));
}

std::string typeText(vx_element_type type, const std::vector<int64_t> &dims) {
  return tensorTypeText(vx_element_type_name(type), dims);
}

} // namespace vx::tools
