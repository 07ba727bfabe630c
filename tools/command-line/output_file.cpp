#include "output_file.h"

#include "command_line.h"
#include "tool_error.h"
#include "vx/base/command_files.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

FileWriter::FileWriter(const std::string &name) : path(name) {
  if (const std::optional<int> stream = descriptorOf(path)) {
    descriptor = *stream;
    return;
  }
  CommandFiles files;
  files.addOutput("the output", path, CommandFiles::Kind::RegularFileOrStream);
  if (const std::string problem = files.problem(); !problem.empty())
    throw usageError("{}", problem);
  struct stat existing{};
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    isDevice = true;
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
      throw writeError(path, errno);
    // Nothing waits in the opening; the writing may.
    (void)::fcntl(descriptor, F_SETFL, O_WRONLY);
    return;
  }
  removeLeftoverFiles(path);
  if (const int error = partial.open(path))
    throw writeError(path, error);
}

FileWriter::~FileWriter() {
  if (isDevice && descriptor >= 0)
    ::close(descriptor);
}

void FileWriter::reserve(uint64_t bytes) {
  if (descriptor >= 0 || bytes == 0)
    return;
  if (::fallocate(partial.descriptor(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
    throw writeError(path, errno);
}

void FileWriter::write(std::span<const uint8_t> bytes) {
  int error = 0;
  if (descriptor < 0) {
    error = partial.write(bytes.data(), bytes.size());
  } else {
    if (!isDevice)
      flushStandardOutput(); // what was printed before comes before
    error = writeAll(descriptor, bytes);
  }
  if (error)
    throw writeError(path, error);
}

void FileWriter::write(std::string_view text) {
  write(std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

void FileWriter::commit() {
  if (descriptor < 0) {
    if (std::string reason; !partial.commit(reason))
      throw workError("{}", reason);
  } else if (isDevice && ::close(std::exchange(descriptor, -1)) != 0) {
    throw writeError(path, errno);
  }
}

void writeFile(const std::string &path, std::span<const uint8_t> bytes) {
  FileWriter file(path);
  file.write(bytes);
  file.commit();
}

void writeFile(const std::string &path, std::string_view text) {
  writeFile(path, std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

} // namespace vx::tools
