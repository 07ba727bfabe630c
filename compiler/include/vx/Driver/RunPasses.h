// Pass pipelines of which no failure is silent.
#ifndef VX_DRIVER_RUNPASSES_H
#define VX_DRIVER_RUNPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace vx {

/// When a module is verified. To verify it after each pass is a seventh of the time in which kernels are compiled, and
/// what passes make there does not depend on what a user can have written wrong; a build with assertions does it
/// always.
enum class Verification { AfterEachPass, AtTheEnd };

/// Runs the passes of `manager` on `module`. Where a pass fails that reported no error, an error names the pass and the
/// nodes that it was at.
llvm::LogicalResult runPasses(mlir::PassManager &manager, mlir::ModuleOp module,
                              Verification verification = Verification::AfterEachPass);

} // namespace vx

#endif
