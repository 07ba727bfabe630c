// Which users may change a file or a folder, or read it. Kubernetes mounts volumes that everybody may write, and files
// of Secrets that everybody may read: this is a warning there, and an error elsewhere.
#ifndef VX_SERVE_FILE_ACCESS_H
#define VX_SERVE_FILE_ACCESS_H

#include <string>
#include <vector>

#include <sys/types.h>

namespace vx::serve {

struct FileAccess {
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
  // On a mount of its own, rather than the one of "/". Services of systemd see "/" as read-only while others write it,
  // so a read-only mount counts for volumes only.
  bool isOnVolume = false;
  bool isVolumeRoot = false;
  bool isReadOnly = false; // the mount
};

// Of an open file or folder, O_PATH included. False with the reason, "cannot be examined: Input/output error".
bool readFileAccess(int descriptor, FileAccess &access, std::string &error);

// The user and the groups of the process.
struct ProcessUser {
  uid_t user = 0;
  std::vector<gid_t> groups;
  static ProcessUser current();
};

// At most one of these is set.
struct AccessVerdict {
  std::string refusal, warning; // "others may write it (mode 0777): chmod o-w it"
};

// A file or a folder of models: refused if others may change it.
AccessVerdict judgeModelAccess(const FileAccess &access, const ProcessUser &process);
// The same of a path, whose links are followed.
AccessVerdict judgeModelAccess(const std::string &path);

// A file of keys: refused if others may change it or read it.
AccessVerdict judgeKeyAccess(const FileAccess &access, const ProcessUser &process);

} // namespace vx::serve

#endif
