// Pass pipelines of which no failure is silent.
#ifndef VX_DRIVER_RUNPASSES_H
#define VX_DRIVER_RUNPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace vx {

/// Runs the passes of `manager` on `module`. Where a pass fails that reported no error, an error names the pass and the
/// nodes that it was at.
llvm::LogicalResult runPasses(mlir::PassManager &manager, mlir::ModuleOp module);

} // namespace vx

#endif
