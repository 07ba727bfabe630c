// Runs whole programs with the reference evaluator, in any phase from `import` to `kernels`.
#ifndef VX_REFERENCE_INTERPRETER_H
#define VX_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Reference/Evaluate.h"

namespace vx::reference {

/// One instance: the values of the symbols that are bound when it is made, and its variables. A variable that is
/// missing has its initial value, or is zero; one that starts with random values is put here by who makes the instance.
struct ProgramState {
  SymbolValues symbols;
  llvm::StringMap<HostTensor> variables;
};

/// A dispatch that has run. All of it lives until the observer returns.
struct ObservedDispatch {
  DispatchOp op;
  KernelOp kernel;
  mlir::func::FuncOp function; // that the dispatch stands in
  const SymbolValues &symbols; // of the kernel
  llvm::ArrayRef<HostValue> inputs, outputs;
};
using DispatchObserver = llvm::function_ref<void(const ObservedDispatch &)>;

/// Fails, with the name of the source node, at the first op of `function` that the evaluator does not know, and at one
/// with strings.
llvm::Error checkEvaluable(mlir::func::FuncOp function);

/// Calls `function` with `inputs`, one for each argument. Binds the symbols to the inputs' sizes and checks them
/// against their declarations; runs fusions and kernels by their regions. Stores to variables reach `state` when the
/// call succeeds, and none does when it fails, but for those of iterations that are done of a loop that commits. A
/// failure names the source node. What lies in a pool is a part of the pool's value. `observer`, where there is one, is
/// called behind each dispatch, in the order in which they run.
llvm::Expected<llvm::SmallVector<HostValue>> evaluateFunction(mlir::func::FuncOp function,
                                                              llvm::ArrayRef<HostValue> inputs, ProgramState &state,
                                                              DispatchObserver observer = nullptr);

} // namespace vx::reference

#endif
