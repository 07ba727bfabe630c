#include "IndexFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {

bool isMultipleOf(Value value, int64_t factor) {
  if (!value)
    return false;
  if (factor == 1)
    return true;
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % factor == 0;
  if (auto loop = dyn_cast_or_null<scf::ForOp>(value.getParentBlock()->getParentOp());
      loop && loop.getInductionVar() == value)
    return isMultipleOf(loop.getLowerBound(), factor) && isMultipleOf(loop.getStep(), factor);
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto scalar = dyn_cast<vxk::ScalarOp>(op))
    return scalar.getMultiple() % factor == 0;
  if (isa<arith::MulIOp>(op)) {
    // Each factor may contribute.
    for (int64_t left = 1; left <= factor; left *= 2)
      if (factor % left == 0 && isMultipleOf(op->getOperand(0), left) && isMultipleOf(op->getOperand(1), factor / left))
        return true;
    return false;
  }
  if (auto shift = dyn_cast<arith::ShLIOp>(op)) {
    std::optional<int64_t> bits = getConstantIntValue(shift.getRhs());
    return bits && *bits >= 0 && *bits < 32 && (int64_t(1) << *bits) % factor == 0;
  }
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinUIOp, arith::MaxUIOp, arith::MinSIOp, arith::MaxSIOp, arith::RemUIOp>(
          op))
    return isMultipleOf(op->getOperand(0), factor) && isMultipleOf(op->getOperand(1), factor);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isMultipleOf(select.getTrueValue(), factor) && isMultipleOf(select.getFalseValue(), factor);
  return false;
}

} // namespace vx
