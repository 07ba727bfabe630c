// Runs another tool of vx for a part of the work.
#ifndef VX_TOOLS_SIBLING_TOOL_H
#define VX_TOOLS_SIBLING_TOOL_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace vx::tools {

// Where a tool stands that has been built or installed with this one, by its name. Throws a ToolError (exit 1) where it
// is not.
std::string findTool(const std::string &tool);

// Lets the runtime try the vendors' drivers in processes of their own (VX_PROBE), unless the user has said otherwise.
// At the start of a tool, while it has one thread.
void probeDrivers();

// The limits of a tool that another one runs.
struct ToolLimits {
  std::chrono::seconds time{0};                 // 0: as long as it takes
  uint64_t memory = 0;                          // bytes of address space; 0: as much as there is
  const std::atomic<bool> *isStopped = nullptr; // ends it at once
  std::string *output = nullptr;                // gets its standard output; its stderr goes nowhere then
};

// Runs `tool`, a path or the name of a tool that stands beside this one, to its end. Throws a ToolError with its exit
// code and its last error where it fails, and one with exit code 1 where it cannot be started, is ended by a signal or
// goes over a limit. All else that it says goes nowhere. `output` has its text also where it fails. It has none of this
// process's files and sockets, and ends with it.
void runSiblingTool(const std::string &tool, const std::vector<std::string> &arguments, const ToolLimits &limits = {});

} // namespace vx::tools

#endif
