// Passes that every target's code generation shares.
#ifndef VX_CODEGEN_COMMON_PASSES
#define VX_CODEGEN_COMMON_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"vx-expand-math"> {
  let summary = "Expand math functions into arithmetic";
  let description = [{
    The math library of vx (docs/math.md): exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, atan2,
    sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc, cbrt, powf, fpowi, rsqrt on scalars and vectors of f32 and f64; f16 and bf16 go through f32. What
    is left are arith ops, `math.fma`, and `math.sqrt`, `absf`, `floor`, `ceil`, `roundeven`, `trunc` and `copysign`, which round
    correctly or not at all.

    Needs: nothing. Keeps: shapes, NaN, infinities and signed zeros.
    Numerics: each function has a bound in ulp, the same on all targets.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif
