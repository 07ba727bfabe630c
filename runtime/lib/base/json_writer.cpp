#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>

namespace vx {

void JsonWriter::separate() {
  if (needComma)
    text += ',';
  needComma = true;
}

JsonWriter &JsonWriter::beginObject() {
  separate();
  text += '{';
  needComma = false;
  return *this;
}

JsonWriter &JsonWriter::endObject() {
  text += '}';
  needComma = true;
  return *this;
}

JsonWriter &JsonWriter::beginArray() {
  separate();
  text += '[';
  needComma = false;
  return *this;
}

JsonWriter &JsonWriter::endArray() {
  text += ']';
  needComma = true;
  return *this;
}

JsonWriter &JsonWriter::key(std::string_view name) {
  string(name);
  text += ':';
  needComma = false;
  return *this;
}

// Length of the well-formed UTF-8 character at the start of `rest`, 0 when there is none.
static size_t characterLength(std::string_view rest) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(rest[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return 1;
  size_t length = lead >= 0xc2 && lead <= 0xdf ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (length == 0 || rest.size() < length)
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  // Overlong forms, surrogates and numbers above U+10FFFF.
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf0 && byte(1) < 0x90) ||
      (lead == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

JsonWriter &JsonWriter::string(std::string_view value) {
  separate();
  text += '"';
  while (!value.empty()) {
    unsigned char c = static_cast<unsigned char>(value[0]);
    size_t length = characterLength(value);
    if (length == 0) {
      text += "\\ufffd";
      length = 1;
    } else if (c == '"' || c == '\\') {
      text += '\\';
      text += static_cast<char>(c);
    } else if (c == '\n') {
      text += "\\n";
    } else if (c < 0x20) {
      text += fmt::format("\\u{:04x}", c);
    } else {
      text += value.substr(0, length);
    }
    value.remove_prefix(length);
  }
  text += '"';
  return *this;
}

JsonWriter &JsonWriter::number(int64_t value) {
  separate();
  text += fmt::format("{}", value);
  return *this;
}

JsonWriter &JsonWriter::unsignedNumber(uint64_t value) {
  separate();
  text += fmt::format("{}", value);
  return *this;
}

JsonWriter &JsonWriter::real(double value) {
  if (!std::isfinite(value))
    return null();
  separate();
  text += fmt::format("{:.6g}", value);
  return *this;
}

JsonWriter &JsonWriter::thousandths(int64_t value) {
  separate();
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  text += fmt::format("{}{}.{:03}", value < 0 ? "-" : "", magnitude / 1000, magnitude % 1000);
  return *this;
}

JsonWriter &JsonWriter::boolean(bool value) {
  separate();
  text += value ? "true" : "false";
  return *this;
}

JsonWriter &JsonWriter::null() {
  separate();
  text += "null";
  return *this;
}

JsonWriter &JsonWriter::raw(std::string_view json) {
  separate();
  text += json;
  return *this;
}

} // namespace vx
