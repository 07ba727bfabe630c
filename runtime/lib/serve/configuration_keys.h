// The keys of the configuration: one table, which reading, printing, comparing and the documentation go by.
#ifndef VX_SERVE_CONFIGURATION_KEYS_H
#define VX_SERVE_CONFIGURATION_KEYS_H

#include "configuration.h"

#include <span>
#include <variant>

namespace vx::serve {

using SettingRef =
    std::variant<Setting<uint64_t> *, Setting<bool> *, Setting<std::string> *, Setting<std::vector<std::string>> *,
                 Setting<ByteSize> *, Setting<Rate> *, Setting<MemoryShare> *, Setting<DeviceWish> *>;

// What a value has to look like beyond its type.
enum class ValueForm : uint8_t {
  any,
  path,    // made absolute
  word,    // one of `words`
  order,   // backends between commas
  host,    // a name or an address
  names,   // a list of names
  origins, // a list of origins of web pages, or '*'
  url,     // of a server of HTTP, or empty
  devices, // a list of devices, or "all"
  name     // of a model
};

// When a change of it holds.
enum class Effect : uint8_t {
  live,
  restart,
  none // it is for a part that is not there yet; giving it is worth a warning
};

struct KeyFacts {
  std::string_view table, name; // "server", "port"; [vx] itself is ""
  std::string_view help;
  Effect effect = Effect::live;
  ValueForm form = ValueForm::any;
  uint64_t least = 0, most = 0; // of a number
  std::span<const std::string_view> words = {};
  std::string_view standard = {}; // the default of a path
  bool isInherited = false;       // of a model: what is not given is as another table has it

  // "server.port", "port" for one of [vx].
  std::string path() const;
  // "[vx.server] 'port'"
  std::string label() const;
  // The variable that sets it, "VX_SERVER__PORT"; empty: none.
  std::string variable() const;
  // The flag that sets it, "--port"; empty: none.
  std::string flag() const;
};

struct ConfigurationKey : KeyFacts {
  SettingRef (*setting)(Configuration &);
};
struct ModelKey : KeyFacts {
  SettingRef (*setting)(ModelConfiguration &);
};

// Tables stand together and in the order in which they are printed.
std::span<const ConfigurationKey> configurationKeys();
std::span<const ModelKey> modelKeys();

// The setting of a configuration that is only read.
inline SettingRef settingOf(const ConfigurationKey &key, const Configuration &configuration) {
  return key.setting(const_cast<Configuration &>(configuration));
}
inline SettingRef settingOf(const ModelKey &key, const ModelConfiguration &model) {
  return key.setting(const_cast<ModelConfiguration &>(model));
}
inline Origin &originOf(SettingRef setting) {
  return std::visit([](auto *value) -> Origin & { return value->origin; }, setting);
}

} // namespace vx::serve

#endif
