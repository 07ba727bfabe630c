#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsElementwise.cpp.inc"

namespace vx {

LogicalResult inferElementwise(std::optional<Location> location, ValueRange operands, Type elementType,
                               SmallVectorImpl<Type> &types) {
  auto first = cast<RankedTensorType>(operands[0].getType());
  SmallVector<DimAttr> dims = getDims(first);
  for (Value operand : operands.drop_front()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getRank() != first.getRank())
      return emitOptionalError(location, "expects operands of one shape: ", first, ", got ", type);
    for (auto [index, dim] : llvm::enumerate(getDims(type))) {
      if (!mayBeEqual(dims[index], dim))
        return emitOptionalError(location, "expects operands of one shape: ", first, ", got ", type);
      // The best-known size wins: a constant before an expression before nothing.
      if (dim && (!dims[index] || (dim.asConstant() && !dims[index].asConstant())))
        dims[index] = dim;
    }
  }
  types.push_back(getTensorType(dims, elementType ? elementType : first.getElementType()));
  return success();
}

LogicalResult OpTrait::verifyElementwise(Operation *op) {
  auto first = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto check = [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!first || !tensor)
      return success(); // the operand constraints say so
    bool compatible = tensor.getRank() == first.getRank();
    for (int64_t i = 0; compatible && i < first.getRank(); ++i)
      compatible = mayBeEqual(getDim(first, i), getDim(tensor, i));
    if (!compatible)
      return op->emitOpError() << "expects operands and results of one shape: " << first << ", got " << tensor;
    return success();
  };
  for (Type type : op->getOperandTypes())
    if (failed(check(type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  return success();
}

void OpTrait::collectElementwise(Operation *op, ConstraintCollector &collector) {
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    collector.wantEqualShapes(op->getOperand(0).getType(), type);
}

/// The other operand of a binary op of which one is neutral: on the right side, or on either where they commute. Among
/// floats that is `real`, by its sign, too; among integers and bools what `isNeutral` says.
static Value getUnlessNeutral(Operation *op, std::optional<double> real,
                              llvm::function_ref<bool(const APInt &)> isNeutral) {
  auto isNeutralSide = [&](unsigned side) {
    Attribute number = getSplatNumber(op->getOperand(side));
    if (auto integer = dyn_cast_or_null<IntegerAttr>(number))
      return isNeutral(integer.getValue());
    auto floating = dyn_cast_or_null<FloatAttr>(number);
    return floating && real && floating.getValueAsDouble() == *real &&
           floating.getValue().isNegative() == std::signbit(*real);
  };
  if (isNeutralSide(1))
    return op->getOperand(0);
  return op->hasTrait<mlir::OpTrait::IsCommutative>() && isNeutralSide(0) ? op->getOperand(1) : Value();
}

static bool isZero(const APInt &number) { return number.isZero(); }
static bool isOne(const APInt &number) { return number.isOne(); }
static bool isAllOnes(const APInt &number) { return number.isAllOnes(); }

Value AddOp::getIdentity() { return getUnlessNeutral(*this, -0.0, isZero); }
Value SubOp::getIdentity() { return getUnlessNeutral(*this, 0.0, isZero); }
Value MulOp::getIdentity() { return getUnlessNeutral(*this, 1.0, isOne); }
Value DivOp::getIdentity() { return getUnlessNeutral(*this, 1.0, isOne); }
Value AndOp::getIdentity() { return getUnlessNeutral(*this, std::nullopt, isAllOnes); }
Value OrOp::getIdentity() { return getUnlessNeutral(*this, std::nullopt, isZero); }
Value XorOp::getIdentity() { return getUnlessNeutral(*this, std::nullopt, isZero); }

/// What an op that is its own inverse was applied to before.
template <typename Op>
static Value getTwiceInverted(Op op) {
  auto inner = op.getInput().template getDefiningOp<Op>();
  return inner ? Value(inner.getInput()) : Value();
}

Value NegOp::getIdentity() { return getTwiceInverted(*this); }
Value NotOp::getIdentity() { return getTwiceInverted(*this); }

Value SelectOp::getIdentity() {
  auto condition = dyn_cast_or_null<IntegerAttr>(getSplatNumber(getCondition()));
  if (!condition)
    return {};
  return condition.getValue().isOne() ? getOnTrue() : getOnFalse();
}

/// A type that holds every number of the first one, and back.
Value CastOp::getIdentity() {
  auto inner = getInput().getDefiningOp<CastOp>();
  if (!inner || inner.getInput().getType() != getResult().getType())
    return {};
  Type narrow = getElementTypeOrSelf(inner.getInput().getType()),
       wide = getElementTypeOrSelf(inner.getResult().getType());
  auto narrowInt = dyn_cast<IntegerType>(narrow), wideInt = dyn_cast<IntegerType>(wide);
  if (narrowInt && wideInt)
    return wideInt.getWidth() >= narrowInt.getWidth() && !wideInt.isInteger(1) ? Value(inner.getInput()) : Value();
  // f32 and f64 hold every number of the types below them.
  bool holdsAll = (narrow.isF32() && wide.isF64()) ||
                  (isa<FloatType>(narrow) && narrow.getIntOrFloatBitWidth() < 32 && (wide.isF32() || wide.isF64()));
  return holdsAll ? Value(inner.getInput()) : Value();
}

// C2
LogicalResult CastOp::verify() {
  for (Type type : {getInput().getType(), getResult().getType()})
    if (isa<StringType>(cast<TensorType>(type).getElementType()))
      return emitOpError() << "expects numbers or bools on both sides, got " << getInput().getType() << " to "
                           << getResult().getType();
  return success();
}

// C2
LogicalResult BitcastOp::verify() {
  auto bitsOf = [](Value value) -> unsigned {
    Type element = getElementTypeOrSelf(value.getType());
    return element.isInteger(1) ? 8 : element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  };
  unsigned from = bitsOf(getInput()), to = bitsOf(getResult());
  if (from == 0 || to == 0)
    return emitOpError() << "expects numbers or bools on both sides, got " << getInput().getType() << " to "
                         << getResult().getType();
  if (from != to)
    return emitOpError() << "expects elements of as many bits on both sides: " << from << ", got " << to << " of "
                         << getResult().getType();
  return success();
}

void registerElementwiseOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsElementwise.cpp.inc"
      >(dialect);
}

} // namespace vx
