#include "host_facts.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/resource.h>
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

template <typename T>
static std::optional<T> numberOf(std::string_view text) {
  T number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc() || number < 0)
    return std::nullopt;
  return number;
}

static std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

template <typename T>
static void takeLess(std::optional<T> &least, std::optional<T> limit) {
  if (limit && (!least || *limit < *least))
    least = limit;
}

// The second version: "max", or a number of bytes; and "max 100000", or microseconds in a period.
static void readGroup(const std::string &folder, GroupLimits &limits) {
  takeLess(limits.memory, numberOf<uint64_t>(firstLine(folder + "/memory.max")));
  const std::string cpu = firstLine(folder + "/cpu.max");
  const size_t space = cpu.find(' ');
  if (space == std::string::npos)
    return;
  const std::optional<double> quota = numberOf<double>(cpu), period = numberOf<double>(cpu.substr(space + 1));
  if (quota && period && *period > 0)
    takeLess(limits.cores, std::optional(*quota / *period));
}

// The first version, in which "no limit" is a number of bytes that no machine has.
static void readOldMemory(const std::string &folder, GroupLimits &limits) {
  constexpr uint64_t none = uint64_t(1) << 60;
  if (const auto bytes = numberOf<uint64_t>(firstLine(folder + "/memory.limit_in_bytes")); bytes && *bytes < none)
    takeLess(limits.memory, bytes);
}
static void readOldCpu(const std::string &folder, GroupLimits &limits) {
  const auto quota = numberOf<double>(firstLine(folder + "/cpu.cfs_quota_us")); // -1: none
  const auto period = numberOf<double>(firstLine(folder + "/cpu.cfs_period_us"));
  if (quota && period && *period > 0)
    takeLess(limits.cores, std::optional(*quota / *period));
}

GroupLimits findGroupLimits(const std::string &root) {
  GroupLimits limits;
  // "0::/user.slice", or "4:cpu,cpuacct:/docker/1".
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const bool isMemory = controllers.find(",memory,") != std::string::npos;
    const bool isCpu = controllers.find(",cpu,") != std::string::npos;
    const bool isNew = controllers == ",,";
    if (!isNew && !isMemory && !isCpu)
      continue;
    const std::string base = root + "/sys/fs/cgroup" + (isNew ? "" : isMemory ? "/memory" : "/cpu");
    // In a container the path may be that of the host: then the folders that are there say what is known.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/")
        path.clear();
      if (isNew)
        readGroup(base + path, limits);
      else if (isMemory)
        readOldMemory(base + path, limits);
      else
        readOldCpu(base + path, limits);
      if (path.empty() || path.find('/') == std::string::npos)
        break;
    }
  }
  return limits;
}

ProcessLimits findProcessLimits() {
  const auto limitOf = [](auto resource) -> std::optional<uint64_t> {
    rlimit limit = {};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
      return std::nullopt;
    return limit.rlim_cur;
  };
  return {limitOf(RLIMIT_NOFILE), limitOf(RLIMIT_MEMLOCK), limitOf(RLIMIT_AS)};
}

} // namespace vx::tools
