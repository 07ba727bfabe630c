#include "input_file.h"

#include "tool_error.h"
#include "vx/base/regular_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace vx::tools {

std::unique_ptr<std::FILE, CloseFile> openFile(const std::string &path) {
  FileError reason;
  const int descriptor = openRegularFile(path, reason);
  if (descriptor < 0)
    throw fileError("cannot open '{}': {}", path,
                    reason.number ? std::string(std::strerror(reason.number)) : "it " + reason.text);
  std::unique_ptr<std::FILE, CloseFile> file(::fdopen(descriptor, "rb"));
  if (!file) {
    ::close(descriptor);
    throw fileError("cannot open '{}': {}", path, std::strerror(errno));
  }
  return file;
}

std::vector<uint8_t> readFile(const std::string &path) {
  const std::unique_ptr<std::FILE, CloseFile> file = openFile(path);
  std::vector<uint8_t> bytes;
  uint8_t piece[1 << 16];
  while (const size_t count = std::fread(piece, 1, sizeof(piece), file.get()))
    bytes.insert(bytes.end(), piece, piece + count);
  if (std::ferror(file.get()))
    throw fileError("cannot read '{}': {}", path, std::strerror(errno));
  return bytes;
}

} // namespace vx::tools
