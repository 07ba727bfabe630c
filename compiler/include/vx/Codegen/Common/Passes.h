// Passes that every target's code generation shares.
#ifndef VX_CODEGEN_COMMON_PASSES_H
#define VX_CODEGEN_COMMON_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Codegen/Common/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "vx/Codegen/Common/Passes.h.inc"

/// The patterns of `vx-expand-math`. With `hasScale`, `vxk.scale` is an instruction of the target.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns, bool hasScale = false);

/// Replaces the remainders of float divisions in `kernel` by long division, which is exact: the instructions of GPUs
/// may be off by a whole divisor. Makes arith, math and scf ops.
void expandRemainders(mlir::Operation *kernel);

} // namespace vx

#endif
