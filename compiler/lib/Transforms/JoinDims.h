// Shapes whose neighbouring dimensions are joined. Private to this folder.
#ifndef VX_LIB_TRANSFORMS_JOINDIMS_H
#define VX_LIB_TRANSFORMS_JOINDIMS_H

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/SmallSet.h"

namespace vx {

/// The dimensions of `type` after each dimension of `joined` has become a part of the one before.
llvm::SmallVector<DimAttr> joinDims(mlir::RankedTensorType type, const llvm::SmallDenseSet<int64_t> &joined);

} // namespace vx

#endif
