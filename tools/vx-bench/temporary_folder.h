// A place for files that end with the process.
#ifndef VX_BENCH_TEMPORARY_FOLDER_H
#define VX_BENCH_TEMPORARY_FOLDER_H

#include <filesystem>

namespace vx::tools {

// In TMPDIR or /tmp; removed with what is in it.
class TemporaryFolder {
public:
  // Throws a ToolError (exit 1) that names the folder and the reason.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::filesystem::path path;
};

} // namespace vx::tools

#endif
