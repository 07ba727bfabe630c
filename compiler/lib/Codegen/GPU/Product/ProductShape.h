// The form of a kernel that sums products: its factors, and the loops that each depends on.
#ifndef VX_LIB_CODEGEN_GPU_PRODUCT_PRODUCTSHAPE_H
#define VX_LIB_CODEGEN_GPU_PRODUCT_PRODUCTSHAPE_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace vx {

/// A kernel whose anchor is a `linalg.generic` that adds products of two factors to a filled accumulator, and whose
/// results read the sum at their own position only.
struct ProductShape {
  /// A value of the anchor's body, and the loops that it depends on, in order.
  struct Factor {
    mlir::Value value;
    llvm::SmallVector<unsigned> loops;
  };

  /// The shape of `function`. A dimension of the result that no factor has is a batch of one where `tile` is 1 there.
  /// On failure `reason` says why the kernel is another one.
  static std::optional<ProductShape> match(mlir::func::FuncOp function, llvm::ArrayRef<int64_t> tile,
                                           llvm::StringRef &reason);

  mlir::Location getLoc() const { return mlir::linalg::GenericOp(op).getLoc(); }
  mlir::Value sum() const { return mlir::linalg::GenericOp(op).getResult(0); }
  mlir::Value accumulator() const { return mlir::linalg::GenericOp(op).getRegionOutputArgs()[0]; }
  /// The dimensions of the result that factor `which` gives: rows by factor 0, columns by factor 1.
  llvm::ArrayRef<unsigned> dimsOf(int which) const { return which == 0 ? rowDims : columnDims; }

  llvm::SmallVector<mlir::bufferization::MaterializeInDestinationOp> results;
  mlir::linalg::GenericOp op;
  mlir::Operation *add = nullptr, *multiply = nullptr;
  mlir::Value init; // of the accumulator: a scalar
  /// The factors that the rows and the columns of the result index.
  Factor factors[2];
  /// The body multiplies the columns' factor by the rows' one.
  bool isSwapped = false;
  /// Of a convolution with groups the dimension of the filters, which is one of the filters' factor, and how many of
  /// them a group has. The other factor depends on the group, too: a tile has filters of one group.
  std::optional<unsigned> groupDim;
  int64_t filtersOfGroup = 0;
  /// The loop of each dimension of the result, the dimensions by the factors that have them, and the summed loops.
  llvm::SmallVector<unsigned> resultLoops, batchDims, rowDims, columnDims, sumLoops;
};

/// The ops of the body of `op` that `value` depends on, in order, and the loops. False when it depends on the
/// accumulator.
bool collectProducers(mlir::linalg::GenericOp op, mlir::Value value, llvm::SetVector<mlir::Operation *> &producers,
                      llvm::SmallSetVector<unsigned, 8> &loops);

/// A factor as it is stored, before the product widens it.
mlir::Value getUnwidened(mlir::Value factor);

} // namespace vx

#endif
