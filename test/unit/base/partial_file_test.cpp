#include "vx/base/partial_file.h"

#include "scratch_folder.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// The system calls by which files get their names, each a step at which the disk may fail or the process may end.
namespace {
int stepsLeft = -1;     // before the one that is not taken; -1: all are
bool endsThere = false; // the process ends there, else the call fails
bool failsOn = false;   // so do all that follow
bool failsNow() {
  if (stepsLeft < 0)
    return false;
  if (stepsLeft > 0) {
    --stepsLeft;
    return false;
  }
  if (endsThere)
    ::raise(SIGKILL);
  if (!failsOn)
    stepsLeft = -1;
  errno = EIO;
  return true;
}
} // namespace

extern "C" int rename(const char *from, const char *to) noexcept {
  return failsNow() ? -1 : static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
extern "C" int link(const char *from, const char *to) noexcept {
  return failsNow() ? -1 : static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
extern "C" int unlink(const char *name) noexcept {
  return failsNow() ? -1 : static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, name, 0));
}
extern "C" int fsync(int file) { return failsNow() ? -1 : static_cast<int>(::syscall(SYS_fsync, file)); }

namespace vx {

class PartialFileTest : public test::ScratchFolder {
protected:
  ~PartialFileTest() override { stepsLeft = -1; }

  // A pair of files, each with the text; the second one names the first one's text.
  bool writePair(const std::string &text, std::string &error) const {
    PartialFile first, second;
    EXPECT_EQ(first.open(at("w")), 0);
    EXPECT_EQ(second.open(at("m")), 0);
    EXPECT_EQ(first.write(text.data(), text.size()), 0);
    EXPECT_EQ(second.write(text.data(), text.size()), 0);
    PartialFile *const files[] = {&first, &second};
    return PartialFile::commitAll(files, error);
  }
};

TEST_F(PartialFileTest, appearsWhenWhole) {
  std::string error;
  {
    PartialFile file;
    ASSERT_EQ(file.open(at("a")), 0);
    ASSERT_EQ(file.write("text", 4), 0);
    EXPECT_EQ(contents(at("a")), "none");
    EXPECT_EQ(names().size(), 1u);
    EXPECT_TRUE(file.commit(error)) << error;
    EXPECT_EQ(contents(at("a")), "text");
  }
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
  struct stat info{};
  ASSERT_EQ(::stat(at("a").c_str(), &info), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
}

TEST_F(PartialFileTest, abandoned) {
  {
    PartialFile file;
    ASSERT_EQ(file.open(at("a")), 0);
    ASSERT_EQ(file.write("text", 4), 0);
  }
  EXPECT_TRUE(names().empty());
}

// Whichever step fails, and whether the following ones fail too: the old pair or the new one, and nothing beside it.
TEST_F(PartialFileTest, failingSteps) {
  for (bool hasOld : {true, false})
    for (bool all : {false, true}) {
      int steps = 0;
      for (bool done = false; !done; ++steps) {
        ASSERT_LT(steps, 30);
        std::filesystem::remove(at("w"));
        std::filesystem::remove(at("m"));
        std::string error;
        if (hasOld)
          ASSERT_TRUE(writePair("old", error)) << error;
        failsOn = all;
        endsThere = false;
        stepsLeft = steps;
        const bool wrote = writePair("new", error);
        done = stepsLeft > 0;
        stepsLeft = -1;
        const std::string module = contents(at("m")), weights = contents(at("w"));
        SCOPED_TRACE("step " + std::to_string(steps) + ": " + error);
        // Where no call works any more nothing can be put back: the loader refuses such a pair.
        const bool isStuck = all && !wrote && weights == "new";
        if (!isStuck)
          EXPECT_EQ(module, weights);
        EXPECT_EQ(module, wrote ? "new" : hasOld ? "old" : "none");
        removeLeftoverFiles(at("m"));
        EXPECT_EQ(names().size(), module != "none" ? 2u : isStuck ? 1u : 0u);
      }
      EXPECT_GT(steps, 5);
    }
}

// However far a process comes that is killed, what stands there are the old pair, the new one, or weights that are
// newer than their module, which the loader tells apart; and the next writer removes what is left.
TEST_F(PartialFileTest, killedAtEachStep) {
  int killed = 0, steps = 0;
  for (bool done = false; !done; ++steps) {
    ASSERT_LT(steps, 30);
    std::string error;
    ASSERT_TRUE(writePair("old", error)) << error;
    const pid_t child = ::fork();
    if (child == 0) {
      endsThere = true;
      stepsLeft = steps;
      _exit(writePair("new", error) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    done = WIFEXITED(status);
    killed += WIFSIGNALED(status);
    const std::string module = contents(at("m")), weights = contents(at("w"));
    SCOPED_TRACE("step " + std::to_string(steps));
    if (done)
      EXPECT_EQ(module, "new");
    EXPECT_TRUE(module == weights || (module == "old" && weights == "new")) << module << ", " << weights;
    removeLeftoverFiles(at("m"));
    EXPECT_EQ(names(), (std::vector<std::string>{"m", "w"}));
  }
  EXPECT_GE(killed, 5);
}

TEST_F(PartialFileTest, leftoversOfOthersStay) {
  put(at("a.vx-AAAAAA.partial"), "left");
  put(at("b.vx-BBBBBB.partial"), "in use");
  put(at("c.partial"), "somebody else's");
  const int lock = ::open(at("b.vx-BBBBBB.partial").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  PartialFile living;
  ASSERT_EQ(living.open(at("d")), 0);
  removeLeftoverFiles(at("x"));
  EXPECT_EQ(contents(at("a.vx-AAAAAA.partial")), "none");
  EXPECT_EQ(contents(at("b.vx-BBBBBB.partial")), "in use");
  EXPECT_EQ(contents(at("c.partial")), "somebody else's");
  std::string error;
  EXPECT_TRUE(living.commit(error)) << error;
  ::close(lock);
}

// A limit of the file's size acts as a full disk does.
TEST_F(PartialFileTest, fullDisk) {
  put(at("a"), "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    PartialFile file;
    const std::string text(10000, 'x');
    EXPECT_EQ(file.open(at("a")), 0);
    EXPECT_EQ(file.write(text.data(), text.size()), EFBIG);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
  EXPECT_EQ(contents(at("a")), "old");
}

} // namespace vx
