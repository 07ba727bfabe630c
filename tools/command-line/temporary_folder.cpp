#include "temporary_folder.h"

#include "tool_error.h"

namespace vx::tools {

TemporaryFolder::TemporaryFolder(const std::string &tool) : folder(tool, error), path(folder.path()) {
  if (path.empty())
    throw workError("cannot make a temporary folder {}", error);
}

} // namespace vx::tools
