// Squares of elements in registers.
#ifndef VX_CODEGEN_COMMON_TRANSPOSESQUARE_H
#define VX_CODEGEN_COMMON_TRANSPOSESQUARE_H

#include "mlir/IR/Builders.h"

namespace vx {

/// The columns of a square of elements, from its rows: as many vectors of one type as they have elements, which is a
/// power of two.
llvm::SmallVector<mlir::Value> transposeSquare(mlir::OpBuilder &builder, mlir::Location loc,
                                               llvm::ArrayRef<mlir::Value> rows);

} // namespace vx

#endif
