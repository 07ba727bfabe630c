// What a lowering to loops leaves behind.
#ifndef VX_CODEGEN_GPU_ERASETENSOROPS_H
#define VX_CODEGEN_GPU_ERASETENSOROPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace vx {

/// Erases the ops on tensors that have no user left, once the kernel `function` computes its results in loops.
inline void eraseTensorOps(mlir::func::FuncOp function) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (op.use_empty() && op.getNumResults() != 0 && mlir::isa<mlir::TensorType>(op.getResult(0).getType()))
      op.erase();
}

} // namespace vx

#endif
