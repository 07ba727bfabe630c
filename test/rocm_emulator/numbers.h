// The number types of the hardware over those of the host.
#ifndef VX_TEST_ROCM_EMULATOR_NUMBERS_H
#define VX_TEST_ROCM_EMULATOR_NUMBERS_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

namespace vx::rocm_emulator {

inline std::string hexadecimal(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

inline float halfToFloat(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
// Rounds to even.
inline uint16_t floatToHalf(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

// To f32 so that another rounding, to fewer bits, is as if there had been one only: a result that is not exact is odd.
inline float roundToOdd(double value) {
  const float rounded = static_cast<float>(value);
  if (rounded == value || std::isnan(value) || std::isinf(rounded))
    return std::isinf(rounded) && !std::isinf(value) ? std::copysign(std::numeric_limits<float>::max(), rounded)
                                                     : rounded;
  auto bits = std::bit_cast<uint32_t>(rounded);
  if (!(bits & 1))
    bits += std::abs(static_cast<double>(rounded)) > std::abs(value) ? -1 : 1;
  return std::bit_cast<float>(bits);
}
// a * b + c, rounded to f64 so that another rounding is as if there had been one only. The product of two f32 numbers
// is exact in f64; what is lost of the sum makes it odd.
inline double fusedToOdd(float a, float b, float c) {
  const double product = double(a) * b, sum = product + c;
  const double lost = std::abs(product) > std::abs(c) ? c - (sum - product) : product - (sum - c);
  auto bits = std::bit_cast<uint64_t>(sum);
  if (lost != 0 && std::isfinite(sum) && !(bits & 1))
    bits += (lost > 0) == (sum > 0) ? 1 : -1;
  return std::bit_cast<double>(bits);
}
// ... with one rounding once it is rounded to f16.
inline float fusedToHalf(float a, float b, float c) { return roundToOdd(fusedToOdd(a, b, c)); }

inline float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
inline uint16_t floatToBfloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value != value ? (bits >> 16 | 0x40) : rounded);
}

// The smaller and the larger of two: a number where the other is not one, and -0 is below 0.
template <typename Float>
Float smaller(Float a, Float b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <typename Float>
Float larger(Float a, Float b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
template <typename Float>
Float middle(Float a, Float b, Float c) {
  if (a != a || b != b || c != c)
    return smaller(smaller(a, b), c);
  return larger(smaller(a, b), smaller(larger(a, b), c));
}

// Towards zero; what is outside becomes the nearest that there is, and NaN 0.
template <typename Int, typename Float>
Int toInteger(Float value) {
  constexpr auto least = static_cast<Float>(std::numeric_limits<Int>::min());
  // The first above all: a power of two, exact in each type.
  constexpr auto end = static_cast<Float>(uint64_t(1) << (std::numeric_limits<Int>::digits - 1)) * 2;
  if (value != value)
    return 0;
  if (value >= end)
    return std::numeric_limits<Int>::max();
  return value <= least ? std::numeric_limits<Int>::min() : static_cast<Int>(value);
}

// Bits of the classes of v_cmp_class_*.
template <typename Float, typename Bits>
uint32_t classOf(Bits bits, unsigned mantissaBits) {
  constexpr unsigned width = 8 * sizeof(Bits);
  const bool negative = bits >> (width - 1);
  const Bits mantissa = bits & ((Bits(1) << mantissaBits) - 1);
  const Bits largest = (Bits(1) << (width - 1 - mantissaBits)) - 1, exponent = bits >> mantissaBits & largest;
  if (exponent == largest && mantissa != 0)
    return mantissa >> (mantissaBits - 1) ? 2 : 1;
  if (exponent == largest)
    return negative ? 4 : 512;
  if (exponent != 0)
    return negative ? 8 : 256;
  if (mantissa != 0)
    return negative ? 16 : 128;
  return negative ? 32 : 64;
}

} // namespace vx::rocm_emulator

#endif
