#include "vx/base/printable.h"

#include <cstdint>
#include <cstdio>

namespace vx {

namespace {

struct Character {
  uint32_t code = 0;
  size_t size = 0; // in bytes; 0 where there is no well-formed one
};

Character decode(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80)
    return {lead, 1};
  const size_t size = lead >= 0xc2 && lead <= 0xdf   ? 2
                      : (lead & 0xf0) == 0xe0        ? 3
                      : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                     : 0;
  if (size == 0 || text.size() < size)
    return {};
  uint32_t code = lead & (0xff >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Overlong forms, surrogates, and numbers above the last one.
  const uint32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return {};
  return {code, size};
}

// What a terminal obeys and does not show.
bool isControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string escape(std::string_view text, bool isOneLine) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode(text);
    char escaped[16];
    if (character.size == 0) {
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(text[0]));
      result += escaped;
      text.remove_prefix(1);
      continue;
    }
    if (isControl(character.code) && (isOneLine || (character.code != '\n' && character.code != '\t'))) {
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(character.code));
      result += escaped;
    } else {
      result += text.substr(0, character.size);
    }
    text.remove_prefix(character.size);
  }
  return result;
}

} // namespace

std::string printable(std::string_view text) { return escape(text, /*isOneLine=*/false); }
std::string printableLine(std::string_view text) { return escape(text, /*isOneLine=*/true); }

} // namespace vx
