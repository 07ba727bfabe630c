#include "configuration_file.h"

#include "file_text.h"

#include "vx/base/names.h"
#include "vx/base/regular_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace vx::serve {
namespace {

namespace fs = std::filesystem;
using Kind = ConfigurationMessage::Kind;

constexpr size_t mostFileBytes = 1 << 20;

class FileReader {
public:
  FileReader(const std::string &path, const PathContext &given, Configuration &configuration,
             ConfigurationMessages &messages)
      : file{Origin::Kind::file, path}, paths(given), configuration(configuration), messages(messages) {
    paths.folder = (fs::path(given.folder) / path).parent_path().lexically_normal().string();
  }

  void run(const Origin &named) {
    FileError error;
    const int descriptor = openRegularFile(file.place, error);
    if (descriptor < 0)
      return messages.say(Kind::error, named, fmt::format("'{}' {}", file.place, error.text));
    std::string text;
    const bool isRead = readAll(descriptor, text);
    ::close(descriptor);
    if (!isRead)
      return;
    const TomlDocument document = readToml(text);
    for (const TomlError &mistake : document.errors)
      sayAt(Kind::error, mistake.at, mistake.text);
    if (document.isReadable)
      readRoot(document.root);
  }

private:
  Origin originAt(TomlPosition at) const {
    return {Origin::Kind::file, fmt::format("{}:{}:{}", file.place, at.line, at.column)};
  }
  void sayAt(Kind kind, TomlPosition at, std::string_view text) { messages.sayAt(kind, originAt(at), at, text); }

  // False where it cannot be read.
  bool readAll(int descriptor, std::string &text) {
    struct stat info;
    if (::fstat(descriptor, &info) == 0 && (info.st_mode & S_IWOTH))
      messages.say(
          Kind::warning, file,
          "everybody may write this file, and the programs that it names are run: let only its owner write it");
    const std::string wrong = readText(descriptor, mostFileBytes, text);
    if (!wrong.empty())
      messages.say(Kind::error, file, wrong);
    return wrong.empty();
  }

  void readRoot(const TomlValue &root) {
    for (const TomlEntry &entry : root.entries) {
      if (entry.key == "vx") {
        if (entry.value.kind == TomlValue::Kind::table)
          readTable("", entry.value);
        else
          sayAt(Kind::error, entry.at, fmt::format("'vx': expected a table, got {}", entry.value.describe()));
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
  static std::string header(const std::string &table) { return "[" + (table.empty() ? "vx" : "vx." + table) + "]"; }

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
              fmt::format("{} '{}': expected a table, got {}", header(table), entry.key, entry.value.describe()));
      else
        readTable(path, entry.value);
    }
  }

  void readValue(const KeyFacts &key, SettingRef setting, const TomlEntry &entry) {
    if (const std::string wrong = setFromToml(key, setting, entry.value, paths); !wrong.empty())
      return sayAt(Kind::error, entry.value.at, fmt::format("{}: {}", key.label(), wrong));
    originOf(setting) = originAt(entry.value.at);
    messages.notePlace(originOf(setting), entry.value.at);
    if (key.effect == Effect::none)
      sayAt(Kind::warning, entry.at, fmt::format("{} has no effect in this version", key.label()));
  }

  void readModels(const TomlEntry &list) {
    const bool isList = list.value.kind == TomlValue::Kind::array;
    for (const TomlValue &table : isList ? list.value.elements : std::vector<TomlValue>{list.value}) {
      if (!isList || table.kind != TomlValue::Kind::table) {
        sayAt(Kind::error, list.at,
              fmt::format("[vx.server] 'model': expected tables, each begun by [[vx.server.model]], got {}",
                          table.describe()));
        continue;
      }
      ModelConfiguration &model = configuration.models.emplace_back();
      model.origin = originAt(table.at);
      messages.notePlace(model.origin, table.at);
      if (!table.find("name") && !table.find("path"))
        sayAt(Kind::error, table.at, "[vx.server.model] needs a 'name' or a 'path', got neither");
      std::vector<std::string> known;
      for (const ModelKey &key : modelKeys())
        known.emplace_back(key.name);
      for (const TomlEntry &entry : table.entries) {
        const auto at = std::find(known.begin(), known.end(), entry.key);
        if (at == known.end()) {
          sayAt(Kind::error, entry.at,
                fmt::format("[vx.server.model] '{}' is not a key{}", entry.key, didYouMean(entry.key, known)));
          continue;
        }
        const ModelKey &key = modelKeys()[static_cast<size_t>(at - known.begin())];
        readValue(key, key.setting(model), entry);
      }
    }
  }

  const Origin file;
  PathContext paths;
  Configuration &configuration;
  ConfigurationMessages &messages;
};

} // namespace

void readConfigurationFile(const std::string &path, const Origin &named, const PathContext &paths,
                           Configuration &configuration, ConfigurationMessages &messages) {
  FileReader(path, paths, configuration, messages).run(named);
}

} // namespace vx::serve
