// A kernel's contraction or convolution, seen as a matrix product.
#ifndef VX_CODEGEN_CPU_MATCHPRODUCT_H
#define VX_CODEGEN_CPU_MATCHPRODUCT_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace vx {

/// C[outer, m, n] += A[outer, m, k] * B[outer, k, n]. Dimensions are loops of `op`; those of the result come first
/// there and in order, and the places of the m and of the k dimensions are counted in row-major order.
struct Product {
  mlir::bufferization::MaterializeInDestinationOp result;
  mlir::linalg::GenericOp op;
  /// The factors, as values of the body of `op`.
  mlir::Value a, b;
  llvm::SmallVector<unsigned> outer, m, k;
  unsigned n = 0;
  /// B as it lies in memory when it was packed in tiles of columns, [n / tile, k, n % tile]; else null.
  mlir::Value packedB;
  int64_t tile = 0;
};

/// A kernel's only result and its only reduction.
struct OnlySum {
  mlir::bufferization::MaterializeInDestinationOp result;
  mlir::linalg::GenericOp op;
};

/// The kernel's only result and its only reduction, when every way from the one to the other is elementwise.
std::optional<OnlySum> findOnlySum(mlir::func::FuncOp function);

/// The product that the kernel's only result is an elementwise function of, or nothing.
std::optional<Product> matchProduct(mlir::func::FuncOp function);

} // namespace vx

#endif
