// Pieces of JSON as text.
#ifndef VX_TRAIN_JSON_TEXT_H
#define VX_TRAIN_JSON_TEXT_H

#include <cstddef>
#include <string>
#include <string_view>

namespace vx::train {

// The string in its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string jsonString(std::string_view text);

// The bytes of the character of UTF-8 that `text`, which is not empty, begins with; 0 where it begins with none.
size_t characterLength(std::string_view text);

// Shortest digits that read back as the number; "nan", "inf" or "-inf" in quotes for what JSON has no number for.
std::string jsonNumber(double value);

} // namespace vx::train

#endif
