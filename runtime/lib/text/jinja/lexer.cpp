#include "text/jinja/lexer.h"
#include "text/jinja/unicode.h"

#include "text/characters.h"
#include "vx/base/printable.h"
#include "vx/base/utf8.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace vx::text::jinja {

void failAt(uint32_t line, const std::string &what) {
  throw Error(Error::Kind::file, "line " + std::to_string(line) + ": " + printableLine(what));
}

namespace {

bool isDigitOf(char c, int base) {
  return base == 16 ? (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f') : c >= '0' && c < '0' + base;
}
bool startsName(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isOfName(char c) { return startsName(c) || (c >= '0' && c <= '9'); }

/// With line feeds only, and without one at the end.
std::string normalizeLines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i)
    if (source[i] == '\r') {
      text += '\n';
      i += i + 1 < source.size() && source[i + 1] == '\n';
    } else {
      text += source[i];
    }
  if (text.ends_with('\n'))
    text.pop_back();
  return text;
}

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::vector<Token> read() {
    while (at < text.size())
      readData();
    add(Token::Kind::end, {});
    return std::move(tokens);
  }

private:
  Token &add(Token::Kind kind, std::string value) {
    tokens.push_back({kind, line, std::move(value)});
    return tokens.back();
  }
  void skip(size_t count) {
    line += static_cast<uint32_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                             text.begin() + static_cast<std::ptrdiff_t>(at + count), '\n'));
    at += count;
  }
  /// The text without white space at its end.
  static std::string_view trimEnd(std::string_view text) { return stripText(text, {}, true, false, true); }
  size_t spaceAt(size_t place) const {
    if (place >= text.size())
      return 0;
    const CodePoint point = codePointAt(text, place);
    return isPythonSpace(point.code) ? point.size : 0;
  }
  void skipSpace() {
    while (const size_t size = spaceAt(at))
      skip(size);
  }
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  bool startsWith(std::string_view what) const { return text.substr(at).starts_with(what); }

  /// Text up to the next tag, and the tag.
  void readData() {
    size_t begin = at;
    while (begin < text.size() && !(text[begin] == '{' && begin + 1 < text.size() &&
                                    (text[begin + 1] == '%' || text[begin + 1] == '{' || text[begin + 1] == '#')))
      ++begin;
    std::string_view data = text.substr(at, begin - at);
    if (begin == text.size()) {
      addData(data);
      skip(data.size());
      return;
    }
    const char kind = text[begin + 1], sign = begin + 2 < text.size() ? text[begin + 2] : '\0';
    std::string_view kept = data;
    if (sign == '-') {
      kept = trimEnd(kept);
    } else if (sign != '+' && kind != '{') {
      // A tag that is alone at the begin of its line takes the blanks in front of it.
      kept = trimLine(kept, isAtLineStart());
    }
    addData(kept);
    skip(data.size());
    const uint32_t first = line;
    skip(2);
    const bool hasSign = sign == '-' || (sign == '+' && kind != '{');
    if (hasSign)
      skip(1);
    if (kind == '#')
      readComment(first);
    else if (kind == '%')
      readBlock(first);
    else
      readExpression(Token::Kind::outputBegin, Token::Kind::outputEnd, "}}");
  }

  /// Without the last line, where it is white space only and begins in the text or at the start of a line.
  static std::string_view trimLine(std::string_view data, bool isAtStart) {
    const size_t begin = data.rfind('\n') + 1; // 0 where there is none
    return (begin > 0 || isAtStart) && trimEnd(data.substr(begin)).empty() ? data.substr(0, begin) : data;
  }

  // Whether the text read last ended a line; after a tag, the next tag is not at the start of one.
  bool isAtLineStart() const { return at == 0 || text[at - 1] == '\n'; }

  void addData(std::string_view data) {
    if (!data.empty())
      add(Token::Kind::data, std::string(data));
  }

  /// The end of a tag: its sign, and the line feed after a block.
  bool readEnd(std::string_view mark, bool trims) {
    const size_t sign = peek() == '-' || (trims && peek() == '+') ? 1 : 0;
    if (!text.substr(std::min(text.size(), at + sign)).starts_with(mark))
      return false;
    const char kind = sign ? text[at] : '\0';
    skip(sign + mark.size());
    if (kind == '-')
      skipSpace();
    else if (trims && kind != '+' && peek() == '\n')
      skip(1);
    return true;
  }

  void readComment(uint32_t first) {
    while (at < text.size()) {
      if (startsWith("-#}") || startsWith("+#}") || startsWith("#}")) {
        readEnd("#}", true);
        return;
      }
      skip(1);
    }
    failAt(first, "a comment has no end '#}'");
  }

  void readBlock(uint32_t first) {
    const size_t begin = at;
    const uint32_t beginLine = line;
    skipSpace();
    if (startsWith("raw")) {
      skip(3);
      skipSpace();
      if (readEnd("%}", false)) {
        readRaw(first);
        return;
      }
    }
    at = begin;
    line = beginLine;
    readExpression(Token::Kind::blockBegin, Token::Kind::blockEnd, "%}");
  }

  void readRaw(uint32_t first) {
    const size_t begin = at;
    const uint32_t beginLine = line;
    if (at == text.size())
      return; // as Jinja does
    for (size_t end = text.find("{%", at); end != text.npos; end = text.find("{%", end + 1)) {
      size_t inside = end + 2;
      const char sign = inside < text.size() ? text[inside] : '\0';
      inside += sign == '-' || sign == '+';
      while (const size_t size = spaceAt(inside))
        inside += size;
      if (!text.substr(inside).starts_with("endraw"))
        continue;
      at = inside + 6;
      while (const size_t size = spaceAt(at))
        at += size;
      std::string_view data = text.substr(begin, end - begin);
      if (sign == '-')
        data = trimEnd(data);
      else if (sign != '+')
        data = trimLine(data, begin == 0 || text[begin - 1] == '\n');
      line = beginLine;
      addData(data);
      const size_t after = at;
      at = begin;
      skip(after - begin);
      if (readEnd("%}", true))
        return;
    }
    failAt(first, "the tag 'raw' has no 'endraw'");
  }

  void readExpression(Token::Kind begin, Token::Kind end, std::string_view mark) {
    add(begin, {});
    const uint32_t first = line;
    std::string open; // brackets that wait for their ends
    while (at < text.size()) {
      const char c = peek();
      if (open.empty() && readEnd(mark, end == Token::Kind::blockEnd)) {
        add(end, {});
        return;
      }
      if (const size_t size = spaceAt(at))
        skip(size);
      else if (startsName(c))
        readName();
      else if (c >= '0' && c <= '9')
        readNumber();
      else if (c == '"' || c == '\'')
        readString();
      else
        readMark(open);
    }
    failAt(first, std::string("a tag has no end '") + std::string(mark) + "'");
  }

  void readName() {
    size_t end = at;
    while (end < text.size() && isOfName(text[end]))
      ++end;
    add(Token::Kind::name, std::string(text.substr(at, end - at)));
    at = end;
  }

  /// Digits with single underscores between.
  std::string readDigits(int base, size_t &end) const {
    std::string digits;
    while (end < text.size() && (isDigitOf(text[end], base) ||
                                 (text[end] == '_' && end + 1 < text.size() && isDigitOf(text[end + 1], base)))) {
      if (text[end] != '_')
        digits += text[end];
      ++end;
    }
    return digits;
  }

  void readNumber() {
    int base = 10;
    const char kind = static_cast<char>(peek(1) | 32);
    if (peek() == '0' && (kind == 'x' || kind == 'o' || kind == 'b'))
      base = kind == 'x' ? 16 : kind == 'o' ? 8 : 2;
    size_t end = at + (base == 10 ? 0 : 2);
    std::string digits = readDigits(base, end);
    if (digits.empty())
      failAt(line, "a number has no digits");
    bool isReal = false;
    if (base == 10) {
      if (end + 1 < text.size() && text[end] == '.' && isDigitOf(text[end + 1], 10)) {
        isReal = true;
        ++end;
        digits += "." + readDigits(10, end);
      }
      size_t exponent = end;
      if (exponent < text.size() && (text[exponent] | 32) == 'e') {
        ++exponent;
        const bool hasSign = exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-');
        const char sign = hasSign ? text[exponent] : '+';
        exponent += hasSign;
        const std::string power = readDigits(10, exponent);
        if (!power.empty()) {
          isReal = true;
          (digits += 'e') += sign + power;
          end = exponent;
        }
      }
      if (!isReal && digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != digits.npos)
        failAt(line, "a whole number begins with 0");
    }
    Token &token = add(isReal ? Token::Kind::real : Token::Kind::integer, digits);
    if (isReal)
      token.real = std::strtod(digits.c_str(), nullptr);
    else if (std::from_chars(digits.data(), digits.data() + digits.size(), token.integer, base).ec != std::errc())
      failAt(line, "the number " + digits + " is too large, expected less than 2^63");
    at = end;
  }

  char32_t readHex(size_t &from, size_t most, size_t digits) const {
    char32_t code = 0;
    for (size_t i = 0; i < digits; ++i, ++from) {
      if (from >= most || !isDigitOf(text[from], 16))
        failAt(line, "an escape of a string has too few hexadecimal digits");
      const char c = text[from];
      code = code << 4 | static_cast<char32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return code;
  }

  void readString() {
    const char quote = peek();
    size_t end = at + 1;
    while (end < text.size() && text[end] != quote)
      end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size())
      failAt(line, "a string has no end");
    std::string value;
    for (size_t from = at + 1; from < end;) {
      if (text[from] != '\\') {
        value += text[from++];
        continue;
      }
      const char c = text[from + 1];
      static constexpr std::string_view letters = "\\'\"abfnrtv", meant = "\\'\"\a\b\f\n\r\t\v";
      from += 2;
      if (const size_t known = letters.find(c); known != letters.npos) {
        value += meant[known];
      } else if (c == '\n') {
        // nothing: the line goes on
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const char32_t code = readHex(from, end, c == 'x' ? 2 : c == 'u' ? 4 : 8);
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
          failAt(line, "an escape of a string is no character");
        appendCodePoint(value, code);
      } else if (c >= '0' && c <= '7') {
        char32_t code = static_cast<char32_t>(c - '0');
        for (int i = 0; i < 2 && from < end && text[from] >= '0' && text[from] <= '7'; ++i)
          code = code * 8 + static_cast<char32_t>(text[from++] - '0');
        appendCodePoint(value, code);
      } else if (c == 'N') {
        failAt(line, "the escape '\\N' of a string is not supported");
      } else {
        (value += '\\') += c;
      }
    }
    add(Token::Kind::string, std::move(value));
    skip(end + 1 - at);
  }

  void readMark(std::string &open) {
    static constexpr auto marks =
        std::to_array<std::string_view>({"//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "(",
                                         ")",  "[",  "]",  "{",  "}",  "<",  ">", "=", ".", ":", ",", "|", ";"});
    const auto found = std::ranges::find_if(marks, [&](std::string_view mark) { return startsWith(mark); });
    if (found == marks.end())
      failAt(line, "the character '" +
                       std::string(text.substr(at, std::max<size_t>(1, decodeUtf8(text.substr(at)).size))) +
                       "' is not expected");
    const char c = (*found)[0];
    if (c == '(' || c == '[' || c == '{')
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c)
        failAt(line, std::string("'") + c + "' is not expected" +
                         (open.empty() ? "" : std::string(", expected '") + open.back() + "'"));
      open.pop_back();
    }
    add(Token::Kind::mark, std::string(*found));
    at += found->size();
  }

  const std::string_view text;
  size_t at = 0;
  uint32_t line = 1;
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> readTokens(std::string_view source) {
  if (const size_t at = findIllFormed(source); at != source.size())
    throw Error(Error::Kind::file, "the template is not UTF-8 at byte " + std::to_string(at));
  const std::string text = normalizeLines(source);
  return Lexer(text).read();
}

} // namespace vx::text::jinja
