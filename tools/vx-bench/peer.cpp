#include "peer.h"

#include "tool_error.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace vx::tools {

using nlohmann::json;
namespace fs = std::filesystem;

static std::string findScript(const PeerRequest &request) {
  if (!request.script.empty())
    return request.script;
  std::error_code error;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(); folder.has_relative_path();
       folder = folder.parent_path())
    if (fs::exists(folder / "scripts" / "bench-peer", error))
      return folder / "scripts" / "bench-peer";
  throw usageError("--peer: found no scripts/bench-peer above this tool; give it with --peer-script");
}

namespace {

// A running script: one line of JSON goes in, one comes out.
class ScriptProcess {
public:
  ScriptProcess(const std::string &script, const std::string &name);
  ~ScriptProcess() {
    // The script ends with its input.
    close();
    ::waitpid(process, nullptr, 0);
  }
  ScriptProcess(const ScriptProcess &) = delete;
  ScriptProcess &operator=(const ScriptProcess &) = delete;

  json ask(const json &request);

private:
  void close() {
    ::close(requests);
    std::fclose(replies);
  }

  const std::string name;
  pid_t process = -1;
  int requests = -1;
  FILE *replies = nullptr;
};

ScriptProcess::ScriptProcess(const std::string &script, const std::string &name) : name(name) {
  // A peer that has ended is an error of the write.
  std::signal(SIGPIPE, SIG_IGN);
  int toPeer[2], fromPeer[2];
  if (::pipe2(toPeer, O_CLOEXEC) != 0)
    throw workError("cannot make a pipe: {}", std::strerror(errno));
  if (::pipe2(fromPeer, O_CLOEXEC) != 0) {
    const int error = errno;
    ::close(toPeer[0]);
    ::close(toPeer[1]);
    throw workError("cannot make a pipe: {}", std::strerror(error));
  }
  requests = toPeer[1];
  replies = ::fdopen(fromPeer[0], "r");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toPeer[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fromPeer[1], STDOUT_FILENO);
  char *const arguments[] = {const_cast<char *>(script.c_str()), const_cast<char *>(name.c_str()), nullptr};
  const int error = ::posix_spawn(&process, script.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(toPeer[0]);
  ::close(fromPeer[1]);
  if (error) {
    close();
    throw workError("cannot start '{}': {}", script, std::strerror(error));
  }
}

json ScriptProcess::ask(const json &request) {
  const std::string line = request.dump() + "\n";
  for (size_t written = 0; written < line.size();) {
    const ssize_t count = ::write(requests, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw workError("peer '{}' has ended: {}", name, std::strerror(errno));
    written += static_cast<size_t>(count);
  }
  char *text = nullptr;
  size_t capacity = 0;
  const ssize_t length = ::getline(&text, &capacity, replies);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  if (length <= 0)
    throw workError("peer '{}' has ended without an answer", name);
  const std::string_view answer(text, static_cast<size_t>(length));
  const json reply = json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!reply.is_object())
    throw workError("peer '{}': want an answer in JSON, got '{}'", name, answer.substr(0, answer.find('\n')));
  if (reply.contains("error"))
    throw fileError("peer '{}': {}", name, reply.value("error", ""));
  return reply;
}

class PeerContestant final : public Contestant {
public:
  explicit PeerContestant(const PeerRequest &request) : script(findScript(request), request.name) {
    const json reply = script.ask(
        {{"op", "load"}, {"model", request.model}, {"threads", request.threads}, {"inputs", json(request.inputs)}});
    facts.module = request.module;
    facts.runner = request.name;
    facts.runnerVersion = reply.value("version", "");
    facts.device = "cpu";
    facts.deviceName = reply.value("device", "");
    facts.threads = request.threads;
    facts.dims = request.dims;
  }

  void run(double seconds, uint32_t minRuns, std::vector<double> &times) override {
    const json reply = script.ask({{"op", "run"}, {"seconds", seconds}, {"min_runs", minRuns}});
    for (const json &one : reply.at("seconds"))
      times.push_back(one.get<double>());
  }
  Measurement describe() override { return facts; }

private:
  ScriptProcess script;
  Measurement facts;
};

} // namespace

std::unique_ptr<Contestant> makePeerContestant(const PeerRequest &request) {
  return std::make_unique<PeerContestant>(request);
}

} // namespace vx::tools
