#include "vx/Memory/CallFailures.h"

#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

namespace vx {

bool mayFailCall(Operation *op) {
  // Numbers that follow from each other may be too large for 64 bits, and memory may be short.
  return !isa<vxrt::ConstOp, vxrt::VariableOp, vxrt::ConstantOp, vxrt::DerivedOp, vxrt::ArenaSliceOp, vxrt::SegmentOp,
              vxrt::CopyOp, vxrt::ReturnOp, vxrt::YieldOp>(op) &&
         (!isa<vxrt::DispatchOp>(op) || op->hasAttr(kFaultSitesAttr));
}

} // namespace vx
