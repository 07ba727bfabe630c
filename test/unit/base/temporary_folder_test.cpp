#include "vx/base/temporary_folder.h"

#include "scratch_folder.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace vx {

class TemporaryFolderTest : public test::ScratchFolder {
protected:
  TemporaryFolderTest() { ::setenv("TMPDIR", folder.c_str(), 1); }
  ~TemporaryFolderTest() override { ::unsetenv("TMPDIR"); }
};

TEST_F(TemporaryFolderTest, goesWithWhatIsInIt) {
  std::string error;
  {
    TemporaryFolder made("vx-test", error);
    EXPECT_EQ(error, "");
    put(made.path() + "/file", "text");
    EXPECT_EQ(names().size(), 1u);
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(TemporaryFolderTest, nowhere) {
  ::setenv("TMPDIR", at("none").c_str(), 1);
  std::string error;
  TemporaryFolder made("vx-test", error);
  EXPECT_EQ(made.path(), "");
  EXPECT_TRUE(error.starts_with("'" + at("none") + "/vx-test-")) << error;
  EXPECT_TRUE(error.ends_with("': No such file or directory")) << error;
}

TEST_F(TemporaryFolderTest, ofKilledProcesses) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::string error;
    TemporaryFolder made("vx-test", error);
    put(made.path() + "/file", "text");
    ::raise(SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_EQ(names().size(), 1u);
  const std::string left = names().front();
  EXPECT_TRUE(left.ends_with(".locked")) << left;
  std::filesystem::create_directory(at("vx-test-of-others"));
  std::string error;
  TemporaryFolder first("vx-test", error), second("vx-test", error);
  EXPECT_FALSE(std::filesystem::exists(at(left)));
  EXPECT_TRUE(std::filesystem::exists(at("vx-test-of-others")));
  EXPECT_TRUE(std::filesystem::exists(first.path())); // in use
  EXPECT_EQ(names().size(), 3u);
}

// Other versions of the tools make folders that are not locked, and one of this version is not yet for a moment: both
// may be in use, whoever holds no lock on them.
TEST_F(TemporaryFolderTest, withoutALockAreInUse) {
  for (const char *name : {"vx-test-a1b2c3", "vx-test-new-a1b2c3", "vx-test-new-d4e5f6", "vx-test-g7h8i9.locked"})
    std::filesystem::create_directory(at(name));
  const auto longAgo = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
  std::filesystem::last_write_time(at("vx-test-new-d4e5f6"), longAgo);
  std::filesystem::last_write_time(at("vx-test-a1b2c3"), longAgo);
  std::string error;
  TemporaryFolder made("vx-test", error);
  EXPECT_TRUE(std::filesystem::exists(at("vx-test-a1b2c3")));
  EXPECT_TRUE(std::filesystem::exists(at("vx-test-new-a1b2c3")));
  EXPECT_FALSE(std::filesystem::exists(at("vx-test-new-d4e5f6"))); // nobody needs an hour to lock it
  EXPECT_FALSE(std::filesystem::exists(at("vx-test-g7h8i9.locked")));
}

// Eight processes make folders and use them while two do nothing but clean up.
TEST_F(TemporaryFolderTest, manyAtOnce) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  auto isLasting = [&] {
    std::string error;
    TemporaryFolder made("vx-test", error);
    for (int file = 0; file < 8; ++file) {
      std::ofstream(made.path() + "/" + std::to_string(file)) << "text";
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    for (int file = 0; file < 8; ++file)
      if (!std::filesystem::exists(made.path() + "/" + std::to_string(file)))
        return false;
    return error.empty();
  };
  std::vector<pid_t> children;
  for (int child = 0; child < 10; ++child) {
    children.push_back(::fork());
    if (children.back() != 0)
      continue;
    bool isRight = true;
    while (isRight && std::chrono::steady_clock::now() < end) {
      std::string error;
      isRight = child < 8 ? isLasting() : !TemporaryFolder("vx-test", error).path().empty();
    }
    ::_exit(isRight ? 0 : 1);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(names().empty());
}

} // namespace vx
