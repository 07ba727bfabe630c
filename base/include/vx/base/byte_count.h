// Numbers of bytes as people write them.
#ifndef VX_BASE_BYTE_COUNT_H
#define VX_BASE_BYTE_COUNT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vx {

// "4096", "512K", "64M", "2G" or "8MiB", each letter for 1024 of the one before; nothing where it is none of that, or
// more than 64 bits have.
std::optional<uint64_t> parseByteCount(std::string_view text);

// "8MiB", in the greatest unit that it is a whole number of; "4095" in none.
std::string byteCountText(uint64_t bytes);

// "1.2 MiB", rounded, for people to read; "512 bytes" where there is nothing to round.
std::string roundedByteCount(uint64_t bytes);

} // namespace vx

#endif
