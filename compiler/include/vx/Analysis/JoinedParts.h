// Concatenations that place whole tensors in sequence in memory: each may be computed in its final position.
#ifndef VX_ANALYSIS_JOINEDPARTS_H
#define VX_ANALYSIS_JOINEDPARTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include <optional>

namespace vx {

/// The most parts that one kernel concatenates; it searches for the part of each element. With more parts, those that
/// are not computed in place are copied.
inline constexpr size_t kMostPartsSought = 4;

/// The offset of each input of `concat` in its result and the end of the last one, in bytes, if all sizes are known and
/// each begins at a multiple of the alignment of buffers.
std::optional<llvm::SmallVector<int64_t>> getPartOffsets(ConcatOp concat);

} // namespace vx

#endif
