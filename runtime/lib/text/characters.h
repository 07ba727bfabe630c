// Characters of text that is known to be UTF-8, and what Unicode says of them.
#ifndef VX_TEXT_CHARACTERS_H
#define VX_TEXT_CHARACTERS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vx::text {

struct CodePoint {
  char32_t code;
  uint32_t size; // in bytes
};

// The code point at a place where one begins.
inline CodePoint codePointAt(const char *at) {
  const auto byte = [&](int i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
  const char32_t first = byte(0);
  if (first < 0x80)
    return {first, 1};
  if (first < 0xe0)
    return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first < 0xf0)
    return {(first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}
inline CodePoint codePointAt(std::string_view text, size_t at) { return codePointAt(text.data() + at); }

inline bool isContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

inline uint32_t sizeInBytes(char32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

// The bytes of one, and how many they are.
inline uint32_t encodeUtf8(char32_t code, char *out) {
  const uint32_t size = sizeInBytes(code);
  if (size == 1) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  for (uint32_t i = size - 1; i > 0; --i, code >>= 6)
    out[i] = static_cast<char>(0x80 | (code & 0x3f));
  out[0] = static_cast<char>((0xf00 >> size & 0xff) | code);
  return size;
}
inline void appendCodePoint(std::string &text, char32_t code) {
  char bytes[4];
  text.append(bytes, encodeUtf8(code, bytes));
}

size_t countCodePoints(std::string_view text);
// Where UTF-8 ends being well-formed; the size where all is.
size_t findIllFormed(std::string_view text);
// Each part that is no UTF-8 becomes U+FFFD: as long a beginning of a character as stands there, or a byte.
std::string replaceIllFormed(std::string_view text);
// How many bytes at the end begin a character and do not complete it.
size_t incompleteTail(std::string_view text);

// The property White_Space.
bool isWhiteSpace(char32_t code);
// Of the categories P*, or one of ASCII's other marks.
bool isPunctuation(char32_t code);
// Cc, Cf, Cn, Co, Cs.
bool isOther(char32_t code);
bool isNonspacingMark(char32_t code);
// M*.
bool isMark(char32_t code);
// N*.
bool isNumeric(char32_t code);
// What \w is in regular expressions: Alphabetic, M*, Nd, Pc, Join_Control.
bool isWordCharacter(char32_t code);
// Above the blocks of CJK ideographs that BERT splits.
bool isChineseCharacter(char32_t code);

} // namespace vx::text

#endif
