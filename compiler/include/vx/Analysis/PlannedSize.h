// Sizes to plan with if the real ones are known only in the call.
#ifndef VX_ANALYSIS_PLANNEDSIZE_H
#define VX_ANALYSIS_PLANNEDSIZE_H

#include "vx/Dialect/VX/IR/Constraints.h"

namespace vx {

/// A size that dimension `dim` of `type` may have: that of a static one, at least 1; of a dynamic one `guess`, or of
/// the sizes that the declarations of its symbols allow the one that is nearest to it. Affects only the speed of a
/// kernel, never its result.
int64_t getPlannedSize(const SymbolRanges &ranges, mlir::RankedTensorType type, int64_t dim, int64_t guess = 128);

/// True for a size that is a product of several that only the call knows, such as the number of rows of many sequences.
bool isProductOfSymbols(mlir::RankedTensorType type, int64_t dim);

} // namespace vx

#endif
