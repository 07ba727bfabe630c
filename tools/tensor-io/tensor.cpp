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

using compare::decode;
using compare::smallFloat;
using compare::SmallFloat;
using Special = SmallFloat::Special;

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
  if (format.special == Special::Ieee && std::isinf(magnitude))
    return sign | inf;
  const uint32_t largest = format.special == Special::Ieee      ? inf - 1
                           : format.special == Special::OnlyNan ? codes - 2
                                                                : codes - 1;
  const uint32_t code = roundToCode(format, magnitude, largest);
  if (format.special == Special::NegativeZeroNan && code == 0)
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

compare::Tensor view(const Tensor &tensor) {
  return {
      tensor.type, tensor.dims, std::as_bytes(std::span(tensor.bytes)), {tensor.strings.begin(), tensor.strings.end()}};
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

double elementAsDouble(const Tensor &tensor, uint64_t index) {
  return tensor.type == VX_STRING ? 0 : compare::elementAsDouble(tensor.type, tensor.bytes.data(), index);
}

std::string elementText(const Tensor &tensor, uint64_t index) {
  if (tensor.type == VX_STRING)
    return printableLine(vx::jsonText(nlohmann::json(tensor.strings[index])));
  return compare::elementText(tensor.type, tensor.bytes.data(), index);
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
  setElementBits(to, place, compare::elementBits(from.type, from.bytes.data(), index));
}

std::string typeText(vx_element_type type, const std::vector<int64_t> &dims) {
  return tensorTypeText(vx_element_type_name(type), dims);
}

} // namespace vx::tools
