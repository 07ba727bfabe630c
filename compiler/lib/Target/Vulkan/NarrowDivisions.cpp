// Divisions of places whose range is not known. One of NVIDIA's drivers (580.159) takes sums of such quotients and
// remainders for one another when they differ in the dividend alone: of (a / 3) * 6 + a % 3 and (b / 3) * 6 + b % 3 as
// places in memory, both become the first. What is divided in 32 bits is right. So a division is done in 32 bits
// wherever its operands fit, which is everywhere but in tensors of more than 2^32 elements; it is the cheaper one, too.
#include "SPIRVPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace vx::vulkan {

// Shifts and masks are none of this.
static bool isByPowerOfTwo(Operation *division) {
  APInt divisor;
  return isa<arith::DivUIOp, arith::RemUIOp>(division) &&
         matchPattern(division->getOperand(1), m_ConstantInt(&divisor)) && divisor.isPowerOf2();
}

void narrowDivisions(func::FuncOp kernel) {
  SmallVector<Operation *> divisions;
  kernel.walk([&](Operation *op) {
    if (isa<arith::DivUIOp, arith::RemUIOp, arith::DivSIOp, arith::RemSIOp>(op) &&
        (op->getResult(0).getType().isIndex() || op->getResult(0).getType().isInteger(64)) && !isByPowerOfTwo(op))
      divisions.push_back(op);
  });
  OpBuilder builder(kernel.getContext());
  for (Operation *division : divisions) {
    builder.setInsertionPointAfter(division);
    Location loc = division->getLoc();
    Type type = division->getResult(0).getType(), narrow = builder.getI32Type();
    auto cast = [&](Type to, Value value) -> Value {
      if (type.isIndex())
        return arith::IndexCastUIOp::create(builder, loc, to, value);
      if (to == narrow)
        return arith::TruncIOp::create(builder, loc, to, value);
      return arith::ExtUIOp::create(builder, loc, to, value);
    };
    Value dividend = division->getOperand(0), divisor = division->getOperand(1), wide = division->getResult(0);
    Value all = arith::OrIOp::create(builder, loc, dividend, divisor);
    Value largest = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(type, int64_t(std::numeric_limits<uint32_t>::max())));
    Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, all, largest);
    Value low = cast(narrow, dividend), by = cast(narrow, divisor);
    // The low half of a divisor that does not fit may be 0.
    if (!matchPattern(divisor, m_Constant()))
      by = arith::SelectOp::create(builder, loc, fits, by, arith::ConstantIntOp::create(builder, loc, narrow, 1));
    Value result = isa<arith::DivUIOp, arith::DivSIOp>(division)
                       ? arith::DivUIOp::create(builder, loc, low, by).getResult()
                       : arith::RemUIOp::create(builder, loc, low, by).getResult();
    auto chosen = arith::SelectOp::create(builder, loc, fits, cast(type, result), wide);
    wide.replaceAllUsesExcept(chosen, chosen);
  }
}

} // namespace vx::vulkan
