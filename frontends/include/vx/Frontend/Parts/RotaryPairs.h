// Rotary position embedding, for all frontends.
#ifndef VX_FRONTEND_PARTS_ROTARYPAIRS_H
#define VX_FRONTEND_PARTS_ROTARYPAIRS_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// Rotates pairs of elements of the last of 4 dimensions. The cosines and sines of the angles have the other dimensions
/// and a column for each pair. A pair is two neighbours, or an element of each half. Elements after the pairs are
/// unchanged; with `turnsAll` there are none.
mlir::Value emitTurnedPairs(GraphBuilder &g, mlir::Value input, mlir::Value cosines, mlir::Value sines,
                            bool isInterleaved, bool turnsAll);

} // namespace vx

#endif
