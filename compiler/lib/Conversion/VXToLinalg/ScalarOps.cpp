// Arithmetic on the scalars of linalg bodies, with the meaning that the vx dialect documents.
#include "KernelLowering.h"

using namespace mlir;

namespace vx {

Value constantScalar(OpBuilder &builder, Location loc, Type type, double value) {
  if (auto floating = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(builder, loc, FloatAttr::get(floating, value));
  return arith::ConstantOp::create(builder, loc, IntegerAttr::get(type, static_cast<int64_t>(value)));
}

Value widen(OpBuilder &builder, Location loc, Value value) {
  Type wide = getAccumulatorType(value.getType());
  return wide == value.getType() ? value : Value(arith::ExtFOp::create(builder, loc, wide, value));
}

Value narrow(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  // No target has a direct conversion of f64 to 16 bits; f32 is on the way.
  if (value.getType().isF64() && type.getIntOrFloatBitWidth() < 32)
    value = arith::TruncFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value isInside(OpBuilder &builder, Location loc, Value index, Value size) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value low = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, index, zero);
  Value high = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index, size);
  return arith::AndIOp::create(builder, loc, low, high);
}

Value getWindowPlace(OpBuilder &builder, Location loc, const WindowDim &window, Value at, Value inWindow, Value size,
                     SmallVectorImpl<Value> &conditions) {
  auto times = [&](Value value, int64_t factor) -> Value {
    if (factor == 1)
      return value;
    return arith::MulIOp::create(builder, loc, value, arith::ConstantIndexOp::create(builder, loc, factor));
  };
  Value place = times(at, window.stride);
  if (inWindow)
    place = arith::AddIOp::create(builder, loc, place, times(inWindow, window.dilation));
  if (window.padLow != 0)
    place = arith::SubIOp::create(builder, loc, place, arith::ConstantIndexOp::create(builder, loc, window.padLow));
  if (window.padLow != 0 || window.padHigh != 0)
    conditions.push_back(isInside(builder, loc, place, size));
  return place;
}

Value roundTo(KernelLowering &lowering, Location loc, Value accumulated, RankedTensorType type) {
  Type element = getBodyType(type.getElementType());
  if (cast<RankedTensorType>(accumulated.getType()).getElementType() == element)
    return accumulated;
  return lowering.elementwise(loc, type, element, accumulated, [&](OpBuilder &b, Location l, ValueRange args) {
    return narrow(b, l, args[0], element);
  });
}

Value guardedRead(OpBuilder &builder, Location loc, ArrayRef<Value> conditions, function_ref<Value(OpBuilder &)> read,
                  function_ref<Value(OpBuilder &)> otherwise, Type type) {
  if (conditions.empty())
    return read(builder);
  auto branch = scf::IfOp::create(builder, loc, TypeRange(type), conditions.front(), /*withElseRegion=*/true);
  OpBuilder inner = branch.getThenBodyBuilder();
  scf::YieldOp::create(inner, loc, guardedRead(inner, loc, conditions.drop_front(), read, otherwise, type));
  inner = branch.getElseBodyBuilder();
  scf::YieldOp::create(inner, loc, otherwise(inner));
  return branch.getResult(0);
}

Value wrapPacked(OpBuilder &builder, Location loc, Value value, Type vxType) {
  int64_t unused = 8 - vxType.getIntOrFloatBitWidth();
  if (vxType.isSignlessInteger()) {
    Value shift = constantScalar(builder, loc, value.getType(), static_cast<double>(unused));
    return arith::ShRSIOp::create(builder, loc, arith::ShLIOp::create(builder, loc, value, shift), shift);
  }
  return arith::AndIOp::create(builder, loc, value, constantScalar(builder, loc, value.getType(), 0xff >> unused));
}

static bool isUnsigned(Type vxType) { return vxType.isUnsignedInteger() || vxType.isInteger(1); }

/// Truncates towards zero; what does not fit saturates, NaN gives 0. `value` is f32 or f64.
static Value floatToInteger(OpBuilder &builder, Location loc, Value value, Type vxTo) {
  Type type = getBodyType(vxTo);
  unsigned width = vxTo.getIntOrFloatBitWidth(), bodyWidth = type.getIntOrFloatBitWidth();
  bool isSigned = !isUnsigned(vxTo);
  // Both bounds are powers of two or 0, so they are exact: the least value, and the first one above the greatest.
  double least = isSigned ? -std::ldexp(1.0, width - 1) : 0.0;
  double above = std::ldexp(1.0, isSigned ? width - 1 : width);
  Value low = constantScalar(builder, loc, value.getType(), least);
  Value high = constantScalar(builder, loc, value.getType(), above);
  Value zero = constantScalar(builder, loc, value.getType(), 0);
  auto compare = [&](arith::CmpFPredicate predicate, Value bound) -> Value {
    return arith::CmpFOp::create(builder, loc, predicate, value, bound);
  };
  Value isBelow = compare(arith::CmpFPredicate::OLT, low), isAbove = compare(arith::CmpFPredicate::OGE, high);
  Value fits = arith::AndIOp::create(builder, loc, compare(arith::CmpFPredicate::OGE, low),
                                     compare(arith::CmpFPredicate::OLT, high));
  Value safe = arith::SelectOp::create(builder, loc, fits, value, zero);
  Value result = isSigned ? Value(arith::FPToSIOp::create(builder, loc, type, safe))
                          : Value(arith::FPToUIOp::create(builder, loc, type, safe));
  auto integer = [&](APInt bound) -> Value {
    return arith::ConstantOp::create(builder, loc, IntegerAttr::get(type, bound));
  };
  Value min = integer(isSigned ? APInt::getSignedMinValue(width).sext(bodyWidth) : APInt(bodyWidth, 0));
  Value max =
      integer(isSigned ? APInt::getSignedMaxValue(width).sext(bodyWidth) : APInt::getMaxValue(width).zext(bodyWidth));
  result = arith::SelectOp::create(builder, loc, isBelow, min, result);
  return arith::SelectOp::create(builder, loc, isAbove, max, result);
}

Value convertScalar(OpBuilder &builder, Location loc, Value value, Type vxFrom, Type vxTo) {
  if (vxFrom == vxTo)
    return value;
  Type to = getBodyType(vxTo);
  bool fromFloat = isa<FloatType>(vxFrom), toFloat = isa<FloatType>(vxTo);
  if (fromFloat && isNarrow(vxFrom))
    return convertScalar(builder, loc, decodeNarrowFloat(builder, loc, value, cast<FloatType>(vxFrom)),
                         builder.getF32Type(), vxTo);
  if (toFloat && isNarrow(vxTo)) {
    Value wide =
        fromFloat ? widen(builder, loc, value) : convertScalar(builder, loc, value, vxFrom, builder.getF32Type());
    return encodeNarrowFloat(builder, loc, wide, cast<FloatType>(vxTo));
  }
  if (vxTo.isInteger(1)) {
    Value zero = constantScalar(builder, loc, value.getType(), 0);
    if (fromFloat)
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, widen(builder, loc, value),
                                   widen(builder, loc, zero));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (fromFloat && toFloat) {
    value = widen(builder, loc, value);
    if (value.getType().getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, loc, to, value);
    return narrow(builder, loc, value, to);
  }
  if (fromFloat)
    return floatToInteger(builder, loc, widen(builder, loc, value), vxTo);
  if (toFloat) {
    Type wide = getAccumulatorType(to);
    Value result = isUnsigned(vxFrom) ? Value(arith::UIToFPOp::create(builder, loc, wide, value))
                                      : Value(arith::SIToFPOp::create(builder, loc, wide, value));
    return narrow(builder, loc, result, to);
  }
  unsigned fromWidth = value.getType().getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (isPacked(vxTo)) {
    if (fromWidth < toWidth) // a bool
      value = arith::ExtUIOp::create(builder, loc, to, value);
    else if (fromWidth > toWidth)
      value = arith::TruncIOp::create(builder, loc, to, value);
    return wrapPacked(builder, loc, value, vxTo);
  }
  if (fromWidth == toWidth)
    return value;
  if (fromWidth > toWidth)
    return arith::TruncIOp::create(builder, loc, to, value);
  return isUnsigned(vxFrom) ? Value(arith::ExtUIOp::create(builder, loc, to, value))
                            : Value(arith::ExtSIOp::create(builder, loc, to, value));
}

Value bitcastScalar(OpBuilder &builder, Location loc, Value value, Type vxFrom, Type vxTo) {
  if (vxFrom.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  if (isPacked(vxTo))
    return wrapPacked(builder, loc, value, vxTo);
  if (vxTo.isInteger(1))
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                 constantScalar(builder, loc, value.getType(), 0));
  Type to = getBodyType(vxTo);
  return value.getType() == to ? value : Value(arith::BitcastOp::create(builder, loc, to, value));
}

Value compareScalars(OpBuilder &builder, Location loc, ComparePredicate predicate, Value lhs, Value rhs, Type vxType) {
  if (isa<FloatType>(vxType)) {
    static const arith::CmpFPredicate ordered[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
                                                   arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
                                                   arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return arith::CmpFOp::create(builder, loc, ordered[static_cast<int>(predicate)], widen(builder, loc, lhs),
                                 widen(builder, loc, rhs));
  }
  static const arith::CmpIPredicate signedOnes[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                    arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                                    arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static const arith::CmpIPredicate unsignedOnes[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                      arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                                                      arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  return arith::CmpIOp::create(builder, loc,
                               (isUnsigned(vxType) ? unsignedOnes : signedOnes)[static_cast<int>(predicate)], lhs, rhs);
}

/// The operands may already be of the accumulator's type.
Value combineScalars(OpBuilder &builder, Location loc, ReduceKind kind, Value lhs, Value rhs, Type vxType) {
  bool isFloat = isa<FloatType>(lhs.getType());
  switch (kind) {
  case ReduceKind::sum:
    return isFloat ? Value(arith::AddFOp::create(builder, loc, lhs, rhs))
                   : Value(arith::AddIOp::create(builder, loc, lhs, rhs));
  case ReduceKind::prod:
    return isFloat ? Value(arith::MulFOp::create(builder, loc, lhs, rhs))
                   : Value(arith::MulIOp::create(builder, loc, lhs, rhs));
  case ReduceKind::max:
    if (isFloat)
      return arith::MaximumFOp::create(builder, loc, lhs, rhs);
    return isUnsigned(vxType) ? Value(arith::MaxUIOp::create(builder, loc, lhs, rhs))
                              : Value(arith::MaxSIOp::create(builder, loc, lhs, rhs));
  case ReduceKind::min:
    if (isFloat)
      return arith::MinimumFOp::create(builder, loc, lhs, rhs);
    return isUnsigned(vxType) ? Value(arith::MinUIOp::create(builder, loc, lhs, rhs))
                              : Value(arith::MinSIOp::create(builder, loc, lhs, rhs));
  case ReduceKind::and_:
    return arith::AndIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::or_:
    return arith::OrIOp::create(builder, loc, lhs, rhs);
  }
  llvm_unreachable("unknown reduction");
}

TypedAttr getIdentity(ReduceKind kind, Type vxType, Type accumulator) {
  if (auto type = dyn_cast<FloatType>(accumulator)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    switch (kind) {
    case ReduceKind::max:
      return FloatAttr::get(type, APFloat::getInf(semantics, /*Negative=*/true));
    case ReduceKind::min:
      return FloatAttr::get(type, APFloat::getInf(semantics));
    default:
      return FloatAttr::get(type, kind == ReduceKind::prod ? 1.0 : 0.0);
    }
  }
  unsigned width = accumulator.getIntOrFloatBitWidth();
  bool isSigned = !isUnsigned(vxType);
  APInt value(width, 0);
  if (kind == ReduceKind::prod)
    value = APInt(width, 1);
  else if (kind == ReduceKind::max)
    value = isSigned ? APInt::getSignedMinValue(width) : APInt(width, 0);
  else if (kind == ReduceKind::min)
    value = isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
  else if (kind == ReduceKind::and_)
    value = APInt::getAllOnes(width);
  return IntegerAttr::get(accumulator, value);
}

} // namespace vx
