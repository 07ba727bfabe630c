#include "load_module.h"

#include "tool_error.h"

namespace vx::tools {

vx::Module loadModule(const std::string &path) {
  try {
    return vx::Module(path);
  } catch (const vx::Error &error) {
    // A folder, or a file that may not be read, is a wrong file and no failure of the work.
    if (error.code() == VX_IO_ERROR)
      throw fileError("{}", error.what());
    throw;
  }
}

} // namespace vx::tools
