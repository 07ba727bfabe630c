#include "exec/rounding.h"

#include <bit>
#include <cmath>

namespace vx {

// A NaN stays one: a quiet one.
uint16_t roundToBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

uint16_t roundToF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t size = bits & 0x7FFFFFFF;
  if (size > 0x7F800000)
    return static_cast<uint16_t>(sign | 0x7E00 | (size >> 13 & 0x1FF));
  if (size >= 0x477FF000) // 65520, in the middle between the largest number and what would be the next one
    return sign | 0x7C00;
  // Below 2^-14 numbers are multiples of 2^-24, as those of f32 between 0.5 and 1.
  if (size < 0x38800000)
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3F000000));
  return static_cast<uint16_t>(sign | ((size + 0xFFF + (size >> 13 & 1) - 0x38000000) >> 13));
}

float widenBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

float widenF16(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, size = bits & 0x7FFF;
  if (size >= 0x7C00)
    return std::bit_cast<float>(sign | 0x7F800000 | (size & 0x3FF) << 13);
  const float number = std::ldexp(std::bit_cast<float>(size << 13), 112); // the exponents' distance
  return sign ? -number : number;
}

} // namespace vx
