// How far two tensors are apart.
#ifndef VX_TOOLS_TENSOR_DIFFERENCE_H
#define VX_TOOLS_TENSOR_DIFFERENCE_H

#include "tensor.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

struct TensorDifference {
  // "f32[2,3]", or "f32[2,3] and f32[3,2]" when the tensors are of different types or sizes, which ends the comparison.
  std::string type;
  bool isComparable = true;
  uint64_t elements = 0;
  uint64_t differing = 0;     // elements that are further apart than allowed
  double largest = 0;         // of the differences of finite elements
  double largestRelative = 0; // the same, each to the larger magnitude of its two elements
  double allowed = 0;
  // The element that is furthest apart, the first one that is not finite on one side alone; nothing in equal tensors.
  std::vector<int64_t> place;
  std::string first, second; // the element in both
  // The first element in row-major order that is further apart than allowed, likewise.
  std::vector<int64_t> firstPlace;
  std::array<std::string, 2> firstValues;

  bool agrees() const { return isComparable && differing == 0; }
  // "f32[2,3]: 4 of 6 elements differ, the most at [1,0]: 2.5 and 0, allowed is a difference of 0.00025";
  // with ", the first at [0,1]: 1 and 0" where that is another one.
  std::string text() const;
};

// Floats may differ by `tolerance` times the largest finite magnitude of both tensors; by default 1e-4 for f32, 1e-10
// for f64 and a few units in the last place for narrower types. NaN is equal to NaN, infinities to themselves. All
// other types must be equal.
TensorDifference compareTensors(const Tensor &first, const Tensor &second, std::optional<double> tolerance);

// Of an element by its number in row-major order, in a tensor of these sizes.
std::vector<int64_t> placeOf(uint64_t index, const std::vector<int64_t> &dims);
// Of the finite elements; 0 where there is none.
double largestMagnitude(const Tensor &tensor);

} // namespace vx::tools

#endif
