#include "temporary_folder.h"

#include "tool_error.h"

namespace vx::tools {

TemporaryFolder::TemporaryFolder() : folder("vx-bench", error), path(folder.path()) {
  if (path.empty())
    throw workError("cannot make a temporary folder {}", error);
}

} // namespace vx::tools
