#include "vx/base/byte_count.h"

#include <charconv>
#include <cstdio>
#include <iterator>

namespace vx {

static constexpr std::string_view units = "KMG";

std::optional<uint64_t> parseByteCount(std::string_view text) {
  unsigned shift = 0;
  if (text.size() > 2 && text.ends_with("iB") && units.find(text[text.size() - 3]) != std::string_view::npos)
    text.remove_suffix(2); // 512MiB is 512M
  if (const size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
      unit != std::string_view::npos) {
    shift = 10 * static_cast<unsigned>(unit + 1);
    text.remove_suffix(1);
  }
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > UINT64_MAX >> shift)
    return std::nullopt;
  return number << shift;
}

std::string byteCountText(uint64_t bytes) {
  size_t unit = 0;
  for (; unit < units.size() && bytes != 0 && bytes % 1024 == 0; ++unit)
    bytes /= 1024;
  return std::to_string(bytes) + (unit == 0 ? "" : std::string(1, units[unit - 1]) + "iB");
}

std::string roundedByteCount(uint64_t bytes) {
  static constexpr const char *names[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " bytes";
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(names); ++unit)
    size /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", size, names[unit]);
  return text;
}

} // namespace vx
