// Parts of dimension expressions by which others are written.
#ifndef VX_DIALECT_VX_IR_DIMPARTS_H
#define VX_DIALECT_VX_IR_DIMPARTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// `dim`, where the first of each pair stands as a whole operand or as all of it, with the second in its place.
DimAttr replaceParts(DimAttr dim, llvm::ArrayRef<std::pair<DimAttr, DimAttr>> parts);

} // namespace vx

#endif
