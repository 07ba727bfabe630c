// Ensembles of decision trees. Each row walks down all trees at once, a loop's round for each level, in tables of the
// nodes; a leaf leads to itself.
#ifndef VX_FRONTEND_ONNX_DECISIONTREES_H
#define VX_FRONTEND_ONNX_DECISIONTREES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// How a node compares a feature with its threshold; `member` looks for the feature in a set.
enum class BranchMode { leq, lt, gte, gt, eq, neq, member };
enum class TreeAggregate { average, sum, min, max };

struct DecisionTrees {
  /// The nodes that compare. A place below their number is such a node, and that number + l is leaf l.
  llvm::SmallVector<BranchMode> modes;
  llvm::SmallVector<int64_t> features, whenTrue, whenFalse;
  llvm::SmallVector<int64_t> missing; // 1 where NaN goes on by the true branch
  llvm::SmallVector<llvm::APFloat> splits;
  int64_t leaves = 0;
  /// The place where each tree begins.
  llvm::SmallVector<int64_t> roots;
  /// The elements of all sets, and the node of each.
  llvm::SmallVector<llvm::APFloat> members;
  llvm::SmallVector<int64_t> owners;

  // What leaves say: a weight for a target each.
  int64_t targets = 0;
  llvm::SmallVector<int64_t> votingLeaves, votedTargets;
  llvm::SmallVector<llvm::APFloat> weights;

  int64_t getNodes() const { return static_cast<int64_t>(modes.size()); }
};

/// Of each row and target the score that the leaves give it, and whether one did.
struct TreeScores {
  mlir::Value scores;   // [rows, targets], sums of narrow floats as f32
  mlir::Value areGiven; // null where all are
};

/// The scores of rows of floats, which are of the type of thresholds and weights. A target that no leaf speaks of has
/// `unspoken`, or for a sum 0. Throws for nodes that lead to themselves.
TreeScores scoreByTrees(NodeImporter &n, mlir::Value rows, DecisionTrees trees, TreeAggregate how, double unspoken);

/// A list of integers that a node must have.
llvm::SmallVector<int64_t> readList(NodeImporter &n, llvm::StringRef name);

} // namespace vx::onnx

#endif
