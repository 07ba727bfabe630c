// One function per family of ops, beside the definitions of the family's ops: registers them with the dialect. (One
// source with all ops would be by far the slowest of the build.)
#ifndef VX_LIB_DIALECT_VX_IR_VXOPFAMILIES_H
#define VX_LIB_DIALECT_VX_IR_VXOPFAMILIES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

void registerAttentionOps(VXDialect &dialect);
void registerContractionOps(VXDialect &dialect);
void registerControlOps(VXDialect &dialect);
void registerElementwiseOps(VXDialect &dialect);
void registerIndexingOps(VXDialect &dialect);
void registerNormOps(VXDialect &dialect);
void registerReductionOps(VXDialect &dialect);
void registerShapeOps(VXDialect &dialect);

template <typename... Ops>
void registerOps(VXDialect &dialect) {
  (mlir::RegisteredOperationName::insert<Ops>(dialect), ...);
}

} // namespace vx

#endif
