// Runs pass pipelines so that no failure is silent.
#ifndef VX_DRIVER_RUNPASSES_H
#define VX_DRIVER_RUNPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace vx {

/// When a module is verified. Verification after each pass is a seventh of the time of compiling kernels. The output of
/// passes there does not depend on errors in a user's input. A build with assertions always verifies.
enum class Verification { AfterEachPass, AtTheEnd };

/// Runs the passes of `manager` on `module`. If a pass fails without reporting an error, an error names the pass and
/// the nodes that it was at.
llvm::LogicalResult runPasses(mlir::PassManager &manager, mlir::ModuleOp module,
                              Verification verification = Verification::AfterEachPass);

} // namespace vx

#endif
