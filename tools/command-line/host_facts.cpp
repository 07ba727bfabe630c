#include "host_facts.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

namespace vx::tools {

std::string findContainer(const std::string &root) {
  using Trace = std::pair<std::string_view, std::string_view>;
  std::error_code error;
  for (const auto &[name, file] : std::array{Trace("docker", "/.dockerenv"), Trace("podman", "/run/.containerenv")})
    if (std::filesystem::exists(root + std::string(file), error))
      return std::string(name) + " (" + std::string(file) + ")";
  // A path of the first process's control group names the program that made the container.
  std::ifstream file(root + "/proc/1/cgroup");
  for (std::string line; std::getline(file, line);)
    for (const std::string_view name : {"kubepods", "docker", "containerd", "libpod", "lxc"})
      if (line.find(name) != std::string::npos)
        return std::string(name) + " (/proc/1/cgroup)";
  return {};
}

std::optional<uint64_t> findFreeMemory(const std::string &root) {
  std::ifstream file(root + "/proc/meminfo");
  constexpr std::string_view key = "MemAvailable:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key))
      continue;
    const size_t begin = line.find_first_not_of(' ', key.size());
    uint64_t kib = 0;
    if (begin == std::string::npos ||
        std::from_chars(line.data() + begin, line.data() + line.size(), kib).ec != std::errc() ||
        kib > UINT64_MAX / 1024)
      return std::nullopt;
    return kib * 1024;
  }
  return std::nullopt;
}

} // namespace vx::tools
