#include "vx/base/utf8.h"

namespace vx {

Character decodeUtf8(std::string_view text) {
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

size_t wellFormedBytes(std::string_view text) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const size_t size = decodeUtf8(text.substr(bytes)).size;
    if (size == 0)
      break;
    bytes += size;
  }
  return bytes;
}

bool isUtf8(std::string_view text) { return wellFormedBytes(text) == text.size(); }

void appendUtf8(std::string &text, uint32_t code) {
  auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80)
    return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3f));
    }
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

} // namespace vx
