// Which target a tool compiles a model for that it is about to run, and what the compiler says meanwhile.
#ifndef VX_TOOLS_COMPILE_TARGETS_H
#define VX_TOOLS_COMPILE_TARGETS_H

#include "compiler_library.h"

#include <mutex>
#include <string>

namespace vx::tools {

// The target of the first device of the usual order that is there, or of the one that is asked for, with the CPU behind
// it where a refused one is no error. Names between commas. Where the compiler was built without the target of the
// device, `tool` prints a note and compiles for the CPU; with `noFallback` that is an error.
std::string targetsFor(const char *tool, const CompilerLibrary &compiler, const std::string &device, bool noFallback);

// Notes and warnings go to stderr as they come; the last error is kept, for it ends the tool.
struct CompilerMessages {
  const char *tool;
  std::mutex mutex = {};
  std::string lastError = {};

  void say(vxc_severity severity, const char *text);
};

} // namespace vx::tools

#endif
