#include "LossScale.h"

using namespace mlir;

namespace vx {

LossScale buildNextLossScale(LossScale old, Expression isFinite) {
  Expression good = selectOrZero(isFinite, old.good + 1.0);
  Expression doubles = compare(ComparePredicate::ge, good, kGoodStepsToDouble);
  // A power of 2 all the time, so that to multiply and to divide by it rounds nothing. Whatever is written into the
  // variable, a number that is none or is 0 too, ends between the least and the greatest.
  Expression greatest = fill(kGreatestLossScale, old.scale), half = apply<MinOp>(old.scale * 0.5, greatest);
  Expression less = select(compare(ComparePredicate::ge, half, kLeastLossScale), half, fill(kLeastLossScale, half));
  Expression more = select(doubles, apply<MinOp>(old.scale * 2, greatest), old.scale);
  return {select(isFinite, more, less), select(doubles, fill(0, good), good),
          select(isFinite, old.skipped, old.skipped + 1.0)};
}

Expression buildIsFinite(Expression value) {
  auto type = cast<FloatType>(getElementTypeOrSelf(value.value.getType()));
  double largest = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  // A comparison with a number that is none does not hold.
  return compare(ComparePredicate::le, apply<AbsOp>(value), largest);
}

} // namespace vx
