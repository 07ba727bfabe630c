#include "serving.h"

#include "configuration_values.h"
#include "failure.h"
#include "grpc_library.h"
#include "key_gatekeeper.h"
#include "process_facts.h"

#include "vx/base/printable.h"
#include "vx/serve/error.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>

namespace vx::serve {
namespace {

HttpLimits httpLimits(const Configuration &configuration) {
  HttpLimits limits;
  limits.bodyBytes = configuration.server.requestLimit->bytes;
  limits.bytesInFlight = configuration.limits.bytesInFlight->bytes;
  limits.bytesPerAddress = configuration.limits.bytesPerAddress->bytes;
  limits.bytesPerKey = configuration.limits.bytesPerKey->bytes;
  limits.headerTime = std::chrono::seconds(*configuration.server.headerTimeoutS);
  limits.bodyTime = limits.writeTime = std::chrono::seconds(*configuration.server.bodyTimeoutS);
  limits.connections = *configuration.limits.connections;
  limits.connectionsPerAddress = *configuration.limits.connectionsPerAddress;
  // A thread moves about 0.6 GB/s of bodies; clients of several GPUs send more.
  constexpr unsigned coresOfThread = 4, leastThreads = 2, mostThreads = 8;
  limits.threads = std::clamp(std::thread::hardware_concurrency() / coresOfThread, leastThreads, mostThreads);
  return limits;
}

ServiceOptions serviceOptions(const Configuration &configuration) {
  ServiceOptions options;
  options.host = *configuration.server.host;
  options.adminHost = *configuration.server.adminHost;
  options.hasAdminPort = configuration.server.hasAdminPort();
  options.origins = *configuration.server.cors;
  options.timeout = std::chrono::seconds(*configuration.server.timeoutS);
  options.traceOneIn = *configuration.server.traceOneIn;
  options.metricsOpen = *configuration.server.metricsOpen;
  options.workers = std::min<size_t>(*configuration.server.threads, std::max(2u, std::thread::hardware_concurrency()));
  return options;
}

TlsFiles tlsFiles(const Configuration &configuration) {
  return {*configuration.server.tlsCert, *configuration.server.tlsKey};
}

// Says what is wrong with the files of a configuration that has TLS.
void checkTlsOf(const Configuration &configuration, std::vector<ConfigurationMessage> &messages) {
  if (configuration.server.tlsCert->empty())
    return;
  try {
    checkTls(tlsFiles(configuration));
  } catch (const Error &error) {
    messages.push_back({ConfigurationMessage::Kind::error, configuration.server.tlsCert.origin, error.what()});
  }
}

// Says why there can be no gRPC where the configuration asks for it.
void checkGrpcOf(const Configuration &configuration, std::vector<ConfigurationMessage> &messages) {
  if (!configuration.server.hasGrpcPort())
    return;
  try {
    (void)openGrpcLibrary();
  } catch (const Error &error) {
    messages.push_back({ConfigurationMessage::Kind::error, configuration.server.grpcPort.origin, error.what()});
  }
}

std::shared_ptr<TraceExporter> makeExporter(const Configuration &configuration, const TraceExporter::Warn &warn) {
  if (configuration.server.traceUrl->empty())
    return nullptr;
  std::optional<HttpUrl> url = parseHttpUrl(*configuration.server.traceUrl);
  if (url && url->target == "/")
    url->target = "/v1/traces";
  char name[256] = {};
  (void)::gethostname(name, sizeof(name) - 1);
  return url ? std::make_shared<TraceExporter>(*url,
                                               std::vector<Span::Attribute>{
                                                   {"service.name", "vx-serve"},
                                                   {"service.version", std::string(versionNumber())},
                                                   {"host.name", printableLine(name)},
                                                   {"process.pid", static_cast<int64_t>(::getpid())},
                                               },
                                               warn)
             : nullptr;
}

// The files may have become another kind of model, or none, since they were found.
void checkFiles(const ModelSettings &settings) {
  const ModelPlace place = lookAtModel(settings.path, settings.root);
  if (place.refusal.empty())
    return;
  const bool hasPath = place.refusal.find(settings.path) != std::string::npos;
  throw serviceError(ErrorCode::invalid_value, "{}",
                     hasPath ? place.refusal : fmt::format("'{}': {}", settings.path, place.refusal));
}

ModelSettings modelSettings(const RegisteredModel &model, const std::string &folder,
                            const Configuration &configuration) {
  static const ModelConfiguration standard;
  const ModelConfiguration &own = model.configuration ? *model.configuration : standard;
  const auto either = [](const auto &setting, const auto &other) { return setting.isGiven() ? *setting : *other; };
  ModelSettings settings;
  settings.name = model.name;
  // A folder of a model that is not of texts stands for the file in it.
  settings.path =
      model.kind == ModelKind::folder && model.tokenizer.empty() ? model.path + "/" + model.onnx : model.path;
  if (!model.configuration || model.configuration->path->empty())
    settings.root = folder;
  settings.aliases = model.aliases;
  const DeviceWish wish = either(own.device, configuration.defaultBackend);
  settings.instance.device = wish.device;
  settings.instance.threads = wish.threads;
  if (own.devices.isGiven() || !own.device.isGiven())
    settings.devices = either(own.devices, configuration.devices);
  settings.instance.deviceOrder = *configuration.order;
  settings.instance.noFallback = !either(own.fallback, configuration.fallback);
  settings.limits.queue = *configuration.limits.queue;
  settings.limits.rows = either(own.batchSize, configuration.limits.batchSize);
  settings.limits.tokens = either(own.batchTokens, configuration.limits.batchTokens);
  settings.limits.timeout = std::chrono::milliseconds(either(own.batchTimeoutMs, configuration.limits.batchTimeoutMs));
  settings.callMemory = either(own.callMemory, configuration.limits.callMemory);
  settings.deterministic = *own.deterministic;
  settings.stateful = *own.stateful;
  const std::string load = either(own.load, configuration.load);
  settings.load = load == "lazy" ? LoadMode::lazy : load == "admin" ? LoadMode::admin : LoadMode::startup;
  return settings;
}

} // namespace

Serving::Serving(const Configuration &given, ModelTable::Prepare prepare, Told toldTo)
    : configuration(given), told(std::move(toldTo)), registry(ModelRegistry::read(given)),
      rates(std::make_shared<RateLimiter>(*given.limits.perKey, *given.limits.tokensPerKey)),
      failures(std::make_shared<FailureThrottle>(*given.limits.authFailures)),
      table(
          metrics,
          [prepare = std::move(prepare)](const ModelSettings &settings) {
            checkFiles(settings);
            return prepare(settings);
          },
          told.loaded, told.warning) {
  std::vector<ConfigurationMessage> messages;
  known = readKeys(configuration, messages);
  for (const ConfigurationMessage &message : messages)
    if (message.kind == ConfigurationMessage::Kind::error)
      throw Error(Error::Kind::data, message.line());
  table.setBudget(configuration.limits.memoryBudget->bytes);
  addModels(configuration);
  server = makeHttpServer(httpLimits(configuration), tlsFiles(configuration));
  ServiceOptions options = serviceOptions(configuration);
  options.commit = told.commit;
  service =
      std::make_unique<Service>(options, table, makeGatekeeper(known), metrics, [this] { return server->load(); });
  service->log = told.access;
  service->warn = told.warning;
  service->setTraces(makeExporter(configuration, told.warning));
}

// Jobs that are over reply to connections: these go last.
Serving::~Serving() { stop(); }

std::vector<ConfigurationMessage> Serving::check(const Configuration &configuration) {
  std::vector<ConfigurationMessage> messages;
  readKeys(configuration, messages);
  checkTlsOf(configuration, messages);
  checkGrpcOf(configuration, messages);
  const ModelRegistry models = ModelRegistry::read(configuration);
  for (const auto &more : {models.missing(configuration), models.warnings(configuration)})
    messages.insert(messages.end(), more.begin(), more.end());
  return messages;
}

std::optional<ApiKeys> Serving::readKeys(const Configuration &from, std::vector<ConfigurationMessage> &messages) {
  if (from.server.apiKeysFile->empty())
    return std::nullopt;
  ApiKeysReading reading = readApiKeys(*from.server.apiKeysFile);
  messages.insert(messages.end(), reading.messages.begin(), reading.messages.end());
  return std::move(reading.keys);
}

std::shared_ptr<Gatekeeper> Serving::makeGatekeeper(std::optional<ApiKeys> keys) const {
  return std::make_shared<KeyGatekeeper>(std::move(keys), rates, failures);
}

void Serving::addModels(const Configuration &from) {
  std::set<std::string> names;
  std::vector<ModelTable::Refused> refused;
  for (const RegisteredModel &model : registry.models())
    if (model.isUsable()) {
      names.insert(model.name);
      table.add(modelSettings(model, registry.folder(), from));
    } else {
      refused.push_back({model.name, model.refusal});
    }
  // What has become wrong is served as it was.
  for (const ModelTable::Refused &model : refused)
    if (!names.contains(model.name) && table.keep(model.name, model.reason))
      names.insert(model.name);
  const bool isFolderRefused = !registry.refusal().empty();
  for (const ModelTable::Entry &entry : table.entries())
    if (!names.contains(entry.settings.name) &&
        !(isFolderRefused && table.keep(entry.settings.name, registry.refusal())))
      table.remove(entry.settings.name);
  if (isFolderRefused)
    refused.push_back({registry.folder(), registry.refusal()});
  table.refuse(refused);
}

void Serving::listen() {
  server->listen(*configuration.server.host, static_cast<uint16_t>(*configuration.server.port));
  if (configuration.server.hasAdminPort())
    server->listen(*configuration.server.adminHost, static_cast<uint16_t>(*configuration.server.adminPort),
                   /*isAdmin=*/true);
  if (configuration.server.hasGrpcPort())
    grpc =
        std::make_unique<GrpcServer>(*configuration.server.host, static_cast<uint16_t>(*configuration.server.grpcPort),
                                     tlsFiles(configuration), server->shared(), *service);
  server->start(*service);
}

void Serving::loadModels() {
  // Without the models themselves, which end when their successors are there.
  std::vector<std::string> names;
  for (const ModelTable::Entry &entry : table.entries())
    if (entry.isWaiting)
      names.push_back(entry.settings.name);
  for (const std::string &name : names) {
    try {
      table.loadOrPrepare(name);
    } catch (const ServiceError &) {
      // The entry says why, and has been told.
    }
  }
  table.fitBudget();
}

std::vector<ConfigurationMessage> Serving::reload(const Configuration &next) {
  std::vector<ConfigurationMessage> messages;
  std::optional<ApiKeys> keys = readKeys(next, messages);
  const auto isError = [](const ConfigurationMessage &message) {
    return message.kind == ConfigurationMessage::Kind::error;
  };
  ModelRegistry models = ModelRegistry::read(next);
  ModelRegistry::Present present = {{}, registry.folder()};
  for (const ModelTable::Entry &entry : table.entries())
    present.models.push_back(entry.settings.name);
  const std::vector<ConfigurationMessage> missing = models.missing(next, present);
  // The server still listens where it did: what the new file says of host and no_auth is not yet.
  std::vector<std::string> reached = {*configuration.server.host};
  if (configuration.server.hasAdminPort())
    reached.push_back(*configuration.server.adminHost);
  for (const std::string &host : reached)
    if (messages.empty() && !keys && !*configuration.server.noAuth && !isLoopback(host))
      messages.push_back(
          {ConfigurationMessage::Kind::error, next.server.host.origin,
           fmt::format("others reach '{}', where the server listens until it is started again, and there "
                       "would be no keys",
                       host)});
  checkTlsOf(next, messages);
  const bool hasTls = !configuration.server.tlsCert->empty();
  if (hasTls == next.server.tlsCert->empty())
    messages.push_back({ConfigurationMessage::Kind::warning, next.server.tlsCert.origin,
                        fmt::format("[vx.server] 'tls_cert': the server {} TLS until it is started again",
                                    hasTls ? "keeps its files of" : "has no")});
  const std::vector<ConfigurationMessage> warnings = models.warnings(next);
  for (const auto &more : {missing, warnings})
    messages.insert(messages.end(), more.begin(), more.end());
  if (std::any_of(messages.begin(), messages.end(), isError))
    return messages;
  if (hasTls && !next.server.tlsCert->empty())
    try {
      server->setTls(tlsFiles(next));
      if (grpc)
        grpc->setTls(tlsFiles(next));
    } catch (const Error &error) { // they have changed meanwhile
      messages.push_back({ConfigurationMessage::Kind::error, next.server.tlsCert.origin, error.what()});
      return messages;
    }
  std::vector<std::string> names;
  if (keys)
    for (const ApiKey &key : keys->all())
      names.push_back(key.name);
  const Moment now = std::chrono::steady_clock::now();
  rates->change(*next.limits.perKey, *next.limits.tokensPerKey, names, now);
  failures->change(*next.limits.authFailures, now);
  known = keys;
  service->setGatekeeper(makeGatekeeper(std::move(keys)));
  // What browsers are told of the host goes by where the server listens, which stays.
  ServiceOptions options = serviceOptions(next);
  options.host = *configuration.server.host;
  options.adminHost = *configuration.server.adminHost;
  options.hasAdminPort = configuration.server.hasAdminPort();
  options.commit = told.commit;
  service->setOptions(options);
  HttpLimits limits = httpLimits(next);
  limits.headerTime = std::chrono::seconds(*configuration.server.headerTimeoutS);
  limits.bodyTime = limits.writeTime = std::chrono::seconds(*configuration.server.bodyTimeoutS);
  server->setLimits(limits);
  registry = std::move(models);
  table.setBudget(next.limits.memoryBudget->bytes);
  addModels(next);
  configuration.server.drainS = next.server.drainS;
  configuration.server.drainDelayS = next.server.drainDelayS;
  if (*configuration.server.traceUrl != *next.server.traceUrl)
    service->setTraces(makeExporter(next, told.warning));
  configuration.server.traceUrl = next.server.traceUrl;
  service->setConfigurationState("");
  return messages;
}

bool Serving::leave(const std::function<bool()> &isHurried) {
  const Moment end = std::chrono::steady_clock::now() + std::chrono::seconds(*configuration.server.drainDelayS);
  service->leave();
  server->leave();
  while (std::chrono::steady_clock::now() < end) {
    if (isHurried())
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

bool Serving::drain(const std::function<bool()> &isHurried) {
  const Moment end = std::chrono::steady_clock::now() + std::chrono::seconds(*configuration.server.drainS);
  const auto isOver = [&] { return isHurried() || std::chrono::steady_clock::now() > end; };
  if (grpc)
    grpc->drain(std::chrono::seconds(*configuration.server.drainS));
  // Whoever asks meanwhile is told, and where the load is spread is seen by /health: the sockets go last.
  service->drain();
  while (server->load().requests != 0) {
    if (isOver())
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  server->drain();
  while (!server->waitUntilIdle(std::chrono::milliseconds(20)))
    if (isOver())
      return false;
  return true;
}

void Serving::stop() {
  grpc.reset();
  server->stop();
  table.unloadAll();
}

} // namespace vx::serve
