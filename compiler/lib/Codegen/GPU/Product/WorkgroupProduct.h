// What the parts of a product's code share: the shape, the tile, and where the workgroup stands in the result.
#ifndef VX_LIB_CODEGEN_GPU_PRODUCT_WORKGROUPPRODUCT_H
#define VX_LIB_CODEGEN_GPU_PRODUCT_WORKGROUPPRODUCT_H

#include "../WorkgroupEmitter.h"
#include "ProductTile.h"

namespace vx {

class WorkgroupProduct : public WorkgroupEmitter {
public:
  WorkgroupProduct(mlir::func::FuncOp function, const ProductShape &shape, const ProductTile &tile,
                   const TargetSpec &spec)
      : WorkgroupEmitter(function, shape.getLoc()), shape(shape), tile(tile), spec(spec) {}

  /// Enters the kernel and finds the sizes of all loops.
  mlir::Value enterProduct();
  /// Finds the box of the workgroup `number`, and this thread. Comes after `enterProduct`.
  void enterTile(mlir::Value number, StrategyAttrInterface strategy);

  /// The sizes of the tile along `dims`.
  llvm::SmallVector<mlir::Value> sizesOf(llvm::ArrayRef<unsigned> dims);
  mlir::Value sizeOf(unsigned d) const { return loopSizes[shape.resultLoops[d]]; }
  /// True when no tile reaches over the end of dimension `d` of the result.
  bool isWhole(unsigned d) const;
  /// Whether `wide` neighbouring rows or columns of the tile are neighbours along one dimension of the result.
  bool areInOneRow(llvm::ArrayRef<unsigned> dims, int64_t wide) const {
    return !dims.empty() && tile.sizes[dims.back()] % wide == 0;
  }

  /// Code that a thread runs only where there is something to sum.
  mlir::LogicalResult emitUnlessEmpty(llvm::function_ref<mlir::LogicalResult()> body);

  const ProductShape &shape;
  const ProductTile &tile;
  const TargetSpec &spec;
  WorkgroupTile box;
  mlir::Value thread; // of those that share a slice of each step
  mlir::Value slice;  // null where there is one
  mlir::Value sumLength;
  llvm::SmallVector<mlir::Value> loopSizes, sumSizes;
  /// The steps reach over the end of the sum.
  bool needsZeros = false;
};

/// Computes and stores the results of a kernel from sums of its product.
class ProductEpilogue {
public:
  explicit ProductEpilogue(WorkgroupProduct &emitter) : e(emitter) {}

  /// The results for neighbouring columns, from `column` on, of row `row` of the tile. Those outside of the result are
  /// not stored.
  mlir::LogicalResult store(mlir::Value row, mlir::Value column, llvm::ArrayRef<mlir::Value> sums);

private:
  mlir::LogicalResult storeInside(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> sums);

  WorkgroupProduct &e;
};

class CopyTile;

/// Each thread adds the products of a block of rows and columns. `copies` bring the factors.
mlir::LogicalResult emitScalarLoop(WorkgroupProduct &emitter, llvm::MutableArrayRef<CopyTile> copies);

/// Each subgroup adds products of fragments by the matrix unit of the target.
mlir::LogicalResult emitFragmentLoop(WorkgroupProduct &emitter, llvm::MutableArrayRef<CopyTile> copies);

} // namespace vx

#endif
