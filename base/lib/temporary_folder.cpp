#include "vx/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx {

namespace fs = std::filesystem;

namespace {

constexpr size_t RandomLength = 6;

int openFolder(const std::string &path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void removeLeftovers(const std::string &parent, const std::string &prefix) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() == prefix.size() + 1 + RandomLength && name.starts_with(prefix + "-"))
      names.push_back(it->path().string());
  }
  for (const std::string &name : names) {
    const int file = openFolder(name);
    if (file < 0)
      continue;
    struct stat info{};
    // The lock goes when its process ends, however it ends.
    if (::fstat(file, &info) == 0 && info.st_uid == ::geteuid() && ::flock(file, LOCK_EX | LOCK_NB) == 0)
      fs::remove_all(name, error);
    ::close(file);
  }
}

} // namespace

TemporaryFolder::TemporaryFolder(const std::string &prefix, std::string &error) {
  const char *chosen = std::getenv("TMPDIR");
  const std::string parent = chosen && *chosen ? chosen : "/tmp";
  removeLeftovers(parent, prefix);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = parent + "/" + prefix + "-" + std::string(RandomLength, 'X');
    if (!::mkdtemp(name.data())) {
      error = "'" + name + "': " + std::strerror(errno);
      return;
    }
    lock = openFolder(name);
    struct stat info{};
    // Somebody who cleans up may have seen it before it was locked. Where there are no locks nobody cleans up.
    const bool isLocked = lock >= 0 && (::flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
    if (isLocked && ::stat(name.c_str(), &info) == 0) {
      folder = name;
      return;
    }
    if (lock >= 0)
      ::close(lock);
    lock = -1;
    ::rmdir(name.c_str());
  }
  error = "'" + parent + "': " + std::strerror(EBUSY);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!folder.empty())
    fs::remove_all(folder, ignored);
  if (lock >= 0)
    ::close(lock);
}

} // namespace vx
