// Ensembles of decision trees. A loop with one iteration for each level moves each row down all trees at once, by
// tables of the nodes. A leaf is its own successor.
#ifndef VX_FRONTEND_ONNX_DECISIONTREES_H
#define VX_FRONTEND_ONNX_DECISIONTREES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// The comparison of a feature with a node's threshold; `member` tests whether the feature is in a set.
enum class BranchMode { leq, lt, gte, gt, eq, neq, member };
enum class TreeAggregate { average, sum, min, max };

struct DecisionTrees {
  /// The inner nodes. An index below their number is an inner node, and that number + l is leaf l.
  llvm::SmallVector<BranchMode> modes;
  llvm::SmallVector<int64_t> features, whenTrue, whenFalse;
  llvm::SmallVector<int64_t> missing; // 1 if NaN takes the true branch
  llvm::SmallVector<llvm::APFloat> splits;
  int64_t leaves = 0;
  /// The index of the root of each tree.
  llvm::SmallVector<int64_t> roots;
  /// The elements of all sets, and the node of each.
  llvm::SmallVector<llvm::APFloat> members;
  llvm::SmallVector<int64_t> owners;

  // The weights of leaves, each for one target.
  int64_t targets = 0;
  llvm::SmallVector<int64_t> votingLeaves, votedTargets;
  llvm::SmallVector<llvm::APFloat> weights;

  int64_t getNodes() const { return static_cast<int64_t>(modes.size()); }
};

/// The score of each row and target, and whether a leaf has a weight for it.
struct TreeScores {
  mlir::Value scores;   // [rows, targets], sums of narrow floats as f32
  mlir::Value areGiven; // null if all are
};

/// Computes the scores of rows of floats, which have the type of thresholds and weights. A target without a weight in
/// the leaves has the score `unspoken`, or 0 for a sum. Throws for nodes in a cycle.
TreeScores scoreByTrees(NodeImporter &n, mlir::Value rows, DecisionTrees trees, TreeAggregate how, double unspoken);

/// Reads a required list of integers of a node.
llvm::SmallVector<int64_t> readList(NodeImporter &n, llvm::StringRef name);

} // namespace vx::onnx

#endif
