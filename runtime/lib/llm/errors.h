// Short ways to the library's errors.
#ifndef VX_LIB_LLM_ERRORS_H
#define VX_LIB_LLM_ERRORS_H

#include "vx/base/formatted_error.h"
#include "vx/llm/generator.hpp"
#include "vx/text/tokenizer.hpp"

namespace vx::llm {

inline constexpr FormattedError<Error, VX_INVALID_MODULE> moduleError;
inline constexpr FormattedError<Error, VX_INVALID_ARGUMENT> argumentError;
inline constexpr FormattedError<Error, VX_UNSUPPORTED> unsupportedError;
inline constexpr FormattedError<Error, VX_OUT_OF_MEMORY> memoryError;

// Runs `body`; errors of tokenizers, templates and samplers become errors of this library.
template <typename F>
auto withErrors(F &&body) {
  try {
    return body();
  } catch (const text::Error &error) {
    throw Error(error.kind() == text::Error::Kind::file ? VX_UNSUPPORTED : VX_INVALID_ARGUMENT, error.what());
  }
}

} // namespace vx::llm

#endif
