// Short ways to this library's errors, and to what their messages are made of.
#ifndef VX_TRAIN_FAILURE_H
#define VX_TRAIN_FAILURE_H

#include "vx/base/formatted_error.h"
#include "vx/base/names.h"
#include "vx/base/tensor_type.h"
#include "vx/runtime/vx.h"
#include "vx/train/error.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vx::train {

inline constexpr FormattedError<Error, Error::Kind::argument> argumentError;
inline constexpr FormattedError<Error, Error::Kind::data> dataError;
inline constexpr FormattedError<Error, Error::Kind::io> ioError;

inline std::string typeText(vx_element_type type, std::span<const int64_t> dims) {
  return tensorTypeText(vx_element_type_name(type), dims);
}
inline std::optional<uint64_t> byteCount(vx_element_type type, std::span<const int64_t> dims) {
  return tensorBytes(vx_element_type_bits(type), dims);
}

} // namespace vx::train

#endif
