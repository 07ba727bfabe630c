// Over how much a loss or a metric is a mean.
#ifndef VX_LIB_AUTODIFF_METRICCOUNTS_H
#define VX_LIB_AUTODIFF_METRICCOUNTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace vx {

/// Where `mean`, a single number, is a sum over elements of the batch divided by another such sum that is made of data
/// alone: that divisor, a count or a sum of weights. The means of two batches, weighed by it, are the mean of both.
/// Else null: such a mean grows with the rows alone, or is no mean.
mlir::Value findMeanDivisor(mlir::Value mean);

/// Appends to the results of `function` what findMeanDivisor finds for its first ones, the `metrics`: each divisor
/// once, as a scalar of f32 named after the first metric that has it. Returns for each metric the name of the result,
/// or ""; an empty list where there are none.
llvm::SmallVector<std::string> addMetricCounts(mlir::func::FuncOp function, llvm::ArrayRef<std::string> metrics,
                                               mlir::Location location);

} // namespace vx

#endif
