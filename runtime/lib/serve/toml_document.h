// What a TOML file says, with the place of each key and value, and all places at which it is no TOML.
#ifndef VX_SERVE_TOML_DOCUMENT_H
#define VX_SERVE_TOML_DOCUMENT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::serve {

struct TomlPosition {
  uint32_t line = 0, column = 0; // from 1 on; columns count characters
};

struct TomlEntry;

struct TomlValue {
  enum class Kind : uint8_t { table, array, string, integer, real, boolean, date };

  // What it is, for a message: "4", "'text'", "a table".
  std::string describe() const;
  // The value of a table's key; null where there is none.
  const TomlValue *find(std::string_view key) const;

  Kind kind = Kind::table;
  TomlPosition at;
  std::string text; // of a string
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<TomlEntry> entries;  // of a table, in the order of the file
  std::vector<TomlValue> elements; // of an array
};

struct TomlEntry {
  std::string key;
  TomlPosition at;
  TomlValue value;
};

struct TomlError {
  TomlPosition at;
  std::string text;
};

struct TomlDocument {
  TomlValue root;
  std::vector<TomlError> errors;
  // Whether `root` is what the file says but for the lines that `errors` name. Else a mistake leaves open what the rest
  // belongs to, and `root` is empty.
  bool isReadable = true;
};

TomlDocument readToml(std::string_view text);

// A string as TOML writes it, with its quotes.
std::string quoteToml(std::string_view text);

} // namespace vx::serve

#endif
