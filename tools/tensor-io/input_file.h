// Regular files that are read.
#ifndef VX_TOOLS_INPUT_FILE_H
#define VX_TOOLS_INPUT_FILE_H

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace vx::tools {

struct CloseFile {
  void operator()(std::FILE *file) const { std::fclose(file); }
};

// Throw a ToolError (exit 3) that names the file and the reason.
std::unique_ptr<std::FILE, CloseFile> openFile(const std::string &path);
std::vector<uint8_t> readFile(const std::string &path);

} // namespace vx::tools

#endif
