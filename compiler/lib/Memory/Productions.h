// What makes the new value of a variable.
#ifndef VX_LIB_MEMORY_PRODUCTIONS_H
#define VX_LIB_MEMORY_PRODUCTIONS_H

#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

namespace vx {

/// What makes a value: one kernel, or a copy of the old value and kernels that replace elements of it, in order.
struct Production {
  vxrt::CopyOp copied;
  llvm::SmallVector<vxrt::DispatchOp> kernels;

  bool contains(mlir::Operation *op) const;
};

/// Of a value whose commands all stand in segments of `block`, and which nothing but `holder` holds beyond its
/// commands; else no kernels. `isOld` tells the old value's memory.
Production findProduction(mlir::Value value, mlir::Block &block, llvm::function_ref<bool(mlir::Value)> isOld,
                          mlir::Operation *holder = nullptr);

/// True when the kernel may write `output` over what `use` reads: each element after it has read it.
bool mayOverwrite(mlir::OpOperand &use, mlir::Value output);

/// True where the kernel writes a part of what lies in the buffer.
bool updatesBuffer(vxrt::DispatchOp dispatch, mlir::Value buffer);

/// The order of two commands of segments of one block.
bool isBefore(mlir::Operation *a, mlir::Operation *b);

} // namespace vx

#endif
