// A place for files that end with the process.
#ifndef VX_TOOLS_TEMPORARY_FOLDER_H
#define VX_TOOLS_TEMPORARY_FOLDER_H

#include "vx/base/temporary_folder.h"

#include <filesystem>
#include <string>

namespace vx::tools {

// In TMPDIR or /tmp; removed with what is in it, and by the next one where the process was killed.
class TemporaryFolder {
public:
  // `tool` begins its name. Throws a ToolError (exit 1) that names the reason.
  explicit TemporaryFolder(const std::string &tool);

private:
  std::string error;
  vx::TemporaryFolder folder;

public:
  const std::filesystem::path path;
};

} // namespace vx::tools

#endif
