#include "vx/base/cache_folder.h"

#include <cstdlib>
#include <utility>

namespace vx {

std::string defaultCacheFolder() {
  const std::pair<const char *, const char *> places[] = {
      {"VX_CACHE", ""}, {"XDG_CACHE_HOME", "/vx"}, {"HOME", "/.cache/vx"}};
  for (const auto &[variable, folder] : places)
    if (const char *value = std::getenv(variable); value && *value)
      return std::string(value) + folder;
  return "";
}

} // namespace vx
