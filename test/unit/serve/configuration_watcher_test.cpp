#include "configuration_watcher.h"

#include "../base/scratch_folder.h"

#include <gtest/gtest.h>

#include <csignal>

#include <poll.h>
#include <unistd.h>

namespace vx::serve {
namespace {

class WatcherTest : public test::ScratchFolder {
protected:
  bool isReadable(const ConfigurationWatcher &watcher) {
    pollfd entry = {watcher.descriptor(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
  }
  std::string error;
};

TEST_F(WatcherTest, filesThatChange) {
  put(at("a"), "1");
  ConfigurationWatcher watcher({at("a"), at("b")}, error);
  ASSERT_EQ(error, "");
  EXPECT_FALSE(watcher.shallReload());
  put(at("other"), "1");
  EXPECT_FALSE(watcher.shallReload());
  put(at("a"), "22"); // in place
  EXPECT_TRUE(isReadable(watcher));
  EXPECT_TRUE(watcher.shallReload());
  EXPECT_FALSE(watcher.shallReload());
  put(at("new"), "3"); // as editors do
  std::filesystem::rename(at("new"), at("a"));
  EXPECT_TRUE(watcher.shallReload());
  put(at("b"), "1"); // one that was not there
  EXPECT_TRUE(watcher.shallReload());
  std::filesystem::remove(at("a"));
  EXPECT_TRUE(watcher.shallReload());
  EXPECT_FALSE(watcher.shallReload());
  EXPECT_FALSE(isReadable(watcher));
}

// A file that has been opened and not yet written is not read.
TEST_F(WatcherTest, waitsForTheEnd) {
  ConfigurationWatcher watcher({at("a")}, error);
  {
    std::ofstream file(at("a"));
    file << "half" << std::flush;
    EXPECT_FALSE(watcher.shallReload());
    file << " and whole";
  }
  EXPECT_TRUE(watcher.shallReload());
}

// A volume of Kubernetes: the name is a link into a folder that is another link, and that is replaced.
TEST_F(WatcherTest, linksToOtherFolders) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "1");
  fs::create_directories(folder / "2");
  put(at("1/a"), "1");
  put(at("2/a"), "1");
  fs::create_symlink("1", folder / "data");
  fs::create_symlink("data/a", folder / "a");
  ConfigurationWatcher watcher({at("a")}, error);
  fs::create_symlink("2", folder / "data.new");
  EXPECT_FALSE(watcher.shallReload());
  fs::rename(folder / "data.new", folder / "data");
  EXPECT_TRUE(watcher.shallReload());
}

TEST_F(WatcherTest, folderThatComesBack) {
  std::filesystem::create_directories(folder / "f");
  put(at("f/a"), "1");
  put(at("b"), "1");
  ConfigurationWatcher watcher({at("f/a"), at("b")}, error);
  std::filesystem::remove_all(folder / "f");
  EXPECT_TRUE(watcher.shallReload());
  std::filesystem::create_directories(folder / "f");
  put(at("b"), "22"); // what it looks at then
  EXPECT_TRUE(watcher.shallReload());
  put(at("f/a"), "2");
  EXPECT_TRUE(watcher.shallReload());
}

TEST_F(WatcherTest, signals) {
  ConfigurationWatcher watcher({at("a")}, error);
  const auto old = std::signal(SIGHUP, [](int) { ConfigurationWatcher::requestReload(); });
  ::raise(SIGHUP);
  std::signal(SIGHUP, old);
  EXPECT_TRUE(watcher.shallReload());
  EXPECT_FALSE(watcher.shallReload());
}

TEST_F(WatcherTest, noSuchFolder) {
  ConfigurationWatcher watcher({at("none/a")}, error);
  EXPECT_EQ(error, "'" + at("none") + "' cannot be watched: No such file or directory");
  EXPECT_FALSE(watcher.shallReload());
}

} // namespace
} // namespace vx::serve
