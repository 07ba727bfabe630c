// Constants that consist of one number.
#ifndef VX_LIB_TRANSFORMS_FLOATSPLAT_H
#define VX_LIB_TRANSFORMS_FLOATSPLAT_H

#include "vx/Dialect/VX/IR/VXDialect.h"
#include <optional>

namespace vx {

/// The number in every place of a float constant, however it is reshaped or repeated.
inline std::optional<double> getFloatSplat(mlir::Value value) {
  while (mlir::isa_and_present<BroadcastOp, ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto elements = mlir::dyn_cast_or_null<mlir::SplatElementsAttr>(getConstantValue(value));
  if (!elements || !mlir::isa<mlir::FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<mlir::APFloat>().convertToDouble();
}

} // namespace vx

#endif
