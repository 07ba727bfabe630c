#include "text/byte_alphabet.h"

#include "text/characters.h"

namespace vx::text {

namespace {

constexpr size_t beyond = 0x100 + 68; // one above the last character of the alphabet
static_assert(byteCharacters[0xad] + 1 == beyond);

constexpr std::array<short, beyond> makeByteTable() {
  std::array<short, beyond> table{};
  for (short &entry : table)
    entry = -1;
  for (unsigned byte = 0; byte < 256; ++byte)
    table[byteCharacters[byte]] = static_cast<short>(byte);
  return table;
}
constexpr std::array<short, beyond> bytesByCharacter = makeByteTable();

} // namespace

std::optional<std::string> bytesOfCharacters(std::string_view token) {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    const CodePoint point = codePointAt(token, at);
    if (point.code >= beyond || bytesByCharacter[point.code] < 0)
      return std::nullopt;
    bytes += static_cast<char>(bytesByCharacter[point.code]);
    at += point.size;
  }
  return bytes;
}

} // namespace vx::text
