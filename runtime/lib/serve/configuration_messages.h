// What is said of a configuration while it is read.
#ifndef VX_SERVE_CONFIGURATION_MESSAGES_H
#define VX_SERVE_CONFIGURATION_MESSAGES_H

#include "configuration.h"
#include "toml_document.h"

#include "vx/base/printable.h"

#include <map>

namespace vx::serve {

// Those of the file stand in its order, before those of other places.
class ConfigurationMessages {
public:
  using Kind = ConfigurationMessage::Kind;

  void say(Kind kind, const Origin &origin, std::string_view text) {
    add({UINT32_MAX, static_cast<uint32_t>(messages.size())}, kind, origin, text);
  }
  // Of what stands there in the file, which is `origin`.
  void sayAt(Kind kind, const Origin &origin, TomlPosition at, std::string_view text) {
    notePlace(origin, at);
    add({at.line, at.column}, kind, origin, text);
  }
  // Of a value that has been read, wherever it came from.
  void sayOf(const Origin &origin, std::string_view text) {
    const auto found = lines.find(origin.place);
    if (found == lines.end())
      say(Kind::error, origin, text);
    else
      add(found->second, Kind::error, origin, text);
  }
  void notePlace(const Origin &origin, TomlPosition at) { lines.emplace(origin.place, std::pair(at.line, at.column)); }

  std::vector<ConfigurationMessage> take() {
    std::vector<ConfigurationMessage> result;
    for (auto &[at, message] : messages)
      result.push_back(std::move(message));
    return result;
  }

private:
  using Place = std::pair<uint32_t, uint32_t>;
  void add(Place at, Kind kind, const Origin &origin, std::string_view text) {
    messages.emplace(at, ConfigurationMessage{kind, origin, printableLine(text)});
  }

  std::multimap<Place, ConfigurationMessage> messages; // those of one place as they were said
  std::map<std::string, Place> lines;                  // where values of the file stand, by their origin
};

} // namespace vx::serve

#endif
