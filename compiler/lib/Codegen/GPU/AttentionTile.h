// How a workgroup of a GPU shares attention.
#ifndef VX_CODEGEN_GPU_ATTENTIONTILE_H
#define VX_CODEGEN_GPU_ATTENTIONTILE_H

#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace vx {

/// Queries and keys that workgroup memory holds at once, each with its whole depth.
struct AttentionTile {
  static constexpr int64_t kThreadRows = 16, kThreadColumns = 8;

  int64_t queries = 0, keys = 0, depth = 0, valueDepth = 0, elementBytes = 4;

  /// Neighbours that one access takes.
  int64_t lanes() const { return 16 / elementBytes; }
  /// From row to row of staged memory, with a gap that keeps the threads off each other's banks.
  int64_t pitch(int64_t depthOfRow) const { return llvm::alignTo(depthOfRow, lanes()) + lanes(); }
  int64_t weightPitch() const { return keys + lanes(); }
  /// Of one thread: queries, keys, and groups of neighbouring columns of the values.
  int64_t rows() const { return queries / kThreadRows; }
  int64_t columns() const { return keys / kThreadColumns; }
  int64_t valueGroups() const { return llvm::divideCeil(valueDepth, lanes() * kThreadColumns); }
  int64_t memory() const {
    return elementBytes * ((queries + keys) * pitch(depth) + keys * pitch(valueDepth) + queries * weightPitch() +
                           queries * kThreadColumns);
  }
};

} // namespace vx

#endif
