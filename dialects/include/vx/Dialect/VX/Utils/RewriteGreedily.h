// Greedy rewriting that ends, or reports the node where it does not.
#ifndef VX_DIALECT_VX_UTILS_REWRITEGREEDILY_H
#define VX_DIALECT_VX_UTILS_REWRITEGREEDILY_H

#include "mlir/IR/PatternMatch.h"

namespace vx {

/// Applies `patterns` to the ops inside of `root` until none of them matches. Fails if they do not end, with an error
/// that names `pass` and the node that was rewritten last. The cause is a pattern that changes something and then does
/// not match, or two that undo one another.
llvm::LogicalResult rewriteGreedily(mlir::Operation *root, mlir::RewritePatternSet patterns, llvm::StringRef pass);

} // namespace vx

#endif
