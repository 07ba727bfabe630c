#include "json_text.h"

#include <fmt/format.h>

#include <cmath>

namespace vx::train {

size_t characterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : (first & 0xf0) == 0xe0        ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  // Too long forms, surrogates, and what is above the last character.
  if (length > 2) {
    const unsigned second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second >= 0x90))
      return 0;
  }
  return length;
}

std::string jsonString(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const size_t length = characterLength(text);
    const char first = text[0];
    if (length == 0)
      result += "\\ufffd";
    else if (first == '"' || first == '\\')
      (result += '\\') += first;
    else if (static_cast<unsigned char>(first) < 0x20 || first == 0x7f)
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    else
      result += text.substr(0, length);
    text.remove_prefix(length ? length : 1);
  }
  return result + '"';
}

std::string jsonNumber(double value) {
  if (std::isnan(value))
    return "\"nan\"";
  if (std::isinf(value))
    return value < 0 ? "\"-inf\"" : "\"inf\"";
  return fmt::format("{}", value);
}

} // namespace vx::train
