// JSON and lines of a log, written text by text for each request.
#ifndef VX_SERVE_JSON_APPEND_H
#define VX_SERVE_JSON_APPEND_H

#include "vx/base/json_text.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace vx::serve {

// Whether neither a terminal nor JSON needs another form of a text.
inline bool isPlain(std::string_view text) {
  bool isOdd = false; // without an early end, which compilers do for many characters at once
  for (const char c : text)
    isOdd |= c < ' ' || c > '~' || c == '"' || c == '\\';
  return !isOdd;
}

// With its quotes. Bytes that are no UTF-8 become U+FFFD.
inline void appendJson(std::string &json, std::string_view text) {
  if (!isPlain(text)) {
    json += jsonText(nlohmann::json(std::string(text)));
    return;
  }
  json += '"';
  json += text;
  json += '"';
}

template <std::integral T>
void appendNumber(std::string &text, T number) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

} // namespace vx::serve

#endif
