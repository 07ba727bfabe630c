// Results that are read along their columns: squares of elements that are transposed in registers.
#ifndef VX_CODEGEN_COMMON_COLUMNTILES_H
#define VX_CODEGEN_COMMON_COLUMNTILES_H

#include "ElementEvaluator.h"
#include "WorkgroupTile.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

namespace vx {

/// The elements of a side of the squares in which `result` is read along its dimension `column` and stored along its
/// last one: at most a register of elements, of those below 32 bits half of one but 128 bits at the least. 0 if
/// something that is read has its elements otherwise, or a workgroup's part of the result, which `tiles` cut, is
/// narrower than 4.
int64_t getColumnTileWidth(mlir::bufferization::MaterializeInDestinationOp result, unsigned column,
                           llvm::ArrayRef<int64_t> tiles, int64_t lanes);

/// Computes the box of `tile` in squares of `width` elements. In both dimensions the box has so many at the least: the
/// last square lies over a part of the one before it.
llvm::LogicalResult emitColumnTiles(mlir::OpBuilder &builder, ElementEvaluator &evaluator,
                                    mlir::bufferization::MaterializeInDestinationOp result, const WorkgroupTile &tile,
                                    unsigned column, int64_t width);

} // namespace vx

#endif
