// Lines and columns of keys and values in a text of JSON, for messages about them.
#ifndef VX_BASE_JSON_PLACE_H
#define VX_BASE_JSON_PLACE_H

#include <cstddef>
#include <string>
#include <string_view>

namespace vx {

// From 1 on; columns count characters.
struct TextPlace {
  size_t line = 1, column = 1;

  std::string text() const; // "3:9"
};

// The place of the byte at `offset`; of the end for an offset that is larger.
TextPlace textPlaceAt(std::string_view text, size_t offset);

struct JsonMistake {
  size_t offset = 0; // in the text
  std::string reason;
};

// Of an error of nlohmann's parser: its message, and its byte, which is 0 for an error without one. `text` is the text
// that was parsed.
JsonMistake findJsonMistake(std::string_view text, std::string_view message, size_t byte);

// A step of a JSON pointer (RFC 6901): "/" and the key, whose "~" and "/" are escaped.
std::string jsonPointerStep(std::string_view key);
std::string jsonPointerStep(size_t index);

// Offsets in a text that a parser has taken as JSON. A JSON pointer leads to the value: "/models/3/name". Where a step
// leads nowhere, the result is the last value before it. Of a key that is given twice it is the last one, which parsers
// take too. Any other text gives an offset within it.
size_t findJsonValue(std::string_view text, std::string_view pointer);
// As findJsonValue, but for a member of an object the offset of its key.
size_t findJsonKey(std::string_view text, std::string_view pointer);

} // namespace vx

#endif
