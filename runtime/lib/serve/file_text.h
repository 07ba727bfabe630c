// Small files, whole.
#ifndef VX_SERVE_FILE_TEXT_H
#define VX_SERVE_FILE_TEXT_H

#include <cstddef>
#include <string>

namespace vx::serve {

// All that an open file has from where it stands on. Gives what is wrong, "cannot be read: Input/output error" or
// "expected at most 1048576 bytes, got more", or nothing.
std::string readText(int descriptor, size_t most, std::string &text);

} // namespace vx::serve

#endif
