// In a build without the compiler.
#include "compile_folder.h"

#include "tool_error.h"

namespace vx::tools {

std::string compileFolder(const char *tool, const std::string &folder, const std::string &, bool) {
  throw fileError(
      "'{}' is a folder, and this {} was built without the compiler: want a module (.vxm) that vx-compile has "
      "made of it",
      folder, tool);
}

} // namespace vx::tools
