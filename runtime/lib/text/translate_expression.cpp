// Oniguruma's Ruby syntax and PCRE2's differ in a few things that vocabularies use, or could.
#include "text/pattern.h"

namespace vx::text {

namespace {

// In Latin-1 Oniguruma has all numbers.
constexpr std::string_view wordSet = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\xb2\\xb3\\xb9\\xbc-\\xbe";

class Translation {
public:
  explicit Translation(std::string_view expression) : text(expression) {}

  std::string run() {
    while (at < text.size()) {
      const char c = text[at];
      if (c == '\\')
        escape(false);
      else if (c == '[')
        characterClass();
      else if (c == '(')
        group();
      else if (c == '{')
        interval();
      else {
        result += c;
        ++at;
      }
    }
    return std::move(result);
  }

private:
  [[noreturn]] void refuse(const std::string &what) const {
    throw Error(Error::Kind::file, "the regular expression '" + std::string(text) + "' has " + what + " at byte " +
                                       std::to_string(at) + ", which is not supported");
  }

  void escape(bool isInClass) {
    if (at + 1 == text.size())
      refuse("a \\ that nothing follows");
    const char c = text[at + 1];
    const bool isNegated = c == 'S' || c == 'W' || c == 'H';
    std::string_view set;
    switch (c) {
    case 's':
    case 'S':
      // Without the Mongolian vowel separator, which PCRE2's own \s has.
      result += isNegated ? "\\P{White_Space}" : "\\p{White_Space}";
      at += 2;
      return;
    case 'w':
    case 'W':
      set = wordSet;
      break;
    case 'h':
    case 'H':
      set = "0-9a-fA-F";
      break;
    case 'b':
    case 'B':
      if (isInClass) {
        if (c == 'B')
          refuse("\\B in a class");
        break;
      }
      result += c == 'b' ? word(true) : word(false);
      at += 2;
      return;
    case 'u':
      if (at + 6 > text.size())
        refuse("\\u without four digits");
      result += "\\x{" + std::string(text.substr(at + 2, 4)) + "}";
      at += 6;
      return;
    case 'p':
    case 'P':
      property();
      return;
    default:
      break;
    }
    if (!set.empty()) {
      if (isInClass && isNegated)
        refuse("a negated set inside of a class");
      result += isInClass ? std::string(set) : (isNegated ? "[^" : "[") + std::string(set) + "]";
    } else {
      result += text.substr(at, 2);
    }
    at += 2;
  }

  static std::string word(bool isBoundary) {
    const std::string in = "[" + std::string(wordSet) + "]", out = "[^" + std::string(wordSet) + "]";
    const std::string before = "(?<=" + in + ")", notBefore = "(?<!" + in + ")";
    const std::string behind = "(?=" + in + ")", notBehind = "(?!" + in + ")";
    return isBoundary ? "(?:" + before + notBehind + "|" + notBefore + behind + ")"
                      : "(?:" + before + behind + "|" + notBefore + notBehind + ")";
  }

  void property() {
    const size_t end = text.find('}', at);
    if (at + 2 >= text.size() || text[at + 2] != '{' || end == text.npos)
      refuse("a property without braces");
    std::string name(text.substr(at + 3, end - at - 3));
    result += text.substr(at, 2);
    // The names of POSIX mean Unicode's sets.
    static constexpr std::pair<std::string_view, std::string_view> names[] = {{"Alpha", "Alphabetic"},
                                                                              {"Digit", "Nd"},
                                                                              {"Space", "White_Space"},
                                                                              {"Punct", "P"},
                                                                              {"Upper", "Uppercase"},
                                                                              {"Lower", "Lowercase"},
                                                                              {"Letter", "L"},
                                                                              {"Number", "N"},
                                                                              {"Punctuation", "P"},
                                                                              {"Mark", "M"},
                                                                              {"Symbol", "S"},
                                                                              {"Separator", "Z"},
                                                                              {"Lowercase_Letter", "Ll"},
                                                                              {"Uppercase_Letter", "Lu"},
                                                                              {"Decimal_Number", "Nd"}};
    const bool isNegated = !name.empty() && name[0] == '^';
    std::string plain = isNegated ? name.substr(1) : name;
    for (const auto &[ours, theirs] : names)
      if (plain == ours)
        plain = theirs;
    result += (isNegated ? "{^" : "{") + plain + "}";
    at = end + 1;
  }

  void characterClass() {
    result += text[at++];
    if (at < text.size() && text[at] == '^')
      result += text[at++];
    if (at < text.size() && text[at] == ']') {
      result += "\\]";
      ++at;
    }
    while (at < text.size() && text[at] != ']') {
      if (text[at] == '\\') {
        escape(true);
      } else if (text.substr(at, 2) == "[:") {
        const size_t end = text.find(":]", at);
        if (end == text.npos)
          refuse("a class of POSIX without an end");
        result += text.substr(at, end + 2 - at);
        at = end + 2;
      } else if (text[at] == '[') {
        refuse("a class inside of a class");
      } else if (text.substr(at, 2) == "&&") {
        refuse("an intersection of classes");
      } else {
        result += text[at++];
      }
    }
    if (at == text.size())
      refuse("a class without an end");
    result += text[at++];
  }

  /// "(?m" lets a dot match a line feed, which PCRE2 calls "s".
  void group() {
    result += text[at++];
    if (text.substr(at, 1) == "*")
      refuse("a verb");
    if (text.substr(at, 1) != "?")
      return;
    size_t end = at + 1;
    while (end < text.size() && (text[end] == 'i' || text[end] == 'm' || text[end] == 'x' || text[end] == '-'))
      ++end;
    if (end == text.size() || (text[end] != ':' && text[end] != ')'))
      return;
    for (; at < end; ++at)
      result += text[at] == 'm' ? 's' : text[at];
  }

  /// "{,n}" begins at 0.
  void interval() {
    result += text[at++];
    if (at + 1 < text.size() && text[at] == ',' && text[at + 1] >= '0' && text[at + 1] <= '9')
      result += '0';
  }

  std::string_view text;
  size_t at = 0;
  std::string result;
};

} // namespace

std::string translateExpression(std::string_view expression) { return Translation(expression).run(); }

} // namespace vx::text
