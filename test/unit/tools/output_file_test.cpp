#include "output_file.h"
#include "tool_error.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace vx::tools;
namespace fs = std::filesystem;

class OutputFile : public testing::Test {
protected:
  OutputFile() : folder(fs::path(testing::TempDir()) / fmt::format("vx-output-file-{}", ::getpid())) {
    fs::create_directories(folder);
  }
  ~OutputFile() override { fs::remove_all(folder); }

  std::string errorOf(const std::string &path, std::string_view text) {
    try {
      writeFile(path, text);
    } catch (const ToolError &error) {
      EXPECT_EQ(error.exitCode, ExitCode::Failed);
      return error.what();
    }
    return "no error";
  }
  static std::string contents(const fs::path &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t fileCount() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {})); }

  const fs::path folder;
};

TEST_F(OutputFile, replacesWhatWasThere) {
  const fs::path path = folder / "a";
  writeFile(path.string(), std::string_view("first"));
  writeFile(path.string(), std::string_view("second"));
  EXPECT_EQ(contents(path), "second");
  EXPECT_EQ(fileCount(), 1u);
}

// Piece by piece, under its name when it is whole; what is given up leaves nothing.
TEST_F(OutputFile, comesInPieces) {
  const fs::path path = folder / "a";
  writeFile(path.string(), std::string_view("before"));
  {
    FileWriter given(path.string());
    given.write("some");
  }
  EXPECT_EQ(contents(path), "before");
  EXPECT_EQ(fileCount(), 1u);
  FileWriter file(path.string());
  for (std::string_view piece : {"one, ", "", "two"})
    file.write(piece);
  EXPECT_EQ(contents(path), "before");
  file.commit();
  EXPECT_EQ(contents(path), "one, two");
  EXPECT_EQ(fileCount(), 1u);
}

// A disk that has not the room is an error before the bytes are computed.
TEST_F(OutputFile, room) {
  const fs::path path = folder / "a";
  FileWriter file(path.string());
  file.reserve(10000);
  file.write("text");
  std::string error;
  try {
    FileWriter((folder / "b").string()).reserve(uint64_t(1) << 62);
  } catch (const ToolError &raised) {
    error = raised.what();
  }
  EXPECT_TRUE(error.starts_with(fmt::format("cannot write '{}': ", (folder / "b").string()))) << error;
  file.commit();
  EXPECT_EQ(contents(path), "text"); // and no more
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(OutputFile, missingFolder) {
  const std::string path = (folder / "none" / "a").string();
  EXPECT_EQ(errorOf(path, "text"), fmt::format("cannot write '{}': No such file or directory", path));
}

// Decided before it is opened: to open a pipe that nobody reads would take for ever.
TEST_F(OutputFile, otherKinds) {
  auto usageErrorOf = [](const std::string &path) {
    try {
      writeFile(path, std::string_view("text"));
    } catch (const ToolError &error) {
      EXPECT_EQ(error.exitCode, ExitCode::Usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(usageErrorOf(folder.string()),
            fmt::format("cannot write '{}': expected a name for a file, got a folder", folder.string()));
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(usageErrorOf(pipe), fmt::format("cannot write '{}': expected a name for a file, got a pipe", pipe));
}

TEST_F(OutputFile, fullDevice) {
  if (!fs::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(errorOf("/dev/full", "text"), "cannot write '/dev/full': No space left on device");
}

// A disk that fills up half-way leaves the old file and no other.
TEST_F(OutputFile, halfWritten) {
  const fs::path path = folder / "a";
  writeFile(path.string(), std::string_view("old"));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = errorOf(path.string(), std::string(10000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(error, fmt::format("cannot write '{}': File too large", path.string()));
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(fileCount(), 1u);
}
