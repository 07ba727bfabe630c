// Values of the configuration: read from TOML and from words, written as TOML.
#ifndef VX_SERVE_CONFIGURATION_VALUES_H
#define VX_SERVE_CONFIGURATION_VALUES_H

#include "configuration_keys.h"
#include "toml_document.h"

namespace vx::serve {

// What paths are completed by.
struct PathContext {
  std::string home;   // empty: unknown
  std::string folder; // of relative ones
};

// Sets the value, not its origin. Gives what is wrong, "expected 1 to 65536, got -4", or nothing.
std::string setFromToml(const KeyFacts &key, SettingRef setting, const TomlValue &value, const PathContext &paths);
// The same of a flag or a variable: a list has commas between.
std::string setFromText(const KeyFacts &key, SettingRef setting, std::string_view text, const PathContext &paths);

// As TOML writes it.
std::string valueText(SettingRef setting);

// "60/min"; nothing where it is no rate.
std::optional<Rate> parseRate(std::string_view text);
std::string rateText(const Rate &rate);

// Whether only this machine reaches it.
bool isLoopback(std::string_view host);

} // namespace vx::serve

#endif
