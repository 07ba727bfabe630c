// Which part of a kernel's result a workgroup computes.
#ifndef VX_CODEGEN_COMMON_WORKGROUPTILE_H
#define VX_CODEGEN_COMMON_WORKGROUPTILE_H

#include "ElementEvaluator.h"
#include "mlir/IR/Builders.h"

namespace vx {

/// The number of this workgroup. What is built from here on, up to the end of the block that `builder` is put into, is
/// done by workgroups of the grid: a device may start some more.
mlir::Value enterWorkgroup(mlir::OpBuilder &builder, mlir::Location loc);

/// The box [lower, upper) of a workgroup, one entry for each dimension of the result.
struct WorkgroupTile {
  llvm::SmallVector<mlir::Value> lower, upper;
  /// The dimensions that are cut into tiles.
  llvm::SmallVector<unsigned> tiled;
};

/// The linear number of the workgroup is taken apart over ceildiv(size, tile) of the tiled dimensions, the last one
/// fastest. `tiles` gives the tile of each dimension, 0 or nothing for one that is not tiled.
WorkgroupTile getWorkgroupTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value workgroup,
                               llvm::ArrayRef<mlir::Value> sizes, llvm::ArrayRef<int64_t> tiles);

} // namespace vx

#endif
