// Whole files in memory.
#ifndef VX_TOOLS_INPUT_FILE_H
#define VX_TOOLS_INPUT_FILE_H

#include <cstdint>
#include <string>
#include <vector>

namespace vx::tools {

// Throws a ToolError (exit 3) that names the file and the reason.
std::vector<uint8_t> readFile(const std::string &path);

} // namespace vx::tools

#endif
