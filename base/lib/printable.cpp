#include "vx/base/printable.h"

#include "vx/base/utf8.h"

#include <cstdint>
#include <cstdio>

namespace vx {

namespace {

// What a terminal obeys and does not show.
bool isControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string escape(std::string_view text, bool isOneLine) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = decodeUtf8(text);
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
