// Arithmetic whose results must be exact, before the conversion. A fused multiply-add is not promised to round once in
// Vulkan, and some software drivers compute it as two operations; OpFRem may be off by a whole divisor.
#include "SPIRVPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx::vulkan {
namespace {

/// Emits arith ops on one scalar float type.
struct ExactEmitter {
  OpBuilder &builder;
  Location loc;
  FloatType type;

  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
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
  ExactEmitter e{builder, op.getLoc(), cast<FloatType>(op.getType())};
  Value ah = e.upperHalf(op.getA()), bh = e.upperHalf(op.getB());
  Value al = e.sub(op.getA(), ah), bl = e.sub(op.getB(), bh);
  Value error = e.add(e.mul(ah, bh), op.getC());
  error = e.add(error, e.mul(ah, bl));
  error = e.add(error, e.mul(al, bh));
  error = e.add(error, e.mul(al, bl));
  op.replaceAllUsesWith(error);
  op.erase();
}

/// A zero that no driver can know: the upper half of the number of workgroups, which is below 2^32. It stands at the
/// kernel's beginning.
class HiddenZero {
public:
  HiddenZero(OpBuilder &builder, func::FuncOp kernel) : builder(builder), kernel(kernel) {}

  /// At the insertion point, in so many bits.
  Value get(unsigned width) {
    Location loc = kernel.getLoc();
    if (!above) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&kernel.getBody().front());
      Value count = vxk::WorkgroupCountOp::create(builder, loc);
      Value wide = arith::IndexCastUIOp::create(builder, loc, builder.getI64Type(), count);
      above = arith::ShRUIOp::create(builder, loc, wide, arith::ConstantIntOp::create(builder, loc, 32, 64));
    }
    return width == 64 ? above
                       : arith::TruncIOp::create(builder, loc, builder.getIntegerType(width), above).getResult();
  }

private:
  OpBuilder &builder;
  func::FuncOp kernel;
  Value above;
};

/// Some drivers take what is rounded to a narrower type and widened again for what it was before. They cannot where the
/// bits between have been through an operation that might have changed them.
void keepRoundings(OpBuilder &builder, func::FuncOp kernel, HiddenZero &zero) {
  SmallVector<arith::TruncFOp> rounded;
  kernel.walk([&](arith::TruncFOp op) {
    if (llvm::any_of(op->getUsers(), [](Operation *user) { return !isa<memref::StoreOp, vector::StoreOp>(user); }))
      rounded.push_back(op);
  });
  for (arith::TruncFOp op : rounded) {
    builder.setInsertionPointAfter(op);
    Location loc = op.getLoc();
    Type type = op.getType();
    auto element = cast<FloatType>(getElementTypeOrSelf(type));
    Value hidden = zero.get(element.getWidth());
    Type bits = hidden.getType();
    if (auto vector = dyn_cast<VectorType>(type)) {
      bits = vector.clone(hidden.getType());
      hidden = vector::BroadcastOp::create(builder, loc, bits, hidden);
    }
    auto pattern = arith::BitcastOp::create(builder, loc, bits, op.getResult());
    Value kept = arith::OrIOp::create(builder, loc, pattern, hidden);
    Value back = arith::BitcastOp::create(builder, loc, type, kept);
    op.getResult().replaceAllUsesExcept(back, pattern);
  }
}

/// Some software drivers take the product or quotient of a constant zero for zero, whatever the other operand is: NaN
/// and infinity would be lost. They cannot know a hidden zero, under the constant's sign.
void hideZeros(OpBuilder &builder, func::FuncOp kernel, HiddenZero &zero) {
  SmallVector<OpOperand *> zeros;
  kernel.walk([&](Operation *op) {
    if (isa<arith::MulFOp, arith::DivFOp>(op))
      for (OpOperand &operand : op->getOpOperands())
        if (matchPattern(operand.get(), m_AnyZeroFloat()))
          zeros.push_back(&operand);
  });
  Location loc = kernel.getLoc();
  for (OpOperand *operand : zeros) {
    Operation *user = operand->getOwner();
    builder.setInsertionPoint(user);
    APFloat value(0.0f);
    matchPattern(operand->get(), m_ConstantFloat(&value));
    Type type = operand->get().getType();
    auto element = cast<FloatType>(getElementTypeOrSelf(type));
    IntegerType bits = builder.getIntegerType(element.getWidth());
    Value pattern = zero.get(element.getWidth());
    if (value.isNegative())
      pattern =
          arith::OrIOp::create(builder, loc, pattern,
                               arith::ConstantOp::create(
                                   builder, loc, builder.getIntegerAttr(bits, APInt::getSignMask(element.getWidth()))));
    Value hidden = arith::BitcastOp::create(builder, loc, element, pattern);
    if (type != element)
      hidden = vector::BroadcastOp::create(builder, loc, type, hidden);
    operand->set(hidden);
  }
}

} // namespace

void expandExactArithmetic(func::FuncOp kernel) {
  SmallVector<math::FmaOp> products;
  kernel->walk([&](math::FmaOp op) {
    if (isErrorOfProduct(op))
      products.push_back(op);
  });
  OpBuilder builder(kernel->getContext());
  for (math::FmaOp op : products)
    expandErrorOfProduct(builder, op);
  expandRemainders(kernel);
  HiddenZero zero(builder, kernel);
  keepRoundings(builder, kernel, zero);
  hideZeros(builder, kernel, zero);
}

} // namespace vx::vulkan
