// Replacement of parts of dimension expressions.
#ifndef VX_DIALECT_VX_IR_DIMPARTS_H
#define VX_DIALECT_VX_IR_DIMPARTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// Returns `dim` with the first of each pair replaced by the second, where the first is a whole operand or all of
/// `dim`.
DimAttr replaceParts(DimAttr dim, llvm::ArrayRef<std::pair<DimAttr, DimAttr>> parts);

} // namespace vx

#endif
