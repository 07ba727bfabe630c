// Short ways to this library's errors, and to what their messages are made of.
#ifndef VX_TRAIN_FAILURE_H
#define VX_TRAIN_FAILURE_H

#include "vx/base/names.h"
#include "vx/runtime/vx.h"
#include "vx/train/error.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vx::train {

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

// "f32[2,3]"
inline std::string typeText(vx_element_type type, std::span<const int64_t> dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : ",") + std::to_string(dim);
  return fmt::format("{}[{}]", vx_element_type_name(type), text);
}

// Bytes of a tensor, or nothing when they are more than memory counts, a dim is negative, or an element is no whole
// number of bytes.
inline bool byteCount(vx_element_type type, std::span<const int64_t> dims, uint64_t &bytes) {
  const uint32_t bits = vx_element_type_bits(type);
  if (bits == 0 || bits % 8 != 0)
    return false;
  unsigned __int128 size = bits / 8;
  bool isEmpty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return false;
    isEmpty |= dim == 0;
    if (dim > 0)
      size *= static_cast<uint64_t>(dim);
    if (size > INT64_MAX)
      return false;
  }
  bytes = isEmpty ? 0 : static_cast<uint64_t>(size);
  return true;
}

} // namespace vx::train

#endif
