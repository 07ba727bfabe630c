#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsQuantization.cpp.inc"

namespace vx {

static Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

/// C2 of an op that has these floats and integers.
static LogicalResult verifyElements(Operation *op, Type floats, Type integers, Value zero, bool allowsWide) {
  if (!isa<FloatType>(floats) || floats.getIntOrFloatBitWidth() < 16)
    return op->emitOpError() << "expects floats of 16 bits or more, got " << floats;
  auto integer = dyn_cast<IntegerType>(integers);
  bool isWide = integer && integer.getWidth() == 32;
  if (!integer || integer.getWidth() < 2 || (integer.getWidth() > 16 && !(isWide && allowsWide && !zero)))
    return op->emitOpError() << "expects integers of 2 to 16 bits" << (allowsWide ? ", or of 32 without 'zero'" : "")
                             << ", got " << integers;
  if (zero && elementOf(zero) != integers)
    return op->emitOpError() << "expects 'zero' to have elements of " << integers << ", got " << elementOf(zero);
  return success();
}

LogicalResult QuantizeOp::verify() {
  return verifyElements(*this, elementOf(getInput()), elementOf(getResult()), getZero(), /*allowsWide=*/false);
}

LogicalResult DequantizeOp::verify() {
  return verifyElements(*this, elementOf(getResult()), elementOf(getInput()), getZero(), /*allowsWide=*/true);
}

/// A zero point as numbers of `type`. Numbers that are repeated are converted before.
static Value castZero(GraphBuilder &g, Value zero, Type type) {
  if (auto reshape = zero.getDefiningOp<ReshapeOp>())
    return g.reshape(castZero(g, reshape.getInput(), type), getDims(reshape.getResult().getType()));
  auto broadcast = zero.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return g.cast(zero, type);
  return g.emitAs<BroadcastOp>(getTensorType(getDims(broadcast.getResult().getType()), type),
                               g.cast(broadcast.getInput(), type), broadcast.getDimensions());
}

SmallVector<Value> QuantizeOp::decompose(GraphBuilder &g) {
  auto type = cast<IntegerType>(elementOf(getResult()));
  auto [low, high] = getBounds(type);
  Value number = g.emit<RoundOp>(g.widen(g.emit<DivOp>(getInput(), getScale())));
  if (getZero())
    number = g.emit<AddOp>(number, castZero(g, getZero(), elementOf(number)));
  Value least = g.splatLike(low, number);
  // NaN is above nothing.
  Value isAbove = g.emit<CompareOp>(ComparePredicate::gt, number, least);
  number = g.emit<MinOp>(g.emit<SelectOp>(isAbove, number, least), g.splatLike(high, number));
  return {g.cast(number, type)};
}

SmallVector<Value> DequantizeOp::decompose(GraphBuilder &g) {
  Value scale = g.widen(getScale());
  Value number = g.cast(getInput(), elementOf(scale));
  if (getZero())
    number = g.emit<SubOp>(number, castZero(g, getZero(), elementOf(scale)));
  return {g.cast(g.emit<MulOp>(number, scale), elementOf(getResult()))};
}

void registerQuantizationOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsQuantization.cpp.inc"
      >(dialect);
}

} // namespace vx
