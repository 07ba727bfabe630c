// The machine that a tool runs on.
#ifndef VX_TOOLS_HOST_FACTS_H
#define VX_TOOLS_HOST_FACTS_H

#include <cstdint>
#include <optional>
#include <string>

namespace vx::tools {

// How the files below `root` show that the process runs in a container: "docker (/.dockerenv)"; empty where none does.
std::string findContainer(const std::string &root = "");

// The limits of the process's control group and of those above it, by the files below `root`; none: no limit.
struct GroupLimits {
  std::optional<uint64_t> memory; // bytes
  std::optional<double> cores;    // of processor time in a second
};
GroupLimits findGroupLimits(const std::string &root = "");

// The limits that the system sets to this process; none: no limit.
struct ProcessLimits {
  std::optional<uint64_t> openFiles;
  std::optional<uint64_t> lockedMemory; // bytes
  std::optional<uint64_t> addressSpace; // bytes
};
ProcessLimits findProcessLimits();

} // namespace vx::tools

#endif
