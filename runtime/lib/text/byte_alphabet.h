// The 256 characters that stand for bytes in vocabularies of bytes: printable ones of Latin-1 for themselves, and from
// U+0100 on for the others, in order.
#ifndef VX_TEXT_BYTE_ALPHABET_H
#define VX_TEXT_BYTE_ALPHABET_H

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace vx::text {

constexpr bool standsForItself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte != 0xad);
}

constexpr std::array<char32_t, 256> makeByteCharacterTable() {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    table[byte] = standsForItself(byte) ? byte : next++;
  return table;
}
inline constexpr std::array<char32_t, 256> byteCharacters = makeByteCharacterTable();

// The bytes that the characters of `token` stand for, or nothing where one stands for none.
std::optional<std::string> bytesOfCharacters(std::string_view token);

} // namespace vx::text

#endif
