// Tensors for people's eyes.
#ifndef VX_TOOLS_TENSOR_TEXT_H
#define VX_TOOLS_TENSOR_TEXT_H

#include "tensor.h"

#include <nlohmann/json.hpp>

namespace vx::tools {

// Nested lists, one innermost row a line. Elements behind the first `limit` are counted instead of shown.
std::string tensorText(const Tensor &tensor, uint64_t limit);

// A flat list of all elements; NaN and the infinities, which JSON does not have, are strings.
nlohmann::ordered_json tensorJson(const Tensor &tensor);

} // namespace vx::tools

#endif
