// A kernel's attention, part by part.
#ifndef VX_CODEGEN_COMMON_MATCHATTENTION_H
#define VX_CODEGEN_COMMON_MATCHATTENTION_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace vx {

/// The parts that the conversion of `vx.attention` makes, with their loops:
///   dots    (batch, head, query, key, depth)        scores, max, sum   (batch, head, query[, key])
///   values  (batch, head, query, value depth, key)  result             the dimensions of the result
struct Attention {
  mlir::linalg::GenericOp dots, scores, max, sum, values, result, logSumExp;       // the last may be null
  llvm::SmallVector<mlir::bufferization::MaterializeInDestinationOp> resultStores; // at least one
  mlir::bufferization::MaterializeInDestinationOp logSumExpStore;                  // may be null
  mlir::Operation *lastStore = nullptr; // behind all that the results are computed from
  /// The factors of the products, as values of the bodies of `dots` and `values`, and the tensors that they are read
  /// from.
  mlir::Value queryFactor, keyFactor, valueFactor;
  mlir::OpOperand *query = nullptr, *key = nullptr, *value = nullptr;
  /// The dimensions of the result that are its batch, heads, length and depth.
  llvm::SmallVector<unsigned> resultDims;
  /// Sizes of the sums over products.
  int64_t depth = 0, valueDepth = 0;

  void eraseStores();
};

/// The attention that is the kernel's anchor and that its results are elementwise functions of, if it is one and its
/// depths are known and not 0.
std::optional<Attention> matchAttention(mlir::func::FuncOp function);

} // namespace vx

#endif
