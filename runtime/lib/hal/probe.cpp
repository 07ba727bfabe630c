#include "hal/probe.h"

#include "base/log.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace vx::hal {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint32_t defaultSeconds = 5, mostSeconds = 3600;

// VX_PROBE_SECONDS where it is a number from 1 on.
uint32_t limitSeconds() {
  const char *text = std::getenv("VX_PROBE_SECONDS");
  if (!text || !*text)
    return defaultSeconds;
  uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), seconds);
  if (error == std::errc() && !*end && seconds >= 1 && seconds <= mostSeconds)
    return seconds;
  log(VX_LOG_WARNING, "VX_PROBE_SECONDS: expected 1 to {}, got '{}'; {} is used", mostSeconds, text, defaultSeconds);
  return defaultSeconds;
}

// Closes its end of a pipe.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() { close(); }
  int get() const { return number; }
  void close() {
    if (number >= 0)
      ::close(std::exchange(number, -1));
  }

private:
  int number;
};

// posix_spawn runs nothing of this process in the copy, so that it is safe beside other threads, unlike fork.
int start(const char *program, std::string_view backend, int output, pid_t &process) {
  std::string argument = fmt::format("--probe={}", backend);
  char *const words[] = {const_cast<char *>(program), argument.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A group of its own, which ends with all that the driver has started; no signal is blocked or ignored.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawn(&process, program, &files, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Reads until the answer is there, the other end is closed, or the time is over. True for the answer, false for the
// end; nothing for the time.
std::optional<bool> readAnswer(int input, Clock::time_point end) {
  std::string said;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    if (left <= 0)
      return std::nullopt;
    pollfd entry = {input, POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready <= 0)
      continue;
    char piece[512];
    const ssize_t size = ::read(input, piece, sizeof(piece));
    if (size < 0 && errno == EINTR)
      continue;
    if (size <= 0)
      return false;
    said.append(piece, static_cast<size_t>(size)); // the vendor's library may write, too
    if (said.find(probeAnswer) != std::string::npos)
      return true;
    if (said.size() > probeAnswer.size())
      said.erase(0, said.size() - probeAnswer.size());
  }
}

// Its status of waitpid. Nothing where it does not end, as one that waits for a device in the kernel does not, or where
// somebody else has asked for it.
std::optional<int> awaitEnd(pid_t process, Clock::time_point end) {
  for (;;) {
    int status = 0;
    const pid_t done = ::waitpid(process, &status, WNOHANG);
    if (done == process)
      return status;
    if ((done < 0 && errno != EINTR) || Clock::now() >= end)
      return std::nullopt;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

std::string endText(const std::optional<int> &status) {
  if (status && WIFSIGNALED(*status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(*status), strsignal(WTERMSIG(*status)));
  if (status && WIFEXITED(*status))
    return fmt::format("ended with exit code {}", WEXITSTATUS(*status));
  return "ended";
}

} // namespace

std::string probeDriver(std::string_view backend) {
  const char *program = ::secure_getenv("VX_PROBE");
  if (!program || !*program || std::strcmp(program, "0") == 0)
    return {};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    log(VX_LOG_WARNING, "VX_PROBE: cannot make a pipe: {}; the {} driver is not tried", std::strerror(errno), backend);
    return {};
  }
  Descriptor input(ends[0]), output(ends[1]);
  const uint32_t seconds = limitSeconds();
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  pid_t process = 0;
  if (const int error = start(program, backend, output.get(), process); error != 0) {
    log(VX_LOG_WARNING, "VX_PROBE: cannot start '{}': {}; the {} driver is not tried", program, std::strerror(error),
        backend);
    return {};
  }
  output.close();
  const std::optional<bool> answer = readAnswer(input.get(), end);
  constexpr milliseconds patience{1000};
  // One that has answered may hang or crash while it ends, which nobody waits for.
  const std::optional<int> status = answer == false ? awaitEnd(process, Clock::now() + patience) : std::optional<int>();
  if (!status) {
    ::kill(-process, SIGKILL);
    (void)awaitEnd(process, Clock::now() + patience);
  }
  if (answer == true)
    return {};
  if (!answer)
    return fmt::format("the {} driver is not used: the process that tried it did not answer within {} s; "
                       "VX_PROBE_SECONDS sets the limit, and VX_PROBE=0 tries no driver",
                       backend, seconds);
  return fmt::format("the {} driver is not used: the process that tried it {} before it answered; VX_PROBE=0 tries no "
                     "driver",
                     backend, endText(status));
}

} // namespace vx::hal
