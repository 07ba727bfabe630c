// Who may ask: a file of keys' hashes, with a name and a role for each.
//
//   # SHA-256 of the key, its name, its role
//   5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8 dashboard user
//
// The keys themselves stand nowhere.
#ifndef VX_SERVE_API_KEYS_H
#define VX_SERVE_API_KEYS_H

#include "configuration.h"

#include <array>

namespace vx::serve {

enum class Role : uint8_t { user, admin };

struct ApiKey {
  std::string name;
  Role role = Role::user;
  std::array<uint8_t, 32> digest = {};
};

// Immutable, so that threads share one while the next is read.
class ApiKeys {
public:
  explicit ApiKeys(std::vector<ApiKey> keys) : keys(std::move(keys)) {}

  // The key that a client presents; null where it is none. Takes the same time for each, whichever it is.
  const ApiKey *find(std::string_view presented) const;

  const std::vector<ApiKey> &all() const { return keys; }
  bool hasAdmin() const;

private:
  std::vector<ApiKey> keys;
};

struct ApiKeysReading {
  std::optional<ApiKeys> keys; // nothing where a message is an error
  std::vector<ConfigurationMessage> messages;
};

// Reads the file, and finds all that is wrong with it at once. One that others may read or write, or that has no key,
// is an error too.
ApiKeysReading readApiKeys(const std::string &path);

// The same of its text. `path` is for the messages.
ApiKeysReading parseApiKeys(std::string_view text, const std::string &path);

} // namespace vx::serve

#endif
