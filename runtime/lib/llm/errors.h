// Short ways to the library's errors.
#ifndef VX_LIB_LLM_ERRORS_H
#define VX_LIB_LLM_ERRORS_H

#include "generator.h"

#include "vx/base/formatted_error.h"

namespace vx::llm {

inline constexpr FormattedError<Error, Error::Kind::data> dataError;
inline constexpr FormattedError<Error, Error::Kind::argument> argumentError;

} // namespace vx::llm

#endif
