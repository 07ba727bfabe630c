#include "compile_child.h"

#include "vx/runtime/vx.hpp"
#include "vx/serve/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <vector>

namespace vx::tools {

namespace fs = std::filesystem;
using serve::Error;

// Those of the machine's devices that the model may come to run on.
static std::string targetsOf(const std::string &device, bool noFallback) {
  const std::string wanted = device.substr(0, device.find(':'));
  std::string targets;
  const auto backends = nlohmann::json::parse(listDevices())["backends"];
  for (const nlohmann::json &backend : backends) {
    const std::string name = backend["name"];
    const bool isAsked = wanted == "auto" || wanted == name || (!noFallback && name == "cpu");
    if (isAsked && name != "null" && backend["available"].get<bool>())
      targets += (targets.empty() ? "" : ",") + name;
  }
  return targets.empty() ? "cpu" : targets;
}

// Changes when a file does.
static uint64_t stateOf(const std::string &model, const std::string &targets, const fs::path &compiler) {
  std::vector<std::string> lines = {targets, vx_version()};
  const auto add = [&](const fs::path &path) {
    std::error_code error;
    lines.push_back(fmt::format("{} {} {}", path.string(), fs::file_size(path, error),
                                fs::last_write_time(path, error).time_since_epoch().count()));
  };
  add(compiler);
  if (fs::is_directory(model)) {
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(model))
      if (entry.is_regular_file())
        add(entry.path());
  } else {
    add(model);
  }
  std::sort(lines.begin() + 2, lines.end());
  uint64_t hash = 14695981039346656037u;
  for (const std::string &line : lines)
    for (const char c : line + "\n")
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// Runs it to its end; what it says on stderr, and its status of waitpid, or nothing where its time was over.
static std::optional<int> runLimited(const std::vector<std::string> &words, const CompileLimits &limits,
                                     std::string &said) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(Error::Kind::io, "cannot make a pipe");
  std::vector<char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  const pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw Error(Error::Kind::io, "cannot start a process");
  }
  if (process == 0) {
    // Only what may be called in the copy of a process with threads.
    const rlimit memory = {limits.memory, limits.memory};
    if (limits.memory > 0)
      ::setrlimit(RLIMIT_AS, &memory);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(ends[1], STDERR_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  const auto end = std::chrono::steady_clock::now() + limits.time;
  bool isLate = false;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd entry = {ends[0], POLLIN, 0};
    const bool isEnding = limits.isEnding && *limits.isEnding;
    const int ready = left <= 0 || isEnding ? 0 : ::poll(&entry, 1, static_cast<int>(std::min<int64_t>(left, 200)));
    if (ready == 0 && left > 200 && !isEnding)
      continue;
    if (ready == 0) {
      isLate = true;
      ::kill(process, SIGKILL);
      break;
    }
    char piece[4096];
    const ssize_t size = ::read(ends[0], piece, sizeof(piece));
    if (size <= 0)
      break;
    if (said.size() < (64 << 10))
      said.append(piece, static_cast<size_t>(size));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(process, &status, 0);
  return isLate ? std::nullopt : std::optional(status);
}

std::string compileInChild(const std::string &model, const std::string &device, bool noFallback,
                           const CompileLimits &limits) {
  static std::mutex oneAtATime;
  const std::lock_guard guard(oneAtATime);
  std::error_code error;
  const fs::path compiler = fs::read_symlink("/proc/self/exe", error).parent_path() / "vx-compile";
  if (!fs::exists(compiler))
    throw Error(
        Error::Kind::data,
        fmt::format("'{}' is no module file, and there is no vx-compile beside this server to make one: want '{}'",
                    model, compiler.string()));
  const std::string targets = targetsOf(device, noFallback);
  const fs::path folder = fs::path(limits.cache) / "models";
  fs::create_directories(folder, error);
  const fs::path module =
      folder / fmt::format("{}-{:016x}.vxm", fs::path(model).stem().string(), stateOf(model, targets, compiler));
  if (fs::exists(module))
    return module;
  std::string said;
  const std::optional<int> status =
      runLimited({compiler.string(), model, "--target=" + targets, "-o", module.string()}, limits, said);
  if (!status)
    throw Error(Error::Kind::data, fmt::format("'{}' was not compiled in {} s", model, limits.time.count()));
  if (WIFSIGNALED(*status))
    throw Error(Error::Kind::data, fmt::format("'{}': the compiler was ended by signal {}", model, WTERMSIG(*status)));
  if (WEXITSTATUS(*status) != 0) {
    while (!said.empty() && said.back() == '\n')
      said.pop_back();
    throw Error(Error::Kind::data, said.substr(said.rfind('\n') + 1));
  }
  return module;
}

} // namespace vx::tools
