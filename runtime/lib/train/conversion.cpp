#include "conversion.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace vx::train {

bool isInteger(vx_element_type type) { return type >= VX_BOOL && type <= VX_U64; }

static bool isWideFloat(vx_element_type type) { return type == VX_F32 || type == VX_F64; }

// Calls `body` with a number of the C++ type of an integer or wide float.
template <typename Body>
static auto withType(vx_element_type type, Body &&body) {
  switch (type) {
  case VX_BOOL:
  case VX_U8:
    return body(uint8_t());
  case VX_I8:
    return body(int8_t());
  case VX_I16:
    return body(int16_t());
  case VX_I32:
    return body(int32_t());
  case VX_I64:
    return body(int64_t());
  case VX_U16:
    return body(uint16_t());
  case VX_U32:
    return body(uint32_t());
  case VX_F32:
    return body(float());
  case VX_F64:
    return body(double());
  default:
    return body(uint64_t());
  }
}

__int128 integerAt(vx_element_type type, const std::byte *place) {
  return withType(type, [place]<typename T>(T value) -> __int128 {
    std::memcpy(&value, place, sizeof(value));
    return static_cast<__int128>(value);
  });
}

bool converts(vx_element_type from, vx_element_type to) {
  return from == to || (isInteger(from) && isInteger(to) && to != VX_BOOL) || (isWideFloat(from) && isWideFloat(to));
}

bool mayLose(vx_element_type from, vx_element_type to) {
  if (from == to)
    return false;
  if (!isInteger(from))
    return from == VX_F64;
  return withType(from, [to]<typename From>(From) {
    return withType(to, []<typename To>(To) {
      if constexpr (std::is_integral_v<From> && std::is_integral_v<To>)
        return !std::in_range<To>(std::numeric_limits<From>::min()) ||
               !std::in_range<To>(std::numeric_limits<From>::max());
      else
        return false;
    });
  });
}

// False where `To` does not hold it.
template <typename To, typename From>
static bool convertOne(From value, To &result) {
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    result = static_cast<To>(value);
    return std::in_range<To>(value);
  } else {
    // What is beyond the largest float becomes infinite, as IEEE 754 has it.
    result = static_cast<To>(value);
    return std::isinf(static_cast<double>(result)) == std::isinf(static_cast<double>(value));
  }
}

uint64_t convert(vx_element_type from, const std::byte *source, vx_element_type to, std::byte *target, uint64_t count) {
  return withType(from, [&]<typename From>(From value) {
    return withType(to, [&]<typename To>(To result) {
      for (uint64_t i = 0; i < count; ++i) {
        std::memcpy(&value, source + i * sizeof(From), sizeof(From));
        if (!convertOne(value, result))
          return i;
        std::memcpy(target + i * sizeof(To), &result, sizeof(To));
      }
      return count;
    });
  });
}

std::string elementText(vx_element_type type, const std::byte *place) {
  return withType(type, [place]<typename T>(T value) {
    std::memcpy(&value, place, sizeof(value));
    if constexpr (sizeof(T) == 1)
      return fmt::format("{}", static_cast<int>(value));
    else
      return fmt::format("{}", value);
  });
}

std::string rangeText(vx_element_type type) {
  return withType(type, []<typename T>(T) {
    if constexpr (std::is_integral_v<T>)
      return fmt::format("{} to {}", +std::numeric_limits<T>::min(), +std::numeric_limits<T>::max());
    else
      return fmt::format("{:.9g} to {:.9g}", std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
  });
}

} // namespace vx::train
