#include "vx/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace vx {

namespace fs = std::filesystem;

namespace {

// A folder is made under a name that nobody cleans up, and gets the one that cleaners know when it is locked: whatever
// has that name and no lock is left over, also where versions of the tools that lock nothing use the same place.
constexpr std::string_view New = "-new", Locked = ".locked";
constexpr size_t RandomCharacters = 6;
// Between its making and its lock lie microseconds.
constexpr time_t SecondsWithoutLock = 3600;

int openFolder(const std::string &path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Whether the open folder is still what has the name.
bool isStill(int file, const std::string &name) {
  struct stat opened{}, named{};
  return ::fstat(file, &opened) == 0 && ::lstat(name.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

bool isOld(int file) {
  struct stat info{};
  return ::fstat(file, &info) == 0 && std::time(nullptr) - info.st_mtime > SecondsWithoutLock;
}

bool isOwn(int file) {
  struct stat info{};
  return ::fstat(file, &info) == 0 && info.st_uid == ::geteuid();
}

void removeLeftovers(const std::string &parent, const std::string &prefix) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix + "-"))
      names.push_back(name.substr(prefix.size()));
  }
  for (const std::string &tail : names) {
    const bool isLockable = tail.size() == 1 + RandomCharacters + Locked.size() && tail.ends_with(Locked);
    const bool isNew = tail.size() == New.size() + 1 + RandomCharacters && tail.starts_with(New);
    if (!isLockable && !isNew)
      continue;
    const std::string name = parent + "/" + prefix + tail;
    const int file = openFolder(name);
    if (file < 0)
      continue;
    // The lock goes when its process ends, however it ends.
    if (isOwn(file) && (isLockable || isOld(file)) && ::flock(file, LOCK_EX | LOCK_NB) == 0 && isStill(file, name)) {
      if (isLockable)
        fs::remove_all(name, error);
      else
        ::rmdir(name.c_str()); // nothing was put into it
    }
    ::close(file);
  }
}

std::string getParent(TemporaryFolder::Place place) {
  if (const char *chosen = std::getenv("TMPDIR"); chosen && *chosen)
    return chosen;
  constexpr const char *memory = "/dev/shm";
  struct statfs info{};
  const bool isMemory = place == TemporaryFolder::Place::Memory && ::statfs(memory, &info) == 0 &&
                        info.f_type == TMPFS_MAGIC && ::access(memory, W_OK | X_OK) == 0;
  return isMemory ? memory : "/tmp";
}

} // namespace

TemporaryFolder::TemporaryFolder(const std::string &prefix, std::string &error, Place place) {
  const std::string parent = getParent(place);
  removeLeftovers(parent, prefix);
  std::string name = parent + "/" + prefix + std::string(New) + "-" + std::string(RandomCharacters, 'X');
  if (!::mkdtemp(name.data())) {
    error = "'" + name + "': " + std::strerror(errno);
    return;
  }
  lock = openFolder(name);
  folder = name;
  // Where there are no locks it keeps the name that nobody cleans up.
  if (lock < 0 || ::flock(lock, LOCK_EX | LOCK_NB) != 0)
    return;
  const std::string final =
      parent + "/" + prefix + "-" + name.substr(name.size() - RandomCharacters) + std::string(Locked);
  if (::rename(name.c_str(), final.c_str()) == 0)
    folder = final;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!folder.empty())
    fs::remove_all(folder, ignored);
  if (lock >= 0)
    ::close(lock);
}

} // namespace vx
