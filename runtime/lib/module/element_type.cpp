#include "module/element_type.h"

#include <fmt/ranges.h>

namespace vx {

namespace {
struct TypeFacts {
  const char *name;
  uint32_t bits;
};
// In the order of the numbers.
constexpr TypeFacts facts[] = {
    {"none", 0},     {"bool", 8},       {"i8", 8},     {"i16", 16},       {"i32", 32},   {"i64", 64}, {"u8", 8},
    {"u16", 16},     {"u32", 32},       {"u64", 64},   {"f16", 16},       {"bf16", 16},  {"f32", 32}, {"f64", 64},
    {"f8E4M3FN", 8}, {"f8E4M3FNUZ", 8}, {"f8E5M2", 8}, {"f8E5M2FNUZ", 8}, {"f8E8M0", 8}, {"i4", 4},   {"u4", 4},
    {"f4E2M1", 4},   {"i2", 2},         {"u2", 2},     {"string", 0},
};
constexpr size_t typeCount = sizeof(facts) / sizeof(facts[0]);
static_assert(typeCount == VX_STRING + 1);
} // namespace

std::optional<vx_element_type> elementTypeOf(int64_t number) {
  if (number <= VX_ELEMENT_NONE || number > VX_STRING)
    return std::nullopt;
  return static_cast<vx_element_type>(number);
}

const char *valueKindName(vx_value_kind kind) {
  switch (kind) {
  case VX_SEQUENCE:
    return "sequence";
  case VX_OPTIONAL:
    return "optional";
  case VX_OPTIONAL_SEQUENCE:
    return "optional sequence";
  default:
    return "tensor";
  }
}

const char *elementTypeName(vx_element_type type) {
  auto number = static_cast<size_t>(type);
  return number < typeCount ? facts[number].name : "unknown";
}

uint32_t elementTypeBits(vx_element_type type) {
  auto number = static_cast<size_t>(type);
  return number < typeCount ? facts[number].bits : 0;
}

bool isPlainNumber(vx_element_type type) { return type >= VX_I8 && type <= VX_F64; }

Status tensorByteSize(vx_element_type type, std::span<const int64_t> dims, uint64_t &size) {
  uint32_t bits = elementTypeBits(type);
  if (bits == 0)
    return failure(VX_UNSUPPORTED, "element type '{}' has no size in bytes", elementTypeName(type));
  // A zero anywhere makes the tensor empty, whatever the other dims multiply to.
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return failure(VX_INVALID_ARGUMENT, "dims [{}] have the negative size {}", fmt::join(dims, ","), dim);
    empty |= dim == 0;
  }
  size = 0;
  if (empty)
    return okStatus();
  uint64_t count = 1;
  constexpr uint64_t limit = uint64_t(1) << 56;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count) || count > limit)
      return failure(VX_INVALID_ARGUMENT, "dims [{}] have more than {} elements", fmt::join(dims, ","), limit);
  size = (count * bits + 7) / 8;
  return okStatus();
}

std::string tensorTypeString(vx_element_type type, std::span<const int64_t> dims) {
  return fmt::format("{}[{}]", elementTypeName(type), fmt::join(dims, ","));
}

} // namespace vx
