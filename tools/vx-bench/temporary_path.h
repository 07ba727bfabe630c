// Where files lie that end with the process.
#ifndef VX_BENCH_TEMPORARY_PATH_H
#define VX_BENCH_TEMPORARY_PATH_H

#include <cstdlib>
#include <string>

namespace vx::tools {

// A pattern for mkstemp or mkdtemp, in TMPDIR or /tmp.
inline std::string temporaryPattern(const char *name) {
  const char *folder = std::getenv("TMPDIR");
  return std::string(folder && *folder ? folder : "/tmp") + "/" + name + "-XXXXXX";
}

} // namespace vx::tools

#endif
