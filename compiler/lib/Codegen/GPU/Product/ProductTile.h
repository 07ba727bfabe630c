// How a strategy cuts a product into tiles of workgroups, threads and subgroups.
#ifndef VX_LIB_CODEGEN_GPU_PRODUCT_PRODUCTTILE_H
#define VX_LIB_CODEGEN_GPU_PRODUCT_PRODUCTTILE_H

#include "ProductShape.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

struct ProductTile {
  /// The product of two fragments by the matrix unit of the target.
  struct Fragments {
    mlir::Type element; // f16, bf16 or tf32
    int64_t depth;
  };

  /// The tile that `strategy`, a TiledProductAttr or an MmaAttr, gives the product. Fails with an error where the
  /// strategy does not fit. A matrix unit that the target lacks is replaced by blocks, which is said.
  static mlir::FailureOr<ProductTile> cut(mlir::func::FuncOp function, const ProductShape &shape,
                                          StrategyAttrInterface strategy, const TargetSpec &spec);

  int64_t extentOf(int which) const { return which == 0 ? rows : columns; }
  int64_t blockOf(int which) const { return which == 0 ? blockRows : blockColumns; }

  llvm::SmallVector<int64_t> sizes; // of a workgroup, by dimension of the result
  int64_t rows = 1, columns = 1, threads = 1;
  /// Of a thread, or with fragments of a subgroup.
  int64_t blockRows = 1, blockColumns = 1;
  int64_t step = 1;   // elements of workgroup memory along the sum that are multiplied between two barriers
  int64_t slices = 1; // groups of threads that each add a part of every step
  int64_t stages = 2; // buffers in workgroup memory
  /// Positions of the sum in an element of workgroup memory: four bytes, by factor signed or not, where the target adds
  /// four products at a time, else one.
  int64_t depth = 1;
  bool areSigned[2] = {};
  std::optional<Fragments> fragments;
  int64_t subgroupColumns = 1; // subgroups that share the columns
};

} // namespace vx

#endif
