#include "lossy_image.h"

#include <algorithm>
#include <string_view>

namespace vx::tools {

using std::string_view_literals::operator""sv;

static uint64_t numberAt(std::string_view file, size_t offset, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; ++i)
    number = number << 8 | static_cast<uint8_t>(file[offset + i]);
  return number;
}

// The markers of a codestream up to its first tile: sizes, then how it is coded, in any order.
static bool losesInWavelet(std::string_view stream) {
  for (size_t at = 2; at + 4 <= stream.size();) {
    const uint64_t marker = numberAt(stream, at, 2), length = numberAt(stream, at + 2, 2);
    if (marker == 0xff90) // a tile
      return false;
    if (marker == 0xff52) // its last byte but for sizes of precincts
      return at + 14 <= stream.size() && stream[at + 13] == 0;
    at += 2 + length;
  }
  return false;
}

// RIFF's chunks. Those of an animation's frames lie in others.
static bool losesInWebp(std::string_view chunks) {
  while (chunks.size() >= 8) {
    const std::string_view name = chunks.substr(0, 4);
    uint64_t size = 0;
    for (size_t i = 4; i-- > 0;)
      size = size << 8 | static_cast<uint8_t>(chunks[4 + i]);
    chunks.remove_prefix(8);
    if (name == "VP8 " ||
        (name == "ANMF" && chunks.size() > 16 && losesInWebp(chunks.substr(16, size - std::min<uint64_t>(size, 16)))))
      return true;
    chunks.remove_prefix(std::min<uint64_t>(size + size % 2, chunks.size()));
  }
  return false;
}

bool isLossyImage(std::span<const uint8_t> bytes) {
  const std::string_view file(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (file.starts_with("\xff\xd8\xff"))
    return true;
  if (file.starts_with("RIFF") && file.size() >= 12 && file.substr(8, 4) == "WEBP")
    return losesInWebp(file.substr(12));
  const bool isJp2 = file.starts_with("\0\0\0\x0cjP  "sv);
  const size_t stream = isJp2 || file.starts_with("\xff\x4f") ? file.find("\xff\x4f\xff\x51") : std::string_view::npos;
  return stream != std::string_view::npos && losesInWavelet(file.substr(stream));
}

} // namespace vx::tools
