// The formulas of the math library. Each takes and gives f32 or f64 numbers; docs/math.md has the bounds.
#ifndef VX_LIB_CODEGEN_COMMON_MATHFUNCTIONS_H
#define VX_LIB_CODEGEN_COMMON_MATHFUNCTIONS_H

#include "MathBuilder.h"

namespace vx::mathlib {

Number exp(MathBuilder &m, Number x);
Number exp2(MathBuilder &m, Number x);
Number expm1(MathBuilder &m, Number x);
Number log(MathBuilder &m, Number x);
Number log2(MathBuilder &m, Number x);
Number log10(MathBuilder &m, Number x);
Number log1p(MathBuilder &m, Number x);
Number pow(MathBuilder &m, Number x, Number y);
Number tanh(MathBuilder &m, Number x);
Number sinh(MathBuilder &m, Number x);
Number cosh(MathBuilder &m, Number x);
Number erf(MathBuilder &m, Number x);
Number sin(MathBuilder &m, Number x);
Number cos(MathBuilder &m, Number x);
Number tan(MathBuilder &m, Number x);
Number asin(MathBuilder &m, Number x);
Number acos(MathBuilder &m, Number x);
Number atan(MathBuilder &m, Number x);

} // namespace vx::mathlib

#endif
