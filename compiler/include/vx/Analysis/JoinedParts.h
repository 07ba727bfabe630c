// Concatenations that put whole tensors one behind another in memory: each may be computed where it is to lie.
#ifndef VX_ANALYSIS_JOINEDPARTS_H
#define VX_ANALYSIS_JOINEDPARTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include <optional>

namespace vx {

/// The most parts that are joined by a kernel, which looks for the part that each element is of. Of more, those that
/// are not computed where they are to lie are copied there.
inline constexpr size_t kMostPartsSought = 4;

/// Where each input of `concat` lies in its result and where the last one ends, in bytes, where all sizes are known and
/// each begins at a multiple of what buffers are aligned to.
std::optional<llvm::SmallVector<int64_t>> getPartOffsets(ConcatOp concat);

} // namespace vx

#endif
