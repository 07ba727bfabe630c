// Unicode's normal forms of parts of a text.
#ifndef VX_TEXT_NORMAL_FORMS_H
#define VX_TEXT_NORMAL_FORMS_H

#include "text/aligned_text.h"

#include <string_view>
#include <vector>

namespace vx::text {

// Whether a character is itself in the form whatever stands around it, and leaves what comes behind it alone, but for
// what composes with it.
bool isInertIn(char32_t code, bool composes);

// Adds the characters of the form of `text`.
void appendNormalForm(std::string_view text, bool composes, bool isCompatible, std::vector<Change> &changes);

// The canonical decomposition of one character, at most 18 of them; how many.
int decompose(char32_t code, bool isCompatible, int32_t *parts);
constexpr int mostParts = 32;

// The canonical combining class.
int combiningClass(char32_t code);

// Full lowercase, by itself: one or two characters.
int lowercase(char32_t code, char32_t *parts);

} // namespace vx::text

#endif
