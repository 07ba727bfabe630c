#include "sibling_tool.h"

#include "tool_error.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace vx::tools {

namespace fs = std::filesystem;

std::string findTool(const std::string &tool) {
  if (tool.find('/') != std::string::npos)
    return tool;
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error).parent_path() / tool;
  if (!fs::exists(path, error))
    throw workError("this needs {}, and there is none beside this tool: expected '{}'", tool, path.string());
  return path.string();
}

void probeDrivers() {
  if (const char *given = std::getenv("VX_PROBE"); given && *given)
    return;
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error).parent_path() / "vx-info";
  if (fs::exists(path, error))
    ::setenv("VX_PROBE", path.c_str(), 1);
}

// The message of the last line that is an error, without the tool's name; else the last line.
static std::string lastError(const std::string &text) {
  std::string last, message;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty())
      continue;
    last = line;
    if (const size_t at = line.find(": error: "); at != std::string::npos)
      message = line.substr(at + 9);
  }
  return message.empty() ? last : message;
}

namespace {

using Clock = std::chrono::steady_clock;

// A process that has been started, and its text on stderr, or on stdout if `limits` has a place for that.
class Running {
public:
  Running(const std::string &path, const std::vector<std::string> &arguments, const ToolLimits &limits);
  ~Running() { ::close(descriptor); }

  // Takes what has been said, and waits for more for so long. False: nothing more will come.
  bool listen(int milliseconds);
  // Its status of waitpid, or nothing while it runs.
  std::optional<int> status();
  // With all that it has started.
  void kill() {
    ::kill(-process, SIGKILL);
    ::kill(process, SIGKILL);
  }

  std::string said;

private:
  // Of the copy of this process, where only what signal handlers may call can be called.
  [[noreturn]] static void become(char *const *words, int output, int errors, const rlimit &memory, pid_t parent);

  static constexpr size_t mostSaid = 64 << 10;
  pid_t process = -1;
  int descriptor = -1;
};

} // namespace

Running::Running(const std::string &path, const std::vector<std::string> &arguments, const ToolLimits &limits) {
  std::vector<char *> words{const_cast<char *>(path.c_str())};
  for (const std::string &argument : arguments)
    words.push_back(const_cast<char *>(argument.c_str()));
  words.push_back(nullptr);
  if (::access(path.c_str(), X_OK) != 0)
    throw workError("cannot start '{}': {}", path, std::strerror(errno));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw workError("cannot make a pipe: {}", std::strerror(errno));
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const rlimit memory = {limits.memory, limits.memory};
  const pid_t parent = ::getpid();
  process = ::fork();
  if (process == 0)
    become(words.data(), limits.output ? ends[1] : nothing, limits.output ? nothing : ends[1], memory, parent);
  const int error = errno;
  ::close(ends[1]);
  ::close(nothing);
  descriptor = ends[0];
  if (process < 0) {
    ::close(descriptor);
    throw workError("cannot start '{}': {}", path, std::strerror(error));
  }
}

void Running::become(char *const *words, int output, int errors, const rlimit &memory, pid_t parent) {
  // A group of its own, so that what it starts ends with it.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(127); // which had ended before
  if (memory.rlim_cur > 0)
    ::setrlimit(RLIMIT_AS, &memory);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  // Sockets of libraries among them, which clients would wait at.
  if (::syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
    for (int other = 3; other < 4096; ++other)
      ::close(other);
  ::execv(words[0], words);
  ::_exit(127);
}

bool Running::listen(int milliseconds) {
  pollfd entry = {descriptor, POLLIN, 0};
  if (::poll(&entry, 1, milliseconds) <= 0)
    return true;
  char piece[4096];
  const ssize_t size = ::read(descriptor, piece, sizeof(piece));
  if (size > 0) {
    said.append(piece, static_cast<size_t>(size));
    if (said.size() > mostSaid)
      said.erase(0, said.size() - mostSaid);
  }
  return size > 0 || (size < 0 && errno == EINTR);
}

std::optional<int> Running::status() {
  int status = 0;
  pid_t done = 0;
  do
    done = ::waitpid(process, &status, WNOHANG);
  while (done < 0 && errno == EINTR);
  return done == process ? std::optional(status) : std::nullopt;
}

void runSiblingTool(const std::string &tool, const std::vector<std::string> &arguments, const ToolLimits &limits) {
  const std::string path = findTool(tool);
  Running running(path, arguments, limits);
  const Clock::time_point end = Clock::now() + limits.time;
  bool isStopped = false, isLate = false, isOpen = true;
  std::optional<int> status;
  // What it has started may hold its pipe open, and it may close its own and go on.
  while (!(status = running.status())) {
    isStopped |= limits.isStopped && *limits.isStopped;
    isLate |= limits.time.count() > 0 && Clock::now() >= end;
    if (isStopped || isLate)
      running.kill();
    if (isOpen)
      isOpen = running.listen(/*milliseconds=*/20);
    else
      ::poll(nullptr, 0, /*timeout=*/2);
  }
  for (size_t before = SIZE_MAX; isOpen && running.said.size() != before;) {
    before = running.said.size();
    isOpen = running.listen(0);
  }
  if (limits.output)
    *limits.output = std::exchange(running.said, {});
  if (isStopped)
    throw workError("'{}' was ended with the process that had started it", path);
  if (isLate)
    throw workError("'{}' was not done in {} s", path, limits.time.count());
  if (!WIFEXITED(*status))
    throw workError("'{}' was ended by signal {}", path, WTERMSIG(*status));
  if (const int code = WEXITSTATUS(*status); code != 0)
    throw ToolError(code <= 4 ? static_cast<ExitCode>(code) : ExitCode::Failed,
                    running.said.empty() ? fmt::format("'{}' ended with exit code {}", path, code)
                                         : lastError(running.said));
}

} // namespace vx::tools
