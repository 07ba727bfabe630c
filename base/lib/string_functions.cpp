#include "vx/base/string_functions.h"

#include "vx/base/utf8.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

namespace vx {

namespace {

struct CaseRange {
  uint32_t from, to, step;
  int32_t change;
};

#include "case_mappings.inc"

} // namespace

template <size_t N>
static uint32_t mapCharacter(uint32_t code, const CaseRange (&ranges)[N]) {
  const CaseRange *range = std::lower_bound(std::begin(ranges), std::end(ranges), code,
                                            [](const CaseRange &each, uint32_t c) { return each.to < c; });
  if (range == std::end(ranges) || code < range->from || (code - range->from) % range->step != 0)
    return code;
  return static_cast<uint32_t>(static_cast<int32_t>(code) + range->change);
}

template <size_t N>
static std::string mapText(std::string_view text, const CaseRange (&ranges)[N]) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = decodeUtf8(text);
    appendUtf8(result, mapCharacter(character.code, ranges));
    text.remove_prefix(std::max<size_t>(character.size, 1));
  }
  return result;
}

std::string toUpperCase(std::string_view text) { return mapText(text, upperRanges); }
std::string toLowerCase(std::string_view text) { return mapText(text, lowerRanges); }

// White_Space of Unicode.
static bool isWhiteSpace(uint32_t code) {
  return (code >= 0x09 && code <= 0x0d) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
         code == 0x3000;
}

// The size of the white space that `text` begins with.
static size_t leadingSpace(std::string_view text) {
  size_t place = 0;
  while (place < text.size()) {
    const Character character = decodeUtf8(text.substr(place));
    if (character.size == 0 || !isWhiteSpace(character.code))
      break;
    place += character.size;
  }
  return place;
}

static std::vector<std::string_view> splitAtSpace(std::string_view text, int64_t limit) {
  std::vector<std::string_view> parts;
  text.remove_prefix(leadingSpace(text));
  while (!text.empty()) {
    size_t end = 0;
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      // The rest, without the space behind it.
      for (size_t place = 0; place < text.size();) {
        const size_t space = leadingSpace(text.substr(place));
        place += std::max<size_t>(space, 1);
        if (space == 0)
          end = place;
      }
      parts.push_back(text.substr(0, end));
      break;
    }
    while (end < text.size() && leadingSpace(text.substr(end)) == 0)
      ++end;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(leadingSpace(text));
  }
  return parts;
}

std::vector<std::string_view> splitText(std::string_view text, std::string_view delimiter, int64_t limit) {
  if (delimiter.empty())
    return splitAtSpace(text, limit);
  std::vector<std::string_view> parts;
  if (text.empty())
    return parts;
  for (size_t end = 0; limit < 0 || static_cast<int64_t>(parts.size()) < limit;
       text.remove_prefix(end + delimiter.size())) {
    end = text.find(delimiter);
    if (end == std::string_view::npos)
      break;
    parts.push_back(text.substr(0, end));
  }
  parts.push_back(text);
  return parts;
}

// What follows a sign; a plus is a number's, too.
static std::string_view withoutPlus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+')
    text.remove_prefix(1);
  return text;
}

// Of a number that is too large or too near to 0: which of them it is.
static bool isBelowOne(std::string_view text) {
  const size_t mark = std::min(text.find('e'), text.size());
  const std::string_view mantissa = text.substr(0, mark);
  const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = static_cast<int64_t>(std::min(mantissa.find_first_of("123456789"), mantissa.size()));
  int64_t exponent = 0;
  if (mark < text.size()) {
    const std::string_view digits = withoutPlus(text.substr(mark + 1));
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec == std::errc::result_out_of_range)
      return digits.starts_with('-');
  }
  return exponent + (first < point ? point - first : point - first + 1) <= 0;
}

std::optional<double> parseFloat(std::string_view text) {
  std::string lower;
  for (char c : text)
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  if (lower == "inf" || lower == "+inf")
    return std::numeric_limits<double>::infinity();
  if (lower == "-inf")
    return -std::numeric_limits<double>::infinity();
  // Other words for these are from_chars's, and none of ONNX's.
  if (lower.find_first_not_of("0123456789+-.e") != std::string::npos)
    return std::nullopt;
  const std::string_view digits = withoutPlus(text);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  if (error == std::errc())
    return number;
  number = isBelowOne(lower) ? 0 : std::numeric_limits<double>::infinity();
  return digits.starts_with('-') ? -number : number;
}

std::optional<int64_t> parseInteger(std::string_view text, bool isUnsigned) {
  const std::string_view digits = withoutPlus(text);
  const char *last = digits.data() + digits.size();
  if (isUnsigned) {
    uint64_t number = 0;
    if (const auto [end, error] = std::from_chars(digits.data(), last, number); end == last && error == std::errc())
      return static_cast<int64_t>(number);
  }
  int64_t number = 0;
  if (const auto [end, error] = std::from_chars(digits.data(), last, number); end == last && error == std::errc())
    return number;
  const std::optional<double> real = parseFloat(text);
  if (!real)
    return std::nullopt;
  const double whole = std::trunc(*real);
  if (whole >= -0x1p63 && whole < 0x1p63)
    return static_cast<int64_t>(whole);
  if (isUnsigned && whole >= 0 && whole < 0x1p64)
    return static_cast<int64_t>(static_cast<uint64_t>(whole));
  return std::nullopt;
}

template <typename Float>
static std::string format(Float number) {
  if (std::isnan(number))
    return "NaN";
  if (std::isinf(number))
    return number < 0 ? "-INF" : "INF";
  char digits[1100]; // the least f64 has 1077 of them
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number, std::chars_format::fixed).ptr;
  return {digits, end};
}

std::string formatFloat(double number) { return format(number); }
std::string formatFloat(float number) { return format(number); }

} // namespace vx
