// Sequences of cotangents.
#ifndef VX_LIB_DIALECT_VX_GRADIENT_SEQUENCES_H
#define VX_LIB_DIALECT_VX_GRADIENT_SEQUENCES_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// A sequence of no tensors.
mlir::Value makeEmptySequence(GraphBuilder &g, mlir::Type elementType);

/// As many tensors as `like` has, of their sizes, all zeros.
mlir::Value makeZeroSequence(GraphBuilder &g, mlir::Value like);

/// The sums of two sequences' tensors, one by one.
mlir::Value addSequences(GraphBuilder &g, mlir::Value lhs, mlir::Value rhs);

/// The tensor at a position, its unknown sizes bound to symbols of their own; null where the sequence's tensors differ
/// in rank.
mlir::Value takeFromSequence(GraphBuilder &g, mlir::Value sequence, mlir::Value position);

} // namespace vx

#endif
