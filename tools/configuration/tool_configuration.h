// The configuration of a server on a tool's command line.
#ifndef VX_TOOLS_TOOL_CONFIGURATION_H
#define VX_TOOLS_TOOL_CONFIGURATION_H

#include "configuration.h"

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// Flags that set keys of the configuration, and --config.
class ConfigurationOptions {
public:
  // Adds --config and all of the keys' flags to a tool, or only those that are named.
  void addTo(CLI::App &app, const std::vector<std::string> &only = {});

  // What the command line said, once it has been parsed.
  serve::ConfigurationSources sources() const;

private:
  std::string file;
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, bool> isSet;
};

// Tells all that is wrong or odd, a line each, on stderr. Nothing where it cannot be used: exit code 2.
std::optional<serve::Configuration> readOrTell(const char *tool, const serve::ConfigurationSources &sources);

// The same of messages that there are. Whether one is an error.
bool tellMessages(const char *tool, const std::vector<serve::ConfigurationMessage> &messages);

} // namespace vx::tools

#endif
