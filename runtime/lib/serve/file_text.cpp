#include "file_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace vx::serve {

std::string readText(int descriptor, size_t most, std::string &text) {
  char buffer[4096];
  while (text.size() <= most) {
    const ssize_t got = ::read(descriptor, buffer, sizeof(buffer));
    if (got == 0)
      return "";
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fmt::format("cannot be read: {}", std::strerror(errno));
    text.append(buffer, static_cast<size_t>(got));
  }
  return fmt::format("expected at most {} bytes, got more", most);
}

} // namespace vx::serve
