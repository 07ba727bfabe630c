// Tensors that a text describes instead of a file: "f32[2,3]:random".
#ifndef VX_TOOLS_DESCRIBED_TENSOR_H
#define VX_TOOLS_DESCRIBED_TENSOR_H

#include "tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::tools {

// Zeros. Throws a usage error that names `input` when a size is negative or the tensor is larger than memory counts.
Tensor makeTensor(std::string_view input, vx_element_type type, std::vector<int64_t> dims);

// TYPE[DIMS]:random|zeros|ones. Throws a usage error that names `input`.
Tensor makeDescribedTensor(std::string_view input, std::string_view text, uint64_t seed);

// Numbers that depend on the input's name and the seed alone, the same in all tools: floats in [-1, 1), booleans, and
// integers in [0, 4) or in [lower, upper).
void fillRandom(Tensor &tensor, std::string_view input, uint64_t seed);
void fillRandom(Tensor &tensor, std::string_view input, uint64_t seed, int64_t lower, int64_t upper);

} // namespace vx::tools

#endif
