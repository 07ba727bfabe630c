#include "vx/base/json_place.h"

#include "vx/base/utf8.h"

#include <algorithm>
#include <charconv>

namespace vx {
namespace {

struct Found {
  size_t key = 0, value = 0;
};

// Moves through a text of JSON. At its end, and in a text that is none, every function stays within it.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  size_t offset() const { return at; }
  void moveTo(size_t offset) { at = offset; }
  // The next character but blanks; '\0' at the end.
  char peek() {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
    return at < text.size() ? text[at] : '\0';
  }
  bool take(char letter) {
    if (peek() != letter)
      return false;
    ++at;
    return true;
  }
  // A string without its quotes and escapes.
  std::string takeString() {
    std::string result;
    if (!take('"'))
      return result;
    while (at < text.size() && text[at] != '"') {
      if (text[at] != '\\') {
        result += text[at++];
        continue;
      }
      const char escaped = at + 1 < text.size() ? text[at + 1] : '\0';
      at = std::min(at + 2, text.size());
      if (escaped == 'u')
        appendUtf8(result, takeCode());
      else
        result += unescape(escaped);
    }
    at = std::min(at + 1, text.size());
    return result;
  }
  // A value with all that is in it.
  void skipValue() {
    size_t depth = 0;
    do {
      const char letter = peek();
      if (letter == '"')
        takeString();
      else if (letter == '\0')
        return;
      else if (isWord(letter))
        while (at < text.size() && isWord(text[at]))
          ++at;
      else {
        depth += letter == '{' || letter == '[' ? 1 : 0;
        depth -= depth > 0 && (letter == '}' || letter == ']') ? 1 : 0;
        ++at;
      }
    } while (depth > 0);
  }

private:
  static bool isWord(char letter) { return std::string_view(" \t\r\n{}[],:\"").find(letter) == std::string_view::npos; }
  static char unescape(char letter) {
    static constexpr std::string_view letters = "bfnrt", meant = "\b\f\n\r\t";
    const size_t index = letters.find(letter);
    return index == std::string_view::npos ? letter : meant[index];
  }
  uint32_t takeUnit() {
    uint32_t unit = 0;
    const size_t end = std::min(at + 4, text.size());
    std::from_chars(text.data() + at, text.data() + end, unit, 16);
    at = end;
    return unit;
  }
  uint32_t takeCode() {
    const uint32_t unit = takeUnit();
    if (unit < 0xd800 || unit > 0xdbff || text.substr(at, 2) != "\\u")
      return unit;
    at += 2;
    return 0x10000 + ((unit - 0xd800) << 10) + (takeUnit() & 0x3ff);
  }

  const std::string_view text;
  size_t at = 0;
};

// Takes the first step off the pointer.
std::string takeStep(std::string_view &pointer) {
  pointer.remove_prefix(1);
  const std::string_view escaped = pointer.substr(0, pointer.find('/'));
  pointer.remove_prefix(escaped.size());
  std::string step;
  for (size_t i = 0; i < escaped.size(); ++i)
    if (escaped[i] == '~' && i + 1 < escaped.size())
      step += escaped[++i] == '1' ? '/' : '~';
    else
      step += escaped[i];
  return step;
}

// Of the object's last member of that name.
bool findMember(Scanner &scanner, const std::string &name, Found &found) {
  bool isFound = false;
  while (scanner.peek() == '"') {
    const size_t key = scanner.offset();
    const bool isIt = scanner.takeString() == name;
    scanner.take(':');
    scanner.peek();
    if (isIt) {
      found = {key, scanner.offset()};
      isFound = true;
    }
    scanner.skipValue();
    scanner.take(',');
  }
  return isFound;
}

bool findElement(Scanner &scanner, const std::string &step, Found &found) {
  size_t index = 0;
  if (std::from_chars(step.data(), step.data() + step.size(), index).ec != std::errc())
    return false;
  for (size_t i = 0; scanner.peek() != ']' && scanner.peek() != '\0'; ++i) {
    if (i == index) {
      found.key = found.value = scanner.offset();
      return true;
    }
    const size_t before = scanner.offset();
    scanner.skipValue();
    scanner.take(',');
    if (scanner.offset() == before)
      return false;
  }
  return false;
}

Found find(std::string_view text, std::string_view pointer) {
  Scanner scanner(text);
  scanner.peek();
  Found found{scanner.offset(), scanner.offset()};
  while (!pointer.empty()) {
    const std::string step = takeStep(pointer);
    scanner.moveTo(found.value);
    const bool isThere = scanner.take('{')   ? findMember(scanner, step, found)
                         : scanner.take('[') ? findElement(scanner, step, found)
                                             : false;
    if (!isThere)
      break;
  }
  return found;
}

} // namespace

std::string TextPlace::text() const { return std::to_string(line) + ":" + std::to_string(column); }

TextPlace textPlaceAt(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t begin = before.rfind('\n') + 1; // 0 where there is no line feed
  TextPlace place;
  place.line += static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  for (char byte : before.substr(begin))
    place.column += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  return place;
}

JsonMistake findJsonMistake(std::string_view text, std::string_view message, size_t byte) {
  const auto after = [&](std::string_view mark) {
    const size_t at = message.find(mark);
    return std::string(at == message.npos ? message : message.substr(at + mark.size()));
  };
  // "[json.exception.parse_error.101] parse error at line 3, column 9: ...", whose byte counts from 1 on
  if (byte > 0)
    return {std::min(byte - 1, text.size()), after(": ")};
  // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
  JsonMistake mistake{0, after("] ")};
  const size_t quote = message.find('\'');
  if (const size_t end = message.rfind('\''); quote != message.npos && quote < end)
    if (const size_t at = text.find(message.substr(quote + 1, end - quote - 1)); at != text.npos)
      mistake.offset = at;
  return mistake;
}

std::string jsonPointerStep(std::string_view key) {
  std::string step = "/";
  for (char letter : key)
    step += letter == '~' ? "~0" : letter == '/' ? "~1" : std::string(1, letter);
  return step;
}

std::string jsonPointerStep(size_t index) { return "/" + std::to_string(index); }

size_t findJsonValue(std::string_view text, std::string_view pointer) { return find(text, pointer).value; }

size_t findJsonKey(std::string_view text, std::string_view pointer) { return find(text, pointer).key; }

} // namespace vx
