// Types of tensors that files tell of: an element's type and the sizes of dimensions.
#ifndef VX_BASE_TENSOR_TYPE_H
#define VX_BASE_TENSOR_TYPE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vx {

// Bytes of a tensor with elements of so many bits, or nothing when they are more than memory counts, a dim is negative,
// or an element is no whole number of bytes.
std::optional<uint64_t> tensorBytes(uint32_t bits, std::span<const int64_t> dims);

// "f32[2,3]"
std::string tensorTypeText(std::string_view element, std::span<const int64_t> dims);

} // namespace vx

#endif
