#include "tool_configuration.h"

#include "command_line.h"

#include "vx/base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace vx::tools {

void ConfigurationOptions::addTo(CLI::App &app, const std::vector<std::string> &only) {
  app.add_option("--config", file,
                 "F: the configuration (TOML); VX_CONFIG, ~/.config/vx/config.toml or /etc/vx/config.toml by default")
      ->group("Configuration");
  for (const serve::ConfigurationFlag &flag : serve::configurationFlags()) {
    if (!only.empty() && std::find(only.begin(), only.end(), flag.flag) == only.end())
      continue;
    CLI::Option *option = nullptr;
    if (flag.takesValue)
      option = app.add_option(flag.flag, values[flag.flag], flag.help)
                   ->expected(1, flag.isRepeated ? CLI::detail::expected_max_vector_size : 1);
    else
      option = app.add_flag(flag.flag, isSet[flag.flag], flag.help);
    option->group("Configuration");
  }
}

serve::ConfigurationSources ConfigurationOptions::sources() const {
  serve::ConfigurationSources sources;
  if (!file.empty())
    sources.file = file;
  for (const auto &[flag, given] : values)
    for (const std::string &value : given)
      sources.flags.push_back({flag, value});
  for (const auto &[flag, is] : isSet)
    if (is)
      sources.flags.push_back({flag, ""});
  return sources;
}

bool tellMessages(const char *tool, const std::vector<serve::ConfigurationMessage> &messages) {
  bool isWrong = false;
  for (const serve::ConfigurationMessage &message : messages) {
    const bool isError = message.kind == serve::ConfigurationMessage::Kind::error;
    isWrong |= isError;
    // As an editor finds a place in a file, and as tools name their flags.
    if (message.origin.kind == serve::Origin::Kind::file)
      printMessage("{}\n", vx::printableLine(message.line()));
    else
      printMessage("{}: {}: {}: {}\n", tool, isError ? "error" : "warning", message.origin.text(),
                   vx::printableLine(message.text));
  }
  return isWrong;
}

std::optional<serve::Configuration> readOrTell(const char *tool, const serve::ConfigurationSources &sources) {
  serve::ConfigurationReading reading = serve::readConfiguration(sources);
  tellMessages(tool, reading.messages);
  return std::move(reading.configuration);
}

} // namespace vx::tools
