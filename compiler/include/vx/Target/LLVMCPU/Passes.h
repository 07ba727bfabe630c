// Passes and pipeline of the CPU target.
#ifndef VX_TARGET_LLVMCPU_PASSES_H
#define VX_TARGET_LLVMCPU_PASSES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Target/TargetBackend.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Target/LLVMCPU/Passes.h.inc"

/// From the memref form to the LLVM dialect.
void buildCPULoweringPipeline(mlir::OpPassManager &pm, const TargetSpec &spec);

/// Registers the passes of this target and the pipeline `vx-cpu-lowering` (option `variant`).
void registerCPUTargetPasses();

} // namespace vx

#endif
