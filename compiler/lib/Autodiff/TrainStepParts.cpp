#include "TrainStepParts.h"

#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/Constraints.h"

using namespace mlir;

namespace vx {

bool isComputedWhereRead(Operation *op) {
  if (op->hasTrait<OpTrait::Free>())
    return true;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  auto compare = dyn_cast<CompareOp>(op);
  return compare && compare.getLhs().getDefiningOp<RandomBitsOp>() && getSplatNumber(compare.getRhs());
}

bool isCheap(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 && isPure(op) && !mayFault(op);
}

bool canComputeOperand(OpOperand &use) {
  Operation *op = use.getOwner();
  return op->hasTrait<OpTrait::Elementwise>() || op->hasTrait<OpTrait::TakesPrologue>();
}

TrainStepParts::TrainStepParts(func::FuncOp function, const PlannedSizes &planned) : block(function.getBody().front()) {
  for (Value result : block.getTerminator()->getOperands())
    for (Operation *op : collectDependences(result))
      if (op->getBlock() == &block)
        forward.insert(op);
  for (Operation &op : block)
    if ((isComputedWhereRead(&op) || isa<ReshapeOp>(op)) &&
        llvm::all_of(op.getOperands(), [&](Value operand) { return isForward(operand); }))
      forward.insert(&op);
  const SymbolRanges ranges(function->getParentOfType<ModuleOp>());
  for (auto symbol : function->getParentOfType<ModuleOp>().getOps<SymbolOp>()) {
    SymbolRange range = ranges.lookup(symbol.getNameAttr());
    auto given = planned.find(symbol.getName());
    sizes[symbol.getName()] = std::clamp<int64_t>(given == planned.end() ? 8 : given->getValue(), range.min, range.max);
  }
}

bool TrainStepParts::isKeptAnyway(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || isa<VariableLoadOp, ConstantOp>(op);
}

uint64_t TrainStepParts::evaluate(DimAttr size) const {
  std::optional<int64_t> value =
      size ? size.evaluate([&](StringRef name) -> std::optional<int64_t> { return sizes.lookup(name); }) : std::nullopt;
  return value && *value > 0 ? static_cast<uint64_t>(*value) : 0;
}

uint64_t TrainStepParts::getFlops(Operation *op) const {
  auto work = dyn_cast<WorkOpInterface>(op);
  return work ? evaluate(work.getFlops()) : 0;
}

uint64_t TrainStepParts::getBytes(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isIntOrFloat())
    return 0;
  uint64_t bits = type.getElementType().isInteger(1) ? 8 : type.getElementType().getIntOrFloatBitWidth();
  uint64_t count = evaluate(getNumElements(type));
  return llvm::SaturatingMultiply(count, bits) / 8;
}

} // namespace vx
