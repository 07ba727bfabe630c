#include "configuration.h"

#include "configuration_file.h"
#include "configuration_values.h"
#include "known_variables.h"

#include "vx/base/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include <sys/stat.h>

extern char **environ;

namespace vx::serve {
namespace {

namespace fs = std::filesystem;
using Kind = ConfigurationMessage::Kind;

// Whether it stands for a place on the disk rather than for a name of the registry.
bool isPath(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text.starts_with('~') ||
         text.ends_with(".vxm") || text.ends_with(".onnx") || text.ends_with(".gguf");
}

// A word of --model. "digits=/mnt/models" has a name and a path; "./a=b.vxm" and "/a=b" are paths.
struct ModelWord {
  std::string name, path; // empty: not given

  static ModelWord parse(const std::string &text) {
    const size_t equals = text.find('=');
    if (equals != std::string::npos && !isPath(text.substr(0, equals)))
      return {text.substr(0, equals), text.substr(equals + 1)};
    return isPath(text) ? ModelWord{"", text} : ModelWord{text, ""};
  }
};

class Reader {
public:
  explicit Reader(const ConfigurationSources &sources) : sources(sources) { takeEnvironment(); }

  ConfigurationReading run() {
    setDefaults();
    findFile();
    readEnvironment();
    readFlags();
    chooseModels();
    completeModels();
    checkTogether();
    ConfigurationReading reading;
    reading.file = configuration.file;
    reading.messages = messages.take();
    if (!reading.firstError())
      reading.configuration = std::move(configuration);
    return reading;
  }

private:
  void takeEnvironment() {
    std::vector<std::string> own;
    if (!sources.environment)
      for (char **entry = environ; entry && *entry; ++entry)
        own.emplace_back(*entry);
    for (const std::string &entry : sources.environment ? *sources.environment : own)
      if (const size_t equals = entry.find('='); equals != std::string::npos && equals + 1 < entry.size())
        environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    paths.home = variable("HOME");
    std::error_code error;
    paths.folder = fs::current_path(error).string();
  }
  std::string variable(const std::string &name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
  }

  void setDefaults() {
    for (const ConfigurationKey &key : configurationKeys())
      if (!key.standard.empty() && !paths.home.empty())
        setFromText(key, key.setting(configuration), key.standard, paths);
    if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/'))
      configuration.cacheDir.value = (fs::path(cache) / "vx").lexically_normal().string();
    // A service's keys (LoadCredential of its unit).
    std::error_code unused;
    if (const std::string folder = variable("CREDENTIALS_DIRECTORY");
        folder.starts_with('/') && fs::exists(folder + "/keys", unused))
      configuration.server.apiKeysFile = {folder + "/keys", {Origin::Kind::environment, "CREDENTIALS_DIRECTORY"}};
  }

  // Which file is to be read. Those that somebody named have to be there.
  std::string chooseFile(bool &isNamed, Origin &origin) {
    isNamed = true;
    if (sources.file) {
      origin = {Origin::Kind::flag, "--config"};
      return *sources.file;
    }
    if (const std::string named = variable("VX_CONFIG"); !named.empty()) {
      origin = {Origin::Kind::environment, "VX_CONFIG"};
      return named;
    }
    isNamed = false;
    std::string folder = variable("XDG_CONFIG_HOME");
    if (folder.empty() && !paths.home.empty())
      folder = paths.home + "/.config";
    struct stat info;
    for (const std::string &path :
         {folder.empty() ? "" : folder + "/vx/config.toml", std::string("/etc/vx/config.toml")})
      if (!path.empty() && (::stat(path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR)))
        return path;
    return "";
  }

  void findFile() {
    bool isNamed = false;
    Origin origin;
    const std::string path = chooseFile(isNamed, origin);
    if (path.empty() && !isNamed)
      return;
    if (path.empty())
      return messages.say(Kind::error, origin, "expected the name of a file, got ''");
    configuration.file = path;
    readConfigurationFile(path, isNamed ? origin : Origin{Origin::Kind::file, path}, paths, configuration, messages);
  }

  // A flag or a variable.
  void readWords(const KeyFacts &key, SettingRef setting, std::string_view text, const Origin &origin) {
    if (const std::string wrong = setFromText(key, setting, text, paths); !wrong.empty())
      return messages.say(Kind::error, origin, wrong);
    originOf(setting) = origin;
  }

  void readEnvironment() {
    std::vector<std::string> known = {"VX_CONFIG", "VX_SERVER__MODEL"};
    for (std::string_view name : otherVariables())
      known.emplace_back(name);
    for (const ConfigurationKey &key : configurationKeys()) {
      known.push_back(key.variable());
      const Origin origin = {Origin::Kind::environment, key.variable()};
      if (const std::string text = variable(key.variable()); !text.empty())
        readWords(key, key.setting(configuration), text, origin);
    }
    const Origin origin = {Origin::Kind::environment, "VX_SERVER__MODEL"};
    for (std::string_view rest = environment.contains(origin.place) ? environment[origin.place] : std::string_view();
         !rest.empty();) {
      const size_t comma = std::min(rest.find(','), rest.size());
      wantedModels.emplace_back(rest.substr(0, comma), origin);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    for (const auto &[name, value] : environment)
      if (name.starts_with("VX_") && std::find(known.begin(), known.end(), name) == known.end())
        messages.say(Kind::warning, {Origin::Kind::environment, name}, "is not read" + didYouMean(name, known));
  }

  void readFlags() {
    bool isFirstModel = true;
    for (const auto &[flag, value] : sources.flags) {
      const Origin origin = {Origin::Kind::flag, flag};
      if (flag == "--model") {
        if (isFirstModel)
          wantedModels.clear(); // those of the environment
        isFirstModel = false;
        wantedModels.emplace_back(value, origin);
        continue;
      }
      const auto keys = configurationKeys();
      const std::string name = flag == "--backend" ? "--device" : flag;
      const auto key =
          std::find_if(keys.begin(), keys.end(), [&](const ConfigurationKey &k) { return k.flag() == name; });
      if (key == keys.end())
        messages.say(Kind::error, origin, "is not a flag of the configuration");
      else if (std::holds_alternative<Setting<bool> *>(key->setting(configuration)))
        readWords(*key, key->setting(configuration), flag == "--no-fallback" ? "false" : "true", origin);
      else
        readWords(*key, key->setting(configuration), value, origin);
    }
  }

  // Leaves the models that flags or the environment name.
  void chooseModels() {
    if (wantedModels.empty())
      return;
    std::vector<ModelConfiguration> chosen;
    for (const auto &[text, origin] : wantedModels) {
      const ModelWord wanted = ModelWord::parse(text);
      const auto isIt = [&](const ModelConfiguration &model) {
        if (!wanted.name.empty() && !wanted.path.empty())
          return nameOf(model) == wanted.name;
        return nameOf(model) == text || std::find(model.alias->begin(), model.alias->end(), text) != model.alias->end();
      };
      const auto found = std::find_if(configuration.models.begin(), configuration.models.end(), isIt);
      ModelConfiguration model;
      if (found != configuration.models.end())
        model = *found;
      const bool isNew = found == configuration.models.end();
      // Of a model of the file, a path in place of the one that it has there.
      const bool hasBoth = text.find('=') != std::string::npos && wanted.path != text;
      if (hasBoth || (isNew && wanted.path.empty()))
        readWords(modelKey("name"), SettingRef(&model.name), wanted.name, origin);
      if (hasBoth || (isNew && !wanted.path.empty()))
        readWords(modelKey("path"), SettingRef(&model.path), wanted.path, origin);
      model.origin = origin;
      chosen.push_back(std::move(model));
    }
    configuration.models = std::move(chosen);
    configuration.onlyModels = true;
  }

  static const ModelKey &modelKey(std::string_view name) {
    const auto keys = modelKeys();
    return *std::find_if(keys.begin(), keys.end(), [&](const ModelKey &key) { return key.name == name; });
  }
  static std::string nameOf(const ModelConfiguration &model) {
    if (!model.name->empty())
      return *model.name;
    const fs::path path = *model.path;
    const bool isFile = path.extension() == ".vxm" || path.extension() == ".onnx" || path.extension() == ".gguf";
    return (isFile ? path.stem() : path.filename()).string();
  }

  void completeModels() {
    for (ModelConfiguration &model : configuration.models) {
      if (!model.name.isGiven() && !model.path.isGiven())
        continue; // which has been said
      if (!model.name.isGiven()) {
        if (const std::string wrong = setFromText(modelKey("name"), &model.name, nameOf(model), paths); !wrong.empty())
          messages.sayOf(model.path.origin,
                         fmt::format("[vx.server.model] needs a 'name' beside this path: {}", wrong));
        model.name.origin = model.path.origin;
      }
      if (!model.device.isGiven())
        inherit(model.devices, configuration.devices);
      inherit(model.device, configuration.defaultBackend);
      inherit(model.fallback, configuration.fallback);
      if (!model.load.isGiven() && model.preload.isGiven() && !*model.preload)
        model.load = {"admin", model.preload.origin};
      inherit(model.load, configuration.load);
      inherit(model.batchSize, configuration.limits.batchSize);
      inherit(model.batchTokens, configuration.limits.batchTokens);
      inherit(model.batchTimeoutMs, configuration.limits.batchTimeoutMs);
      inherit(model.callMemory, configuration.limits.callMemory);
    }
  }
  template <typename T>
  static void inherit(Setting<T> &setting, const Setting<T> &from) {
    if (!setting.isGiven())
      setting = from;
  }

  // What one value says of another.
  void checkTogether() {
    std::map<std::string, Origin> names;
    for (const ModelConfiguration &model : configuration.models) {
      const auto add = [&](const std::string &name, const Origin &origin) {
        const auto [first, isNew] = names.emplace(name, origin);
        if (!isNew)
          messages.sayOf(origin,
                         fmt::format("[vx.server.model] '{}' is given twice, first at {}", name, first->second.text()));
      };
      if (!model.name->empty())
        add(*model.name, model.name.origin);
      for (const std::string &alias : *model.alias)
        add(alias, model.alias.origin);
    }
    const Configuration::Server &server = configuration.server;
    if (server.tlsCert.isGiven() != server.tlsKey.isGiven())
      messages.sayOf(server.tlsCert.isGiven() ? server.tlsCert.origin : server.tlsKey.origin,
                     fmt::format("[vx.server] 'tls_cert' and 'tls_key' go together, got '{}' alone",
                                 server.tlsCert.isGiven() ? "tls_cert" : "tls_key"));
    const bool hasKeys = !server.apiKeysFile->empty();
    if (hasKeys && std::find(server.cors->begin(), server.cors->end(), "*") != server.cors->end())
      messages.sayOf(
          server.cors.origin,
          "[vx.server] 'cors': '*' lets every web page send requests, and there are keys: list the origins that may");
    const auto checkReach = [&](const char *key, const Setting<std::string> &host) {
      if (!hasKeys && !*server.noAuth && !isLoopback(*host))
        messages.sayOf(
            host.origin,
            fmt::format("[vx.server] '{}': others reach '{}', and there are no keys: give 'api_keys_file' or --no-auth",
                        key, *host));
    };
    checkReach("host", server.host);
    if (server.hasAdminPort())
      checkReach("admin_host", server.adminHost);
    if (server.hasAdminPort() && *server.adminPort == *server.port)
      messages.sayOf(server.adminPort.origin,
                     fmt::format("[vx.server] 'admin_port': expected another port than 'port', got {} for both",
                                 *server.adminPort));
    if (server.hasGrpcPort())
      for (const auto &[key, port] : {std::pair("port", *server.port), std::pair("admin_port", *server.adminPort)})
        if (*server.grpcPort == port)
          messages.sayOf(
              server.grpcPort.origin,
              fmt::format("[vx.server] 'grpc_port': expected another port than '{}', got {} for both", key, port));
  }

  const ConfigurationSources &sources;
  std::map<std::string, std::string> environment;
  PathContext paths;
  Configuration configuration;
  ConfigurationMessages messages;
  std::vector<std::pair<std::string, Origin>> wantedModels;
};

} // namespace

std::string ConfigurationMessage::line() const {
  return fmt::format("{}: {}: {}", origin.text(), kind == Kind::error ? "error" : "warning", text);
}

const ConfigurationMessage *ConfigurationReading::firstError() const {
  for (const ConfigurationMessage &message : messages)
    if (message.kind == ConfigurationMessage::Kind::error)
      return &message;
  return nullptr;
}

ConfigurationReading readConfiguration(const ConfigurationSources &sources) { return Reader(sources).run(); }

} // namespace vx::serve
