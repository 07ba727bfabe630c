// A kernel's contraction or convolution, seen as a matrix product.
#ifndef VX_CODEGEN_CPU_MATCHPRODUCT_H
#define VX_CODEGEN_CPU_MATCHPRODUCT_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace vx {

/// A kernel's results, at least one, and its only reduction, which is its anchor.
struct OnlySum {
  llvm::SmallVector<mlir::bufferization::MaterializeInDestinationOp> results;
  mlir::linalg::GenericOp op;
  void eraseResults();
};

/// C[outer, m, n] += A[outer, m, k] * B[outer, k, n]. Dimensions are loops of `op`; those of the result come first
/// there and in order, and the places of the m and of the k dimensions are counted in row-major order.
struct Product : OnlySum {
  /// The factors, as values of the body of `op`.
  mlir::Value a, b;
  llvm::SmallVector<unsigned> outer, m, k;
  unsigned n = 0;
  /// Of a convolution with groups the filters of a group: A depends on n too, but only on n / group. Else 0.
  int64_t group = 0;
  /// True when neighbours in memory of what A is made of are neighbours along the last m dimension.
  bool hasColumnsInA = false;
  /// A as it lies in memory, when that is row-major, [outer, m, k], and nothing is computed of it; else null.
  mlir::Value plainA;
  /// True when neighbours in memory of what B is made of are neighbours along n, or along the only k dimension.
  bool hasRowsInB = false, hasColumnsInB = false;
  /// B as it lies in memory when it was packed in tiles of columns, [n / tile, k, n % tile]; else null.
  mlir::Value packedB;
  int64_t tile = 0;
  /// The tensor of the elements of the packed B, each at its place in B.
  mlir::Value unpackedB;
  /// The type of elements of the packed B that share a byte with others; else null.
  mlir::IntegerType subByte;
  /// True where B's elements are computed from those of the packed B: converted, less a zero point, scaled.
  bool isDecoded = false;
  /// True where this computation reads nothing else: each element of B depends on one of the packed B only.
  bool decodesAlone = false;
  /// The steps that make B of `core`, in sequence; empty where each element of B is computed by itself. The numbers are
  /// tensors of B's dimensions that do not differ along the last k dimension, which is a block of the weight: they may
  /// be applied to its sums.
  struct BlockStep {
    enum Kind { Scale, Add, Subtract } kind;
    mlir::Value numbers;
  };
  llvm::SmallVector<BlockStep> steps;
  /// A tensor that is computed of the packed B alone, from which `steps` make B. `ofB` gives the places of B by the
  /// loops.
  mlir::Value core;
  mlir::AffineMap ofB;
  /// Of bytes that are widened and summed in 32 bits: A and B are the bytes, and the products of `neighbours` of them
  /// along the last k dimension are summed at once. Else 1.
  int64_t neighbours = 1;
  bool isASigned = false, isBSigned = false; // of bytes
};

/// The conversion to a wider type that a factor of a product is, or null.
mlir::Operation *findWidening(mlir::Value factor);

/// The kernel's results and its anchor, when that is the only reduction and every way from that to any of them is
/// elementwise.
std::optional<OnlySum> findOnlySum(mlir::func::FuncOp function);

/// The product that the kernel's results are elementwise functions of; or nothing, and in `declined` why, for users.
std::optional<Product> matchProduct(mlir::func::FuncOp function, llvm::StringRef &declined);

} // namespace vx

#endif
