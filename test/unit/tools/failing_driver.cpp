// A vendor's library of the tests that fails when it is opened, as $FAILING_DRIVER says: "hang", "abort", "crash",
// "exit CODE", or "loud", which writes to standard output. It has none of the functions of a driver.
// $FAILING_DRIVER_PID is a file for the number of the process.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void begin() {
  if (const char *path = std::getenv("FAILING_DRIVER_PID"))
    if (std::FILE *file = std::fopen(path, "w")) {
      std::fprintf(file, "%d\n", ::getpid());
      std::fclose(file);
    }
  const char *given = std::getenv("FAILING_DRIVER");
  const std::string_view how = given ? given : "";
  if (how == "hang")
    for (;;)
      ::pause();
  if (how == "abort")
    std::abort();
  if (how == "crash")
    ::raise(SIGKILL);
  // The thread sanitizer would end a process that leaves while a library is opened with a code of its own.
  if (how.starts_with("exit "))
    ::syscall(SYS_exit_group, std::atoi(given + 5));
  if (how == "loud")
    for (int line = 0; line < 1000; ++line)
      std::puts("a vendor's library says something that nobody has asked for");
}
