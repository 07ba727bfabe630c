// Opens the module file of a command line.
#ifndef VX_TOOLS_LOAD_MODULE_H
#define VX_TOOLS_LOAD_MODULE_H

#include "vx/base/command_files.h"
#include "vx/runtime/vx.hpp"

#include <string>

namespace vx::tools {

// Maps a module file. What is wrong with the file, also that it may not be read, ends the tool with exit code 3.
vx::Module loadModule(const std::string &path);

// The same, and checks that none of the outputs among `files` is the module's file or a file of its weights: a usage
// error. The module's files join `files`.
vx::Module loadModule(const std::string &path, CommandFiles &files);

} // namespace vx::tools

#endif
