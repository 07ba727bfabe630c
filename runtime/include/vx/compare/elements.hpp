// Elements of tensors of every type, as numbers and as text. Header only; vx/compare.hpp includes it.
#ifndef VX_COMPARE_ELEMENTS_HPP
#define VX_COMPARE_ELEMENTS_HPP

#include "vx/runtime/error.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::compare {

// A tensor in memory of the host. It borrows its bytes and strings, which must outlive it.
struct Tensor {
  vx_element_type type = VX_ELEMENT_NONE;
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes;           // row-major; 4- and 2-bit elements packed, low bits first
  std::vector<std::string_view> strings = {}; // in the place of bytes, of VX_STRING
};

// A float type of 16 bits or less: sign, exponent, mantissa.
struct SmallFloat {
  enum class Special {
    Ieee,            // the greatest exponent is inf and NaN
    OnlyNan,         // all bits set (after the sign) is NaN
    NegativeZeroNan, // the code of -0 is NaN
    None
  };
  int exponentBits;
  int mantissaBits;
  int bias;
  bool isSigned;
  Special special;
};

// Nothing for a type that is no float of 16 bits or less.
inline std::optional<SmallFloat> smallFloat(vx_element_type type) {
  using enum SmallFloat::Special;
  switch (type) {
  case VX_F16:
    return SmallFloat{5, 10, 15, true, Ieee};
  case VX_BF16:
    return SmallFloat{8, 7, 127, true, Ieee};
  case VX_F8E4M3FN:
    return SmallFloat{4, 3, 7, true, OnlyNan};
  case VX_F8E4M3FNUZ:
    return SmallFloat{4, 3, 8, true, NegativeZeroNan};
  case VX_F8E5M2:
    return SmallFloat{5, 2, 15, true, Ieee};
  case VX_F8E5M2FNUZ:
    return SmallFloat{5, 2, 16, true, NegativeZeroNan};
  case VX_F8E8M0:
    return SmallFloat{8, 0, 127, false, OnlyNan};
  case VX_F4E2M1:
    return SmallFloat{2, 1, 1, true, None};
  default:
    return std::nullopt;
  }
}

inline bool isFloat(vx_element_type type) { return type == VX_F32 || type == VX_F64 || smallFloat(type).has_value(); }

inline bool isSignedInteger(vx_element_type type) {
  return type == VX_I8 || type == VX_I16 || type == VX_I32 || type == VX_I64 || type == VX_I4 || type == VX_I2;
}

// Bits of the mantissa, and the exponent of the least normal number: of f32, 23 and -126.
struct FloatSteps {
  int mantissaBits, leastExponent;
};
inline FloatSteps floatSteps(vx_element_type type) {
  if (type == VX_F64)
    return {52, -1022};
  const std::optional<SmallFloat> format = smallFloat(type);
  if (!format)
    return {23, -126};
  return {format->mantissaBits, (format->mantissaBits > 0 ? 1 : 0) - format->bias};
}

// The value of a code of a small float.
inline double decode(const SmallFloat &format, uint32_t code) {
  using enum SmallFloat::Special;
  const int valueBits = format.exponentBits + format.mantissaBits;
  const bool negative = format.isSigned && (code >> valueBits & 1);
  const uint32_t magnitude = code & ((1u << valueBits) - 1);
  const uint32_t exponent = magnitude >> format.mantissaBits;
  const uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
  const uint32_t greatest = (1u << format.exponentBits) - 1;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (format.special == Ieee && exponent == greatest)
    return mantissa ? nan : negative ? -inf : inf;
  if (format.special == OnlyNan && magnitude == (1u << valueBits) - 1)
    return nan;
  if (format.special == NegativeZeroNan && negative && magnitude == 0)
    return nan;
  // Without a mantissa there is no zero and there are no denormals.
  const bool normal = exponent > 0 || format.mantissaBits == 0;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -format.mantissaBits) + (normal ? 1 : 0);
  const double value = std::ldexp(fraction, (normal ? static_cast<int>(exponent) : 1) - format.bias);
  return negative ? -value : value;
}

// "f32[2,3]"
inline std::string typeText(vx_element_type type, std::span<const int64_t> dims) {
  std::string text = vx_element_type_name(type);
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i == 0 ? "[" : ",") + std::to_string(dims[i]);
  return text + (dims.empty() ? "[]" : "]");
}

// The product of the dims. Throws Error, VX_INVALID_ARGUMENT, if a dim is below 0, if memory holds no such tensor, and
// if the tensor's bytes or strings are not as many as its type and dims state.
inline uint64_t countElements(const Tensor &tensor) {
  auto refuse = [&](const std::string &problem) {
    throw Error(VX_INVALID_ARGUMENT, "compare: " + typeText(tensor.type, tensor.dims) + ": " + problem);
  };
  uint64_t count = 1;
  bool isEmpty = false;
  for (int64_t dim : tensor.dims) {
    if (dim < 0)
      refuse("expected sizes of 0 or more");
    isEmpty |= dim == 0;
    if (dim > 0 && __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count))
      refuse("expected sizes that memory holds");
  }
  if (isEmpty)
    count = 0;
  if (count > uint64_t(1) << 57)
    refuse("expected sizes that memory holds");
  if (tensor.type == VX_STRING) {
    if (tensor.strings.size() != count)
      refuse("expected " + std::to_string(count) + " strings, got " + std::to_string(tensor.strings.size()));
    return count;
  }
  const uint64_t bits = vx_element_type_bits(tensor.type);
  if (bits == 0)
    refuse("expected an element type");
  if (const uint64_t size = (count * bits + 7) / 8; size != tensor.bytes.size())
    refuse("expected " + std::to_string(size) + " bytes, got " + std::to_string(tensor.bytes.size()));
  return count;
}

// The place of an element by its number in row-major order, below the product of `dims`.
inline std::vector<int64_t> indexOf(uint64_t number, std::span<const int64_t> dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    index[i] = static_cast<int64_t>(number % static_cast<uint64_t>(dims[i]));
    number /= static_cast<uint64_t>(dims[i]);
  }
  return index;
}

inline int64_t signExtend(uint64_t value, uint32_t bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

// The calls below take the number of an element below countElements, and check nothing. `bytes` is the first byte of a
// tensor of numbers or bools, so no string.

// The bits of an element, zero-extended.
inline uint64_t elementBits(vx_element_type type, const void *bytes, uint64_t number) {
  const uint32_t bits = vx_element_type_bits(type);
  const auto *first = static_cast<const uint8_t *>(bytes);
  if (bits >= 8) {
    uint64_t value = 0;
    std::memcpy(&value, first + number * (bits / 8), bits / 8);
    return value;
  }
  const uint32_t perByte = 8 / bits;
  return static_cast<uint64_t>(first[number / perByte]) >> (number % perByte * bits) & ((1u << bits) - 1);
}

// An element as a double. 64-bit integers above 2^53 lose their last bits.
inline double elementAsDouble(vx_element_type type, const void *bytes, uint64_t number) {
  const uint64_t bits = elementBits(type, bytes, number);
  if (type == VX_F32)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == VX_F64)
    return std::bit_cast<double>(bits);
  if (const auto format = smallFloat(type))
    return decode(*format, static_cast<uint32_t>(bits));
  if (isSignedInteger(type))
    return static_cast<double>(signExtend(bits, vx_element_type_bits(type)));
  return static_cast<double>(bits);
}

// The shortest text that reads back as the same number: "0.1", "1e-05", "nan", "-inf", "-0".
template <typename Float>
std::string numberText(Float value) {
  char text[64];
  auto write = [&](std::chars_format format) {
    return std::string(text, std::to_chars(text, text + sizeof(text), value, format).ptr);
  };
  if (!std::isfinite(value))
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const std::string scientific = write(std::chars_format::scientific);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  return exponent < -4 || exponent >= 16 ? scientific : write(std::chars_format::fixed);
}

// An element as text: the shortest that reads back as the same value, or "true". A bool that is neither 0 nor 1 is its
// number.
inline std::string elementText(vx_element_type type, const void *bytes, uint64_t number) {
  const uint64_t bits = elementBits(type, bytes, number);
  if (type == VX_BOOL && bits <= 1)
    return bits ? "true" : "false";
  if (type == VX_F64)
    return numberText(std::bit_cast<double>(bits));
  if (isFloat(type))
    return numberText(static_cast<float>(elementAsDouble(type, bytes, number)));
  if (isSignedInteger(type))
    return std::to_string(signExtend(bits, vx_element_type_bits(type)));
  return std::to_string(bits);
}

// The same of a view, which may be of strings: these are 0 as a number, and a text in quotes, in which control
// characters, quotes and backslashes are escaped as in JSON.
inline uint64_t elementBits(const Tensor &tensor, uint64_t number) {
  return tensor.type == VX_STRING ? 0 : elementBits(tensor.type, tensor.bytes.data(), number);
}
inline double elementAsDouble(const Tensor &tensor, uint64_t number) {
  return tensor.type == VX_STRING ? 0 : elementAsDouble(tensor.type, tensor.bytes.data(), number);
}
inline std::string elementText(const Tensor &tensor, uint64_t number) {
  if (tensor.type != VX_STRING)
    return elementText(tensor.type, tensor.bytes.data(), number);
  std::string text = "\"";
  for (const char c : tensor.strings[number]) {
    const auto code = static_cast<unsigned char>(c);
    char escaped[8];
    std::snprintf(escaped, sizeof(escaped), "\\u%04x", code);
    text += code < 0x20 || code == 0x7f ? std::string(escaped)
            : c == '"' || c == '\\'     ? std::string{'\\', c}
                                        : std::string(1, c);
  }
  return text + '"';
}

// The largest magnitude of the finite elements; 0 if there is none. Throws as countElements.
inline double largestMagnitude(const Tensor &tensor) {
  double largest = 0;
  for (uint64_t i = 0, count = countElements(tensor); i < count; ++i)
    if (const double value = std::fabs(elementAsDouble(tensor, i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

} // namespace vx::compare

#endif
