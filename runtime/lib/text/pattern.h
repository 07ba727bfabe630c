// Regular expressions of vocabularies' files, which are written for Oniguruma, by PCRE2.
#ifndef VX_TEXT_PATTERN_H
#define VX_TEXT_PATTERN_H

#include "vx/text/tokenizer.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vx::text {

// What matching needs besides the pattern; one call at a time uses it.
class PatternMemory {
public:
  PatternMemory();
  PatternMemory(const PatternMemory &) = delete;
  PatternMemory &operator=(const PatternMemory &) = delete;
  ~PatternMemory();

private:
  friend class Pattern;
  struct Parts;
  std::unique_ptr<Parts> parts;
};

class Pattern {
public:
  // A regular expression. Throws Error::file where it is none, or has what is not supported.
  static Pattern fromExpression(const std::string &expression);
  // The same in PCRE2's own syntax.
  static Pattern fromPcre2(const std::string &expression);
  // What stands there, as it is.
  static Pattern fromLiteral(std::string literal);

  Pattern(Pattern &&);
  Pattern &operator=(Pattern &&);
  ~Pattern();

  // All matches from the left that do not overlap, none of which is empty and directly behind the one before. `text`
  // is UTF-8. Throws Error::argument where it takes too many steps.
  void findAll(std::string_view text, PatternMemory &memory, std::vector<Span> &matches) const;

private:
  Pattern();
  static Pattern compile(const std::string &source, const std::string &expression);
  bool findNext(std::string_view text, size_t from, PatternMemory &memory, Span &match) const;
  struct Code;
  std::unique_ptr<Code> code;
  std::string source; // as the file has it
};

// The same expression in PCRE2's syntax, matched with UTF, UCP and MULTILINE. Throws Error::file.
std::string translateExpression(std::string_view expression);

// Matches each run of characters of one script, in PCRE2's syntax, with the blanks behind it.
std::string scriptRuns();

} // namespace vx::text

#endif
