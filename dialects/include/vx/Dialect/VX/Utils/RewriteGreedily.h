// Greedy rewriting that comes to an end, or says where it does not.
#ifndef VX_DIALECT_VX_UTILS_REWRITEGREEDILY_H
#define VX_DIALECT_VX_UTILS_REWRITEGREEDILY_H

#include "mlir/IR/PatternMatch.h"

namespace vx {

/// Applies `patterns` to what is inside of `root` until none of them matches. Fails, with an error that names `pass`
/// and the node that was rewritten last, when they do not come to an end: a pattern that changes something and then
/// does not match, or two that undo one another.
llvm::LogicalResult rewriteGreedily(mlir::Operation *root, mlir::RewritePatternSet patterns, llvm::StringRef pass);

} // namespace vx

#endif
