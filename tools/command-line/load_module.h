// Opens the module file of a command line.
#ifndef VX_TOOLS_LOAD_MODULE_H
#define VX_TOOLS_LOAD_MODULE_H

#include "vx/runtime/vx.hpp"

#include <string>

namespace vx::tools {

// Maps a module file. What is wrong with the file, also that it may not be read, ends the tool with exit code 3.
vx::Module loadModule(const std::string &path);

} // namespace vx::tools

#endif
