#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/VXDialect.h"

#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsNorm.cpp.inc"

namespace vx {

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  if (static_cast<int64_t>(adaptor.getAxis()) < 0 || static_cast<int64_t>(adaptor.getAxis()) >= input.getRank()) // C1
    return emitOptionalError(location, "'vx.softmax' op expects 'axis' to be a dimension of 'input': want 0 to ",
                             input.getRank() - 1, ", got ", static_cast<int64_t>(adaptor.getAxis()));
  types.push_back(input);
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank()) // C1
    return emitOptionalError(location, "'vx.layer_norm' op expects 'axis' to be a dimension of 'input': want 0 to ",
                             input.getRank() - 1, ", got ", axis);
  auto row = getTensorType(ArrayRef(getDims(input)).drop_front(axis), input.getElementType());
  for (auto [name, value] : {std::pair<StringRef, Value>("scale", adaptor.getScale()), {"bias", adaptor.getBias()}})
    if (!areCompatibleTypes(row, value.getType())) // C2
      return emitOptionalError(location, "'vx.layer_norm' op expects '", name,
                               "' to have the shape of a row of 'input': want ", row, ", got ", value.getType());
  float epsilon = adaptor.getEpsilon().convertToFloat();
  if (!(epsilon >= 0) || std::isinf(epsilon)) // C3
    return emitOptionalError(location, "'vx.layer_norm' op expects 'epsilon' to be finite and at least 0, got ",
                             std::to_string(epsilon));
  types.push_back(input);
  return success();
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  if (input.getRank() < 1) // C1
    return emitOptionalError(location, "'vx.rms_norm' op expects 'input' of rank 1 or more, got ", input);
  auto row = getTensorType(ArrayRef(getDims(input)).take_back(1), input.getElementType());
  if (!areCompatibleTypes(row, adaptor.getScale().getType())) // C2
    return emitOptionalError(location, "'vx.rms_norm' op expects one 'scale' per column of 'input': want ", row,
                             ", got ", adaptor.getScale().getType());
  float epsilon = adaptor.getEpsilon().convertToFloat();
  if (!(epsilon > 0) || std::isinf(epsilon)) // C3
    return emitOptionalError(location, "'vx.rms_norm' op expects 'epsilon' to be finite and greater than 0, got ",
                             std::to_string(epsilon));
  types.push_back(input);
  return success();
}

// The greatest, the difference, the exponential, the sum, the quotient.
DimAttr SoftmaxOp::getFlops() { return countFloats(getInput()) * 5; }

// The sum, the difference, its square and their sum, the quotient, scale and bias.
DimAttr LayerNormOp::getFlops() { return countFloats(getInput()) * 7; }

// The square and their sum, the quotient, the scale.
DimAttr RmsNormOp::getFlops() { return countFloats(getInput()) * 4; }

void registerNormOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsNorm.cpp.inc"
      >(dialect);
}

} // namespace vx
