#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_REGISTRATION
#include "vx/Codegen/GPU/Passes.h.inc"

void registerGPUCodegenPasses() { registerCodegenGPUPasses(); }
} // namespace vx
