#include "vx/base/base64.h"

#include <algorithm>
#include <cstdint>

namespace vx {

static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encodeBase64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? std::to_integer<uint32_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += j <= count ? digits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string decodeBase64(std::string_view text, size_t &end) {
  std::string bytes;
  uint32_t group = 0;
  int bits = 0;
  for (end = 0; end < text.size(); ++end) {
    const char c = text[end];
    const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (digit < 0)
      break;
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8)
      bytes += static_cast<char>(group >> (bits -= 8) & 0xff);
  }
  return bytes;
}

} // namespace vx
