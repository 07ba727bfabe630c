#include "Hoisting.h"

#include "Lifetimes.h"

using namespace mlir;

namespace vx {

/// Whether arithmetic of one branch may fail a call that takes the other.
static bool isRisky(vxrt::CalcOp calc) {
  auto divisor = calc.getRhs().getDefiningOp<vxrt::ConstOp>();
  switch (calc.getKind()) {
  case vxrt::CalcKind::floordiv:
  case vxrt::CalcKind::ceildiv:
  case vxrt::CalcKind::mod:
    return !divisor || static_cast<int64_t>(divisor.getValue()) <= 0;
  case vxrt::CalcKind::sub: // a size below 0
    return true;
  default:
    return false;
  }
}

bool Hoister::add(Value value) {
  if (Operation *producer = value.getDefiningOp())
    return add(producer);
  return value.getParentRegion()->isAncestor(target->getParentRegion());
}

bool Hoister::add(Operation *op) {
  Block *block = target->getBlock();
  if (ops.contains(op))
    return true;
  if (!block->getParent()->isAncestor(op->getParentRegion()))
    return op->getParentRegion()->isAncestor(block->getParent());
  if (op->getBlock() == block && op->isBeforeInBlock(target))
    return true;
  // One place for all iterations, where nothing keeps it from one to the next.
  bool isMemory = isa<vxrt::AllocateOp>(op) && (op->getBlock() == block || llvm::all_of(op->getUsers(), isBriefUse));
  if (!isMemory && !isa<vxrt::ConstOp, vxrt::CalcOp, vxrt::SelectOp>(op))
    return false;
  if (auto calc = dyn_cast<vxrt::CalcOp>(op); calc && isRisky(calc))
    for (Operation *parent = op->getParentOp(); parent != block->getParentOp(); parent = parent->getParentOp())
      if (isa<vxrt::IfOp>(parent))
        return false;
  if (!llvm::all_of(op->getOperands(), [&](Value operand) { return add(operand); }))
    return false;
  ops.insert(op);
  return true;
}

void Hoister::move() {
  for (Operation *op : ops)
    op->moveBefore(target);
}

} // namespace vx
