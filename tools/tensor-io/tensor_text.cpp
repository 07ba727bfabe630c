#include "tensor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vx::tools {

std::string tensorText(const Tensor &tensor, uint64_t limit) {
  const uint64_t count = elementCount(tensor.type, tensor.dims).value_or(0);
  if (tensor.dims.empty())
    return elementText(tensor, 0) + "\n";
  if (count == 0)
    return "[]\n";
  const size_t rank = tensor.dims.size();
  std::string text;
  const uint64_t shown = std::min(count, limit);
  for (uint64_t i = 0; i < shown; ++i) {
    // How many dimensions begin at this element and how many end behind it.
    size_t begins = 0;
    size_t ends = 0;
    uint64_t block = 1;
    for (size_t dim = rank; dim-- > 0;) {
      block *= static_cast<uint64_t>(tensor.dims[dim]);
      begins += i % block == 0;
      ends += (i + 1) % block == 0;
    }
    if (begins > 0)
      text += std::string(rank - begins, ' ') + std::string(begins, '[');
    text += elementText(tensor, i);
    text += std::string(ends, ']');
    if (i + 1 < count)
      text += ends > 0 ? "," : ", ";
    if (ends > 0)
      text += '\n';
  }
  if (shown < count)
    text += fmt::format("... {} more\n", count - shown);
  return text;
}

nlohmann::ordered_json tensorJson(const Tensor &tensor) {
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  const uint64_t count = elementCount(tensor.type, tensor.dims).value_or(0);
  for (uint64_t i = 0; i < count; ++i) {
    if (tensor.type == VX_STRING) {
      values.push_back(tensor.strings[i]);
      continue;
    }
    const double value = elementAsDouble(tensor, i);
    if (!std::isfinite(value))
      values.push_back(elementText(tensor, i));
    else
      values.push_back(nlohmann::ordered_json::parse(elementText(tensor, i)));
  }
  return values;
}

} // namespace vx::tools
