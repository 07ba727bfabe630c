// Short ways to a library's errors. For libraries that have fmt, which this one does without.
#ifndef VX_BASE_FORMATTED_ERROR_H
#define VX_BASE_FORMATTED_ERROR_H

#include <fmt/format.h>

#include <utility>

namespace vx {

// Makes errors of one kind: of a class that takes the kind and the message.
template <typename Error, auto kind>
struct FormattedError {
  template <typename... Args>
  Error operator()(fmt::format_string<Args...> format, Args &&...args) const {
    return Error(kind, fmt::format(format, std::forward<Args>(args)...));
  }
};

} // namespace vx

#endif
