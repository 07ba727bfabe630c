// An If whose branches give tensors of two ranks, where a node behind it reads one rank. Where only one of the two lets
// the import succeed, that branch is imported alone; else each branch goes on with all that depends on the If.
#ifndef VX_FRONTEND_ONNX_CHOOSEBRANCHES_H
#define VX_FRONTEND_ONNX_CHOOSEBRANCHES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// Imports a model. Where that fails at a node that takes one rank only, what depends on the If that decides about the
/// rank becomes part of both of its branches, and only what leaves the graph is to be of one rank. If the import
/// succeeds with one of the branches alone, the call is to take that one, which the program checks. With none, the
/// report has the issues of the import without such a choice. `import` makes one attempt.
mlir::OwningOpRef<mlir::ModuleOp>
importChoosingBranches(llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(const BranchChoices &choices,
                                                                            ImportReport &report, Decider &undecided)>
                           import,
                       ImportReport &report);

/// An If of which the branches are to be chosen, after an import that failed. None where no choice lets it succeed.
Decider findUndecided(llvm::ArrayRef<ModelImporter::Failure> failures);

/// Has the call check that the node, an If, takes this branch.
void requireBranch(NodeImporter &n, bool isThen);

/// The nodes behind an If that depend on it, and what they and it make that is read outside of its graph.
struct Continuation {
  llvm::SmallVector<NumberedNode> nodes;
  llvm::SmallVector<std::string> outputs;
};
/// Takes the nodes from the scope of `n`, an If, and imports all others behind it.
Continuation takeContinuation(NodeImporter &n);

} // namespace vx::onnx

#endif
