// The parts that ops of attention share: heads, masks, the op that computes all of it, its steps, and the turning of
// pairs.
#ifndef VX_FRONTEND_ONNX_ATTENTIONPARTS_H
#define VX_FRONTEND_ONNX_ATTENTIONPARTS_H

#include "OpFunctions.h"

namespace vx::onnx {

/// `size` parted into `count` equal heads.
DimAttr getHeadSize(NodeImporter &n, DimAttr size, int64_t count, llvm::StringRef attribute);

/// A query, key or value of rank 4, and which of its dimensions are batch, heads, length and depth.
struct Heads {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims = {0, 1, 2, 3};

  DimAttr size(int64_t role) const { return getDim(typeOf(value), dims[role]); }
  /// As [batch, heads, length, depth].
  void order(NodeImporter &n) {
    value = n.transpose(value, dims);
    dims = {0, 1, 2, 3};
  }
};

/// [batch, length, heads * depth] as [batch, length, heads, depth].
Heads splitHeads(NodeImporter &n, mlir::Value flat, int64_t count, llvm::StringRef attribute);
/// The opposite, of a value of these dimensions.
mlir::Value joinHeads(NodeImporter &n, mlir::Value value);

/// The numbers that are added to the scores, and the places where these count; both of rank 4 or null.
struct Masks {
  mlir::Value bias, takesPart;
};

/// The steps from products to scores, beside the masks.
struct ScoreRules {
  double scale = 1;
  float softcap = 0; // 0: none
  bool isCausal = false;
  /// How many keys come before the query's first place; null for 0.
  DimAttr past;
  /// How many keys each place of the query sees, its own included.
  std::optional<int64_t> window;
};

/// A mask of at most 4 dimensions, aligned with the last ones, for scores of `sizes`: 1 stays where it is known.
mlir::Value repeatMask(NodeImporter &n, mlir::Value mask, llvm::ArrayRef<DimAttr> sizes);

/// Attention of operands of one type, in which the result is, with the dimensions of the query. With `logSumExp` it
/// becomes the logarithm of each row's sum of powers: [batch, heads, length].
mlir::Value emitAttention(NodeImporter &n, const Heads &q, const Heads &k, const Heads &v, const Masks &masks,
                          const ScoreRules &rules, mlir::Value *logSumExp = nullptr);

/// Attention in single steps, for a node with one of them as an output; all are [batch, heads, length, depth] of one
/// type.
struct AttentionSteps {
  mlir::Value scores, weights, result;
};
/// A score that does not count is the least number of its type. `sinks` are scores of one more key for each head, which
/// has no value; null for none.
AttentionSteps emitAttentionSteps(NodeImporter &n, mlir::Value q, mlir::Value k, mlir::Value v, const Masks &masks,
                                  const ScoreRules &rules, mlir::Value sinks = {});
/// `scale` where the node has one that is not 0, else 1 / sqrt(depth), by which a query is multiplied where only the
/// call knows its depth.
double takeScale(NodeImporter &n, Heads &query, DimAttr depth);

/// 1 / sqrt of a depth that only the call knows, in `type`.
mlir::Value emitDefaultScale(NodeImporter &n, DimAttr depth, mlir::FloatType type);
mlir::Value scaleBy(NodeImporter &n, mlir::Value value, mlir::Value scale);

/// lhs x rhs for each head, where a head of `rhs` serves one or more of `lhs`: [batch, heads, rows, columns].
mlir::Value contractHeads(NodeImporter &n, mlir::Value lhs, mlir::Value rhs, int64_t rhsSummed);

/// Turns pairs of elements of the last of 4 dimensions by angles whose cosines and sines have the other dimensions and
/// a column for each pair. A pair is two neighbours, or one of each half. The elements after the pairs stay; with
/// `turnsAll` there are none.
mlir::Value emitTurnedPairs(NodeImporter &n, mlir::Value input, mlir::Value cosines, mlir::Value sines,
                            bool isInterleaved, bool turnsAll);

} // namespace vx::onnx

#endif
