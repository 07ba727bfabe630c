// Losses as graphs.
#ifndef VX_AUTODIFF_LOSSES_H
#define VX_AUTODIFF_LOSSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Autodiff/Training.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// The input with a weight for each row.
constexpr llvm::StringLiteral kSampleWeightInput = "sample_weight";

struct LossResults {
  mlir::Value loss;                                               // a scalar of f32
  llvm::SmallVector<std::pair<std::string, mlir::Value>> metrics; // scalars of f32
  // A scalar of f32: how many rows or elements the loss is the mean over, or the sum of their weights; 0 where it is of
  // none.
  mlir::Value rows;
};

/// The loss of `output`, and the metrics to report. `addInput` makes the input that it is compared with, by its name.
/// Null, after an error, if the output has no such loss.
LossResults buildLoss(GraphBuilder &g, const LossSpec &spec, mlir::Value output,
                      llvm::function_ref<mlir::Value(llvm::StringRef name, mlir::RankedTensorType type)> addInput);

/// The divisor of the mean of a loss of one element that the model computes, a scalar of f32: the sum that it divides
/// another one by, if that depends on data alone, else the rows of the first input with rows. `g` builds in the
/// function.
mlir::Value buildCountOfMean(GraphBuilder &g, mlir::Value mean);

} // namespace vx

#endif
