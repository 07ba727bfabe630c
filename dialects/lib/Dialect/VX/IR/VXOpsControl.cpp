#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

namespace vx {

LogicalResult SymbolOp::verify() {
  if (getMin() < 0 || getMin() > getMax() || getMultiple() < 1) // C1
    return emitOpError() << "expects 0 <= min <= max and multiple >= 1, got min " << getMin() << ", max " << getMax()
                         << " and multiple " << getMultiple();
  return success();
}

static LogicalResult verifyYield(Operation *op, Block &block, TypeRange want, StringRef what) {
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return op->emitOpError() << "expects " << what << " to end with 'vx.yield'";
  if (yield.getValues().size() != want.size())
    return op->emitOpError() << "expects " << what << " to yield " << want.size() << " values, got "
                             << yield.getValues().size();
  for (auto [index, value] : llvm::enumerate(yield.getValues()))
    if (!areCompatibleTypes(value.getType(), want[index]))
      return op->emitOpError() << "expects " << what << " to yield '" << want[index] << "' as value " << index
                               << ", got '" << value.getType() << "'";
  return success();
}

LogicalResult IfOp::verify() {
  if (failed(verifyYield(*this, getThenRegion().front(), getResultTypes(), "the first region"))) // C1
    return failure();
  return verifyYield(*this, getElseRegion().front(), getResultTypes(), "the second region"); // C1
}

LogicalResult LoopOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInits().size() || getNumResults() != getInits().size()) // C1
    return emitOpError() << "expects one region argument and one result for each of the " << getInits().size()
                         << " carried values, got " << body.getNumArguments() << " and " << getNumResults();
  for (auto [index, init] : llvm::enumerate(getInits()))
    for (Type type : {body.getArgument(index).getType(), getResult(index).getType()})
      if (!areCompatibleTypes(init.getType(), type)) // C1
        return emitOpError() << "expects carried value " << index << " to keep its type: want '" << init.getType()
                             << "', got '" << type << "'";
  SmallVector<Type> want = {RankedTensorType::get({}, IntegerType::get(getContext(), 1))};
  llvm::append_range(want, getResultTypes());
  return verifyYield(*this, body, want, "the region"); // C2
}

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape()) // C1
    return emitOpError() << "expects a tensor type of static shape, got '" << getType() << "'";
  if (getInitial() && getInitial()->getType() != type) // C2
    return emitOpError() << "expects 'initial' of the variable's type: want '" << type << "', got '"
                         << getInitial()->getType() << "'";
  return success();
}

static LogicalResult verifyVariableUse(Operation *op, FlatSymbolRefAttr name, Type type,
                                       SymbolTableCollection &symbolTable) {
  auto variable = symbolTable.lookupNearestSymbolFrom<VariableOp>(op, name);
  if (!variable) // C1
    return op->emitOpError() << "expects a variable '" << name.getValue() << "', there is none";
  if (!areCompatibleTypes(variable.getType(), type)) // C1
    return op->emitOpError() << "expects the type of variable '" << name.getValue() << "': want '" << variable.getType()
                             << "', got '" << type << "'";
  return success();
}

LogicalResult VariableLoadOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getVariableAttr(), getResult().getType(), symbolTable);
}
LogicalResult VariableStoreOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getVariableAttr(), getValue().getType(), symbolTable);
}

static LogicalResult verifyElement(Operation *op, SequenceType sequence, Type type) {
  if (!areCompatibleTypes(sequence.getElementType(), type))
    return op->emitOpError() << "expects tensors of the sequence's element type: want '" << sequence.getElementType()
                             << "', got '" << type << "'";
  return success();
}

LogicalResult SequenceConstructOp::verify() {
  for (Value input : getInputs())
    if (failed(verifyElement(*this, getResult().getType(), input.getType()))) // C1
      return failure();
  return success();
}
LogicalResult SequenceInsertOp::verify() {
  if (!areCompatibleTypes(getSequence().getType(), getResult().getType()))
    return emitOpError() << "expects a result of the sequence's type: want '" << getSequence().getType() << "', got '"
                         << getResult().getType() << "'";
  return verifyElement(*this, getSequence().getType(), getValue().getType()); // C1
}
LogicalResult SequenceAtOp::verify() {
  return verifyElement(*this, getSequence().getType(), getResult().getType()); // C1
}

LogicalResult FusionOp::verify() {
  Block &body = getBody().front();
  if (!areCompatibleTypes(TypeRange(getInputs()), body.getArgumentTypes())) // C1
    return emitOpError() << "expects the region's arguments to have the types of the operands";
  return verifyYield(*this, body, getResultTypes(), "the region");
}

LogicalResult KernelOp::verify() {
  SetVector<StringAttr> named;
  auto collect = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (DimAttr dim : getDims(tensor))
        if (dim)
          dim.collectSymbols(named);
  };
  getBody().walk([&](Block *block) {
    for (BlockArgument argument : block->getArguments())
      collect(argument.getType());
    for (Operation &op : *block)
      for (Type type : op.getResultTypes())
        collect(type);
  });
  for (StringAttr name : named)
    if (!llvm::is_contained(getSymbols(), name)) // C1
      return emitOpError() << "expects every symbol in 'symbols', got '" << name.getValue() << "' in the body only";
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel = symbolTable.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel) // C1
    return emitOpError() << "expects a kernel '" << getKernel() << "', there is none";
  Block &body = kernel.getBody().front();
  if (!areCompatibleTypes(TypeRange(getInputs()), body.getArgumentTypes()) ||
      !areCompatibleTypes(getResultTypes(), body.getTerminator()->getOperandTypes())) // C1
    return emitOpError() << "expects the operands and results of kernel '" << getKernel() << "'";
  if (getSymbols().size() != kernel.getSymbols().size()) // C1
    return emitOpError() << "expects one value for each symbol of kernel '" << getKernel() << "': want "
                         << kernel.getSymbols().size() << ", got " << getSymbols().size();
  return success();
}

} // namespace vx
