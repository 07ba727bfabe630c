// A tensor in host memory, as the tools read, make, print and write it.
#ifndef VX_TOOLS_TENSOR_H
#define VX_TOOLS_TENSOR_H

#include "vx/compare/elements.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::tools {

struct Tensor {
  vx_element_type type = VX_ELEMENT_NONE;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;            // row-major; 4- and 2-bit elements packed low bits first
  std::vector<std::string> strings = {}; // in the place of bytes, of VX_STRING
};

// A tensor, or the tensors of a sequence or optional.
struct Value {
  vx_value_kind kind = VX_TENSOR;
  vx_element_type type = VX_ELEMENT_NONE;
  std::vector<Tensor> tensors; // one for a tensor
  bool isNone = false;         // an optional sequence that holds none
};

// "f32" -> VX_F32; nothing for another text, that of strings included.
std::optional<vx_element_type> elementTypeFromName(std::string_view name);

// Product of the dims, or nothing when one is negative or the tensor's size overflows.
std::optional<uint64_t> elementCount(vx_element_type type, const std::vector<int64_t> &dims);

// Bytes of `count` elements.
uint64_t byteCount(vx_element_type type, uint64_t count);

using compare::isFloat;

// For comparing, as long as the tensor lives.
compare::Tensor view(const Tensor &tensor);

// One element as a double; 0 of strings. 64-bit integers above 2^53 lose their last bits; use elementText for those.
double elementAsDouble(const Tensor &tensor, uint64_t index);

// One element as text: the shortest that reads back as the same value; "nan", "inf", "true". A
// string in quotes, as JSON has it.
std::string elementText(const Tensor &tensor, uint64_t index);

// Stores a value, rounded to the nearest that the type has.
void setElement(Tensor &tensor, uint64_t index, double value);

// Of two tensors of one type that is not that of strings.
void copyElement(const Tensor &from, uint64_t index, Tensor &to, uint64_t place);

// "f32[2,3]"
std::string typeText(vx_element_type type, const std::vector<int64_t> &dims);

} // namespace vx::tools

#endif
