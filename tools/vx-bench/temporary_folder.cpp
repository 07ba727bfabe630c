#include "temporary_folder.h"

#include "tool_error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace vx::tools {

TemporaryFolder::TemporaryFolder() {
  const char *parent = std::getenv("TMPDIR");
  std::string pattern = std::string(parent && *parent ? parent : "/tmp") + "/vx-bench-XXXXXX";
  if (!::mkdtemp(pattern.data()))
    throw workError("cannot make a temporary folder '{}': {}", pattern, std::strerror(errno));
  path = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

} // namespace vx::tools
