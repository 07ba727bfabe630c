#include "Productions.h"

#include "Lifetimes.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

static KernelOp getKernel(vxrt::DispatchOp dispatch) {
  return SymbolTable::lookupNearestSymbolFrom<KernelOp>(dispatch, dispatch.getKernelAttr());
}

bool updatesBuffer(vxrt::DispatchOp dispatch, Value buffer) {
  KernelOp kernel = getKernel(dispatch);
  for (auto [number, output] : llvm::enumerate(dispatch.getOutputs()))
    if (output == buffer)
      return kernel && getUpdatedOperand(kernel, number);
  return false;
}

bool Production::contains(Operation *op) const {
  return llvm::any_of(kernels, [&](vxrt::DispatchOp kernel) { return kernel == op; });
}

bool isBefore(Operation *a, Operation *b) {
  Operation *aSegment = a->getParentOp(), *bSegment = b->getParentOp();
  return aSegment == bSegment ? a->isBeforeInBlock(b) : aSegment->isBeforeInBlock(bSegment);
}

Production findProduction(Value value, Block &block, llvm::function_ref<bool(Value)> isOld, Operation *holder) {
  if (!value.getDefiningOp<vxrt::AllocateOp>())
    return {};
  SetVector<Operation *> writers;
  for (Operation *user : value.getUsers()) {
    if (user == holder)
      continue;
    if (!isBriefUse(user))
      return {};
    if (llvm::is_contained(vxrt::getWrittenBuffers(user), value))
      writers.insert(user);
  }
  Production production;
  SmallVector<Operation *> inOrder = writers.takeVector();
  if (llvm::any_of(inOrder, [&](Operation *writer) { return writer->getParentOp()->getBlock() != &block; }))
    return {};
  llvm::sort(inOrder, isBefore);
  for (Operation *writer : inOrder) {
    auto kernel = dyn_cast<vxrt::DispatchOp>(writer);
    auto copy = dyn_cast<vxrt::CopyOp>(writer);
    if (copy && writer == inOrder.front() && isOld(copy.getSource()))
      production.copied = copy;
    else if (kernel && (production.copied ? updatesBuffer(kernel, value) : inOrder.size() == 1))
      production.kernels.push_back(kernel);
    else
      return {};
  }
  return production;
}

bool mayOverwrite(OpOperand &use, Value output) {
  auto dispatch = cast<vxrt::DispatchOp>(use.getOwner());
  KernelOp kernel = getKernel(dispatch);
  int64_t operand = int64_t(use.getOperandNumber()) - int64_t(dispatch.getInputs().getBeginOperandIndex());
  return kernel && llvm::any_of(getInPlacePairs(kernel), [&](InPlacePair pair) {
           return pair.operand == operand && dispatch.getOutputs()[pair.result] == output;
         });
}

} // namespace vx
