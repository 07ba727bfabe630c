#include "vx/base/tensor_type.h"

namespace vx {

std::optional<uint64_t> tensorBytes(uint32_t bits, std::span<const int64_t> dims) {
  if (bits == 0 || bits % 8 != 0)
    return std::nullopt;
  unsigned __int128 size = bits / 8;
  bool isEmpty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    isEmpty |= dim == 0;
    if (dim > 0)
      size *= static_cast<uint64_t>(dim);
    if (size > INT64_MAX)
      return std::nullopt;
  }
  return isEmpty ? 0 : static_cast<uint64_t>(size);
}

std::string tensorTypeText(std::string_view element, std::span<const int64_t> dims) {
  std::string text(element);
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i == 0 ? "[" : ",") + std::to_string(dims[i]);
  return text + (dims.empty() ? "[]" : "]");
}

} // namespace vx
