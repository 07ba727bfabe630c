// Text from files, fit for a terminal.
#ifndef VX_BASE_PRINTABLE_H
#define VX_BASE_PRINTABLE_H

#include <string>
#include <string_view>

namespace vx {

// Control characters (but tabs and line feeds), marks that turn the direction of text and bytes that are no UTF-8
// become
// "\u001b" or "\xff"; everything else stays. What JSON allows inside of its strings stays JSON.
std::string printable(std::string_view text);

// The same of text that has one line: a line feed becomes "\u000a" and a tab "\u0009".
std::string printableLine(std::string_view text);

} // namespace vx

#endif
