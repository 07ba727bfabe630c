// Bytes as text, by RFC 4648.
#ifndef VX_BASE_BASE64_H
#define VX_BASE_BASE64_H

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace vx {

// With its padding.
std::string encodeBase64(std::span<const std::byte> bytes);

// The whole bytes of the digits before the first character that is none. `end` is that one's place, where a padding may
// begin, or the size of the text.
std::string decodeBase64(std::string_view text, size_t &end);

} // namespace vx

#endif
