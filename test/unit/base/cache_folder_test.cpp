#include "vx/base/cache_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>

namespace vx {
namespace {

// An empty variable is as one that is not set, for the tools and the drivers alike.
TEST(CacheFolder, OfTheFirstVariableThatIsNotEmpty) {
  const char *names[] = {"VX_CACHE", "XDG_CACHE_HOME", "HOME"};
  std::map<const char *, std::optional<std::string>> own;
  for (const char *name : names)
    own[name] = std::getenv(name) ? std::optional<std::string>(std::getenv(name)) : std::nullopt;
  auto folder = [&](const char *cache, const char *user, const char *home) {
    const char *values[] = {cache, user, home};
    for (size_t i = 0; i < 3; ++i)
      values[i] ? ::setenv(names[i], values[i], 1) : ::unsetenv(names[i]);
    return defaultCacheFolder();
  };
  EXPECT_EQ(folder("/a", "/b", "/c"), "/a");
  EXPECT_EQ(folder(nullptr, "/b", "/c"), "/b/vx");
  EXPECT_EQ(folder("", "/b", "/c"), "/b/vx");
  EXPECT_EQ(folder("", "", "/c"), "/c/.cache/vx");
  EXPECT_EQ(folder("", nullptr, "/c"), "/c/.cache/vx");
  EXPECT_EQ(folder("", "", ""), "");
  EXPECT_EQ(folder(nullptr, nullptr, nullptr), "");
  for (const auto &[name, value] : own)
    value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
}

} // namespace
} // namespace vx
