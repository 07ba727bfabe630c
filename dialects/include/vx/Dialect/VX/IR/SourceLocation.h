// The node of the user's model that an op came from. Locations are preserved in all phases: errors, faults and profiles
// name the nodes.
#ifndef VX_DIALECT_VX_IR_SOURCELOCATION_H
#define VX_DIALECT_VX_IR_SOURCELOCATION_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace vx {

/// Returns a location for node `node` of type `opType` in `file`. For a node without a name the caller passes its type
/// and number as `node`. `line` is the node's line in the source file of a program; 0 in other files.
mlir::Location getSourceLocation(mlir::MLIRContext *context, llvm::StringRef node, llvm::StringRef opType,
                                 llvm::StringRef file, unsigned line = 0);

/// Returns the nodes that a location names, fused or nested, in order, each once: "name (OpType)", or "name (OpType,
/// file:line)" for a node with a line. A location without nodes gives its text "file:line:column", or nothing if it is
/// unknown.
llvm::SmallVector<std::string> getSourceNodes(mlir::Location location);

/// Returns the nodes with ", " between them, or "an unnamed node".
std::string describeSource(mlir::Location location);

} // namespace vx

#endif
