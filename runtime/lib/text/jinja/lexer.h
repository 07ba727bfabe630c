// The tokens of a template.
#ifndef VX_TEXT_JINJA_LEXER_H
#define VX_TEXT_JINJA_LEXER_H

#include "text/jinja/value.h"

namespace vx::text::jinja {

struct Token {
  enum class Kind : uint8_t {
    data,
    blockBegin,
    blockEnd,
    outputBegin,
    outputEnd,
    name,
    string,
    integer,
    real,
    mark,
    end
  };
  Kind kind = Kind::end;
  uint32_t line = 1;
  std::string text; // of a string: its value; of a mark: "==" and the like
  int64_t integer = 0;
  double real = 0;
};

// Blocks are trimmed as by trim_blocks and lstrip_blocks. The last token is `end`. Throws Error::file with the line.
std::vector<Token> readTokens(std::string_view source);

[[noreturn]] void failAt(uint32_t line, const std::string &what);

} // namespace vx::text::jinja

#endif
