#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
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
    return emitOptionalError(location, "'vx.softmax' op expects 'axis' to be a dimension of 'input': 0 to ",
                             input.getRank() - 1, ", got ", static_cast<int64_t>(adaptor.getAxis()));
  types.push_back(input);
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank()) // C1
    return emitOptionalError(location, "'vx.layer_norm' op expects 'axis' to be a dimension of 'input': 0 to ",
                             input.getRank() - 1, ", got ", axis);
  auto row = getTensorType(ArrayRef(getDims(input)).drop_front(axis), input.getElementType());
  for (auto [name, value] : {std::pair<StringRef, Value>("scale", adaptor.getScale()), {"bias", adaptor.getBias()}})
    if (!areCompatibleTypes(row, value.getType())) // C2
      return emitOptionalError(location, "'vx.layer_norm' op expects '", name,
                               "' to have the shape of a row of 'input': ", row, ", got ", value.getType());
  float epsilon = adaptor.getEpsilon().convertToFloat();
  if (!(epsilon >= 0) || std::isinf(epsilon)) // C3
    return emitOptionalError(location, "'vx.layer_norm' op expects 'epsilon' to be finite and at least 0, got ",
                             std::to_string(epsilon));
  types.push_back(input);
  return success();
}

void LayerNormOp::collectConstraints(ConstraintCollector &collector) {
  SmallVector<DimAttr> dims = getDims(getInput().getType());
  ArrayRef<DimAttr> row = ArrayRef(dims).drop_front(getAxis());
  for (Value operand : {getScale(), getBias()})
    for (auto [dim, size] : llvm::zip(getDims(cast<RankedTensorType>(operand.getType())), row))
      collector.wantEqual(dim, size); // C2
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  if (input.getRank() < 1) // C1
    return emitOptionalError(location, "'vx.rms_norm' op expects 'input' of rank 1 or more, got ", input);
  auto row = getTensorType(ArrayRef(getDims(input)).take_back(1), input.getElementType());
  if (!areCompatibleTypes(row, adaptor.getScale().getType())) // C2
    return emitOptionalError(location, "'vx.rms_norm' op expects one 'scale' per column of 'input': ", row, ", got ",
                             adaptor.getScale().getType());
  float epsilon = adaptor.getEpsilon().convertToFloat();
  if (!(epsilon > 0) || std::isinf(epsilon)) // C3
    return emitOptionalError(location, "'vx.rms_norm' op expects 'epsilon' to be finite and greater than 0, got ",
                             std::to_string(epsilon));
  types.push_back(input);
  return success();
}

void RmsNormOp::collectConstraints(ConstraintCollector &collector) {
  collector.wantEqual(getDim(getScale().getType(), 0), getDims(getInput().getType()).back()); // C2
}

static SmallVector<int64_t> getTrailingDims(Value tensor, int64_t first) {
  return llvm::to_vector(llvm::seq(first, cast<RankedTensorType>(tensor.getType()).getRank()));
}

SmallVector<int64_t> SoftmaxOp::getRowAxes() { return {static_cast<int64_t>(getAxis())}; }
SmallVector<int64_t> LayerNormOp::getRowAxes() { return getTrailingDims(getInput(), getAxis()); }
SmallVector<int64_t> RmsNormOp::getRowAxes() { return getTrailingDims(getInput(), getInput().getType().getRank() - 1); }

// The greatest, the difference, the exponential, the sum, the quotient.
DimAttr SoftmaxOp::getFlops() { return countFloats(getInput()) * 5; }

// The sum, the difference, its square and their sum, the quotient, scale and bias.
DimAttr LayerNormOp::getFlops() { return countFloats(getInput()) * 7; }

// The square and their sum, the quotient, the scale.
DimAttr RmsNormOp::getFlops() { return countFloats(getInput()) * 4; }

SmallVector<Value> SoftmaxOp::decompose(GraphBuilder &g) {
  SmallVector<DimAttr> dims = getDims(getInput().getType());
  SmallVector<int64_t> axes = getRowAxes();
  auto spread = [&](Value value) { return g.broadcastAlong(value, dims, axes); };
  Value input = g.widen(getInput());
  Value shifted = g.emit<SubOp>(input, spread(g.reduce(ReduceKind::max, input, axes)));
  Value exponentials = g.emit<ExpOp>(shifted);
  Value sum = g.reduce(ReduceKind::sum, exponentials, axes);
  Value result =
      getLog() ? g.emit<SubOp>(shifted, spread(g.emit<LogOp>(sum))) : g.emit<DivOp>(exponentials, spread(sum));
  return {g.cast(result, getInput().getType().getElementType())};
}

/// sqrt(meanSquare + epsilon)
static Value getRoot(GraphBuilder &g, Value meanSquare, const APFloat &epsilon) {
  return g.emit<SqrtOp>(g.emit<AddOp>(meanSquare, g.splatLike(epsilon.convertToFloat(), meanSquare)));
}

SmallVector<Value> LayerNormOp::decompose(GraphBuilder &g) {
  SmallVector<DimAttr> dims = getDims(getInput().getType());
  SmallVector<int64_t> axes = getRowAxes();
  auto spread = [&](Value value) { return g.broadcastAlong(value, dims, axes); };
  Value input = g.widen(getInput());
  Value centred = g.emit<SubOp>(input, spread(g.mean(input, axes)));
  Value variance = g.mean(g.emit<MulOp>(centred, centred), axes);
  Value normal = g.emit<DivOp>(centred, spread(getRoot(g, variance, getEpsilon())));
  Value scaled = g.emit<MulOp>(normal, g.broadcast(g.widen(getScale()), dims));
  Value result = g.emit<AddOp>(scaled, g.broadcast(g.widen(getBias()), dims));
  return {g.cast(result, getInput().getType().getElementType())};
}

SmallVector<Value> RmsNormOp::decompose(GraphBuilder &g) {
  SmallVector<DimAttr> dims = getDims(getInput().getType());
  SmallVector<int64_t> axes = getRowAxes();
  Value input = g.widen(getInput());
  Value square = g.mean(g.emit<MulOp>(input, input), axes);
  Value scaled = g.emit<MulOp>(input, g.broadcast(g.widen(getScale()), dims));
  Value result = g.emit<DivOp>(scaled, g.broadcastAlong(getRoot(g, square, getEpsilon()), dims, axes));
  return {g.cast(result, getInput().getType().getElementType())};
}

void registerNormOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsNorm.cpp.inc"
      >(dialect);
}

} // namespace vx
