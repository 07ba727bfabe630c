// The dimensions of an operand that an op iterates together with a dimension of a result.
#ifndef VX_ANALYSIS_PARALLELDIMS_H
#define VX_ANALYSIS_PARALLELDIMS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// For each dimension of a tensor operand the paired dimension of the result: the op reads the operand only at the
/// index of that dimension, and in the same way at every index. -1 if an element of the result may need all of it, or
/// if that is not known. Paired dimensions may be stated as sizes that only are equal at run time.
llvm::SmallVector<int64_t> getParallelDims(mlir::OpOperand &operand, mlir::OpResult result);

/// True if an element of the result is the same at every index of its dimension `dim`, for all operands.
bool repeatsAlong(mlir::OpResult result, int64_t dim);

} // namespace vx

#endif
