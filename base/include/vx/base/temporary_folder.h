// A place for files that end with the process.
#ifndef VX_BASE_TEMPORARY_FOLDER_H
#define VX_BASE_TEMPORARY_FOLDER_H

#include <string>

namespace vx {

// A folder PREFIX-XXXXXX.locked in TMPDIR or /tmp; removed with what is in it. It is locked before it has that name, so
// that those of killed processes can be told from those in use: the next one with the prefix removes them.
class TemporaryFolder {
public:
  // With a path, or with an empty one and the reason in `error`: "'/tmp/vx-link-new-XXXXXX': Not a directory".
  TemporaryFolder(const std::string &prefix, std::string &error);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return folder; }

private:
  std::string folder;
  int lock = -1;
};

} // namespace vx

#endif
