#include "text/jinja/unicode.h"

#include "text/characters.h"

#include <utf8proc.h>

#include <algorithm>

namespace vx::text::jinja {

namespace {

utf8proc_category_t categoryOf(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

template <typename Change>
std::string changeEach(std::string_view text, Change change) {
  std::string made;
  made.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = codePointAt(text, at);
    change(made, point.code);
    at += point.size;
  }
  return made;
}

void addUpper(std::string &made, char32_t code) {
  if (code == 0xdf)
    made += "SS";
  else
    appendCodePoint(made, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
}
void addTitle(std::string &made, char32_t code) {
  if (code == 0xdf)
    made += "Ss";
  else
    appendCodePoint(made, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code))));
}
void addLower(std::string &made, char32_t code) {
  if (code == 0x130)
    made += "i\u0307";
  else
    appendCodePoint(made, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
}

} // namespace

size_t byteAt(std::string_view text, size_t index) {
  size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += codePointAt(text, at).size;
    --index;
  }
  return at;
}

bool isPythonSpace(char32_t code) { return isWhiteSpace(code) || (code >= 0x1c && code <= 0x1f); }
bool isDecimal(char32_t code) { return categoryOf(code) == UTF8PROC_CATEGORY_ND; }
bool isDigit(char32_t code) {
  // Superscripts, subscripts and digits in circles are digits, fractions are not.
  return isDecimal(code) || code == 0xb2 || code == 0xb3 || code == 0xb9 || code == 0x2070 ||
         (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089) || (code >= 0x2460 && code <= 0x2468);
}
bool isLetter(char32_t code) {
  const utf8proc_category_t category = categoryOf(code);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool isLetterOrNumber(char32_t code) { return isLetter(code) || isNumeric(code); }
bool isUpper(char32_t code) { return categoryOf(code) == UTF8PROC_CATEGORY_LU; }
bool isLower(char32_t code) { return categoryOf(code) == UTF8PROC_CATEGORY_LL; }

std::string_view stripText(std::string_view text, std::string_view set, bool isSpace, bool left, bool right) {
  const auto drops = [&](std::string_view character) {
    if (isSpace)
      return isPythonSpace(codePointAt(character, 0).code);
    for (size_t at = 0; at < set.size(); at += codePointAt(set, at).size)
      if (set.substr(at, codePointAt(set, at).size) == character)
        return true;
    return false;
  };
  while (left && !text.empty() && drops(text.substr(0, codePointAt(text, 0).size)))
    text.remove_prefix(codePointAt(text, 0).size);
  while (right && !text.empty()) {
    size_t last = text.size() - 1;
    while (isContinuation(text[last]))
      --last;
    if (!drops(text.substr(last)))
      break;
    text = text.substr(0, last);
  }
  return text;
}

size_t spaceIn(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && !isPythonSpace(codePointAt(text, at).code))
    at += codePointAt(text, at).size;
  return at;
}

size_t spaceBehind(std::string_view text) {
  size_t at = text.size();
  while (at > 0) {
    size_t before = at - 1;
    while (isContinuation(text[before]))
      --before;
    if (isPythonSpace(codePointAt(text, before).code))
      break;
    at = before;
  }
  return at;
}

std::vector<std::string_view> splitLines(std::string_view text, bool keepsEnds) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = codePointAt(text, at);
    const char32_t code = point.code;
    const size_t end = at;
    at += point.size;
    if (!((code >= 0xa && code <= 0xd) || (code >= 0x1c && code <= 0x1e) || code == 0x85 || code == 0x2028 ||
          code == 0x2029))
      continue;
    if (code == '\r' && at < text.size() && text[at] == '\n')
      ++at;
    lines.push_back(text.substr(begin, (keepsEnds ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size())
    lines.push_back(text.substr(begin));
  return lines;
}

std::string upperText(std::string_view text) { return changeEach(text, addUpper); }
std::string lowerText(std::string_view text) { return changeEach(text, addLower); }
std::string titleText(std::string_view text) {
  bool isInside = false;
  return changeEach(text, [&](std::string &made, char32_t code) {
    const utf8proc_category_t category = categoryOf(code);
    const bool hasCase =
        category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
    isInside ? addLower(made, code) : addTitle(made, code);
    isInside = hasCase;
  });
}
std::string capitalText(std::string_view text) {
  bool isFirst = true;
  return changeEach(text, [&](std::string &made, char32_t code) {
    isFirst ? addTitle(made, code) : addLower(made, code);
    isFirst = false;
  });
}

std::string replaceText(Run &run, std::string_view text, std::string_view from, std::string_view to, int64_t count) {
  std::string made;
  run.step(text.size() / 16 * (1 + from.size() / 16));
  const auto add = [&](std::string_view part) {
    made += part;
    run.charge(part.size());
  };
  int64_t done = 0;
  size_t at = 0;
  if (from.empty()) {
    // In front of each character, and at the end.
    for (; count < 0 || done < count; ++done) {
      add(to);
      if (at == text.size())
        return made;
      const size_t size = codePointAt(text, at).size;
      add(text.substr(at, size));
      at += size;
    }
    add(text.substr(at));
    return made;
  }
  while (count < 0 || done < count) {
    const size_t found = text.find(from, at);
    if (found == text.npos)
      break;
    add(text.substr(at, found - at));
    add(to);
    at = found + from.size();
    ++done;
  }
  add(text.substr(at));
  return made;
}

std::string padText(Run &run, std::string_view text, int64_t width, std::string_view fill, int side) {
  const int64_t missing = width - static_cast<int64_t>(countCodePoints(text));
  if (missing <= 0)
    return std::string(text);
  run.charge(static_cast<uint64_t>(missing) * fill.size());
  // Python's center puts the odd one on the left where the width is odd.
  const int64_t left = side > 0 ? missing : side < 0 ? 0 : missing / 2 + (missing & width & 1);
  std::string made;
  for (int64_t i = 0; i < left; ++i)
    made += fill;
  made += text;
  for (int64_t i = left; i < missing; ++i)
    made += fill;
  return made;
}

} // namespace vx::text::jinja
