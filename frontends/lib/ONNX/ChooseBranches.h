// Imports an If with branches that yield tensors of two ranks, if a node after it accepts one rank only. If the import
// succeeds with only one of the branches, that branch is imported alone. Otherwise each branch is continued: it gets a
// copy of the nodes that depend on the If.
#ifndef VX_FRONTEND_ONNX_CHOOSEBRANCHES_H
#define VX_FRONTEND_ONNX_CHOOSEBRANCHES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// Imports a model. If the import fails at a node that accepts one rank only, both branches of the If that decides the
/// rank are continued, so that only the results of the graph must have one rank. If the import succeeds with one of the
/// branches alone, a call must take that branch, and the program checks this. If no choice succeeds, the report has the
/// issues of the import without one. `import` makes one attempt.
mlir::OwningOpRef<mlir::ModuleOp>
importChoosingBranches(llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(const BranchChoices &choices,
                                                                            ImportReport &report, Decider &undecided)>
                           import,
                       ImportReport &report);

/// Returns an If with branches to choose from, after an import that failed; none if no choice lets it succeed.
Decider findUndecided(llvm::ArrayRef<ModelImporter::Failure> failures);

/// Adds a check to the program that the node, an If, takes this branch.
void requireBranch(NodeImporter &n, bool isThen);

/// The nodes after an If that depend on it, and the values of the If and of these nodes that are read outside of its
/// graph.
struct Continuation {
  llvm::SmallVector<NumberedNode> nodes;
  llvm::SmallVector<std::string> outputs;
};
/// Removes these nodes from the scope of `n`, an If, and imports all other nodes after it.
Continuation takeContinuation(NodeImporter &n);

} // namespace vx::onnx

#endif
