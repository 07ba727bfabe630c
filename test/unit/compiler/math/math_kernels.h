// One kernel per math function, over arrays.
#ifndef VX_TEST_UNIT_COMPILER_MATH_MATH_KERNELS_H
#define VX_TEST_UNIT_COMPILER_MATH_MATH_KERNELS_H

#include "cpu_image.h"
#include <memory>
#include <vector>

namespace vx::test {

/// `result[i] = function(a[i], b[i])` in vectors of 16; an array of any size. `function` names an op of the math
/// dialect, `element` is f16, bf16, f32 or f64.
class MathKernel {
public:
  MathKernel(const std::string &function, const std::string &element, const TargetSpec &spec, bool scalar = false);

  template <typename T>
  std::vector<T> run(const std::vector<T> &a, const std::vector<T> &b = {}) {
    std::vector<T> result(a.size());
    call(a.data(), b.empty() ? nullptr : b.data(), result.data(), a.size(), sizeof(T));
    return result;
  }

  std::string error; // empty when the kernel was built

private:
  void call(const void *a, const void *b, void *result, size_t count, size_t elementSize);

  Image image;
};

} // namespace vx::test

#endif
