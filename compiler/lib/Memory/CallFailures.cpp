#include "vx/Memory/CallFailures.h"

#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

namespace vx {

static bool isConstant(Value value, llvm::function_ref<bool(int64_t)> predicate) {
  auto constant = value.getDefiningOp<vxrt::ConstOp>();
  return constant && predicate(static_cast<int64_t>(constant.getValue()));
}

/// 0 or 1.
static bool isFlag(Value value) {
  if (isConstant(value, [](int64_t number) { return number == 0 || number == 1; }))
    return true;
  if (auto read = value.getDefiningOp<vxrt::ReadI64Op>())
    return read.getElementType().isInteger(1);
  if (auto read = value.getDefiningOp<vxrt::ReadInputOp>())
    return read.getElementType().isInteger(1);
  auto calc = value.getDefiningOp<vxrt::CalcOp>();
  return calc && (calc.getKind() >= vxrt::CalcKind::eq ||
                  (calc.getKind() == vxrt::CalcKind::mul && isFlag(calc.getLhs()) && isFlag(calc.getRhs())));
}

/// The number of an iteration: no loop goes on until it is too large.
static bool isIteration(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<vxrt::WhileOp>(argument.getOwner()->getParentOp()) : vxrt::WhileOp();
  if (!loop || !isConstant(loop.getInits()[argument.getArgNumber()], [](int64_t first) { return first == 0; }))
    return false;
  Value next = argument.getOwner()->getTerminator()->getOperand(argument.getArgNumber() + 1);
  auto calc = next.getDefiningOp<vxrt::CalcOp>();
  return calc && calc.getKind() == vxrt::CalcKind::add && calc.getLhs() == argument &&
         isConstant(calc.getRhs(), [](int64_t step) { return step == 1; });
}

/// Whether the result may be no 64-bit number.
static bool mayOverflow(vxrt::CalcOp calc) {
  switch (calc.getKind()) {
  case vxrt::CalcKind::add:
    return !isIteration(calc.getLhs()) || !isConstant(calc.getRhs(), [](int64_t step) { return step == 1; });
  case vxrt::CalcKind::mul:
    return !isFlag(calc.getLhs()) || !isFlag(calc.getRhs());
  case vxrt::CalcKind::sub:
    return true;
  case vxrt::CalcKind::floordiv:
  case vxrt::CalcKind::ceildiv:
  case vxrt::CalcKind::mod:
    return !isConstant(calc.getRhs(), [](int64_t divisor) { return divisor > 0; });
  default:
    return false;
  }
}

bool mayFailCall(Operation *op) {
  if (isa<vxrt::WhileOp, vxrt::IfOp>(op)) {
    auto anyMay = [&](Operation *inner) { return WalkResult(failure(inner != op && mayFailCall(inner))); };
    return op->walk(anyMay).wasInterrupted();
  }
  if (auto calc = dyn_cast<vxrt::CalcOp>(op))
    return mayOverflow(calc);
  // Memory may be short.
  return !isa<vxrt::ConstOp, vxrt::SelectOp, vxrt::VariableOp, vxrt::ConstantOp, vxrt::DerivedOp, vxrt::ArenaSliceOp,
              vxrt::SliceOp, vxrt::SegmentOp, vxrt::CopyOp, vxrt::ReturnOp, vxrt::YieldOp>(op) &&
         (!isa<vxrt::DispatchOp>(op) || op->hasAttr(kFaultSitesAttr));
}

} // namespace vx
