#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

/// Computes one element; the arguments are of body types, floats narrower than f32 already widened. A float result
/// wider than the op's is rounded by the caller.
Value computeElement(Operation *op, OpBuilder &b, Location loc, ValueRange args, Type vxType) {
  bool isFloat = isa<FloatType>(vxType);
  bool isUnsigned = vxType.isUnsignedInteger();
  Type type = args[0].getType();
  auto zero = [&] { return constantScalar(b, loc, type, 0); };
  auto cmpi = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  };
  auto cmpf = [&](arith::CmpFPredicate predicate, Value lhs, Value rhs) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, lhs, rhs);
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  };
  using P = arith::CmpIPredicate;
  using F = arith::CmpFPredicate;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](NegOp) -> Value {
        if (isFloat)
          return arith::NegFOp::create(b, loc, args[0]);
        return arith::SubIOp::create(b, loc, zero(), args[0]);
      })
      .Case([&](AbsOp) -> Value {
        if (isFloat)
          return math::AbsFOp::create(b, loc, args[0]);
        if (isUnsigned)
          return args[0];
        return select(cmpi(P::slt, args[0], zero()), arith::SubIOp::create(b, loc, zero(), args[0]), args[0]);
      })
      .Case([&](SignOp) -> Value {
        Value one = constantScalar(b, loc, type, 1);
        if (isFloat) {
          Value minusOne = constantScalar(b, loc, type, -1);
          // Neither: a zero of its sign, or NaN.
          Value sign = select(cmpf(F::OLT, args[0], zero()), minusOne, args[0]);
          return select(cmpf(F::OGT, args[0], zero()), one, sign);
        }
        Value sign = select(cmpi(P::eq, args[0], zero()), zero(), one);
        if (isUnsigned)
          return sign;
        return select(cmpi(P::slt, args[0], zero()), constantScalar(b, loc, type, -1), sign);
      })
      .Case([&](CeilOp) -> Value { return math::CeilOp::create(b, loc, args[0]); })
      .Case([&](FloorOp) -> Value { return math::FloorOp::create(b, loc, args[0]); })
      .Case([&](RoundOp) -> Value { return math::RoundEvenOp::create(b, loc, args[0]); })
      .Case([&](SqrtOp) -> Value { return math::SqrtOp::create(b, loc, args[0]); })
      .Case([&](ExpOp) -> Value { return math::ExpOp::create(b, loc, args[0]); })
      .Case([&](LogOp) -> Value { return math::LogOp::create(b, loc, args[0]); })
      .Case([&](SinOp) -> Value { return math::SinOp::create(b, loc, args[0]); })
      .Case([&](CosOp) -> Value { return math::CosOp::create(b, loc, args[0]); })
      .Case([&](TanhOp) -> Value { return math::TanhOp::create(b, loc, args[0]); })
      .Case([&](ErfOp) -> Value { return math::ErfOp::create(b, loc, args[0]); })
      .Case([&](NotOp) -> Value {
        Value ones =
            arith::ConstantOp::create(b, loc, IntegerAttr::get(type, APInt::getAllOnes(type.getIntOrFloatBitWidth())));
        return arith::XOrIOp::create(b, loc, args[0], ones);
      })
      .Case([&](IsNanOp) -> Value { return cmpf(F::UNO, args[0], args[0]); })
      .Case([&](IsInfOp) -> Value {
        Value infinity = arith::ConstantOp::create(
            b, loc, FloatAttr::get(type, APFloat::getInf(cast<FloatType>(type).getFloatSemantics())));
        return cmpf(F::OEQ, math::AbsFOp::create(b, loc, args[0]), infinity);
      })
      .Case([&](AddOp) { return combineScalars(b, loc, ReduceKind::sum, args[0], args[1], vxType); })
      .Case([&](MulOp) { return combineScalars(b, loc, ReduceKind::prod, args[0], args[1], vxType); })
      .Case([&](MaxOp) { return combineScalars(b, loc, ReduceKind::max, args[0], args[1], vxType); })
      .Case([&](MinOp) { return combineScalars(b, loc, ReduceKind::min, args[0], args[1], vxType); })
      .Case([&](SubOp) -> Value {
        if (isFloat)
          return arith::SubFOp::create(b, loc, args[0], args[1]);
        return arith::SubIOp::create(b, loc, args[0], args[1]);
      })
      .Case<DivOp, RemOp>([&](Operation *) -> Value {
        bool isDivision = isa<DivOp>(op);
        if (isFloat)
          return isDivision ? Value(arith::DivFOp::create(b, loc, args[0], args[1]))
                            : Value(arith::RemFOp::create(b, loc, args[0], args[1]));
        // Division by zero, and of the least number by -1, would trap: neither reaches the division.
        Value one = constantScalar(b, loc, type, 1);
        Value byZero = cmpi(P::eq, args[1], zero());
        if (isUnsigned) {
          Value divisor = select(byZero, one, args[1]);
          if (!isDivision) // x mod 1 = 0
            return arith::RemUIOp::create(b, loc, args[0], divisor);
          return select(byZero, zero(), arith::DivUIOp::create(b, loc, args[0], divisor));
        }
        Value byMinusOne = cmpi(P::eq, args[1], constantScalar(b, loc, type, -1));
        Value divisor = select(arith::OrIOp::create(b, loc, byZero, byMinusOne), one, args[1]);
        if (!isDivision)
          return arith::RemSIOp::create(b, loc, args[0], divisor);
        Value quotient = arith::DivSIOp::create(b, loc, args[0], divisor);
        quotient = select(byMinusOne, arith::SubIOp::create(b, loc, zero(), args[0]), quotient);
        return select(byZero, zero(), quotient);
      })
      .Case([&](PowOp) -> Value { return math::PowFOp::create(b, loc, args[0], args[1]); })
      .Case([&](AndOp) -> Value { return arith::AndIOp::create(b, loc, args[0], args[1]); })
      .Case([&](OrOp) -> Value { return arith::OrIOp::create(b, loc, args[0], args[1]); })
      .Case([&](XorOp) -> Value { return arith::XOrIOp::create(b, loc, args[0], args[1]); })
      .Case([&](CompareOp compare) { return compareScalars(b, loc, compare.getPredicate(), args[0], args[1], vxType); })
      .Default([&](Operation *) { return select(args[0], args[1], args[2]); }); // SelectOp
}

LogicalResult lowerElementwise(KernelLowering &lowering, Operation *op) {
  auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
  Type vxResult = resultType.getElementType();
  // A choice looks at the type of what it compares or computes with, not at its condition's.
  Type vxOperand = cast<RankedTensorType>(op->getOperand(op->getNumOperands() - 1).getType()).getElementType();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lowering.get(operand));
  Value result = lowering.elementwise(op->getLoc(), resultType, getBodyType(vxResult), operands,
                                      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                                        if (isa<CastOp>(op))
                                          return convertScalar(b, loc, args[0], vxOperand, vxResult);
                                        SmallVector<Value> wide;
                                        for (Value argument : args)
                                          wide.push_back(isa<SelectOp>(op) ? argument : widen(b, loc, argument));
                                        Value value = computeElement(op, b, loc, wide, vxOperand);
                                        return isa<FloatType>(vxResult) ? narrow(b, loc, value, vxResult) : value;
                                      });
  lowering.set(op->getResult(0), result);
  return success();
}

} // namespace

void addElementwiseLowerings(LoweringTable &table) { table.addTrait<OpTrait::Elementwise>(lowerElementwise); }

} // namespace vx
