// Runs whole programs with the reference evaluator, in any phase from `import` to `kernels`.
#ifndef VX_REFERENCE_INTERPRETER_H
#define VX_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Reference/Evaluate.h"

namespace vx::reference {

/// The variables of one instance. One that is missing has its initial value.
struct ProgramState {
  llvm::StringMap<HostTensor> variables;
};

/// Calls `function` with `inputs`, one for each argument. Binds the symbols to the inputs' sizes and checks them
/// against their declarations; runs fusions and kernels by their regions. Stores to variables reach `state` when the
/// call succeeds, and none does when it fails. A failure names the source node.
llvm::Expected<llvm::SmallVector<HostValue>> evaluateFunction(mlir::func::FuncOp function,
                                                              llvm::ArrayRef<HostValue> inputs, ProgramState &state);

} // namespace vx::reference

#endif
