#include "vx/base/regular_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx {

const char *fileKind(mode_t mode) {
  if (S_ISREG(mode))
    return "a regular file";
  if (S_ISDIR(mode))
    return "a folder";
  if (S_ISFIFO(mode))
    return "a pipe";
  if (S_ISSOCK(mode))
    return "a socket";
  return "a device";
}

int openRegularFile(const std::string &path, FileError &error) {
  auto fail = [&error](const char *what, int number) {
    error = {number, std::string("cannot be ") + what + ": " + std::strerror(number)};
    return -1;
  };
  auto refuse = [&error](mode_t mode) {
    error = {0, std::string("is ") + fileKind(mode) + ", expected a regular file"};
    return -1;
  };
  // Before it is opened, since to open a device may do something; and after, since names may change.
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return refuse(info.st_mode);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return fail("opened", errno);
  if (::fstat(file, &info) != 0) {
    const int number = errno;
    ::close(file);
    return fail("examined", number);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(file);
    return refuse(info.st_mode);
  }
  return file;
}

} // namespace vx
