#include "vx/base/host_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace vx {

// "   20971520 kB"
static std::optional<uint64_t> bytesOf(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t kib = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), kib).ec != std::errc() || kib > UINT64_MAX / 1024)
    return std::nullopt;
  return kib * 1024;
}

HostMemory findHostMemory(const std::string &root) {
  HostMemory memory;
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = line;
    if (constexpr std::string_view key = "MemTotal:"; text.starts_with(key))
      memory.total = bytesOf(text.substr(key.size()));
    if (constexpr std::string_view key = "MemAvailable:"; text.starts_with(key))
      memory.available = bytesOf(text.substr(key.size()));
  }
  return memory;
}

} // namespace vx
