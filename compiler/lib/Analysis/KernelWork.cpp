#include "vx/Analysis/KernelWork.h"

#include "vx/Dialect/VX/IR/KernelFacts.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace vx {

static DimAttr constant(Operation *op, int64_t value) { return DimAttr::constant(op->getContext(), value); }

static DimAttr getBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  int64_t bits = element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
  DimAttr count = getNumElements(tensor);
  if (bits % 8 == 0)
    return count * (bits / 8);
  return DimAttr::ceilDiv(count * bits, DimAttr::constant(type.getContext(), 8));
}

/// The part of a kernel's input that its ops read.
static DimAttr getBytesRead(BlockArgument argument) {
  if (!argument.use_empty() && llvm::all_of(argument.getUses(), isUpdated))
    return constant(argument.getOwner()->getParentOp(), 0);
  auto takesPart = [](OpOperand &use) {
    return isa<SliceOp>(use.getOwner()) || (isa<GatherOp>(use.getOwner()) && use.getOperandNumber() == 0);
  };
  if (!llvm::all_of(argument.getUses(), takesPart))
    return getBytes(argument.getType());
  DimAttr bytes = DimAttr::constant(argument.getContext(), 0);
  for (Operation *user : argument.getUsers())
    bytes = bytes + getBytes(user->getResult(0).getType());
  return bytes;
}

KernelWork countWork(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  KernelWork work{constant(kernel, 0), constant(kernel, 0)};
  for (Operation &op : body.without_terminator())
    if (auto counted = dyn_cast<WorkOpInterface>(op))
      work.flops = work.flops + counted.getFlops();
  for (BlockArgument argument : body.getArguments())
    work.bytes = work.bytes + getBytesRead(argument);
  for (auto [number, result] : llvm::enumerate(body.getTerminator()->getOperands())) {
    UpdateOpInterface update = getUpdate(body, number);
    work.bytes = work.bytes + getBytes(update ? update.getUpdates().getType() : result.getType());
  }
  return work;
}

} // namespace vx
