// Ways through the branches of Ifs that are continued with all that depends on the If (ChooseBranches.h): a node after
// such an If is imported once in each of its branches, and another If among these nodes is decided in each by itself.
#ifndef VX_FRONTEND_ONNX_BRANCHPATHS_H
#define VX_FRONTEND_ONNX_BRANCHPATHS_H

#include "ImportError.h"
#include <map>
#include <memory>
#include <tuple>

namespace vx::onnx {

/// A branch of an If, and the branches that it is in; null is outside of all.
struct BranchPath {
  const BranchPath *parent;
  const NodeProto *node;
  bool isThen;

  /// True for the same path, and for one that goes on from `outer`.
  static bool isInside(const BranchPath *path, const BranchPath *outer) {
    for (; path && path != outer; path = path->parent)
      ;
    return path == outer;
  }
};

/// Equal paths are one, also from one import of the model to the next.
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

/// What is imported of an If whose branches give tensors of two ranks: one branch alone, or both, each with all that
/// reads what it gives.
enum class BranchChoice { otherwise, then, continued };
using BranchChoices = std::map<Decider, BranchChoice>;

} // namespace vx::onnx

#endif
