#include "output_file.h"

#include "command_line.h"
#include "tool_error.h"
#include "vx/base/command_files.h"
#include "vx/base/partial_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
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

static void writeStream(const std::string &path, int descriptor, std::span<const uint8_t> bytes) {
  flushStandardOutput(); // what was printed before comes before
  if (const int error = writeAll(descriptor, bytes))
    throw writeError(path, error);
}

static void writeDevice(const std::string &path, std::span<const uint8_t> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    throw writeError(path, errno);
  // Nothing waits in the opening; the writing may.
  (void)::fcntl(file, F_SETFL, O_WRONLY);
  int error = writeAll(file, bytes);
  if (::close(file) != 0 && !error)
    error = errno;
  if (error)
    throw writeError(path, error);
}

void writeFile(const std::string &path, std::span<const uint8_t> bytes) {
  if (const std::optional<int> descriptor = descriptorOf(path))
    return writeStream(path, *descriptor, bytes);
  CommandFiles files;
  files.addOutput("the output", path, CommandFiles::Kind::RegularFileOrStream);
  if (const std::string problem = files.problem(); !problem.empty())
    throw usageError("{}", problem);
  struct stat existing{};
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode))
    return writeDevice(path, bytes);

  removeLeftoverFiles(path);
  PartialFile file;
  int error = file.open(path);
  if (!error)
    error = file.write(bytes.data(), bytes.size());
  if (error)
    throw writeError(path, error);
  if (std::string reason; !file.commit(reason))
    throw workError("{}", reason);
}

void writeFile(const std::string &path, std::string_view text) {
  writeFile(path, std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

} // namespace vx::tools
