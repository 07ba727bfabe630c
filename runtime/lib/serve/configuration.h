// What a server is told before it starts: a TOML file, the environment and flags, each value with its origin.
//
// The file's keys stand in docs/serving.md, which is made of the table in configuration_keys.cpp, as reading, printing
// and comparing are.
#ifndef VX_SERVE_CONFIGURATION_H
#define VX_SERVE_CONFIGURATION_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::serve {

// Where a value came from.
struct Origin {
  enum class Kind : uint8_t { standard, file, environment, flag };
  Kind kind = Kind::standard;
  std::string place; // "config.toml:12:9", "VX_SERVER__PORT", "--port"; empty for a default

  // The same, or "default".
  std::string text() const { return kind == Kind::standard ? "default" : place; }
};

template <typename T>
struct Setting {
  T value = {};
  Origin origin = {};

  const T &operator*() const { return value; }
  const T *operator->() const { return &value; }
  bool isGiven() const { return origin.kind != Origin::Kind::standard; }
};

struct ByteSize {
  uint64_t bytes = 0;
  bool operator==(const ByteSize &) const = default;
};

// So many in so many seconds; none for a count of 0, which sets no limit.
struct Rate {
  uint64_t count = 0;
  uint32_t seconds = 60;
  bool isLimited() const { return count != 0; }
  bool operator==(const Rate &) const = default;
};

// A part of a device's memory, or so many bytes of it.
struct MemoryShare {
  uint32_t percent = 0; // 0: `bytes`
  uint64_t bytes = 0;
  bool operator==(const MemoryShare &) const = default;
};

// As vx_instance_options has it.
struct DeviceWish {
  std::string device = "auto"; // "auto", "cpu", "vulkan", "vulkan:1", ...
  uint32_t threads = 0;        // of the CPU; 0: one a core
  bool operator==(const DeviceWish &) const = default;
};

// A [[vx.server.model]], or a name of --model.
struct ModelConfiguration {
  Setting<std::string> name;
  Setting<std::string> path; // of the file or folder; empty: the model folder's model of that name
  Setting<std::vector<std::string>> alias;
  Setting<DeviceWish> device;                               // where not given: [vx] default_backend
  Setting<std::vector<std::string>> devices;                // where neither is given: [vx] devices
  Setting<bool> fallback;                                   // where not given: [vx] fallback
  Setting<uint64_t> batchSize, batchTokens, batchTimeoutMs; // where not given: [vx.server.limits]
  Setting<MemoryShare> callMemory;                          // likewise
  Setting<bool> deterministic = {false};
  Setting<bool> preload = {true};
  Setting<std::string> load = {"startup"}; // where not given: by preload, else [vx] load
  // Functions that store variables and are served all the same.
  Setting<std::vector<std::string>> stateful;
  // For language models.
  Setting<uint64_t> context = {0};
  Setting<std::string> kv = {"f16"};
  Setting<MemoryShare> kvMemory = {{60, 0}};
  Setting<uint64_t> maxSequences = {64};

  // Where it begins: "config.toml:30:1", "--model".
  Origin origin;
};

struct Configuration {
  Setting<uint64_t> version = {1};
  Setting<std::string> modelDir; // absolute, as all paths here
  Setting<std::string> cacheDir;
  Setting<DeviceWish> defaultBackend;
  Setting<std::vector<std::string>> devices; // empty: one
  Setting<std::string> order;                // empty: the runtime's own
  Setting<bool> fallback = {true};
  Setting<std::string> load = {"startup"};

  struct Server {
    Setting<std::string> host = {"127.0.0.1"};
    Setting<uint64_t> port = {8080};
    Setting<std::string> adminHost = {"127.0.0.1"};
    Setting<uint64_t> adminPort = {0}; // 0: none
    Setting<uint64_t> grpcPort = {0};  // 0: none
    Setting<std::string> apiKeysFile;  // empty: none
    Setting<bool> noAuth = {false};
    Setting<bool> metricsOpen = {false};
    Setting<std::vector<std::string>> cors;
    Setting<std::string> tlsCert, tlsKey; // empty: no TLS
    Setting<ByteSize> requestLimit = {{8 << 20}};
    Setting<uint64_t> headerTimeoutS = {10}, bodyTimeoutS = {30};
    Setting<uint64_t> timeoutS = {600}, drainDelayS = {5}, drainS = {30};
    Setting<uint64_t> threads = {256};
    Setting<std::string> log = {"info"}, logFormat = {"text"};
    Setting<bool> accessLog = {true};
    Setting<std::string> traceUrl; // empty: no traces
    Setting<uint64_t> traceOneIn = {100};

    bool hasAdminPort() const { return *adminPort != 0; }
    bool hasGrpcPort() const { return *grpcPort != 0; }
  } server;

  struct Limits {
    Setting<Rate> perKey = {{60, 60}};
    Setting<Rate> tokensPerKey = {{0, 60}};
    Setting<Rate> authFailures = {{20, 60}}; // of one address
    Setting<uint64_t> queue = {256};
    Setting<uint64_t> batchTimeoutMs = {5};
    Setting<uint64_t> batchSize = {32};
    Setting<uint64_t> batchTokens = {16384};
    Setting<uint64_t> connections = {1024}, connectionsPerAddress = {256};
    Setting<ByteSize> bytesInFlight = {{256 << 20}}, bytesPerAddress = {{64 << 20}}, bytesPerKey = {{64 << 20}};
    Setting<MemoryShare> callMemory = {{25, 0}}; // of one model
    Setting<ByteSize> memoryBudget = {{0}};      // of all models; 0: none
    Setting<uint64_t> compileTimeoutS = {600};
    Setting<ByteSize> compileMemory = {{uint64_t(8) << 30}};
  } limits;

  std::vector<ModelConfiguration> models;
  // Whether --model or VX_SERVER__MODEL chose what is served; else the whole model folder can be.
  bool onlyModels = false;

  struct Benchmarks {
    Setting<uint64_t> iterations = {100};
    Setting<std::vector<std::string>> models, peers;
  } benchmarks;

  std::string file; // which was read; empty: none
};

// One thing that is wrong, or odd.
struct ConfigurationMessage {
  enum class Kind : uint8_t { error, warning };
  Kind kind = Kind::error;
  Origin origin;
  std::string text; // "[vx.server] 'prot' is not a key, did you mean 'port'"

  // "config.toml:7:1: error: [vx.server] 'prot' is not a key, did you mean 'port'"
  std::string line() const;
};

// A flag of a tool that sets a key: "--port", and what stood behind it. Given for each time that it stood there.
struct FlagValue {
  std::string flag, value;
};

struct ConfigurationSources {
  std::vector<FlagValue> flags;
  // --config; else the environment says, or one of the usual places.
  std::optional<std::string> file;
  // NAME=VALUE; the process's own where there is none.
  std::optional<std::vector<std::string>> environment;
};

struct ConfigurationReading {
  // Nothing where a message is an error.
  std::optional<Configuration> configuration;
  std::vector<ConfigurationMessage> messages;
  std::string file; // which was read; empty: none was there

  // The first that is an error; null where there is none.
  const ConfigurationMessage *firstError() const;
};

// Reads all of it, and finds all that is wrong with it at once. A file that was named and is not there is an error.
// Throws nothing but std::bad_alloc.
ConfigurationReading readConfiguration(const ConfigurationSources &sources);

// Each value with its origin behind it, as a TOML file that reads as the same configuration.
std::string printConfiguration(const Configuration &configuration);

// A key with two values.
struct ConfigurationChange {
  std::string key; // "[vx.server] 'port'", "[vx.server.model] 'minilm'"
  std::string before, after;
  bool isLive = false; // else it takes a new start
};
std::vector<ConfigurationChange> compareConfigurations(const Configuration &before, const Configuration &after);

// Flags that set keys, for a tool's --help.
struct ConfigurationFlag {
  std::string flag; // "--port"
  std::string help;
  bool takesValue = true;
  bool isRepeated = false; // as --model
};
std::vector<ConfigurationFlag> configurationFlags();

// What docs/serving.md has of the keys: a table in Markdown.
std::string configurationTable();

} // namespace vx::serve

#endif
