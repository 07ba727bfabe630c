#include "configuration.h"

#include "configuration_values.h"
#include "file_text.h"
#include "known_variables.h"

#include "vx/base/names.h"
#include "vx/base/printable.h"
#include "vx/base/regular_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

namespace vx::serve {
namespace {

namespace fs = std::filesystem;
using Kind = ConfigurationMessage::Kind;

constexpr size_t mostFileBytes = 1 << 20;

// Whether it stands for a place on the disk rather than for a name of the registry.
bool isPath(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text.starts_with('~') ||
         text.ends_with(".vxm") || text.ends_with(".onnx");
}

class Reader {
public:
  explicit Reader(const ConfigurationSources &sources) : sources(sources) { takeEnvironment(); }

  ConfigurationReading run() {
    setDefaults();
    readFile();
    readEnvironment();
    readFlags();
    chooseModels();
    completeModels();
    checkTogether();
    std::sort(messages.begin(), messages.end(), [](const Placed &a, const Placed &b) { return a.at < b.at; });
    ConfigurationReading reading;
    reading.file = configuration.file;
    for (Placed &placed : messages)
      reading.messages.push_back(std::move(placed.message));
    if (!reading.firstError())
      reading.configuration = std::move(configuration);
    return reading;
  }

private:
  // Messages of the file stand in its order, before those of other places.
  struct Placed {
    std::pair<uint32_t, uint32_t> at;
    ConfigurationMessage message;
  };
  static constexpr std::pair<uint32_t, uint32_t> behind = {UINT32_MAX, 0};

  void say(Kind kind, const Origin &origin, std::string text, std::pair<uint32_t, uint32_t> at = behind) {
    if (at == behind)
      at.second = static_cast<uint32_t>(messages.size());
    messages.push_back({at, {kind, origin, printableLine(text)}});
  }
  void sayAt(Kind kind, TomlPosition at, std::string text) {
    say(kind, originAt(at), std::move(text), {at.line, at.column});
    places.emplace_back(messages.back().message.origin.place, at);
  }
  Origin originAt(TomlPosition at) const {
    return {Origin::Kind::file, fmt::format("{}:{}:{}", configuration.file, at.line, at.column)};
  }
  // The same of a value that has been read.
  void sayOf(const Origin &origin, std::string text) {
    const auto found = lines.find(origin.place);
    say(Kind::error, origin, std::move(text), found == lines.end() ? behind : found->second);
  }

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
    workFolder = fs::current_path(error).string();
  }
  std::string variable(const std::string &name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
  }

  void setDefaults() {
    paths.folder = workFolder;
    for (const ConfigurationKey &key : configurationKeys())
      if (!key.standard.empty() && !paths.home.empty())
        setFromText(key, key.setting(configuration), key.standard, paths);
    if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/'))
      configuration.cacheDir.value = (fs::path(cache) / "vx").lexically_normal().string();
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

  void readFile() {
    bool isNamed = false;
    Origin origin;
    const std::string path = chooseFile(isNamed, origin);
    if (path.empty() && !isNamed)
      return;
    if (path.empty())
      return say(Kind::error, origin, "want the name of a file, got ''");
    configuration.file = path;
    const Origin file = {Origin::Kind::file, path};
    FileError error;
    const int descriptor = openRegularFile(path, error);
    if (descriptor < 0)
      return say(Kind::error, isNamed ? origin : file, fmt::format("'{}' {}", path, error.text));
    std::string text;
    const bool isRead = readAll(descriptor, file, text);
    ::close(descriptor);
    if (!isRead)
      return;
    paths.folder = (fs::path(workFolder) / path).parent_path().lexically_normal().string();
    const TomlDocument document = readToml(text);
    for (const TomlError &mistake : document.errors)
      sayAt(Kind::error, mistake.at, mistake.text);
    if (document.isReadable)
      readRoot(document.root);
    paths.folder = workFolder;
    for (const auto &[place, at] : places)
      lines.emplace(place, std::pair(at.line, at.column));
  }

  bool readAll(int descriptor, const Origin &file, std::string &text) {
    struct stat info;
    if (::fstat(descriptor, &info) == 0 && (info.st_mode & S_IWOTH))
      say(Kind::warning, file, "everybody may write this file, and what it names is run: want it to be its owner's");
    const std::string wrong = readText(descriptor, mostFileBytes, text);
    if (!wrong.empty())
      say(Kind::error, file, wrong);
    return wrong.empty();
  }

  void readRoot(const TomlValue &root) {
    for (const TomlEntry &entry : root.entries) {
      if (entry.key == "vx") {
        if (entry.value.kind == TomlValue::Kind::table)
          readTable("", entry.value);
        else
          sayAt(Kind::error, entry.at, fmt::format("'vx': want a table, got {}", entry.value.describe()));
      } else if (const std::vector<std::string> tables = {"server", "benchmarks"};
                 entry.value.kind == TomlValue::Kind::table &&
                 std::find(tables.begin(), tables.end(), entry.key) != tables.end()) {
        sayAt(Kind::warning, entry.at, fmt::format("[{0}] is not read, did you mean [vx.{0}]", entry.key));
      } // the file may be others' too
    }
  }

  // The keys and tables that a table may have.
  static std::vector<std::string> namesIn(const std::string &table) {
    std::vector<std::string> names;
    const std::string prefix = table.empty() ? "" : table + ".";
    for (const ConfigurationKey &key : configurationKeys()) {
      const std::string path = key.path();
      if (!path.starts_with(prefix))
        continue;
      const std::string name = path.substr(prefix.size(), path.find('.', prefix.size()) - prefix.size());
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
    if (table == "server")
      names.push_back("model");
    return names;
  }
  static std::string header(const std::string &table) { return "[" + (table.empty() ? "vx" : table) + "]"; }

  void readTable(const std::string &table, const TomlValue &value) {
    for (const TomlEntry &entry : value.entries) {
      const std::string path = table.empty() ? entry.key : table + "." + entry.key;
      if (path == "server.model") {
        readModels(entry);
        continue;
      }
      const auto keys = configurationKeys();
      const auto key = std::find_if(keys.begin(), keys.end(),
                                    [&](const ConfigurationKey &k) { return k.table == table && k.name == entry.key; });
      if (key != keys.end()) {
        readValue(*key, key->setting(configuration), entry);
        continue;
      }
      const std::vector<std::string> known = namesIn(table);
      if (entry.key.find('.') != std::string::npos || std::find(known.begin(), known.end(), entry.key) == known.end())
        sayAt(Kind::error, entry.at,
              fmt::format("{} '{}' is not a key{}", header(table), entry.key, didYouMean(entry.key, known)));
      else if (entry.value.kind != TomlValue::Kind::table)
        sayAt(Kind::error, entry.value.at,
              fmt::format("{} '{}': want a table, got {}", header(table), entry.key, entry.value.describe()));
      else
        readTable(path, entry.value);
    }
  }

  void readValue(const KeyFacts &key, SettingRef setting, const TomlEntry &entry) {
    if (const std::string wrong = setFromToml(key, setting, entry.value, paths); !wrong.empty())
      return sayAt(Kind::error, entry.value.at, fmt::format("{}: {}", key.label(), wrong));
    originOf(setting) = originAt(entry.value.at);
    places.emplace_back(originOf(setting).place, entry.value.at);
    if (key.effect == Effect::none)
      sayAt(Kind::warning, entry.at, fmt::format("{} has no effect in this version", key.label()));
  }

  void readModels(const TomlEntry &list) {
    const bool isList = list.value.kind == TomlValue::Kind::array;
    for (const TomlValue &table : isList ? list.value.elements : std::vector<TomlValue>{list.value}) {
      if (!isList || table.kind != TomlValue::Kind::table) {
        sayAt(
            Kind::error, list.at,
            fmt::format("[server] 'model': want tables, each begun by [[vx.server.model]], got {}", table.describe()));
        continue;
      }
      ModelConfiguration &model = configuration.models.emplace_back();
      model.origin = originAt(table.at);
      places.emplace_back(model.origin.place, table.at);
      if (!table.find("name") && !table.find("path"))
        sayAt(Kind::error, table.at, "[server.model] wants a 'name' or a 'path', got neither");
      std::vector<std::string> known;
      for (const ModelKey &key : modelKeys())
        known.emplace_back(key.name);
      for (const TomlEntry &entry : table.entries) {
        const auto at = std::find(known.begin(), known.end(), entry.key);
        if (at == known.end()) {
          sayAt(Kind::error, entry.at,
                fmt::format("[server.model] '{}' is not a key{}", entry.key, didYouMean(entry.key, known)));
          continue;
        }
        const ModelKey &key = modelKeys()[static_cast<size_t>(at - known.begin())];
        readValue(key, key.setting(model), entry);
      }
    }
  }

  // A flag or a variable.
  void readWords(const KeyFacts &key, SettingRef setting, std::string_view text, const Origin &origin) {
    if (const std::string wrong = setFromText(key, setting, text, paths); !wrong.empty())
      return say(Kind::error, origin, wrong);
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
        say(Kind::warning, {Origin::Kind::environment, name}, "is not read" + didYouMean(name, known));
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
        say(Kind::error, origin, "is not a flag of the configuration");
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
    for (const auto &[wanted, origin] : wantedModels) {
      const auto isIt = [&](const ModelConfiguration &model) {
        return nameOf(model) == wanted ||
               std::find(model.alias->begin(), model.alias->end(), wanted) != model.alias->end();
      };
      const auto found = std::find_if(configuration.models.begin(), configuration.models.end(), isIt);
      ModelConfiguration model;
      if (found != configuration.models.end())
        model = *found;
      else
        readWords(modelKey(isPath(wanted) ? "path" : "name"),
                  isPath(wanted) ? SettingRef(&model.path) : SettingRef(&model.name), wanted, origin);
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
    return path.extension() == ".vxm" || path.extension() == ".onnx" ? path.stem().string() : path.filename().string();
  }

  void completeModels() {
    for (ModelConfiguration &model : configuration.models) {
      if (!model.name.isGiven() && !model.path.isGiven())
        continue; // which has been said
      if (!model.name.isGiven()) {
        if (const std::string wrong = setFromText(modelKey("name"), &model.name, nameOf(model), paths); !wrong.empty())
          sayOf(model.path.origin, fmt::format("[server.model] wants a 'name' beside this path: {}", wrong));
        model.name.origin = model.path.origin;
      }
      inherit(model.device, configuration.defaultBackend);
      inherit(model.fallback, configuration.fallback);
      inherit(model.batchSize, configuration.limits.batchSize);
      inherit(model.batchTokens, configuration.limits.batchTokens);
      inherit(model.batchTimeoutMs, configuration.limits.batchTimeoutMs);
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
          sayOf(origin, fmt::format("[server.model] '{}' is given twice, first at {}", name, first->second.text()));
      };
      if (!model.name->empty())
        add(*model.name, model.name.origin);
      for (const std::string &alias : *model.alias)
        add(alias, model.alias.origin);
    }
    const Configuration::Server &server = configuration.server;
    if (server.tlsCert.isGiven() != server.tlsKey.isGiven())
      sayOf(server.tlsCert.isGiven() ? server.tlsCert.origin : server.tlsKey.origin,
            fmt::format("[server] 'tls_cert' and 'tls_key' go together, got '{}' alone",
                        server.tlsCert.isGiven() ? "tls_cert" : "tls_key"));
    const bool hasKeys = !server.apiKeysFile->empty();
    if (hasKeys && std::find(server.cors->begin(), server.cors->end(), "*") != server.cors->end())
      sayOf(server.cors.origin,
            "[server] 'cors': '*' lets every web page ask, and there are keys: want the origins that may");
    if (!hasKeys && !*server.noAuth && !isLoopback(*server.host))
      sayOf(server.host.origin,
            fmt::format("[server] 'host': others reach '{}', and there are no keys: want 'api_keys_file', or --no-auth",
                        *server.host));
  }

  const ConfigurationSources &sources;
  std::map<std::string, std::string> environment;
  std::string workFolder;
  PathContext paths;
  Configuration configuration;
  std::vector<Placed> messages;
  // Where values of the file stand.
  std::vector<std::pair<std::string, TomlPosition>> places;
  std::map<std::string, std::pair<uint32_t, uint32_t>> lines;
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
