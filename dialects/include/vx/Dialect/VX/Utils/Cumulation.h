// Sums and products of all elements before each one, made of reductions.
#ifndef VX_DIALECT_VX_UTILS_CUMULATION_H
#define VX_DIALECT_VX_UTILS_CUMULATION_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// Which elements count for a place: those before it, or behind it with `reverse`, and it itself unless `exclusive`.
struct Cumulation {
  ReduceKind kind; // sum or prod
  bool exclusive, reverse;
};

/// Cumulates `value`, [outer, n, inner], along the middle.
mlir::Value emitCumulation(GraphBuilder &g, mlir::Value value, const Cumulation &how);

} // namespace vx

#endif
