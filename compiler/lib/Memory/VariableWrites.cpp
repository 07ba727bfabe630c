#include "vx/Memory/VariableWrites.h"

#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

namespace vx {

bool writesVariable(Operation *command) {
  auto isVariable = [](Value buffer) { return isa_and_present<vxrt::VariableOp>(buffer.getDefiningOp()); };
  if (auto copy = dyn_cast<vxrt::CopyOp>(command))
    return isVariable(copy.getTarget());
  auto dispatch = dyn_cast<vxrt::DispatchOp>(command);
  return dispatch && llvm::any_of(dispatch.getOutputs(), isVariable);
}

bool mayFailCall(Operation *op) {
  // Numbers that follow from each other may be too large for 64 bits, and memory may be short.
  return !isa<vxrt::ConstOp, vxrt::VariableOp, vxrt::ConstantOp, vxrt::DerivedOp, vxrt::ArenaSliceOp, vxrt::SegmentOp,
              vxrt::CopyOp, vxrt::ReturnOp, vxrt::YieldOp>(op) &&
         (!isa<vxrt::DispatchOp>(op) || op->hasAttr(kFaultSitesAttr));
}

} // namespace vx
