// Of an If whose branches give tensors of two ranks, of which the nodes behind it take one, only that branch is
// imported.
#ifndef VX_FRONTEND_ONNX_CHOOSEBRANCHES_H
#define VX_FRONTEND_ONNX_CHOOSEBRANCHES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// Imports a model. Where that fails at a node that takes one rank only, each branch of the If that decides about the
/// rank is tried alone: if the import succeeds with one of them, the call is to take that one, which the program
/// checks. With both, or none, the report has the issues of the import without such a choice. `import` makes one
/// attempt.
mlir::OwningOpRef<mlir::ModuleOp> importChoosingBranches(
    llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(const BranchChoices &choices, ImportReport &report,
                                                         const NodeProto *&undecided)>
        import,
    ImportReport &report);

/// Has the call check that the node, an If, takes this branch.
void requireBranch(NodeImporter &n, bool isThen);

} // namespace vx::onnx

#endif
