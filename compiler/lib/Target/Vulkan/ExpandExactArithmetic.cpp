// Arithmetic whose results must be exact, before the conversion. A fused multiply-add is not promised to round once in
// Vulkan, and some software drivers compute it as two operations; OpFRem may be off by a whole divisor.
#include "SPIRVPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace vx::vulkan {
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
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value abs(Value a) { return math::AbsFOp::create(builder, loc, a); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, loc, a, b); }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  /// `value` with the lower half of its significand cleared: products of two such are exact.
  Value upperHalf(Value value) {
    IntegerType bits = builder.getIntegerType(type.getWidth());
    uint64_t clear = type.getWidth() == 64 ? ~uint64_t(0) << 27 : uint32_t(~uint32_t(0) << 12);
    Value pattern = arith::BitcastOp::create(builder, loc, bits, value);
    Value mask = arith::ConstantOp::create(builder, loc,
                                           builder.getIntegerAttr(bits, APInt(bits.getWidth(), clear, false, true)));
    return arith::BitcastOp::create(builder, loc, type, arith::AndIOp::create(builder, loc, pattern, mask).getResult());
  }
};

/// fma(a, b, -(a * b)) is the rounding error of a product, the base of all arithmetic in two parts.
bool isErrorOfProduct(math::FmaOp op) {
  auto negated = op.getC().getDefiningOp<arith::NegFOp>();
  auto product = negated ? negated.getOperand().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  return product && isa<FloatType>(op.getType()) && cast<FloatType>(op.getType()).getWidth() >= 32 &&
         product.getLhs() == op.getA() && product.getRhs() == op.getB();
}

/// Dekker's product: each partial product of halves is exact.
void expandErrorOfProduct(OpBuilder &builder, math::FmaOp op) {
  builder.setInsertionPoint(op);
  Emitter e{builder, op.getLoc(), cast<FloatType>(op.getType())};
  Value ah = e.upperHalf(op.getA()), bh = e.upperHalf(op.getB());
  Value al = e.sub(op.getA(), ah), bl = e.sub(op.getB(), bh);
  Value error = e.add(e.mul(ah, bh), op.getC());
  error = e.add(error, e.mul(ah, bl));
  error = e.add(error, e.mul(al, bh));
  error = e.add(error, e.mul(al, bl));
  op.replaceAllUsesWith(error);
  op.erase();
}

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

void expandExactArithmetic(Operation *kernel) {
  SmallVector<math::FmaOp> products;
  SmallVector<arith::RemFOp> remainders;
  kernel->walk([&](math::FmaOp op) {
    if (isErrorOfProduct(op))
      products.push_back(op);
  });
  kernel->walk([&](arith::RemFOp op) {
    if (isa<FloatType>(op.getType()))
      remainders.push_back(op);
  });
  OpBuilder builder(kernel->getContext());
  for (math::FmaOp op : products)
    expandErrorOfProduct(builder, op);
  for (arith::RemFOp op : remainders)
    expandRemainder(builder, op);
}

} // namespace vx::vulkan
