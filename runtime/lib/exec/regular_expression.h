// Regular expressions by PCRE2, which is opened when the first one is compiled.
#ifndef VX_RUNTIME_EXEC_REGULAR_EXPRESSION_H
#define VX_RUNTIME_EXEC_REGULAR_EXPRESSION_H

#include "base/status.h"

#include <memory>
#include <string_view>

namespace vx {

// Thread-compatible.
class RegularExpression {
public:
  // VX_UNSUPPORTED without the library, which the environment variable VX_PCRE2_LIBRARY names where it has another
  // name; VX_INVALID_MODULE for a pattern that is none, with the place.
  static Status compile(std::string_view pattern, RegularExpression &result);

  // Whether it describes the whole of `text`, which is UTF-8. VX_FAULT where that takes too long to find out.
  Status matchesWhole(std::string_view text, bool &matches) const;

private:
  std::shared_ptr<void> code, data, limits;
};

} // namespace vx

#endif
