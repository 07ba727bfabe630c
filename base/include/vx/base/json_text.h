// JSON as text.
#ifndef VX_BASE_JSON_TEXT_H
#define VX_BASE_JSON_TEXT_H

#include <string>

namespace vx {

// A document of nlohmann's as text, on one line or indented. Names and messages come from files and clients: bytes that
// are no UTF-8 become U+FFFD, where the library's own dump() throws.
template <typename Json>
std::string jsonText(const Json &document, int indent = -1) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace vx

#endif
