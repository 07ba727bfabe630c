#include "vx/Analysis/DerivableVariables.h"

#include "vx/Dialect/VX/IR/VariablePlaces.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace vx {

DerivableVariables::DerivableVariables(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  if (!module)
    return;
  for (auto variable : module.getOps<VariableOp>()) {
    auto type = cast<RankedTensorType>(variable.getType());
    bool isWeight = variable.getRole() == VariableRole::parameter || variable.getRole() == VariableRole::statistic ||
                    variable.getRole() == VariableRole::shadow;
    if (isWeight && type.hasStaticShape())
      names.insert(variable.getSymNameAttr());
  }
  VariablePlaces places(module);
  function.walk([&](VariableStoreOp store) {
    for (auto variable : module.getOps<VariableOp>())
      if (places.overlap(variable.getSymNameAttr(), store.getVariableAttr().getAttr()))
        names.erase(variable.getSymNameAttr());
  });
}

bool DerivableVariables::isLoad(Operation *op) const {
  auto load = dyn_cast_or_null<VariableLoadOp>(op);
  return load && names.contains(load.getVariableAttr().getAttr());
}

bool DerivableVariables::decide(Value value, int depth) const {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 16)
    return false;
  if (isa<ConstantOp>(op) || isLoad(op))
    return true;
  auto type = dyn_cast<RankedTensorType>(value.getType()); // null for a sequence
  return type && type.hasStaticShape() && isPure(op) && op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return decide(operand, depth + 1); });
}

} // namespace vx
