// The machine that a tool runs on.
#ifndef VX_TOOLS_HOST_FACTS_H
#define VX_TOOLS_HOST_FACTS_H

#include <cstdint>
#include <optional>
#include <string>

namespace vx::tools {

// How the files below `root` show that the process runs in a container: "docker (/.dockerenv)"; empty where none does.
std::string findContainer(const std::string &root = "");

// The bytes that programs can still take without swapping, by `root`/proc/meminfo; none where it does not say.
std::optional<uint64_t> findFreeMemory(const std::string &root = "");

} // namespace vx::tools

#endif
