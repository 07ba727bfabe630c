// Short ways to this library's errors.
#ifndef VX_SERVE_FAILURE_H
#define VX_SERVE_FAILURE_H

#include "vx/serve/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace vx::serve {

template <typename... Args>
Error argumentError(fmt::format_string<Args...> format, Args &&...args) {
  return Error(Error::Kind::argument, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Error dataError(fmt::format_string<Args...> format, Args &&...args) {
  return Error(Error::Kind::data, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Error ioError(fmt::format_string<Args...> format, Args &&...args) {
  return Error(Error::Kind::io, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace vx::serve

#endif
