// Characters of UTF-8.
#ifndef VX_BASE_UTF8_H
#define VX_BASE_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vx {

struct Character {
  uint32_t code = 0;
  size_t size = 0; // in bytes; 0 where there is no well-formed one
};

// The character that `text`, which is not empty, begins with.
Character decodeUtf8(std::string_view text);

// How many bytes the well-formed characters have that it begins with.
size_t wellFormedBytes(std::string_view text);

// Whether there are well-formed characters only.
bool isUtf8(std::string_view text);

// Adds one, of a number that a character has.
void appendUtf8(std::string &text, uint32_t code);

} // namespace vx

#endif
