// In a build without the compiler.
#include "compile_model.h"

#include "tool_error.h"

namespace vx::tools {

CompiledModel compileModel(const char *tool, const std::string &path, const ModelOptions &) {
  throw fileError("'{}' is no module (.vxm), and this {} was built without the compiler: want a module that vx-compile "
                  "--train has made",
                  path, tool);
}

} // namespace vx::tools
