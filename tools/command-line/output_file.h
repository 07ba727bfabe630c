// Files that are either whole or not there.
#ifndef VX_TOOLS_OUTPUT_FILE_H
#define VX_TOOLS_OUTPUT_FILE_H

#include <span>
#include <string>
#include <string_view>

#include <cstdint>

namespace vx::tools {

// Writes beside the name and renames when the bytes are on the disk; partial files of killed processes in the folder
// are removed. /dev/stdout and its like are written where they stand, and a device in place. Throws a ToolError that
// names the file and the reason, and leaves nothing half-written: exit 2 for a folder, a pipe or a socket, else exit 1.
void writeFile(const std::string &path, std::span<const uint8_t> bytes);
void writeFile(const std::string &path, std::string_view text);

} // namespace vx::tools

#endif
