// What fills up rows that are sorted.
#ifndef VX_DIALECT_VX_UTILS_LASTINORDER_H
#define VX_DIALECT_VX_UTILS_LASTINORDER_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// A scalar before which no number of the type comes in the order of a sort: behind those that are equal it is last.
mlir::Value emitLastInOrder(GraphBuilder &g, mlir::Type type, bool descending);

} // namespace vx

#endif
