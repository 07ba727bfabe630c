// The forward and the reverse part of a training step that is one block, and what it costs to keep or to recompute a
// value.
#ifndef VX_LIB_AUTODIFF_TRAINSTEPPARTS_H
#define VX_LIB_AUTODIFF_TRAINSTEPPARTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace vx {

/// Sizes that symbols are planned with; another one is 8, or what its declaration allows next to it.
using PlannedSizes = llvm::StringMap<int64_t>;

/// True when each kernel that reads the op computes it anew: FormFusions does so for what is free, for repeated numbers
/// and for which elements a dropout keeps.
bool isComputedWhereRead(mlir::Operation *op);

/// True for one op of a chain that costs next to nothing beside reading and writing a tensor.
bool isCheap(mlir::Operation *op);

/// True when the kernel of the reader of `use` can compute what it reads.
bool canComputeOperand(mlir::OpOperand &use);

/// The forward part is what the results of the function depend on: the loss and the metrics. The reverse part is the
/// rest: gradients, the optimizer, what is collected.
class TrainStepParts {
public:
  TrainStepParts(mlir::func::FuncOp function, const PlannedSizes &sizes);

  mlir::Block &getBlock() const { return block; }
  /// Also true for what is computed where it is read, and for views, of forward values alone, wherever they stand.
  bool isForward(mlir::Operation *op) const { return forward.contains(op); }
  bool isForward(mlir::Value value) const { return !value.getDefiningOp() || isForward(value.getDefiningOp()); }
  /// True for what is in memory whatever is decided: arguments, variables and constants.
  static bool isKeptAnyway(mlir::Value value);
  /// Bytes at the planned sizes; 0 for what is no tensor of known sizes.
  uint64_t getBytes(mlir::Value value) const;
  uint64_t getFlops(mlir::Operation *op) const;

private:
  uint64_t evaluate(DimAttr size) const;

  mlir::Block &block;
  llvm::StringMap<int64_t> sizes;
  llvm::DenseSet<mlir::Operation *> forward;
};

} // namespace vx

#endif
