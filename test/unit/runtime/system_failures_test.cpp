// What is said when the system refuses something that no limit of memory explains.
#include "base/file_mapping.h"
#include "base/thread_pool.h"
#include "drivers/host/elf_image.h"
#include "refused_system_call.h"
#include "runtime_test.h"

#include <cerrno>
#include <cstdio>

#include <sys/mman.h>

#ifndef VX_TEST_SANITIZED // whose own calls the filters refuse too
namespace vx::test {

class SystemFailures : public testing::Test {
protected:
  void SetUp() override {
    if (!canRefuseSystemCalls())
      GTEST_SKIP() << "the kernel has no filters of system calls";
  }
};

// Runs `body` in a process that may not do `calls`, and says the status' code and message on stderr.
template <typename F>
[[noreturn]] static void sayWhatFails(std::initializer_list<RefusedCall> calls, uint32_t error, F &&body) {
  refuseSystemCalls(calls, error);
  Status status = body();
  fprintf(stderr, "%d: %s\n", static_cast<int>(status.code()), std::string(status.message()).c_str());
  _exit(0);
}

// As on a file system whose server is gone.
TEST_F(SystemFailures, filesThatCannotBeExamined) {
  const std::string path = scratchPath("lost.vxm");
  writeFile(path, {1, 2, 3});
  auto open = [&] {
    FileMapping mapping;
    return FileMapping::open(path, mapping);
  };
  EXPECT_EXIT(sayWhatFails({{SYS_fstat}, {SYS_newfstatat}}, ESTALE, open), testing::ExitedWithCode(0),
              "^8: .*lost.vxm: cannot be examined: Stale file handle");
}

// Some systems let no process make code of its own.
TEST_F(SystemFailures, codeThatMayNotRun) {
  auto load = [] {
    std::unique_ptr<drivers::ElfImage> image;
    return drivers::ElfImage::load(cpuImage(), image);
  };
  EXPECT_EXIT(sayWhatFails({{SYS_mprotect, 2, PROT_EXEC}}, EACCES, load), testing::ExitedWithCode(0),
              "^[0-9]+: cannot protect [0-9]+ bytes of code: Permission denied");
}

// A container's limit of processes counts threads too. Nothing waits for the ones that did not start.
TEST_F(SystemFailures, threadsThatDoNotStart) {
  auto start = [] {
    std::unique_ptr<ThreadPool> pool;
    return ThreadPool::create(4, pool);
  };
  EXPECT_EXIT(sayWhatFails({{SYS_clone}, {SYS_clone3}}, EAGAIN, start), testing::ExitedWithCode(0),
              "^6: cannot start 4 threads: Resource temporarily unavailable");
}

} // namespace vx::test
#endif
