#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

/// One element to be computed.
struct Element {
  OpBuilder &b;
  Location loc;
  ValueRange args; // of body types, floats narrower than f32 already widened
  Type vxType;     // of the last operand's elements
  bool isFloat = isa<FloatType>(vxType);
  bool isUnsigned = vxType.isUnsignedInteger();
  Type type = args[0].getType();

  Value number(double value) const { return constantScalar(b, loc, type, value); }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) const {
    return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  }
  Value compare(arith::CmpFPredicate predicate, Value lhs, Value rhs) const {
    return arith::CmpFOp::create(b, loc, predicate, lhs, rhs);
  }
  Value select(Value condition, Value yes, Value no) const {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  }
  Value combine(ReduceKind kind) const { return combineScalars(b, loc, kind, args[0], args[1], vxType); }
  template <typename Op>
  Value compute() const {
    if constexpr (Op::template hasTrait<mlir::OpTrait::OneOperand>())
      return Op::create(b, loc, args[0]);
    else
      return Op::create(b, loc, args[0], args[1]);
  }
};

using P = arith::CmpIPredicate;
using F = arith::CmpFPredicate;

// The computation of each op of the family; one without does not build. A float wider than the op's is rounded by the
// caller.
Value computeElement(NegOp, const Element &e) {
  return e.isFloat ? e.compute<arith::NegFOp>() : arith::SubIOp::create(e.b, e.loc, e.number(0), e.args[0]);
}
Value computeElement(AbsOp, const Element &e) {
  if (e.isFloat)
    return e.compute<math::AbsFOp>();
  if (e.isUnsigned)
    return e.args[0];
  Value isNegative = e.compare(P::slt, e.args[0], e.number(0));
  return e.select(isNegative, arith::SubIOp::create(e.b, e.loc, e.number(0), e.args[0]), e.args[0]);
}
Value computeElement(SignOp, const Element &e) {
  Value one = e.number(1);
  if (e.isFloat) {
    Value minusOne = e.number(-1);
    // Neither: a zero of its sign, or NaN.
    Value sign = e.select(e.compare(F::OLT, e.args[0], e.number(0)), minusOne, e.args[0]);
    return e.select(e.compare(F::OGT, e.args[0], e.number(0)), one, sign);
  }
  Value sign = e.select(e.compare(P::eq, e.args[0], e.number(0)), e.number(0), one);
  if (e.isUnsigned)
    return sign;
  return e.select(e.compare(P::slt, e.args[0], e.number(0)), e.number(-1), sign);
}
Value computeElement(CeilOp, const Element &e) { return e.compute<math::CeilOp>(); }
Value computeElement(FloorOp, const Element &e) { return e.compute<math::FloorOp>(); }
Value computeElement(RoundOp, const Element &e) { return e.compute<math::RoundEvenOp>(); }
Value computeElement(SqrtOp, const Element &e) { return e.compute<math::SqrtOp>(); }
Value computeElement(ExpOp, const Element &e) { return e.compute<math::ExpOp>(); }
Value computeElement(LogOp, const Element &e) { return e.compute<math::LogOp>(); }
Value computeElement(SinOp, const Element &e) { return e.compute<math::SinOp>(); }
Value computeElement(CosOp, const Element &e) { return e.compute<math::CosOp>(); }
Value computeElement(AsinOp, const Element &e) { return e.compute<math::AsinOp>(); }
Value computeElement(AcosOp, const Element &e) { return e.compute<math::AcosOp>(); }
Value computeElement(AtanOp, const Element &e) { return e.compute<math::AtanOp>(); }
Value computeElement(TanhOp, const Element &e) { return e.compute<math::TanhOp>(); }
Value computeElement(ErfOp, const Element &e) { return e.compute<math::ErfOp>(); }
Value computeElement(NotOp, const Element &e) {
  APInt ones = APInt::getAllOnes(e.type.getIntOrFloatBitWidth());
  Value mask = arith::ConstantOp::create(e.b, e.loc, IntegerAttr::get(e.type, ones));
  return arith::XOrIOp::create(e.b, e.loc, e.args[0], mask);
}
Value computeElement(IsNanOp, const Element &e) { return e.compare(F::UNO, e.args[0], e.args[0]); }
Value computeElement(IsInfOp, const Element &e) {
  APFloat infinity = APFloat::getInf(cast<FloatType>(e.type).getFloatSemantics());
  Value greatest = arith::ConstantOp::create(e.b, e.loc, FloatAttr::get(e.type, infinity));
  return e.compare(F::OEQ, e.compute<math::AbsFOp>(), greatest);
}
Value computeElement(AddOp, const Element &e) { return e.combine(ReduceKind::sum); }
Value computeElement(MulOp, const Element &e) { return e.combine(ReduceKind::prod); }
Value computeElement(MaxOp, const Element &e) { return e.combine(ReduceKind::max); }
Value computeElement(MinOp, const Element &e) { return e.combine(ReduceKind::min); }
Value computeElement(SubOp, const Element &e) {
  return e.isFloat ? e.compute<arith::SubFOp>() : e.compute<arith::SubIOp>();
}

/// Division by zero, and of the least number by -1, would trap: neither reaches the division.
Value divideIntegers(const Element &e, bool isRemainder) {
  Value one = e.number(1);
  Value byZero = e.compare(P::eq, e.args[1], e.number(0));
  if (e.isUnsigned) {
    Value divisor = e.select(byZero, one, e.args[1]);
    if (isRemainder) // x mod 1 = 0
      return arith::RemUIOp::create(e.b, e.loc, e.args[0], divisor);
    return e.select(byZero, e.number(0), arith::DivUIOp::create(e.b, e.loc, e.args[0], divisor));
  }
  Value byMinusOne = e.compare(P::eq, e.args[1], e.number(-1));
  Value divisor = e.select(arith::OrIOp::create(e.b, e.loc, byZero, byMinusOne), one, e.args[1]);
  if (isRemainder)
    return arith::RemSIOp::create(e.b, e.loc, e.args[0], divisor);
  Value quotient = arith::DivSIOp::create(e.b, e.loc, e.args[0], divisor);
  quotient = e.select(byMinusOne, arith::SubIOp::create(e.b, e.loc, e.number(0), e.args[0]), quotient);
  return e.select(byZero, e.number(0), quotient);
}
Value computeElement(DivOp, const Element &e) {
  return e.isFloat ? e.compute<arith::DivFOp>() : divideIntegers(e, /*isRemainder=*/false);
}
Value computeElement(RemOp, const Element &e) {
  return e.isFloat ? e.compute<arith::RemFOp>() : divideIntegers(e, /*isRemainder=*/true);
}

Value computeElement(PowOp, const Element &e) { return e.compute<math::PowFOp>(); }
Value computeElement(AndOp, const Element &e) { return e.compute<arith::AndIOp>(); }
Value computeElement(OrOp, const Element &e) { return e.compute<arith::OrIOp>(); }
Value computeElement(XorOp, const Element &e) { return e.compute<arith::XOrIOp>(); }
Value computeElement(CompareOp op, const Element &e) {
  return compareScalars(e.b, e.loc, op.getPredicate(), e.args[0], e.args[1], e.vxType);
}
Value computeElement(SelectOp, const Element &e) { return e.select(e.args[0], e.args[1], e.args[2]); }
Value computeElement(CastOp op, const Element &e) {
  return convertScalar(e.b, e.loc, e.args[0], e.vxType, op.getResult().getType().getElementType());
}

Value computeElement(BitcastOp op, const Element &e) {
  return bitcastScalar(e.b, e.loc, e.args[0], e.vxType, op.getResult().getType().getElementType());
}

/// What chooses or converts takes elements as they are.
template <typename Op>
constexpr bool kComputesWide =
    !std::is_same_v<Op, SelectOp> && !std::is_same_v<Op, CastOp> && !std::is_same_v<Op, BitcastOp>;

template <typename Op>
Value lowerElementwise(KernelLowering &lowering, Op op) {
  auto resultType = cast<RankedTensorType>(op.getResult().getType());
  Type vxResult = resultType.getElementType();
  // A choice looks at the type of what it compares or computes with, not at its condition's.
  Type vxOperand = cast<RankedTensorType>(op->getOperand(op->getNumOperands() - 1).getType()).getElementType();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lowering.get(operand));
  return lowering.elementwise(op.getLoc(), resultType, getBodyType(vxResult), operands,
                              [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                                SmallVector<Value> values(args);
                                if (kComputesWide<Op>)
                                  for (Value &value : values)
                                    value = widen(b, loc, value);
                                Value value = computeElement(op, Element{b, loc, values, vxOperand});
                                bool isWide = kComputesWide<Op> && isa<FloatType>(vxResult);
                                return isWide ? narrow(b, loc, value, vxResult) : value;
                              });
}

template <typename... Ops>
void addAll(LoweringTable &table) {
  (table.add<Ops, lowerElementwise<Ops>>(), ...);
}

} // namespace

void addElementwiseLowerings(LoweringTable &table) {
  addAll<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsElementwise.cpp.inc"
      >(table);
}

} // namespace vx
