#include "input_file.h"

#include "tool_error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace vx::tools {

std::vector<uint8_t> readFile(const std::string &path) {
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file)
    throw fileError("cannot open '{}': {}", path, std::strerror(errno));
  std::vector<uint8_t> bytes;
  uint8_t piece[1 << 16];
  while (const size_t count = std::fread(piece, 1, sizeof(piece), file.get()))
    bytes.insert(bytes.end(), piece, piece + count);
  if (std::ferror(file.get()))
    throw fileError("cannot read '{}': {}", path, std::strerror(errno));
  return bytes;
}

} // namespace vx::tools
