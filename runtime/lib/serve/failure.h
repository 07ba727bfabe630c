// Short ways to this library's errors.
#ifndef VX_SERVE_FAILURE_H
#define VX_SERVE_FAILURE_H

#include "vx/base/formatted_error.h"
#include "vx/serve/error.hpp"

namespace vx::serve {

inline constexpr FormattedError<Error, Error::Kind::argument> argumentError;
inline constexpr FormattedError<Error, Error::Kind::data> dataError;
inline constexpr FormattedError<Error, Error::Kind::io> ioError;

} // namespace vx::serve

#endif
