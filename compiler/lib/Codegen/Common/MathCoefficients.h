// The polynomials of the math library, for f32 and f64.
#ifndef VX_LIB_CODEGEN_COMMON_MATHCOEFFICIENTS_H
#define VX_LIB_CODEGEN_COMMON_MATHCOEFFICIENTS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace vx::mathlib {
#include "MathCoefficients.inc"
} // namespace vx::mathlib

/// The table of this name for the builder's type.
#define VX_COEFFICIENTS(m, name) ((m).isF64() ? llvm::ArrayRef<double>(name##64) : llvm::ArrayRef<double>(name##32))

#endif
