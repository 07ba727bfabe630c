// Facts about element types. The numbers are those of the module file.
#ifndef VX_RUNTIME_MODULE_ELEMENT_TYPE_H
#define VX_RUNTIME_MODULE_ELEMENT_TYPE_H

#include "base/status.h"
#include "vx/abi/limits.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vx {

// Rank limit of every tensor, so that a damaged count cannot make the runtime allocate.
inline constexpr uint32_t maxRank = VX_MAX_RANK;

// The type that has this number in a file; none when it is no type's.
std::optional<vx_element_type> elementTypeOf(int64_t number);

// "f32"; "unknown" for a number that is no type.
const char *elementTypeName(vx_element_type type);
const char *valueKindName(vx_value_kind kind);

// 0 for None, String and unknown numbers.
uint32_t elementTypeBits(vx_element_type type);

// Bytes of a dense tensor; packed types round up. Fails for negative dims, for types without a size, and beyond 2^62
// bytes.
Status tensorByteSize(vx_element_type type, std::span<const int64_t> dims, uint64_t &size);

// Whether elements are integers of a byte or more, or floats of two or more.
bool isPlainNumber(vx_element_type type);

// What a program has in the place of elements of a type: numbers of strings, else the elements themselves.
inline vx_element_type storedType(vx_element_type type) { return type == VX_STRING ? VX_I32 : type; }

// "f32[2,3]"
std::string tensorTypeString(vx_element_type type, std::span<const int64_t> dims);

} // namespace vx

#endif
