// Which node of the user's model an op came from. Locations survive to the end: errors, faults and profiles name them.
#ifndef VX_DIALECT_VX_IR_SOURCELOCATION_H
#define VX_DIALECT_VX_IR_SOURCELOCATION_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace vx {

/// A location for node `node` of type `opType` in `file`. A node without a name is known by its type and number, which
/// the caller puts in `node`. `line` is where it stands in a file that is a program's; 0 in other files.
mlir::Location getSourceLocation(mlir::MLIRContext *context, llvm::StringRef node, llvm::StringRef opType,
                                 llvm::StringRef file, unsigned line = 0);

/// The nodes named by a location, fused or nested, as "name (OpType)", or "name (OpType, file:line)" where it has a
/// line, in order, each once. A location that names none gives its text "file:line:column", or nothing when it is
/// unknown.
llvm::SmallVector<std::string> getSourceNodes(mlir::Location location);

/// The nodes joined by ", ", or "an unnamed node".
std::string describeSource(mlir::Location location);

} // namespace vx

#endif
