// What the host computes of the strings of a tensor. Nothing depends on a locale.
#ifndef VX_BASE_STRING_FUNCTIONS_H
#define VX_BASE_STRING_FUNCTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx {

// Each character by the simple mapping of Unicode, one for one. `text` is UTF-8.
std::string toUpperCase(std::string_view text);
std::string toLowerCase(std::string_view text);

// The parts between occurrences of `delimiter`, from the left; where that is empty, between runs of white space, which
// lead to no part at the ends. At most `limit` cuts, unless it is negative; the last part is the rest. An empty text
// has no parts.
std::vector<std::string_view> splitText(std::string_view text, std::string_view delimiter, int64_t limit);

// The number that all of `text` spells: decimal digits with a sign, a point and an exponent, "NaN", "INF", "+INF" or
// "-INF" in any case. Numbers too large are infinite.
std::optional<double> parseFloat(std::string_view text);
// The same cut to whole numbers; nothing where it is NaN or in neither i64 nor u64, which comes as its bits where
// `isUnsigned`.
std::optional<int64_t> parseInteger(std::string_view text, bool isUnsigned);

// The least decimal digits, without an exponent, that read back as the number; "NaN", "INF" and "-INF".
std::string formatFloat(double number);
std::string formatFloat(float number);

} // namespace vx

#endif
