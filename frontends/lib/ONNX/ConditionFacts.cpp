#include "ConditionFacts.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

namespace vx::onnx {

/// Returns true if two values are results of the same computation. Compares at most `budget` ops.
static bool areSame(Value lhs, Value rhs, unsigned &budget) {
  if (lhs == rhs)
    return true;
  auto left = dyn_cast<OpResult>(lhs), right = dyn_cast<OpResult>(rhs);
  if (!left || !right || left.getResultNumber() != right.getResultNumber() || budget == 0)
    return false;
  --budget;
  Operation *leftOp = left.getOwner(), *rightOp = right.getOwner();
  if (leftOp->getNumRegions() > 0 || !isMemoryEffectFree(leftOp))
    return false;
  return OperationEquivalence::isEquivalentTo(
      leftOp, rightOp, [&](Value l, Value r) { return success(areSame(l, r, budget)); }, /*markEquivalent=*/nullptr,
      OperationEquivalence::IgnoreLocations);
}

/// Returns the bool under negations of `value`, and whether `value` is equal to it.
static std::pair<Value, bool> peel(Value value) {
  bool holds = true;
  while (Operation *op = value.getDefiningOp()) {
    if (isa<NotOp>(op))
      holds = !holds;
    else if (!isa<ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return {value, holds};
}

void ConditionFacts::add(Value condition, bool holds) {
  auto [value, isItself] = peel(condition);
  facts.push_back({value, holds == isItself});
}

std::optional<bool> ConditionFacts::find(Value condition) const {
  auto [value, isItself] = peel(condition);
  for (const Fact &fact : llvm::reverse(facts)) {
    unsigned budget = 256;
    if (areSame(fact.condition, value, budget))
      return fact.holds == isItself;
  }
  return std::nullopt;
}

} // namespace vx::onnx
