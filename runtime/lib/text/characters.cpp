#include "text/characters.h"

#include "vx/base/utf8.h"

#include <array>
#include <cstring>
#include <utf8proc.h>

namespace vx::text {

namespace {

utf8proc_category_t categoryOf(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

constexpr bool isAsciiPunctuation(char32_t code) {
  return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
         (code >= 123 && code <= 126);
}

/// Letters of number-like and mark-like categories that are Alphabetic: Other_Alphabetic outside of M*.
constexpr bool isOtherAlphabetic(char32_t code) {
  return (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

} // namespace

size_t countCodePoints(std::string_view text) {
  size_t count = 0;
  for (char byte : text)
    count += !isContinuation(byte);
  return count;
}

size_t findIllFormed(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (at + 8 <= text.size() && (std::memcpy(&eight, text.data() + at, 8), (eight & 0x8080808080808080u) == 0)) {
      at += 8;
      continue;
    }
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const size_t size = decodeUtf8(text.substr(at)).size;
    if (size == 0)
      return at;
    at += size;
  }
  return at;
}

namespace {

/// How many bytes of `text`, which begins with no character, are the beginning of one.
size_t beginningOfOne(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0xc2 || first > 0xf4)
    return 0;
  const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  size_t count = 1;
  for (; count < size && count < text.size(); ++count) {
    const unsigned char low = count > 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = count > 1 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(count) < low || byte(count) > high)
      break;
  }
  return count;
}

} // namespace

std::string replaceIllFormed(std::string_view text) {
  std::string result;
  while (true) {
    const size_t good = findIllFormed(text);
    result += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty())
      return result;
    result += "\xef\xbf\xbd";
    const size_t bad = beginningOfOne(text);
    text.remove_prefix(bad == 0 ? 1 : bad);
  }
}

size_t incompleteTail(std::string_view text) {
  for (size_t size = 1; size <= 3 && size <= text.size(); ++size) {
    const std::string_view tail = text.substr(text.size() - size);
    if (isContinuation(tail[0]))
      continue;
    const unsigned char first = static_cast<unsigned char>(tail[0]);
    const size_t wanted = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return first >= 0xc2 && size < wanted && beginningOfOne(tail) == size ? size : 0;
  }
  return 0;
}

bool isWhiteSpace(char32_t code) {
  if (code < 0x80)
    return code == ' ' || (code >= 9 && code <= 13);
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool isPunctuation(char32_t code) {
  if (code < 0x80)
    return isAsciiPunctuation(code);
  const utf8proc_category_t category = categoryOf(code);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool isOther(char32_t code) {
  if (code < 0x80)
    return code < 0x20 || code == 0x7f;
  const utf8proc_category_t category = categoryOf(code);
  return category == UTF8PROC_CATEGORY_CN || category >= UTF8PROC_CATEGORY_CC;
}

bool isNonspacingMark(char32_t code) { return code >= 0x300 && categoryOf(code) == UTF8PROC_CATEGORY_MN; }

bool isMark(char32_t code) {
  const utf8proc_category_t category = code < 0x300 ? UTF8PROC_CATEGORY_CN : categoryOf(code);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool isNumeric(char32_t code) {
  if (code < 0x80)
    return code >= '0' && code <= '9';
  const utf8proc_category_t category = categoryOf(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool isWordCharacter(char32_t code) {
  if (code < 0x80)
    return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || code == '_';
  const utf8proc_category_t category = categoryOf(code);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) || category == UTF8PROC_CATEGORY_PC ||
         code == 0x200c || code == 0x200d || isOtherAlphabetic(code);
}

bool isChineseCharacter(char32_t code) {
  return code >= 0x3400 && ((code >= 0x4e00 && code <= 0x9fff) || code <= 0x4dbf ||
                            (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
                            (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
                            (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f));
}

} // namespace vx::text
