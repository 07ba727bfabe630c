// Files that are either whole or not there, also after the end of the process in the middle.
#ifndef VX_BASE_PARTIAL_FILE_H
#define VX_BASE_PARTIAL_FILE_H

#include <span>
#include <string>

#include <cstddef>

namespace vx {

// A file that is written beside its name, as NAME.vx-XXXXXX.partial, and renamed when the bytes are on the disk. It is
// locked until then, so that what a killed process has left can be told from what is being written, see
// removeLeftoverFiles.
class PartialFile {
public:
  PartialFile() = default;
  PartialFile(const PartialFile &) = delete;
  PartialFile &operator=(const PartialFile &) = delete;
  // Leaves nothing of a file that has not been committed.
  ~PartialFile();

  // 0, or the error number. `path` must not be a folder, a pipe or a device: the rename would replace it.
  int open(const std::string &path);

  // 0, or the error number. All of it, also where the system takes a part at a time.
  int write(const void *data, size_t size);

  // Gives the file its name. `error` says what failed: "cannot write 'm.vxm': No space left on device".
  bool commit(std::string &error) {
    PartialFile *const files[] = {this};
    return commitAll(files, error);
  }

  // Gives several files their names, in order. Where one cannot be given, those before it become again what they were.
  static bool commitAll(std::span<PartialFile *const> files, std::string &error);

  int descriptor() const { return file; }
  const std::string &temporaryName() const { return temporary; }

private:
  bool finish(std::string &error);
  void keepOld();
  void restoreOld();
  void forgetOld();
  void discard();

  std::string path, temporary;
  int file = -1;
  bool isRenamed = false;
  // What stood under the name, under another name, until all files have theirs.
  std::string old;
  int oldFile = -1;
};

// Has the names in the folder of `path` on the disk too, as after a rename that must not be lost. False with the
// reason.
bool syncFolderOf(const std::string &path, std::string &error);

// Removes the partial files of ended processes in the folder of `path`. Nothing of a process that lives is touched.
void removeLeftoverFiles(const std::string &path);

} // namespace vx

#endif
