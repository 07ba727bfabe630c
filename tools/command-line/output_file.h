// Files that are either whole or not there.
#ifndef VX_TOOLS_OUTPUT_FILE_H
#define VX_TOOLS_OUTPUT_FILE_H

#include <span>
#include <string>
#include <string_view>

#include <cstdint>

namespace vx::tools {

// Writes beside the name and renames when the bytes are on the disk. What is no regular file (a pipe, a device) is
// written in place. Throws a ToolError (exit 1) that names the file and the reason, and leaves nothing half-written.
void writeFile(const std::string &path, std::span<const uint8_t> bytes);
void writeFile(const std::string &path, std::string_view text);

} // namespace vx::tools

#endif
