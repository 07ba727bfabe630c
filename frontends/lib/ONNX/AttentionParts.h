// Parts that the attention ops share: heads, masks, the whole attention as one op, and its single steps.
#ifndef VX_FRONTEND_ONNX_ATTENTIONPARTS_H
#define VX_FRONTEND_ONNX_ATTENTIONPARTS_H

#include "OpFunctions.h"
#include "vx/Frontend/Parts/RotaryPairs.h"

namespace vx::onnx {

/// Divides `size` into `count` equal heads.
DimAttr getHeadSize(NodeImporter &n, DimAttr size, int64_t count, llvm::StringRef attribute);

/// A query, key or value of rank 4, with the indices of its dimensions batch, heads, length and depth.
struct Heads {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims = {0, 1, 2, 3};

  DimAttr size(int64_t role) const { return getDim(typeOf(value), dims[role]); }
  /// Transposes it to [batch, heads, length, depth].
  void order(NodeImporter &n) {
    value = n.transpose(value, dims);
    dims = {0, 1, 2, 3};
  }
};

/// [batch, length, heads * depth] as [batch, length, heads, depth].
Heads splitHeads(NodeImporter &n, mlir::Value flat, int64_t count, llvm::StringRef attribute);
/// The inverse, for a value [batch, length, heads, depth].
mlir::Value joinHeads(NodeImporter &n, mlir::Value value);

/// A bias that is added to the scores, and a mask of the scores that count; both of rank 4 or null.
struct Masks {
  mlir::Value bias, takesPart;
};

/// The steps from products to scores, except masks.
struct ScoreRules {
  double scale = 1;
  float softcap = 0; // 0: none
  bool isCausal = false;
  /// The number of keys before the query's first position; null for 0.
  DimAttr past;
  /// The number of keys that each position of the query sees, its own included.
  std::optional<int64_t> window;
};

/// Repeats a mask of at most 4 dimensions, aligned with the last ones, for scores of `sizes`. A dimension that is known
/// to be 1 stays 1.
mlir::Value repeatMask(NodeImporter &n, mlir::Value mask, llvm::ArrayRef<DimAttr> sizes);

/// Attention of operands of one type. The result has this type and the dimensions of the query. If `logSumExp` is
/// given, it is set to the logarithm of each row's sum of exponentials: [batch, heads, length].
mlir::Value emitAttention(NodeImporter &n, const Heads &q, const Heads &k, const Heads &v, const Masks &masks,
                          const ScoreRules &rules, mlir::Value *logSumExp = nullptr);

/// Attention in single steps, for a node with one of the steps as an output. All operands are [batch, heads, length,
/// depth] of one type.
struct AttentionSteps {
  mlir::Value scores, weights, result;
};
/// A masked score is the least number of its type. `sinks` are scores of an extra key without a value, one for each
/// head; null for none.
AttentionSteps emitAttentionSteps(NodeImporter &n, mlir::Value q, mlir::Value k, mlir::Value v, const Masks &masks,
                                  const ScoreRules &rules, mlir::Value sinks = {});
/// Returns the attribute `scale` if the node has one other than 0, and 1 / sqrt(depth) otherwise. If the depth is known
/// at run time only, the query is multiplied by it instead.
double takeScale(NodeImporter &n, Heads &query, DimAttr depth);

/// 1 / sqrt of a depth that is known at run time only, in `type`.
mlir::Value emitDefaultScale(NodeImporter &n, DimAttr depth, mlir::FloatType type);
mlir::Value scaleBy(NodeImporter &n, mlir::Value value, mlir::Value scale);

/// lhs x rhs for each head; each head of `rhs` is used by one or more heads of `lhs`: [batch, heads, rows, columns].
mlir::Value contractHeads(NodeImporter &n, mlir::Value lhs, mlir::Value rhs, int64_t rhsSummed);

} // namespace vx::onnx

#endif
