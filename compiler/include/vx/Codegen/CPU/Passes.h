// Passes of code generation for CPUs.
#ifndef VX_CODEGEN_CPU_PASSES_H
#define VX_CODEGEN_CPU_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Codegen/CPU/Passes.h.inc"

} // namespace vx

#endif
