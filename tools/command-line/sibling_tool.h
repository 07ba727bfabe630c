// Runs another tool of vx for a part of the work.
#ifndef VX_TOOLS_SIBLING_TOOL_H
#define VX_TOOLS_SIBLING_TOOL_H

#include <string>
#include <vector>

namespace vx::tools {

// Where a tool stands that has been built or installed with this one, by its name. Throws a ToolError (exit 1) where it
// is not.
std::string findTool(const std::string &tool);

// Runs `tool`, a path or the name of a tool that stands beside this one, to its end. Throws a ToolError with its exit
// code and its last error where it fails, and one with exit code 1 where it cannot be started or is ended by a signal.
// What else it says goes nowhere.
void runSiblingTool(const std::string &tool, const std::vector<std::string> &arguments);

} // namespace vx::tools

#endif
