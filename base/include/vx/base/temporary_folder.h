// A place for files that end with the process.
#ifndef VX_BASE_TEMPORARY_FOLDER_H
#define VX_BASE_TEMPORARY_FOLDER_H

#include <string>

namespace vx {

// A folder PREFIX-XXXXXX.locked in TMPDIR, or /tmp or /dev/shm; removed with what is in it. It is locked before it has
// that name, so that those of killed processes can be told from those in use: the next one with the prefix removes
// them.
class TemporaryFolder {
public:
  // Where a folder is made when TMPDIR names no place. Memory: in /dev/shm where that is a file system in memory that
  // can be written, else in /tmp.
  enum class Place { Disk, Memory };

  // With a path, or with an empty one and the reason in `error`: "'/tmp/vx-link-new-XXXXXX': Not a directory".
  TemporaryFolder(const std::string &prefix, std::string &error, Place place = Place::Disk);
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
