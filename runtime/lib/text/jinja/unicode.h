// Texts as Python's strings treat them: by code points, with Python's white space.
#ifndef VX_TEXT_JINJA_UNICODE_H
#define VX_TEXT_JINJA_UNICODE_H

#include "text/jinja/value.h"

namespace vx::text::jinja {

// Where code point `index` begins; the size where there are no more.
size_t byteAt(std::string_view text, size_t index);

// What str.isspace, isdigit, isdecimal, isalpha and isalnum say of a character.
bool isPythonSpace(char32_t code);
bool isDigit(char32_t code);
bool isDecimal(char32_t code);
bool isLetter(char32_t code);
bool isLetterOrNumber(char32_t code);
bool isUpper(char32_t code);
bool isLower(char32_t code);

// Without white space, or else the characters of `set`, at the ends.
std::string_view stripText(std::string_view text, std::string_view set, bool isSpace, bool left, bool right);
// Where the first white space begins, and where the last one ends; the size, and 0, where there is none.
size_t spaceIn(std::string_view text);
size_t spaceBehind(std::string_view text);
std::vector<std::string_view> splitLines(std::string_view text, bool keepsEnds);

// Cases by Unicode's mappings of one character to one; only the sharp s becomes two.
std::string upperText(std::string_view text);
std::string lowerText(std::string_view text);
std::string titleText(std::string_view text);
std::string capitalText(std::string_view text);

// At most `count` of them; less than 0: all.
std::string replaceText(Run &run, std::string_view text, std::string_view from, std::string_view to, int64_t count);
// Up to a width in code points, on the left for 1, on the right for -1, on both sides for 0.
std::string padText(Run &run, std::string_view text, int64_t width, std::string_view fill, int side);

} // namespace vx::text::jinja

#endif
