// What goes to before the ops that write variables.
#ifndef VX_LIB_MEMORY_HOISTING_H
#define VX_LIB_MEMORY_HOISTING_H

#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "llvm/ADT/SetVector.h"

namespace vx {

/// Sizes and memory of loops and branches behind `target`, or in it, that may as well be had once before it.
class Hoister {
public:
  explicit Hoister(mlir::Operation *target) : target(target) {}

  /// True where the op, or what gives the value, may stand before the target, and will.
  bool add(mlir::Operation *op);
  bool add(mlir::Value value);

  void move();

private:
  mlir::Operation *target;
  llvm::SetVector<mlir::Operation *> ops; // what they read first
};

} // namespace vx

#endif
