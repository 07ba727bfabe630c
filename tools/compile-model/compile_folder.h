// A folder with a model of embeddings as a module file, compiled when it is first used.
#ifndef VX_TOOLS_COMPILE_FOLDER_H
#define VX_TOOLS_COMPILE_FOLDER_H

#include <string>

namespace vx::tools {

// The path of a module that vx-compile would make of `folder` for the device, in "models" of the folder of compiled
// kernels: that of an earlier use, where neither the folder's files nor the compiler have changed since. Modules of
// what the folder had before are removed. Throws a ToolError as vx-compile ends; where there is no compiler,
// it says so.
std::string compileFolder(const char *tool, const std::string &folder, const std::string &device, bool noFallback);

} // namespace vx::tools

#endif
