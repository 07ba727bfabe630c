#include "process_facts.h"

#include "vx/runtime/vx.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace vx::serve {

std::string_view versionNumber() {
  std::string_view text = vx_version();
  text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  return text.substr(0, text.find(' '));
}

uint64_t memoryOfProcess() {
  uint64_t most = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto limitBy = [&](const std::filesystem::path &file) {
    std::ifstream text(file);
    if (uint64_t bytes = 0; text >> bytes) // "max" is no number
      most = std::min(most, bytes);
  };
  // "0::/system.slice/vx-serve.service" of the second version, which counts in all groups above too; of the first one
  // "5:memory:/docker/1234".
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool isFirstVersion = controllers == "memory";
    if (!isFirstVersion && !controllers.empty())
      continue;
    const std::filesystem::path root = isFirstVersion ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    for (std::filesystem::path group = line.substr(second + 1);; group = group.parent_path()) {
      limitBy(root / group.relative_path() / (isFirstVersion ? "memory.limit_in_bytes" : "memory.max"));
      if (!group.has_relative_path())
        break;
    }
  }
  return most;
}

std::vector<Metrics::Gauge> processGauges() {
  std::vector<Metrics::Gauge> gauges;
  rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval &time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    gauges.push_back({"process_cpu_seconds_total", "Time that all threads have computed for, the system's included.",
                      seconds(usage.ru_utime) + seconds(usage.ru_stime)});
  }
  std::ifstream sizes("/proc/self/statm");
  uint64_t whole = 0, resident = 0;
  if (sizes >> whole >> resident)
    gauges.push_back({"process_resident_memory_bytes", "Memory of the process that is not paged out.",
                      static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE))});
  std::error_code error;
  double descriptors = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error))
    ++descriptors;
  if (!error)
    // One of them is that of the list.
    gauges.push_back({"process_open_fds", "Descriptors that are open.", descriptors - 1});
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    gauges.push_back({"process_max_fds", "Descriptors that may be open.", static_cast<double>(limit.rlim_cur)});
  return gauges;
}

} // namespace vx::serve
