// Every device there is, or why there is none.
#ifndef VX_TOOLS_PRINT_DEVICES_H
#define VX_TOOLS_PRINT_DEVICES_H

#include <string>

namespace vx::tools {

// On standard output, for people or as vx_list_devices has it. `tool` is the name for warnings.
void printDevices(const char *tool, bool asJson);

// What printDevices has another process do: a line for each device of a list ("cuda:0,cuda:1") that tells its free
// memory.
void printFreeMemory(const std::string &devices);

} // namespace vx::tools

#endif
