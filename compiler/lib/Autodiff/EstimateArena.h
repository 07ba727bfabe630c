// What the arena of a training step will take, before kernels are made: by the order of its ops alone.
#ifndef VX_LIB_AUTODIFF_ESTIMATEARENA_H
#define VX_LIB_AUTODIFF_ESTIMATEARENA_H

#include "TrainStepParts.h"

namespace vx {

/// An op of the block, or its copy, which computes it again.
struct StepItem {
  mlir::Operation *op;
  bool isCopy;
};

/// What each op of a block reads of memory: through views and what is computed where it is read.
class StepReads {
public:
  struct Read {
    mlir::Value value;
    bool mayFuse; // the reader's kernel can compute it
  };

  explicit StepReads(const TrainStepParts &parts);
  llvm::ArrayRef<Read> of(mlir::Operation *op) const { return reads.find(op)->second; }
  /// False for what is no step of its own: views, what is computed where it is read, constants.
  bool isStep(mlir::Operation *op) const { return reads.contains(op); }

private:
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Read, 4>> reads;
};

/// Bytes in use at each item of `order`, which has the ops of the block and behind some of the forward part a copy for
/// the reverse part: what reads a value of `recomputed` there reads the copy's. The rules are those of the fused phase
/// and of `vx-plan-arena`, in short: a kernel grows from its last op to what only it reads, with one anchor; a value is
/// in use from the kernel that makes it to the last that reads it; an elementwise result takes the memory of an operand
/// that ends there; what is put one after another is computed in its place, and what a variable becomes in the
/// variable.
llvm::SmallVector<uint64_t> estimateArena(const TrainStepParts &parts, const StepReads &reads,
                                          llvm::ArrayRef<StepItem> order,
                                          const llvm::DenseSet<mlir::Operation *> &recomputed);

} // namespace vx

#endif
