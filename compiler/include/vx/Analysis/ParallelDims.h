// Which dimensions of an operand an op goes along together with a dimension of a result.
#ifndef VX_ANALYSIS_PARALLELDIMS_H
#define VX_ANALYSIS_PARALLELDIMS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// For each dimension of a tensor operand the dimension of the result at whose index alone the op reads it, and in a
/// way that is the same at every index; -1 where an element of the result may need all of it, or where that is not
/// known. Paired dimensions may be stated as sizes that only are equal at run time.
llvm::SmallVector<int64_t> getParallelDims(mlir::OpOperand &operand, mlir::OpResult result);

/// True where an element of the result is the same at every index of its dimension `dim`, whatever the operands are.
bool repeatsAlong(mlir::OpResult result, int64_t dim);

} // namespace vx

#endif
