#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsIndexing.cpp.inc"

namespace vx {

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank()) // C1
    return emitOptionalError(location, "'vx.gather' op expects 'axis' to be a dimension of 'input': want 0 to ",
                             input.getRank() - 1, ", got ", axis);
  int64_t members = adaptor.getMembers().value_or(1);
  if (members < 1 || members > input.getRank() - axis) // C2
    return emitOptionalError(location, "'vx.gather' op expects 'members' to count dimensions of 'input': want 1 to ",
                             input.getRank() - axis, ", got ", members);
  SmallVector<DimAttr> inputDims = getDims(input), indexDims = getDims(indices), dims;
  if (adaptor.getMembers()) {
    if (indexDims.empty() || indexDims.back() != DimAttr::constant(input.getContext(), members)) // C2
      return emitOptionalError(location, "'vx.gather' op expects tuples of ", members, " indices, got ", indices);
    indexDims.pop_back();
  }
  dims.append(inputDims.begin(), inputDims.begin() + axis);
  llvm::append_range(dims, indexDims);
  dims.append(inputDims.begin() + axis + members, inputDims.end());
  types.push_back(getTensorType(dims, input.getElementType()));
  return success();
}

LogicalResult NonzeroOp::verify() {
  RankedTensorType type = getResult().getType();
  int64_t rows = getInput().getType().getRank();
  if (type.getRank() != 2 || (!type.isDynamicDim(0) && type.getDimSize(0) != rows)) // C1
    return emitOpError() << "expects a result of rank 2 with one row for each of the " << rows
                         << " dimensions of 'input', got " << type;
  return success();
}

void NonzeroOp::collectConstraints(ConstraintCollector &collector) {
  DimAttr rows = DimAttr::constant(getContext(), getInput().getType().getRank());
  collector.wantEqual(getDim(getResult().getType(), 0), rows); // C1
}

void registerIndexingOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsIndexing.cpp.inc"
      >(dialect);
}

} // namespace vx
