#include "server_process.h"

#include "configuration_watcher.h"
#include "model_loader.h"
#include "server_log.h"

#include "vx/base/printable.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace vx::serve {
namespace {

// The state of the service, for systemd; nothing where nobody asked for it.
void notifySystem(const char *state) {
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
std::string deviceText(const ServedModel &model) {
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

void tellLoaded(const ModelTable::Entry &entry) {
  if (!entry.model && entry.state == ModelTable::State::unloaded && entry.reason.empty())
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
void raiseDescriptors() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
}

// From the first signal to the last connection.
class Process {
public:
  Process(const ServerProcess &process, ConfigurationSources sources, const Configuration &first)
      : process(process), sources(std::move(sources)), configuration(first) {
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : {SIGTERM, SIGINT, SIGHUP})
      sigaddset(&signals, signal);
    // Threads that come inherit it.
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signal(SIGPIPE, SIG_IGN);
    signalDescriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Process() { ::close(signalDescriptor); }

  void run() {
    takeLimits();
    watchFiles();
    Serving serving(configuration, prepareBy(),
                    {.access = logAccess,
                     .loaded = tellLoaded,
                     .warning = [](const std::string &line) { logLine("warning", line); },
                     .commit = process.commit});
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
      process.abandon();
    }
    logLine("info", "drained");
    loading.finish();
    serving.stop();
  }

private:
  // On the thread that loads: an admin's request may be that, while the configuration is read again.
  ModelTable::Prepare prepareBy() {
    return [this](const ModelSettings &settings) {
      return settings.path.ends_with(".vxm")
                 ? settings.path
                 : process.compile(settings, {std::chrono::seconds(compileSeconds), compileBytes, &isEnding});
    };
  }
  void takeLimits() {
    setLog(configuration);
    compileSeconds = *configuration.limits.compileTimeoutS;
    compileBytes = configuration.limits.compileMemory->bytes;
  }
  void tellModels(const ModelRegistry &registry) const {
    size_t refused = 0;
    for (const RegisteredModel &model : registry.models())
      refused += !model.isUsable();
    tell("{}  config {}  models {} ({} found, {} refused)", process.name,
         configuration.file.empty() ? "none" : configuration.file, registry.folder().empty() ? "-" : registry.folder(),
         registry.models().size(), refused);
    for (const RegisteredModel &model : registry.models())
      if (!model.isUsable())
        tell("refused  {}   {}", model.name, printableLine(model.refusal));
    if (!registry.refusal().empty())
      tell("refused  {}   {}", printableLine(registry.folder()), printableLine(registry.refusal()));
    if (refused == registry.models().size())
      logLine("warning", "there is no model to serve: --model names one, or model_dir a folder of some, which is read "
                         "again on HUP");
  }
  void tellReady(const Serving &serving) const {
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
    const Configuration::Server &server = configuration.server;
    for (const std::string &file : {configuration.file, *server.apiKeysFile, *server.tlsCert, *server.tlsKey})
      if (!file.empty())
        files.push_back(file);
    return files;
  }
  // Before the files that the configuration names are read. The configuration was read a moment ago.
  void watchFiles() {
    std::string error;
    files = watchedFiles();
    watcher = std::make_unique<ConfigurationWatcher>(files, error);
    if (!error.empty())
      logLine("warning", error);
    const ConfigurationReading now = readConfiguration(sources);
    if (!now.configuration || !compareConfigurations(configuration, *now.configuration).empty())
      ConfigurationWatcher::requestReload();
  }
  // Until a signal ends the server, which it gives.
  int watch(Serving &serving, ModelLoader &loading) {
    for (;;) {
      reloadWhereChanged(serving, loading);
      pollfd entries[] = {{signalDescriptor, POLLIN, 0}, {watcher->descriptor(), POLLIN, 0}};
      (void)::poll(entries, 2, -1);
      for (int signal = takeSignal(); signal != 0; signal = takeSignal()) {
        if (signal != SIGHUP)
          return signal;
        ConfigurationWatcher::requestReload();
      }
    }
  }
  // A watcher knows files as they were before they were read, so that no change meanwhile is lost.
  void reloadWhereChanged(Serving &serving, ModelLoader &loading) {
    while (watcher->shallReload()) {
      if (!reload(serving))
        continue;
      loading.wake();
      if (files == watchedFiles())
        continue;
      std::string error; // the start has printed it
      files = watchedFiles();
      watcher = std::make_unique<ConfigurationWatcher>(files, error);
      ConfigurationWatcher::requestReload();
    }
  }
  // A configuration that is wrong is refused whole, and the old one stays.
  bool reload(Serving &serving) {
    ConfigurationReading reading = readConfiguration(sources);
    std::vector<ConfigurationMessage> messages = reading.messages;
    if (reading.configuration) {
      const std::vector<ConfigurationMessage> more = serving.reload(*reading.configuration);
      messages.insert(messages.end(), more.begin(), more.end());
    }
    const ConfigurationMessage *refusal = nullptr;
    for (const ConfigurationMessage &message : messages) {
      const bool isError = message.kind == ConfigurationMessage::Kind::error;
      logLine(isError ? "error" : "warning", message.origin.text() + ": " + message.text); // the level says its kind
      if (isError && !refusal)
        refusal = &message;
    }
    if (refusal) {
      serving.tellRefused(refusal->line());
      logLine("error", "the configuration is refused, the one before stays");
      return false;
    }
    for (const ConfigurationChange &change : compareConfigurations(configuration, *reading.configuration))
      logLine("info", fmt::format("{}: {} is now {}{}", change.key, change.before, change.after,
                                  change.isLive ? "" : "; it takes a new start"));
    configuration = *reading.configuration;
    takeLimits();
    logLine("info", "the configuration was read again");
    return true;
  }

  const ServerProcess &process;
  const ConfigurationSources sources;
  Configuration configuration;
  std::vector<std::string> files; // that are watched
  std::unique_ptr<ConfigurationWatcher> watcher;
  int signalDescriptor = -1;
  std::atomic<bool> isEnding = false;
  std::atomic<uint64_t> compileSeconds = 0, compileBytes = 0;
};

// Bodies of megabytes come and go with each request. By default their memory goes back to the system each time, the
// next request has a page fault for each page, and threads wait for one another in them.
void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

} // namespace

void runServerProcess(const ServerProcess &process, const ConfigurationSources &sources,
                      const Configuration &configuration) {
  raiseDescriptors();
  keepFreedMemory();
  Process(process, sources, configuration).run();
}

} // namespace vx::serve
