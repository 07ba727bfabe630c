// Runs whole programs with the reference evaluator, in any phase from `import` to `kernels`.
#ifndef VX_REFERENCE_INTERPRETER_H
#define VX_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Reference/Evaluate.h"

namespace vx::reference {

/// One instance: the values of the symbols that are bound when it is made, and its variables. A variable that is
/// missing has its initial value, or is zero. The creator of the instance sets the variables that start with random
/// values.
struct ProgramState {
  SymbolValues symbols;
  llvm::StringMap<HostTensor> variables;
};

/// A dispatch that has run. Its members are valid until the observer returns.
struct ObservedDispatch {
  DispatchOp op;
  KernelOp kernel;
  mlir::func::FuncOp function; // that has the dispatch
  const SymbolValues &symbols; // of the kernel
  llvm::ArrayRef<HostValue> inputs, outputs;
};
using DispatchObserver = llvm::function_ref<void(const ObservedDispatch &)>;

/// Fails, with the name of the source node, for the first op of `function` that the evaluator does not support or that
/// has strings.
llvm::Error checkEvaluable(mlir::func::FuncOp function);

/// Calls `function` with `inputs`, one for each argument. Binds the symbols to the inputs' sizes and checks them
/// against their declarations; runs fusions and kernels by their regions. Stores to variables reach `state` if the call
/// succeeds. If it fails, only the completed iterations of a loop that commits have stored. A failure names the source
/// node. A variable in a pool is a part of the pool's value. `observer`, if given, is called after each dispatch, in
/// the order in which they run.
llvm::Expected<llvm::SmallVector<HostValue>> evaluateFunction(mlir::func::FuncOp function,
                                                              llvm::ArrayRef<HostValue> inputs, ProgramState &state,
                                                              DispatchObserver observer = nullptr);

} // namespace vx::reference

#endif
