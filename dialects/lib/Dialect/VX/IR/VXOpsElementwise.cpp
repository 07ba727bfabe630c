#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsElementwise.cpp.inc"

namespace vx {

LogicalResult inferElementwise(std::optional<Location> location, ValueRange operands, Type elementType,
                               SmallVectorImpl<Type> &types) {
  auto first = cast<RankedTensorType>(operands[0].getType());
  SmallVector<DimAttr> dims = getDims(first);
  for (Value operand : operands.drop_front()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getRank() != first.getRank())
      return emitOptionalError(location, "expects operands of one shape: want ", first, ", got ", type);
    for (auto [index, dim] : llvm::enumerate(getDims(type))) {
      if (!mayBeEqual(dims[index], dim))
        return emitOptionalError(location, "expects operands of one shape: want ", first, ", got ", type);
      // The best-known size wins: a constant before an expression before nothing.
      if (dim && (!dims[index] || (dim.asConstant() && !dims[index].asConstant())))
        dims[index] = dim;
    }
  }
  types.push_back(getTensorType(dims, elementType ? elementType : first.getElementType()));
  return success();
}

LogicalResult OpTrait::verifyElementwise(Operation *op) {
  auto first = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto check = [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!first || !tensor)
      return success(); // the operand constraints say so
    bool compatible = tensor.getRank() == first.getRank();
    for (int64_t i = 0; compatible && i < first.getRank(); ++i)
      compatible = mayBeEqual(getDim(first, i), getDim(tensor, i));
    if (!compatible)
      return op->emitOpError() << "expects operands and results of one shape: want " << first << ", got " << tensor;
    return success();
  };
  for (Type type : op->getOperandTypes())
    if (failed(check(type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  return success();
}

void OpTrait::collectElementwise(Operation *op, ConstraintCollector &collector) {
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    collector.wantEqualShapes(op->getOperand(0).getType(), type);
}

// C2
LogicalResult CastOp::verify() {
  for (Type type : {getInput().getType(), getResult().getType()})
    if (isa<StringType>(cast<TensorType>(type).getElementType()))
      return emitOpError() << "expects numbers or bools on both sides, got " << getInput().getType() << " to "
                           << getResult().getType();
  return success();
}

void registerElementwiseOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsElementwise.cpp.inc"
      >(dialect);
}

} // namespace vx
