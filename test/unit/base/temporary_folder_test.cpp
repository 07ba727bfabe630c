#include "vx/base/temporary_folder.h"

#include "scratch_folder.h"

#include <csignal>
#include <cstdlib>
#include <sys/wait.h>

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
  std::filesystem::create_directory(at("vx-test-of-others"));
  std::string error;
  TemporaryFolder first("vx-test", error), second("vx-test", error);
  EXPECT_FALSE(std::filesystem::exists(at(left)));
  EXPECT_TRUE(std::filesystem::exists(at("vx-test-of-others")));
  EXPECT_TRUE(std::filesystem::exists(first.path())); // in use
  EXPECT_EQ(names().size(), 3u);
}

} // namespace vx
