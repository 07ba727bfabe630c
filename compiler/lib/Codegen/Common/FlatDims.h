// Dimensions of a kernel's results that are one run of memory in all that it reads.
#ifndef VX_CODEGEN_COMMON_FLATDIMS_H
#define VX_CODEGEN_COMMON_FLATDIMS_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "llvm/ADT/ArrayRef.h"

namespace vx {

/// The first of the last dimensions of the results that vectors may go through as if they were one. Their elements lie
/// in this order in each result and in each tensor that the results are computed from, or the tensor has none of these
/// dimensions. `tiles` has the tile of each dimension, 0 for none: only the first of the dimensions may be
/// cut, or have a size that is not known. The results' rank where there are not two such dimensions.
unsigned findFlatDims(llvm::ArrayRef<mlir::bufferization::MaterializeInDestinationOp> results,
                      llvm::ArrayRef<int64_t> tiles);

} // namespace vx

#endif
