#include "configuration_values.h"

#include <fmt/format.h>

#include <map>

namespace vx::serve {
namespace {

template <typename Key, typename Owner>
void printKeys(std::span<const Key> keys, const Owner &owner, std::string_view table, std::string &text) {
  for (const Key &key : keys) {
    if (key.table != table)
      continue;
    const SettingRef setting = settingOf(key, owner);
    const std::string value = valueText(setting);
    // No path and no name is written by leaving the key away.
    const bool isAbsent = (key.form == ValueForm::path || key.form == ValueForm::name) && value == "\"\"";
    const std::string line = fmt::format("{}{} = {}", isAbsent ? "# " : "", key.name, value);
    text += fmt::format("{:<47} # {}\n", line, originOf(setting).text());
  }
}

std::vector<std::string_view> tables() {
  std::vector<std::string_view> names;
  for (const ConfigurationKey &key : configurationKeys())
    if (names.empty() || names.back() != key.table)
      names.push_back(key.table);
  return names;
}

std::string header(std::string_view table) { return table.empty() ? "vx" : fmt::format("vx.{}", table); }

const char *effectText(Effect effect) {
  switch (effect) {
  case Effect::live:
    return "at once";
  case Effect::restart:
    return "after a restart";
  case Effect::none:
    break;
  }
  return "not yet";
}

// The default as the page shows it.
template <typename Key, typename Owner>
std::string standardText(const Key &key, const Owner &owner) {
  std::string value = key.standard.empty() ? valueText(settingOf(key, owner)) : fmt::format("\"{}\"", key.standard);
  return value == "\"\"" || value == "[]" ? "" : fmt::format("`{}`", value);
}

std::string coded(const std::string &text) { return text.empty() ? "" : "`" + text + "`"; }

} // namespace

std::string printConfiguration(const Configuration &configuration) {
  std::string text =
      configuration.file.empty() ? std::string("# no file was read\n") : fmt::format("# {}\n", configuration.file);
  for (std::string_view table : tables()) {
    text += fmt::format("\n[{}]\n", header(table));
    printKeys(configurationKeys(), configuration, table, text);
    if (table == "server.limits")
      for (const ModelConfiguration &model : configuration.models) {
        text += fmt::format("\n{:<47} # {}\n", "[[vx.server.model]]", model.origin.text());
        printKeys(modelKeys(), model, "server.model", text);
      }
  }
  return text;
}

std::vector<ConfigurationChange> compareConfigurations(const Configuration &before, const Configuration &after) {
  std::vector<ConfigurationChange> changes;
  for (const ConfigurationKey &key : configurationKeys()) {
    std::string was = valueText(settingOf(key, before)), is = valueText(settingOf(key, after));
    if (was != is)
      changes.push_back({key.label(), std::move(was), std::move(is), key.effect != Effect::restart});
  }
  // Models are known by their names; all of them changes while the server runs.
  const auto describe = [](const Configuration &configuration) {
    std::map<std::string, std::string> models;
    for (const ModelConfiguration &model : configuration.models) {
      std::string &text = models[*model.name];
      for (const ModelKey &key : modelKeys())
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key.name, valueText(settingOf(key, model)));
    }
    return models;
  };
  const std::map<std::string, std::string> was = describe(before), is = describe(after);
  const auto textOf = [](const std::map<std::string, std::string> &models, const std::string &name) {
    const auto found = models.find(name);
    return found == models.end() ? std::string() : found->second;
  };
  std::map<std::string, std::string> all = was;
  all.insert(is.begin(), is.end());
  for (const auto &[name, unused] : all)
    if (textOf(was, name) != textOf(is, name))
      changes.push_back({fmt::format("[vx.server.model] '{}'", name), textOf(was, name), textOf(is, name), true});
  return changes;
}

std::vector<ConfigurationFlag> configurationFlags() {
  const Configuration configuration;
  std::vector<ConfigurationFlag> flags;
  for (const ConfigurationKey &key : configurationKeys()) {
    if (key.flag().empty())
      continue;
    const bool takesValue = !std::holds_alternative<Setting<bool> *>(settingOf(key, configuration));
    const bool isDenied = key.flag() == "--no-fallback";
    flags.push_back({key.flag(), isDenied ? "A device that is refused or lost is an error" : std::string(key.help),
                     takesValue, false});
  }
  flags.push_back({"--backend", "The same as --device", true, false});
  flags.push_back(
      {"--model", "A model to serve, by its name, its file or its folder; these alone are served", true, true});
  return flags;
}

std::string configurationTable() {
  const Configuration configuration;
  std::string text;
  for (std::string_view table : tables()) {
    text += fmt::format("\n`[{}]`\n\n| key | default | meaning | a change holds | flag | variable |\n| --- | --- | "
                        "--- | --- | --- | --- |\n",
                        header(table));
    for (const ConfigurationKey &key : configurationKeys())
      if (key.table == table)
        text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.name, standardText(key, configuration), key.help,
                            effectText(key.effect), coded(key.flag()), coded(key.variable()));
  }
  const ModelConfiguration model;
  text += "\n`[[vx.server.model]]`, one for each model\n\n| key | default | meaning | a change holds |\n| --- | --- "
          "| --- | --- |\n";
  for (const ModelKey &key : modelKeys()) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.isInherited ? "" : standardText(key, model),
                        key.help, effectText(key.effect));
  }
  return text;
}

} // namespace vx::serve
