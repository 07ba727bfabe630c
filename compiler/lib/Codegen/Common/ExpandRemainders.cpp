// The remainder of a division of floats, for targets whose own is not exact.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "vx/Codegen/Common/Passes.h"

using namespace mlir;

namespace vx {
namespace {

/// Emits arith ops on one scalar float type.
struct Emitter {
  OpBuilder &builder;
  Location loc;
  FloatType type;

  Value number(double value) {
    APFloat number(value);
    bool losesInfo;
    number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, number));
  }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value abs(Value a) { return math::AbsFOp::create(builder, loc, a); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, loc, a, b); }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
};

/// Long division in floats: the divisor times powers of two is subtracted, from the largest that fits on down. Every
/// step is exact; there are at most as many as there are exponents.
void expandRemainder(OpBuilder &builder, arith::RemFOp op) {
  builder.setInsertionPoint(op);
  Emitter e{builder, op.getLoc(), cast<FloatType>(op.getType())};
  using P = arith::CmpFPredicate;
  Value x = op.getLhs(), y = op.getRhs(), size = e.abs(x), step = e.abs(y);
  Value zero = e.number(0), one = e.number(1), half = e.number(0.5), two = e.number(2);
  Value infinity = arith::ConstantOp::create(builder, op.getLoc(),
                                             builder.getFloatAttr(e.type, APFloat::getInf(e.type.getFloatSemantics())));
  // Not less than infinity: infinite or NaN.
  Value isNaN = e.either(e.compare(P::UGE, size, infinity), e.compare(P::UEQ, step, zero));
  isNaN = e.either(isNaN, e.compare(P::UNO, step, step));
  Value isWhole = e.compare(P::OEQ, step, infinity);
  size = e.select(isNaN, zero, size);
  step = e.select(e.either(isNaN, isWhole), one, step);

  auto grow = scf::WhileOp::create(
      builder, op.getLoc(), TypeRange(e.type), ValueRange(step),
      [&](OpBuilder &b, Location l, ValueRange args) {
        Emitter inner{b, l, e.type};
        scf::ConditionOp::create(b, l, inner.compare(P::OLE, args[0], inner.mul(size, half)), args);
      },
      [&](OpBuilder &b, Location l, ValueRange args) {
        Emitter inner{b, l, e.type};
        scf::YieldOp::create(b, l, inner.mul(args[0], two));
      });
  auto divide = scf::WhileOp::create(
      builder, op.getLoc(), TypeRange{e.type, e.type}, ValueRange{grow.getResult(0), size},
      [&](OpBuilder &b, Location l, ValueRange args) {
        Emitter inner{b, l, e.type};
        scf::ConditionOp::create(b, l, inner.compare(P::OGE, args[0], step), args);
      },
      [&](OpBuilder &b, Location l, ValueRange args) {
        Emitter inner{b, l, e.type};
        Value fits = inner.compare(P::OGE, args[1], args[0]);
        Value rest = inner.select(fits, inner.sub(args[1], args[0]), args[1]);
        scf::YieldOp::create(b, l, ValueRange{inner.mul(args[0], half), rest});
      });
  Value result = math::CopySignOp::create(builder, op.getLoc(), divide.getResult(1), x);
  result = e.select(isWhole, x, result);
  Value nan = arith::ConstantOp::create(builder, op.getLoc(),
                                        builder.getFloatAttr(e.type, APFloat::getNaN(e.type.getFloatSemantics())));
  op.replaceAllUsesWith(e.select(isNaN, nan, result));
  op.erase();
}

} // namespace

void expandRemainders(Operation *kernel) {
  SmallVector<arith::RemFOp> remainders;
  kernel->walk([&](arith::RemFOp op) {
    if (isa<FloatType>(op.getType()))
      remainders.push_back(op);
  });
  OpBuilder builder(kernel->getContext());
  for (arith::RemFOp op : remainders)
    expandRemainder(builder, op);
}

} // namespace vx
