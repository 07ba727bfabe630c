#include "vx/base/partial_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view Mark = ".vx-", Ending = ".partial";
constexpr size_t RandomLength = 6;

bool isPartialName(std::string_view name) {
  const size_t tail = Mark.size() + RandomLength + Ending.size();
  return name.size() > tail && name.ends_with(Ending) && name.substr(name.size() - tail, Mark.size()) == Mark;
}

std::string folderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Whether an open file still has a name.
bool isLinked(int file) {
  struct stat info{};
  return ::fstat(file, &info) == 0 && info.st_nlink > 0;
}

// A locked file beside `path`, and its name. Somebody who cleans up may see it before it is locked, and take it away:
// then another one is made.
int makeLocked(const std::string &path, std::string &name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = path + std::string(Mark) + std::string(RandomLength, 'X') + std::string(Ending);
    const int file = ::mkostemps(name.data(), static_cast<int>(Ending.size()), O_CLOEXEC);
    if (file < 0)
      return -1;
    // Where there are no locks nobody cleans up either.
    const bool isLocked = ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (isLocked && isLinked(file))
      return file;
    ::close(file);
    ::unlink(name.c_str());
  }
  errno = EBUSY;
  return -1;
}

mode_t currentUmask() {
  // There is no way to ask without setting it, but for the process's own status.
  std::FILE *status = std::fopen("/proc/self/status", "re");
  unsigned mask = 022;
  if (!status)
    return mask;
  char line[256];
  while (std::fgets(line, sizeof(line), status))
    if (std::sscanf(line, "Umask: %o", &mask) == 1)
      break;
  std::fclose(status);
  return mask;
}

} // namespace

bool syncFolderOf(const std::string &path, std::string &error) {
  const std::string folder = folderOf(path);
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool isDone = file >= 0 && (::fsync(file) == 0 || errno == EINVAL || errno == EROFS);
  if (!isDone)
    error = "cannot write the folder '" + folder + "': " + std::strerror(errno);
  if (file >= 0)
    ::close(file);
  return isDone;
}

void removeLeftoverFiles(const std::string &path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folderOf(path), error), end; !error && it != end; it.increment(error))
    if (isPartialName(it->path().filename().string()))
      names.push_back(it->path().string());
  for (const std::string &name : names) {
    struct stat info{};
    if (::lstat(name.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid())
      continue;
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0)
      continue;
    // The lock goes when its process ends, however it ends.
    if (::flock(file, LOCK_EX | LOCK_NB) == 0)
      ::unlink(name.c_str());
    ::close(file);
  }
}

PartialFile::~PartialFile() { discard(); }

void PartialFile::discard() {
  forgetOld();
  if (!temporary.empty() && !isRenamed)
    ::unlink(temporary.c_str());
  temporary.clear();
  if (file >= 0)
    ::close(file);
  file = -1;
}

int PartialFile::open(const std::string &name) {
  path = name;
  file = makeLocked(path, temporary);
  if (file < 0) {
    temporary.clear();
    return errno;
  }
  // As an ordinary file of this process. A file system without modes is no reason to stop.
  (void)::fchmod(file, 0666 & ~currentUmask());
  return 0;
}

int PartialFile::write(const void *data, size_t size) {
  const char *rest = static_cast<const char *>(data);
  while (size > 0) {
    const ssize_t written = ::write(file, rest, size);
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    rest += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

bool PartialFile::finish(std::string &error) {
  // Some file systems say only now that the disk is full.
  if (::fsync(file) == 0 || errno == EINVAL || errno == EROFS)
    return true;
  error = "cannot write '" + path + "': " + std::strerror(errno);
  return false;
}

// Another name for what the rename is about to replace.
void PartialFile::keepOld() {
  oldFile = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (oldFile < 0)
    return;
  std::string name;
  const int place = makeLocked(path, name);
  if (place < 0)
    return;
  // The old file is locked before it has a name that cleaners know.
  (void)::flock(oldFile, LOCK_SH | LOCK_NB);
  ::unlink(name.c_str());
  // Not every file system has links.
  if (::link(path.c_str(), name.c_str()) == 0 || ::rename(path.c_str(), name.c_str()) == 0)
    old = name;
  ::close(place);
}

void PartialFile::restoreOld() {
  if (oldFile < 0) { // there was none
    ::unlink(path.c_str());
    return;
  }
  if (old.empty())
    return;
  if (::rename(old.c_str(), path.c_str()) == 0) {
    old.clear();
    return;
  }
  // Another way to the same end.
  ::unlink(path.c_str());
  (void)::link(old.c_str(), path.c_str());
}

void PartialFile::forgetOld() {
  if (!old.empty())
    ::unlink(old.c_str());
  old.clear();
  if (oldFile >= 0)
    ::close(oldFile);
  oldFile = -1;
}

bool PartialFile::commitAll(std::span<PartialFile *const> files, std::string &error) {
  for (PartialFile *file : files)
    if (!file->finish(error))
      return false;
  for (size_t i = 0; i < files.size(); ++i) {
    PartialFile &file = *files[i];
    if (i + 1 < files.size())
      file.keepOld();
    if (::rename(file.temporary.c_str(), file.path.c_str()) != 0) {
      error = "cannot rename '" + file.temporary + "' to '" + file.path + "': " + std::strerror(errno);
      for (size_t j = i; j-- > 0;)
        files[j]->restoreOld();
      return false;
    }
    file.isRenamed = true;
  }
  for (PartialFile *file : files)
    file->discard();
  return true;
}

} // namespace vx
