// The compiler's library, opened when a tool that runs modules is given a model: these tools need no LLVM until then.
#ifndef VX_TOOLS_COMPILER_LIBRARY_H
#define VX_TOOLS_COMPILER_LIBRARY_H

#include "vx/compiler/vxc.h"

#include <string>

namespace vx::tools {

// The functions of vxc.h that tools call.
struct CompilerLibrary {
  decltype(&::vxc_compile) compile = nullptr;
  decltype(&::vxc_compile_bytes) compileBytes = nullptr;
  decltype(&::vxc_module_data) moduleData = nullptr;
  decltype(&::vxc_module_size) moduleSize = nullptr;
  decltype(&::vxc_module_release) moduleRelease = nullptr;
  decltype(&::vxc_version) version = nullptr;
  decltype(&::vxc_targets) targets = nullptr;
  std::string file; // the compiler's code
};

// Opens libvx_compiler.so.0 where the loader finds it: beside the runtime's library, or as VX_COMPILER_LIBRARY says. It
// stays open until the process ends. Throws a ToolError (exit 3) that names `model`, which is to be compiled, and the
// reason. Thread-safe.
const CompilerLibrary &openCompiler(const std::string &model);

} // namespace vx::tools

#endif
