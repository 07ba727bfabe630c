#include "output_file.h"

#include "tool_error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx::tools {

static ToolError writeError(const std::string &path, int error) {
  return workError("cannot write '{}': {}", path, std::strerror(error));
}

// The error number, or 0.
static int writeAll(int file, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

void writeFile(const std::string &path, std::span<const uint8_t> bytes) {
  struct stat existing{};
  const bool inPlace = ::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode);
  if (inPlace && S_ISDIR(existing.st_mode))
    throw writeError(path, EISDIR);

  const std::string name = inPlace ? path : fmt::format("{}.{}.part", path, ::getpid());
  const int flags = inPlace ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int file = ::open(name.c_str(), flags, 0666);
  if (file < 0)
    throw writeError(path, errno);
  int error = writeAll(file, bytes);
  // Some file systems say only now that the disk is full.
  if (!error && !inPlace && ::fsync(file) != 0)
    error = errno;
  if (::close(file) != 0 && !error)
    error = errno;
  if (!inPlace && !error && ::rename(name.c_str(), path.c_str()) != 0)
    error = errno;
  if (error) {
    if (!inPlace)
      ::unlink(name.c_str());
    throw writeError(path, error);
  }
}

void writeFile(const std::string &path, std::string_view text) {
  writeFile(path, std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

} // namespace vx::tools
