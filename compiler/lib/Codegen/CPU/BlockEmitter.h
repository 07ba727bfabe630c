// What the kernels with packed blocks and sums in registers share.
#ifndef VX_CODEGEN_CPU_BLOCKEMITTER_H
#define VX_CODEGEN_CPU_BLOCKEMITTER_H

#include "Common/ElementEvaluator.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace vx {

/// Loops and index arithmetic over blocks of a kernel's elements, and the innermost loop of a matrix product.
class BlockEmitter {
public:
  BlockEmitter(mlir::MLIRContext *context, mlir::Location loc) : builder(context), loc(loc) {}

protected:
  /// A range of rows, columns or k.
  struct Range {
    mlir::Value lower, upper;
  };
  /// Packed rows: element (i, k) lies at first + i * stride + k * step of `buffer`.
  struct PackedRows {
    mlir::Value buffer, first;
    int64_t count, stride, step;
  };
  /// Packed columns: `elements` neighbours at first[i] + k * step of `buffer` are vector (i, k), or make vectors.
  /// Without a buffer `decode` makes all of them.
  struct PackedColumns {
    mlir::Value buffer;
    llvm::SmallVector<mlir::Value> first;
    int64_t step = 0, elements = 0;
    /// Makes factors of the neighbours that were loaded from first[i] at step `k` (null without a buffer), and adds
    /// these vectors to those of the columns before; null where the factors lie in memory. False after an error.
    std::function<bool(mlir::Value loaded, mlir::Value k, size_t i, llvm::SmallVectorImpl<mlir::Value> &vectors)>
        decode = nullptr;
  };
  /// Of factors that are bytes, four of which lie together at each place of the buffers.
  struct Signs {
    bool rows, columns;
  };

  llvm::LogicalResult forEach(mlir::Value lower, mlir::Value upper, int64_t step,
                              llvm::function_ref<llvm::LogicalResult(mlir::Value)> body);
  /// Loops over [range.lower, range.upper) in blocks.
  llvm::LogicalResult forBlocks(Range range, int64_t block, llvm::function_ref<llvm::LogicalResult(Range)> body);
  /// Loops over a range, `count` places at once, and over what is left by the next smaller powers of two: few places at
  /// once are few independent sums. The body may replace what is carried.
  llvm::LogicalResult forDecreasing(Range range, int64_t count, llvm::MutableArrayRef<mlir::Value> carried,
                                    llvm::function_ref<llvm::LogicalResult(mlir::Value, int64_t)> body);
  /// Loops over a range with values that the body may replace.
  llvm::LogicalResult forCarrying(Range range, int64_t step, llvm::MutableArrayRef<mlir::Value> carried,
                                  llvm::function_ref<llvm::LogicalResult(mlir::Value)> body);
  /// The mask of the lanes at `base` that lie below `upper`; none where all always do.
  mlir::Value maskBelow(int64_t lanes, mlir::Value base, mlir::Value upper, bool isWhole);
  /// sums[row * vectors + vector] + the sum over k < depth of rows(row, k) * columns(vector, k), each in the order of
  /// k. An element of `rows` is repeated in all lanes. With `bytes`, a step along k is four bytes. Empty after an
  /// error.
  llvm::SmallVector<mlir::Value> multiply(const PackedRows &rows, const PackedColumns &columns, mlir::Value depth,
                                          llvm::SmallVector<mlir::Value> sums,
                                          std::optional<Signs> bytes = std::nullopt);

  mlir::Value plus(mlir::Value lhs, mlir::Value rhs) {
    return evaluator->addIndices(loc, {lhs, 0, {}}, {rhs, 0, {}}).base;
  }
  mlir::Value plus(mlir::Value lhs, int64_t rhs) { return plus(lhs, index(rhs)); }
  mlir::Value times(mlir::Value lhs, mlir::Value rhs) {
    return evaluator->multiplyIndices(loc, {lhs, 0, {}}, {rhs, 0, {}}).base;
  }
  mlir::Value times(mlir::Value lhs, int64_t rhs) { return times(lhs, index(rhs)); }
  mlir::Value minus(mlir::Value lhs, mlir::Value rhs);
  mlir::Value index(int64_t value) { return evaluator->constantIndex(value).base; }

  mlir::OpBuilder builder;
  mlir::Location loc;
  std::optional<ElementEvaluator> evaluator;
};

/// sum + lhs * rhs of vectors of floats, where the product need not be rounded, or of integers.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs, mlir::Value rhs,
                        mlir::Value sum);

/// The vector `value` of narrow elements, converted as `widening` converts one element.
mlir::Value applyWidening(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation *widening, mlir::Value value);

/// Rows and vectors of the accumulators that fit in the registers beside a row of B and a broadcast of A, best first.
/// `areHalved`: of factors that are each in two registers.
llvm::ArrayRef<std::pair<int64_t, int64_t>> getRegisterTiles(int64_t registers, bool areHalved = false);

/// `size` in equal blocks of at most `most`, each a multiple of `unit`.
int64_t getEvenBlock(int64_t size, int64_t most, int64_t unit);

} // namespace vx

#endif
