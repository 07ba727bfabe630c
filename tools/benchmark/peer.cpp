#include "peer.h"

#include "ExternalFiles.h"
#include "input_file.h"
#include "tool_error.h"

#include "vx/base/json_text.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

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

// Both ends of a pipe; those that nobody took close with it.
class Pipe {
public:
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw workError("cannot make a pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    for (int end : ends)
      if (end >= 0)
        ::close(end);
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;

  int readEnd() const { return ends[0]; }
  int writeEnd() const { return ends[1]; }
  int takeReadEnd() { return std::exchange(ends[0], -1); }
  int takeWriteEnd() { return std::exchange(ends[1], -1); }

private:
  int ends[2] = {-1, -1};
};

// A running script: one line of JSON goes in, one comes out.
class ScriptProcess {
public:
  ScriptProcess(const std::string &script, const std::string &name);
  ~ScriptProcess() {
    // The script ends with its input.
    ::close(requests);
    std::fclose(replies);
    ::waitpid(process, nullptr, 0);
  }
  ScriptProcess(const ScriptProcess &) = delete;
  ScriptProcess &operator=(const ScriptProcess &) = delete;

  // Hands the answer to `read`, which may look up what is not there.
  template <typename F>
  void ask(const json &request, F &&read);

private:
  const std::string name;
  pid_t process = -1;
  int requests = -1;
  FILE *replies = nullptr;
};

ScriptProcess::ScriptProcess(const std::string &script, const std::string &name) : name(name) {
  // A peer that has ended is an error of the write.
  std::signal(SIGPIPE, SIG_IGN);
  Pipe toPeer, fromPeer;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toPeer.readEnd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fromPeer.writeEnd(), STDOUT_FILENO);
  char *const arguments[] = {const_cast<char *>(script.c_str()), const_cast<char *>(name.c_str()), nullptr};
  const int error = ::posix_spawn(&process, script.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    throw workError("cannot start '{}': {}", script, std::strerror(error));
  requests = toPeer.takeWriteEnd();
  replies = ::fdopen(fromPeer.takeReadEnd(), "r");
}

template <typename F>
void ScriptProcess::ask(const json &request, F &&read) {
  const std::string line = vx::jsonText(request) + "\n";
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
  try {
    const json reply = json::parse(answer);
    if (const std::string error = reply.value("error", ""); !error.empty())
      throw fileError("peer '{}': {}", name, error);
    read(reply);
  } catch (const json::exception &) {
    throw workError("peer '{}': expected an answer in JSON as scripts/bench-peer gives it, got '{}'", name,
                    answer.substr(0, answer.find('\n')));
  }
}

class PeerContestant final : public Contestant {
public:
  explicit PeerContestant(const PeerRequest &request) : script(findScript(request), request.name) {
    json load = {
        {"op", "load"}, {"model", request.model}, {"threads", request.threads}, {"inputs", json(request.inputs)}};
    if (request.training) {
      load["training"] = {{"loss", request.training->loss},
                          {"optimizer", request.training->optimizer},
                          {"rate", StepRate},
                          {"parameters", request.training->parameters},
                          {"statistics", request.training->statistics}};
      facts.rows = request.training->rows;
    }
    if (request.embedding) {
      load["embedding"] = {{"tokenizer", request.embedding->tokenizer},  {"texts", request.embedding->texts},
                           {"pooling", request.embedding->pooling},      {"normalize", request.embedding->normalize},
                           {"max_tokens", request.embedding->maxTokens}, {"padding", request.embedding->padding},
                           {"folder", request.embedding->folder},        {"expected", request.embedding->expected}};
      facts.rows = static_cast<int64_t>(request.embedding->texts.size());
    }
    script.ask(load, [&](const json &reply) {
      facts.runnerVersion = reply.value("version", "");
      facts.deviceName = reply.value("device", "");
      if (request.training)
        facts.firstLoss = reply.at("loss").get<double>();
    });
    facts.module = request.module;
    facts.function = request.function;
    facts.runner = request.name;
    facts.device = "cpu";
    facts.threads = request.threads;
    facts.dims = request.dims;
    if (request.embedding)
      facts.tokens = *facts.rows * facts.dims.at("tokens");
  }

  void run(double seconds, uint32_t minRuns, std::vector<double> &times) override {
    script.ask({{"op", "run"}, {"seconds", seconds}, {"min_runs", minRuns}}, [&](const json &reply) {
      for (const json &one : reply.at("seconds"))
        times.push_back(one.get<double>());
    });
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

std::vector<std::string> peerWeightFiles(const std::string &model) {
  std::vector<uint8_t> bytes;
  try {
    bytes = readFile(model);
  } catch (const ToolError &) {
    return {};
  }
  onnx::ModelProto proto;
  if (bytes.size() > INT_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return {};
  return onnx::collectExternalFiles(proto, fs::path(model).parent_path());
}

} // namespace vx::tools
