// Losses as graphs.
#ifndef VX_AUTODIFF_LOSSES_H
#define VX_AUTODIFF_LOSSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Autodiff/Training.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

struct LossResults {
  mlir::Value loss;                                               // a scalar of f32
  llvm::SmallVector<std::pair<std::string, mlir::Value>> metrics; // scalars of f32
  mlir::Value rows; // a scalar of f32: how many rows, or elements, the loss is the mean over; 0 where it is of none
};

/// The loss of `output`, and what else there is to report. `addInput` makes the input that it is compared with, by its
/// name. Null, after an error, where the output has no such loss.
LossResults buildLoss(GraphBuilder &g, const LossSpec &spec, mlir::Value output,
                      llvm::function_ref<mlir::Value(llvm::StringRef name, mlir::RankedTensorType type)> addInput);

/// The rows of the first input that has some, which a loss that the model has made is taken to be the mean over.
DimAttr getBatch(mlir::func::FuncOp function);

} // namespace vx

#endif
