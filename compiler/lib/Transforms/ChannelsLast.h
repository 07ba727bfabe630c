// Tensors that have their channels last, or can have them. Private to this folder.
#ifndef VX_LIB_TRANSFORMS_CHANNELSLAST_H
#define VX_LIB_TRANSFORMS_CHANNELSLAST_H

#include "mlir/IR/Value.h"

namespace vx {

/// The same tensor with channels last, when `value` is nothing but a view of it with channels first; else null.
mlir::Value getChannelsLast(mlir::Value value);

/// True for a value that can be made with channels last as it can with channels first.
bool isFreeInEither(mlir::Value value);

/// True for an op that computes in either layout if its operands can.
bool computesInEitherLayout(mlir::Operation *op);

/// The place that dimension `d` of a channels-first tensor has with channels last.
int64_t getPlaceWithChannelsLast(int64_t d, int64_t rank);

} // namespace vx

#endif
