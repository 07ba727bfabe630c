// Paths through the branches of continued Ifs (ChooseBranches.h). Each branch of a continued If gets a copy of the
// nodes after it that depend on the If. Another If among these nodes is decided in each copy separately.
#ifndef VX_FRONTEND_ONNX_BRANCHPATHS_H
#define VX_FRONTEND_ONNX_BRANCHPATHS_H

#include "ImportError.h"
#include <map>
#include <memory>
#include <tuple>

namespace vx::onnx {

/// A branch of an If, with the branches around it. Null: outside of all branches.
struct BranchPath {
  const BranchPath *parent;
  const NodeProto *node;
  bool isThen;

  /// Returns true for the same path and for an extension of `outer`.
  static bool isInside(const BranchPath *path, const BranchPath *outer) {
    for (; path && path != outer; path = path->parent)
      ;
    return path == outer;
  }
};

/// Unique storage of paths: equal paths have one address, also in repeated imports of the model.
class BranchPaths {
public:
  const BranchPath *enter(const BranchPath *parent, const NodeProto &node, bool isThen) {
    std::unique_ptr<BranchPath> &path = known[{parent, &node, isThen}];
    if (!path)
      path = std::make_unique<BranchPath>(BranchPath{parent, &node, isThen});
    return path.get();
  }

private:
  std::map<std::tuple<const BranchPath *, const NodeProto *, bool>, std::unique_ptr<BranchPath>> known;
};

/// The import of an If with branches that yield tensors of two ranks: one branch alone, or both, each with the nodes
/// that depend on its results.
enum class BranchChoice { otherwise, then, continued };
using BranchChoices = std::map<Decider, BranchChoice>;

} // namespace vx::onnx

#endif
