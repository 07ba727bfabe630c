#include "configuration_keys.h"

#include <algorithm>
#include <array>

namespace vx::serve {
namespace {

constexpr std::array<std::string_view, 4> logWords = {"error", "warning", "info", "debug"};
constexpr std::array<std::string_view, 2> logFormats = {"text", "json"};
constexpr std::array<std::string_view, 3> loadWords = {"startup", "lazy", "admin"};
constexpr std::array<std::string_view, 3> cacheWords = {"f16", "bf16", "q8"};

constexpr uint64_t hour = 3600, day = 86400, million = 1000000, mostBytes = uint64_t(1) << 50;

#define VX_SETTING(field) [](Configuration &c) -> SettingRef { return &c.field; }
#define VX_MODEL_SETTING(field) [](ModelConfiguration &m) -> SettingRef { return &m.field; }

const ConfigurationKey keys[] = {
    {{"", "version", "The version of this format", Effect::restart, ValueForm::any, 1, 1}, VX_SETTING(version)},
    {{"",
      "model_dir",
      "The folder of models that requests ask for by name",
      Effect::live,
      ValueForm::path,
      0,
      0,
      {},
      "~/models"},
     VX_SETTING(modelDir)},
    {{"",
      "cache_dir",
      "The folder of compiled models and kernels",
      Effect::restart,
      ValueForm::path,
      0,
      0,
      {},
      "~/.cache/vx"},
     VX_SETTING(cacheDir)},
    {{"", "default_backend",
      "The device of models that name none, or { vulkan = { device_id = 0 } } or "
      "{ cpu = { num_threads = 8 } }"},
     VX_SETTING(defaultBackend)},
    {{"", "devices",
      "Devices that each model has an instance on, as [\"cuda:0\", \"cuda:1\"], or \"all\" of "
      "default_backend's; empty is default_backend alone",
      Effect::live, ValueForm::devices},
     VX_SETTING(devices)},
    {{"", "order",
      "Backends, the best first, for \"auto\" and after a device that is refused; empty is the runtime's own order",
      Effect::live, ValueForm::order},
     VX_SETTING(order)},
    {{"", "fallback", "After a device that is refused or lost, use the rest of the order"}, VX_SETTING(fallback)},
    {{"", "load",
      "When models are loaded: when the server starts (\"startup\"), for the first request (\"lazy\"), or by a request "
      "with an admin key (\"admin\")",
      Effect::live, ValueForm::word, 0, 0, loadWords},
     VX_SETTING(load)},

    {{"server", "host", "The address to listen at", Effect::restart, ValueForm::host}, VX_SETTING(server.host)},
    {{"server", "port", "The port; 0 is any that is free", Effect::restart, ValueForm::any, 0, 65535},
     VX_SETTING(server.port)},
    {{"server", "admin_host", "The address of admin_port", Effect::restart, ValueForm::host},
     VX_SETTING(server.adminHost)},
    {{"server", "admin_port",
      "A second port, which alone answers /metrics and paths that take an admin's key; 0 is none", Effect::restart,
      ValueForm::any, 0, 65535},
     VX_SETTING(server.adminPort)},
    {{"server", "grpc_port", "The port for KServe's protocol over gRPC, at host; 0 is none", Effect::restart,
      ValueForm::any, 0, 65535},
     VX_SETTING(server.grpcPort)},
    {{"server", "api_keys_file", "The file of keys", Effect::live, ValueForm::path}, VX_SETTING(server.apiKeysFile)},
    {{"server", "no_auth", "Serve without keys also where other machines reach the host", Effect::restart},
     VX_SETTING(server.noAuth)},
    {{"server", "metrics_open", "Let /metrics be read without a key"}, VX_SETTING(server.metricsOpen)},
    {{"server", "cors", "Origins of web pages that may send requests, as \"https://example.org\"", Effect::live,
      ValueForm::origins},
     VX_SETTING(server.cors)},
    {{"server", "tls_cert", "The certificates to serve TLS with (PEM)", Effect::live, ValueForm::path},
     VX_SETTING(server.tlsCert)},
    {{"server", "tls_key", "Their private key (PEM)", Effect::live, ValueForm::path}, VX_SETTING(server.tlsKey)},
    {{"server", "request_limit", "The most bytes of a request's body", Effect::live, ValueForm::any, 1024, mostBytes},
     VX_SETTING(server.requestLimit)},
    {{"server", "header_timeout_s", "Seconds for a request's header to arrive in", Effect::restart, ValueForm::any, 1,
      day},
     VX_SETTING(server.headerTimeoutS)},
    {{"server", "body_timeout_s", "Seconds for its body to arrive in, and for the client to read the answer",
      Effect::restart, ValueForm::any, 1, day},
     VX_SETTING(server.bodyTimeoutS)},
    {{"server", "timeout_s", "Seconds for its answer to be computed in", Effect::live, ValueForm::any, 1, day},
     VX_SETTING(server.timeoutS)},
    {{"server", "drain_delay_s",
      "Seconds for which requests are still answered after TERM, while the health paths say draining", Effect::live,
      ValueForm::any, 0, hour},
     VX_SETTING(server.drainDelayS)},
    {{"server", "drain_s", "Seconds for requests under way when the server is asked to end", Effect::live,
      ValueForm::any, 0, day},
     VX_SETTING(server.drainS)},
    {{"server", "threads", "The most threads that work on requests", Effect::restart, ValueForm::any, 1, 4096},
     VX_SETTING(server.threads)},
    {{"server", "log", "The least level that is logged", Effect::live, ValueForm::word, 0, 0, logWords},
     VX_SETTING(server.log)},
    {{"server", "log_format", "Lines of the log: text, or JSON objects", Effect::live, ValueForm::word, 0, 0,
      logFormats},
     VX_SETTING(server.logFormat)},
    {{"server", "access_log", "Log each request (level info)"}, VX_SETTING(server.accessLog)},
    {{"server", "trace_url",
      "The collector of OpenTelemetry that traces go to, as \"http://localhost:4318/v1/traces\"; empty is none",
      Effect::live, ValueForm::url},
     VX_SETTING(server.traceUrl)},
    {{"server", "trace_one_in",
      "Of requests without a traceparent one in so many is traced; else the traceparent's flag decides", Effect::live,
      ValueForm::any, 1, million},
     VX_SETTING(server.traceOneIn)},

    {{"server.limits", "per_key", "Requests of a key; \"0\" is no limit"}, VX_SETTING(limits.perKey)},
    {{"server.limits", "tokens_per_key", "Tokens of a key's requests; \"0\" is no limit"},
     VX_SETTING(limits.tokensPerKey)},
    {{"server.limits", "auth_failures",
      "Wrong keys from one address, before its requests are refused unread; \"0\" is no limit"},
     VX_SETTING(limits.authFailures)},
    {{"server.limits", "queue", "Requests that wait for one model", Effect::live, ValueForm::any, 1, 65536},
     VX_SETTING(limits.queue)},
    {{"server.limits", "batch_timeout_ms", "How long a request waits for others in its batch, where the model is busy",
      Effect::live, ValueForm::any, 0, 60000},
     VX_SETTING(limits.batchTimeoutMs)},
    {{"server.limits", "batch_size", "The most rows of a batch", Effect::live, ValueForm::any, 1, 65536},
     VX_SETTING(limits.batchSize)},
    {{"server.limits", "batch_tokens", "The most tokens of a batch, with its padding", Effect::live, ValueForm::any, 1,
      million},
     VX_SETTING(limits.batchTokens)},
    {{"server.limits", "connections", "Open connections", Effect::live, ValueForm::any, 1, million},
     VX_SETTING(limits.connections)},
    {{"server.limits", "connections_per_address", "Open connections of one address", Effect::live, ValueForm::any, 1,
      million},
     VX_SETTING(limits.connectionsPerAddress)},
    {{"server.limits", "bytes_in_flight", "The most bytes of all requests and answers at one time", Effect::live,
      ValueForm::any, 1024, mostBytes},
     VX_SETTING(limits.bytesInFlight)},
    {{"server.limits", "bytes_per_address", "The part of these for the requests of one address", Effect::live,
      ValueForm::any, 1024, mostBytes},
     VX_SETTING(limits.bytesPerAddress)},
    {{"server.limits", "bytes_per_key", "The part of these for the requests of one key", Effect::live, ValueForm::any,
      1024, mostBytes},
     VX_SETTING(limits.bytesPerKey)},
    {{"server.limits", "call_memory",
      "The most memory of all calls of one model at one time: a part of its device's memory, or bytes of it"},
     VX_SETTING(limits.callMemory)},
    {{"server.limits", "memory_budget",
      "The most memory of all models' weights and variables; above it the lazy model that was used least recently is "
      "unloaded; 0 is no limit",
      Effect::live, ValueForm::any, 0, mostBytes},
     VX_SETTING(limits.memoryBudget)},
    {{"server.limits", "compile_timeout_s", "Seconds for a model to be compiled in", Effect::live, ValueForm::any, 1,
      day},
     VX_SETTING(limits.compileTimeoutS)},
    {{"server.limits", "compile_memory", "The most memory of a compilation", Effect::live, ValueForm::any, 64 << 20,
      mostBytes},
     VX_SETTING(limits.compileMemory)},

    {{"benchmarks", "iterations", "Reserved for vx bench", Effect::none, ValueForm::any, 1, million},
     VX_SETTING(benchmarks.iterations)},
    {{"benchmarks", "models", "Reserved for vx bench", Effect::none, ValueForm::names}, VX_SETTING(benchmarks.models)},
    {{"benchmarks", "peers", "Reserved for vx bench", Effect::none, ValueForm::names}, VX_SETTING(benchmarks.peers)},
};

constexpr std::string_view model = "server.model";

constexpr KeyFacts inherited(KeyFacts facts) {
  facts.isInherited = true;
  return facts;
}

const ModelKey keysOfModels[] = {
    {{model, "name", "Its name in requests; the name of its file where none is given", Effect::live, ValueForm::name},
     VX_MODEL_SETTING(name)},
    {{model, "path", "Its file or folder; where none is given, the model of that name in model_dir", Effect::live,
      ValueForm::path},
     VX_MODEL_SETTING(path)},
    {{model, "alias", "Other names for it", Effect::live, ValueForm::names}, VX_MODEL_SETTING(alias)},
    {inherited({model, "device", "Its device; default_backend where none is given"}), VX_MODEL_SETTING(device)},
    {{model, "devices", "Its devices in place of one, as [vx] devices; a device of its own turns those of [vx] off",
      Effect::live, ValueForm::devices},
     VX_MODEL_SETTING(devices)},
    {inherited({model, "fallback", "The value of [vx] where none is given"}), VX_MODEL_SETTING(fallback)},
    {inherited({model, "batch_size", "The value of [vx.server.limits] where none is given", Effect::live,
                ValueForm::any, 1, 65536}),
     VX_MODEL_SETTING(batchSize)},
    {inherited({model, "batch_tokens", "The value of [vx.server.limits] where none is given", Effect::live,
                ValueForm::any, 1, million}),
     VX_MODEL_SETTING(batchTokens)},
    {inherited({model, "batch_timeout_ms", "The value of [vx.server.limits] where none is given", Effect::live,
                ValueForm::any, 0, 60000}),
     VX_MODEL_SETTING(batchTimeoutMs)},
    {inherited({model, "call_memory", "The value of [vx.server.limits] where none is given"}),
     VX_MODEL_SETTING(callMemory)},
    {{model, "deterministic", "Answers have the same bits in every batch"}, VX_MODEL_SETTING(deterministic)},
    {{model, "preload", "The former name of load: false is \"admin\" where no load is given"},
     VX_MODEL_SETTING(preload)},
    {inherited(
         {model, "load", "The value of [vx] where none is given", Effect::live, ValueForm::word, 0, 0, loadWords}),
     VX_MODEL_SETTING(load)},
    {{model, "stateful", "Functions that store variables and are served nevertheless; all clients share the variables",
      Effect::live, ValueForm::names},
     VX_MODEL_SETTING(stateful)},
    {{model, "context", "Reserved for language models", Effect::none, ValueForm::any, 0, 100 * million},
     VX_MODEL_SETTING(context)},
    {{model, "kv", "Reserved for language models", Effect::none, ValueForm::word, 0, 0, cacheWords},
     VX_MODEL_SETTING(kv)},
    {{model, "kv_memory", "Reserved for language models: a part of the device's memory, or bytes of it", Effect::none},
     VX_MODEL_SETTING(kvMemory)},
    {{model, "max_sequences", "Reserved for language models", Effect::none, ValueForm::any, 1, 65536},
     VX_MODEL_SETTING(maxSequences)},
};

#undef VX_SETTING
#undef VX_MODEL_SETTING

} // namespace

std::span<const ConfigurationKey> configurationKeys() { return keys; }
std::span<const ModelKey> modelKeys() { return keysOfModels; }

std::string KeyFacts::path() const {
  return table.empty() ? std::string(name) : std::string(table) + "." + std::string(name);
}

std::string KeyFacts::label() const {
  return "[vx" + (table.empty() ? "" : "." + std::string(table)) + "] '" + std::string(name) + "'";
}

std::string KeyFacts::variable() const {
  if (table == model)
    return "";
  // These two are the runtime's and the compiler's too.
  if (table.empty() && name == "order")
    return "VX_DEVICE_ORDER";
  if (table.empty() && name == "cache_dir")
    return "VX_CACHE";
  std::string text = "VX_";
  for (char letter : path())
    text += letter == '.' ? std::string("__")
                          : std::string(1, static_cast<char>(std::toupper(static_cast<unsigned char>(letter))));
  return text;
}

std::string KeyFacts::flag() const {
  if (table == model || effect == Effect::none || name == "version")
    return "";
  if (table.empty() && name == "default_backend")
    return "--device";
  if (table.empty() && name == "order")
    return "--device-order";
  if (table.empty() && name == "fallback")
    return "--no-fallback";
  std::string text = "--" + std::string(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

} // namespace vx::serve
