// vx-serve: models over HTTP.
#include "command_line.h"
#include "compile_child.h"
#include "configuration_watcher.h"
#include "model_loader.h"
#include "server_log.h"
#include "serving.h"
#include "source_commit.h"
#include "tool_configuration.h"

#include "vx/base/printable.h"
#include "vx/serve/error.hpp"

#include <CLI/CLI.hpp>

#include <malloc.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

using namespace vx::tools;
namespace serve = vx::serve;

static constexpr const char *Examples = R"(
TERM and INT end the server when what is going on is done, a second one at once. After TERM requests are answered for
drain_delay_s more, while the health paths say that it is draining. HUP, or a change of a file of the configuration, has it read
again.

Examples:
  Serve:          vx-serve --model minilm.vxm
                  vx-serve --config config.toml --port 9000
  Others' reach:  vx-serve --host 0.0.0.0 --api-keys-file keys --tls-cert cert.pem --tls-key key.pem
  Configuration:  vx-serve --check-config --config config.toml
                  vx-serve --print-config
)";

// The state of the service, for systemd; nothing where nobody asked for it.
static void notifySystem(const char *state) {
  const char *path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t length = path ? std::strlen(path) : 0;
  if (length < 2 || length >= sizeof(address.sun_path))
    return;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@')
    address.sun_path[0] = 0;
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return;
  (void)::sendto(fd, state, std::strlen(state), MSG_NOSIGNAL, reinterpret_cast<const sockaddr *>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
  ::close(fd);
}

// "cpu:0 AMD EPYC   (wanted auto; refused: vulkan: REASON)"
static std::string deviceText(const serve::ServedModel &model) {
  const auto report = nlohmann::json::parse(model.deviceReport());
  std::string text =
      fmt::format("{} {}", report["taken"]["device"].get<std::string>(), report["taken"].value("name", ""));
  text += fmt::format("   (asked for {}; refused: ", report["wanted"].get<std::string>());
  const char *separator = "";
  for (const auto &refused : report["refused"]) {
    text +=
        fmt::format("{}{}: {}", separator, refused["device"].get<std::string>(), refused["reason"].get<std::string>());
    separator = "; ";
  }
  return text + (*separator ? ")" : "none)");
}

static void tellLoaded(const serve::ModelTable::Entry &entry) {
  if (!entry.model && entry.state == serve::ModelTable::State::unloaded && entry.reason.empty())
    tell("unloaded {}   for others, within memory_budget", entry.settings.name);
  else if (entry.reason.empty())
    tell("loaded   {}   {}", entry.settings.name, deviceText(*entry.model));
  else
    tell("failed   {}   {}{}", entry.settings.name, entry.reason,
         entry.model ? "; what was loaded before is served" : "");
  for (const std::string &reason : entry.model ? entry.model->refusals() : std::vector<std::string>())
    tell("         not served: {}", reason);
}

// Each connection is a descriptor, and the system's usual limit is a thousand.
static void raiseDescriptors() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
}

namespace {

// From the first signal to the last connection.
class Server {
public:
  Server(const char *name, serve::ConfigurationSources sources, const serve::Configuration &first)
      : name(name), sources(std::move(sources)), configuration(first),
        compiler(*first.cacheDir, [](const std::string &text) { logLine("warning", text); }) {
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : {SIGTERM, SIGINT, SIGHUP})
      sigaddset(&signals, signal);
    // Threads that come inherit it.
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signal(SIGPIPE, SIG_IGN);
    signalDescriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Server() { ::close(signalDescriptor); }

  int run() {
    takeLimits();
    watchFiles();
    serve::Serving serving(configuration, prepareBy(),
                           {.access = logAccess,
                            .loaded = tellLoaded,
                            .warning = [](const std::string &line) { logLine("warning", line); },
                            .commit = sourceCommit()});
    serving.listen();
    tellModels(serving.models());
    ModelLoader loading([&] { serving.loadModels(); });
    loading.wake();
    tellReady(serving);
    notifySystem("READY=1");
    const int signal = watch(serving, loading);
    notifySystem("STOPPING=1");
    const auto isHurried = [this] {
      const int other = takeSignal();
      return other == SIGTERM || other == SIGINT;
    };
    // After Ctrl-C there is no balancer to wait for.
    const bool delays = signal == SIGTERM && *configuration.server.drainDelayS > 0;
    if (delays)
      logLine("info", fmt::format("leaving: requests are answered for {} s more", *configuration.server.drainDelayS));
    const bool isLeft = !delays || serving.leave(isHurried);
    logLine("info", "draining");
    isEnding = true;
    if (!isLeft || !serving.drain(isHurried)) {
      logLine("warning", "ended before all requests were done");
      // Nothing waits for a batch that may go on for long.
      flushLog();
      std::_Exit(static_cast<int>(ExitCode::Failed));
    }
    logLine("info", "drained");
    loading.finish();
    serving.stop();
    return 0;
  }

private:
  // On the thread that loads: an admin's request may be that, while the configuration is read again.
  serve::ModelTable::Prepare prepareBy() {
    return [this](const serve::ModelSettings &settings) {
      return settings.path.ends_with(".vxm")
                 ? settings.path
                 : compiler.compile(settings.path, settings.instance.device, settings.instance.noFallback,
                                    {std::chrono::seconds(compileSeconds), compileBytes, &isEnding});
    };
  }
  void takeLimits() {
    setLog(configuration);
    compileSeconds = *configuration.limits.compileTimeoutS;
    compileBytes = configuration.limits.compileMemory->bytes;
  }
  void tellModels(const serve::ModelRegistry &registry) const {
    size_t refused = 0;
    for (const serve::RegisteredModel &model : registry.models())
      refused += !model.isUsable();
    tell("{}  config {}  models {} ({} found, {} refused)", name,
         configuration.file.empty() ? "none" : configuration.file, registry.folder().empty() ? "-" : registry.folder(),
         registry.models().size(), refused);
    for (const serve::RegisteredModel &model : registry.models())
      if (!model.isUsable())
        tell("refused  {}   {}", model.name, vx::printableLine(model.refusal));
    if (!registry.refusal().empty())
      tell("refused  {}   {}", vx::printableLine(registry.folder()), vx::printableLine(registry.refusal()));
    if (refused == registry.models().size())
      logLine("warning", "there is no model to serve: --model names one, or model_dir a folder of some, which is read "
                         "again on HUP");
  }
  void tellReady(const serve::Serving &serving) const {
    const bool isTls = !configuration.server.tlsCert->empty();
    const std::string &host = *configuration.server.host;
    const auto shown = [](const std::string &text) {
      return text.find(':') == std::string::npos ? text : "[" + text + "]";
    };
    const std::string scheme = isTls ? "https" : "http";
    tell("ready    {}://{}:{}   auth: {}   limit: {}   metrics: {}", scheme, shown(host), serving.port(),
         serving.keyCount() ? fmt::format("{} key{}", serving.keyCount(), serving.keyCount() == 1 ? "" : "s") : "none",
         serving.keyCount() && configuration.limits.perKey->isLimited()
             ? fmt::format("{} in {} s a key", configuration.limits.perKey->count, configuration.limits.perKey->seconds)
             : "none",
         configuration.server.hasAdminPort()
             ? fmt::format("{}://{}:{}/metrics", scheme, shown(*configuration.server.adminHost),
                           *configuration.server.adminPort)
             : "/metrics");
    if (configuration.server.hasGrpcPort())
      tell("ready    grpc{}://{}:{}", isTls ? "s" : "", shown(host), *configuration.server.grpcPort);
  }
  // The next signal, or 0.
  int takeSignal() const {
    signalfd_siginfo info = {};
    return ::read(signalDescriptor, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
  }
  std::vector<std::string> watchedFiles() const {
    std::vector<std::string> files;
    const serve::Configuration::Server &server = configuration.server;
    for (const std::string &file : {configuration.file, *server.apiKeysFile, *server.tlsCert, *server.tlsKey})
      if (!file.empty())
        files.push_back(file);
    return files;
  }
  // Before the files that the configuration names are read. The configuration was read a moment ago.
  void watchFiles() {
    std::string error;
    files = watchedFiles();
    watcher = std::make_unique<serve::ConfigurationWatcher>(files, error);
    if (!error.empty())
      logLine("warning", error);
    const serve::ConfigurationReading now = serve::readConfiguration(sources);
    if (!now.configuration || !serve::compareConfigurations(configuration, *now.configuration).empty())
      serve::ConfigurationWatcher::requestReload();
  }
  // Until a signal ends the server, which it gives.
  int watch(serve::Serving &serving, ModelLoader &loading) {
    for (;;) {
      reloadWhereChanged(serving, loading);
      pollfd entries[] = {{signalDescriptor, POLLIN, 0}, {watcher->descriptor(), POLLIN, 0}};
      (void)::poll(entries, 2, -1);
      for (int signal = takeSignal(); signal != 0; signal = takeSignal()) {
        if (signal != SIGHUP)
          return signal;
        serve::ConfigurationWatcher::requestReload();
      }
    }
  }
  // A watcher knows files as they were before they were read, so that no change meanwhile is lost.
  void reloadWhereChanged(serve::Serving &serving, ModelLoader &loading) {
    while (watcher->shallReload()) {
      if (!reload(serving))
        continue;
      loading.wake();
      if (files == watchedFiles())
        continue;
      std::string error; // the start has printed it
      files = watchedFiles();
      watcher = std::make_unique<serve::ConfigurationWatcher>(files, error);
      serve::ConfigurationWatcher::requestReload();
    }
  }
  // A configuration that is wrong is refused whole, and the old one stays.
  bool reload(serve::Serving &serving) {
    serve::ConfigurationReading reading = serve::readConfiguration(sources);
    std::vector<serve::ConfigurationMessage> messages = reading.messages;
    if (reading.configuration) {
      const std::vector<serve::ConfigurationMessage> more = serving.reload(*reading.configuration);
      messages.insert(messages.end(), more.begin(), more.end());
    }
    const serve::ConfigurationMessage *refusal = nullptr;
    for (const serve::ConfigurationMessage &message : messages) {
      const bool isError = message.kind == serve::ConfigurationMessage::Kind::error;
      logLine(isError ? "error" : "warning", message.line());
      if (isError && !refusal)
        refusal = &message;
    }
    if (refusal) {
      serving.tellRefused(refusal->line());
      logLine("error", "the configuration is refused, the one before stays");
      return false;
    }
    for (const serve::ConfigurationChange &change : serve::compareConfigurations(configuration, *reading.configuration))
      logLine("info", fmt::format("{}: {} is now {}{}", change.key, change.before, change.after,
                                  change.isLive ? "" : "; it takes a new start"));
    configuration = *reading.configuration;
    takeLimits();
    logLine("info", "the configuration was read again");
    return true;
  }

  const char *name;
  const serve::ConfigurationSources sources;
  serve::Configuration configuration;
  std::vector<std::string> files; // that are watched
  std::unique_ptr<serve::ConfigurationWatcher> watcher;
  int signalDescriptor = -1;
  std::atomic<bool> isEnding = false;
  std::atomic<uint64_t> compileSeconds = 0, compileBytes = 0;
  CompileChild compiler;
};

} // namespace

// Bodies of megabytes come and go with each request. By default their memory goes back to the system each time, the
// next request has a page fault for each page, and threads wait for one another in them.
static void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

static int run(const char *name, int argc, char **argv) {
  CLI::App app("Serves embeddings and any module over HTTP.");
  ConfigurationOptions options;
  options.addTo(app);
  bool checks = false, prints = false;
  app.add_flag("--check-config", checks, "Tell all that is wrong with the configuration, and exit");
  app.add_flag("--print-config", prints, "Print each value of the configuration with where it came from, and exit");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  const serve::ConfigurationSources sources = options.sources();
  const std::optional<serve::Configuration> configuration = readOrTell(name, sources);
  if (!configuration)
    return static_cast<int>(ExitCode::Usage);
  if (prints)
    printText(serve::printConfiguration(*configuration));
  // What is to be served by its name is served, or there is no server; what lies in a folder may be anything.
  if (!prints && tellMessages(name, serve::Serving::check(*configuration)))
    return static_cast<int>(ExitCode::BadInput);
  if (prints || checks)
    return 0;
  raiseDescriptors();
  keepFreedMemory();
  try {
    return Server(name, sources, *configuration).run();
  } catch (const serve::Error &error) {
    if (error.kind() == serve::Error::Kind::argument)
      throw usageError("{}", error.what());
    if (error.kind() == serve::Error::Kind::data)
      throw fileError("{}", error.what());
    throw workError("{}", error.what());
  }
}

int main(int argc, char **argv) { return runTool("vx-serve", argc, argv, run); }
