// NumPy's .npy files, versions 1 to 3.
//
// bf16, f8 and the 4- and 2-bit types have no NumPy type. bf16 and f8 are written as raw bytes ("V2", "V1"), which is
// what the ml_dtypes package does, and small integers as one byte per element. Such files are read back when the wanted
// type is known.
#ifndef VX_TOOLS_NPY_H
#define VX_TOOLS_NPY_H

#include "tensor.h"

#include <span>

namespace vx::tools {

// Throws a ToolError (exit 3) that begins with the path and says what was wanted and what came. `wanted` decides what
// raw bytes mean; a file of another type is returned as it is, for the caller to compare.
Tensor readNpy(const std::string &path, vx_element_type wanted);
Tensor parseNpy(const std::string &path, std::span<const uint8_t> bytes, vx_element_type wanted);

std::vector<uint8_t> formatNpy(const Tensor &tensor);
// What stands before the elements; for files whose elements come piece by piece.
std::vector<uint8_t> formatNpyHeader(vx_element_type type, std::span<const int64_t> dims);

} // namespace vx::tools

#endif
