// Runs whole programs with the reference evaluator, in any phase from `import` to `kernels`.
#ifndef VX_REFERENCE_INTERPRETER_H
#define VX_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Reference/Evaluate.h"

namespace vx::reference {

/// One instance: the values of the symbols that are bound when it is made, and its variables. A variable that is
/// missing has its initial value, or is zero; one that starts with random values is put here by who makes the instance.
struct ProgramState {
  SymbolValues symbols;
  llvm::StringMap<HostTensor> variables;
};

/// Calls `function` with `inputs`, one for each argument. Binds the symbols to the inputs' sizes and checks them
/// against their declarations; runs fusions and kernels by their regions. Stores to variables reach `state` when the
/// call succeeds, and none does when it fails, but for those of iterations that are done of a loop that commits. A
/// failure names the source node. What lies in a pool is a part of the pool's value.
llvm::Expected<llvm::SmallVector<HostValue>> evaluateFunction(mlir::func::FuncOp function,
                                                              llvm::ArrayRef<HostValue> inputs, ProgramState &state);

} // namespace vx::reference

#endif
