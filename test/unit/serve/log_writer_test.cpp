#include "log_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdlib.h>
#include <unistd.h>
#include <vector>

using vx::serve::LogWriter;
using namespace std::chrono_literals;

namespace {

class LogWriterTest : public testing::Test {
protected:
  void SetUp() override {
    descriptor = ::mkstemp(path.data());
    ASSERT_GE(descriptor, 0);
  }
  void TearDown() override {
    ::close(descriptor);
    ::unlink(path.c_str());
  }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }

  std::string path = testing::TempDir() + "vx-log-XXXXXX";
  int descriptor = -1;
};

} // namespace

// A line that is written takes those before it along; one that waits comes by itself.
TEST_F(LogWriterTest, linesKeepTheirOrder) {
  LogWriter writer(descriptor, 1h);
  writer.append("a\n");
  writer.append("b\n");
  EXPECT_EQ(text(), "");
  writer.write("c\n");
  EXPECT_EQ(text(), "a\nb\nc\n");
  writer.append("d\n");
  writer.flush();
  EXPECT_EQ(text(), "a\nb\nc\nd\n");
}

TEST_F(LogWriterTest, aLineThatWaitsIsWritten) {
  LogWriter writer(descriptor, 1ms);
  std::this_thread::sleep_for(50ms); // until its thread sleeps
  writer.append("a\n");
  for (int i = 0; i < 2000 && text().empty(); ++i)
    std::this_thread::sleep_for(5ms);
  EXPECT_EQ(text(), "a\n");
}

TEST_F(LogWriterTest, theEndWritesAll) {
  {
    LogWriter writer(descriptor, 1h);
    writer.append("a\n");
  }
  EXPECT_EQ(text(), "a\n");
}

TEST_F(LogWriterTest, threadsLoseNothing) {
  constexpr int threads = 8, lines = 2000;
  {
    LogWriter writer(descriptor, 1ms, 512); // so that all of them wait for room
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&writer, i] {
        for (int j = 0; j < lines; ++j) {
          const std::string line = std::to_string(i) + " " + std::to_string(j) + "\n";
          if (j % 100 == 0)
            writer.write(line);
          else
            writer.append(line);
        }
      });
    for (std::thread &thread : all)
      thread.join();
  }
  std::istringstream written(text());
  std::vector<int> next(threads);
  int i = 0, j = 0, count = 0;
  for (; written >> i >> j; ++count) {
    ASSERT_LT(i, threads);
    ASSERT_EQ(next[static_cast<size_t>(i)]++, j);
  }
  EXPECT_EQ(count, threads * lines);
}

// A reader that is slow holds up, and loses nothing; the memory of lines that wait is bounded.
TEST(LogWriter, aPipeThatIsFull) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::string line(99, 'x');
  constexpr size_t lines = 20000; // 2 MB, and a pipe has 64 KiB
  std::atomic<bool> isOver = false;
  std::optional<LogWriter> writer(std::in_place, ends[1], 1ms, 4096);
  std::thread appending([&] {
    for (size_t i = 0; i < lines; ++i)
      writer->append(line + "\n");
    isOver = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(isOver);
  std::string got;
  char buffer[65536];
  while (got.size() < lines * 100) {
    const ssize_t count = ::read(ends[0], buffer, sizeof(buffer));
    ASSERT_GT(count, 0);
    got.append(buffer, static_cast<size_t>(count));
  }
  appending.join();
  writer.reset();
  EXPECT_EQ(got.size(), lines * 100);
  EXPECT_EQ(got.find_first_not_of("x\n"), std::string::npos);
  ::close(ends[0]);
  ::close(ends[1]);
}

// Lines for a disk that is full are lost, and nothing waits for it.
TEST(LogWriter, aDiskThatIsFull) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  {
    LogWriter writer(full, 1ms, 64);
    for (int i = 0; i < 100; ++i)
      writer.append("a line that is lost\n");
    writer.write("another one\n");
  }
  ::close(full);
}
