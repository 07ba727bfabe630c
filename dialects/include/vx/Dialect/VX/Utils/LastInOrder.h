// The padding value of rows that are sorted.
#ifndef VX_DIALECT_VX_UTILS_LASTINORDER_H
#define VX_DIALECT_VX_UTILS_LASTINORDER_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// Returns a scalar that sorts after or equal to every value of the type. If it comes after its equals, a stable sort
/// puts it last.
mlir::Value emitLastInOrder(GraphBuilder &g, mlir::Type type, bool descending);

} // namespace vx

#endif
