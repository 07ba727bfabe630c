// Cumulative sums and products, built of reductions.
#ifndef VX_DIALECT_VX_UTILS_CUMULATION_H
#define VX_DIALECT_VX_UTILS_CUMULATION_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// The elements that a result element includes: those before its position, or after it with `reverse`, and the one at
/// its position unless `exclusive`.
struct Cumulation {
  ReduceKind kind; // sum or prod
  bool exclusive, reverse;
};

/// Cumulates `value`, [outer, n, inner], along its middle dimension.
mlir::Value emitCumulation(GraphBuilder &g, mlir::Value value, const Cumulation &how);

} // namespace vx

#endif
