// vx-verify-schedule: what holds after the `schedule` phase.
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "vx/Memory/CallFailures.h"
#include "vx/Pipelines/Pipelines.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "vx/Pipelines/Passes.h.inc"

namespace {

struct VerifySchedulePass : impl::VerifySchedulePassBase<VerifySchedulePass> {
  void runOnOperation() override {
    for (Operation &top : getOperation().getOps()) {
      if (isa<KernelOp, SymbolOp, VariableOp>(top))
        continue;
      top.walk([&](Operation *op) {
        if (!isa<vxrt::VXRTDialect>(op->getDialect())) {
          op->emitError() << "after 'schedule' programs hold vxrt ops only, got '" << op->getName() << "' of "
                          << describeSource(op->getLoc());
          signalPassFailure();
        }
      });
      checkBeforeWrites(&top);
    }
  }

  /// A call that fails changes no variable: what may refuse it stands before the first command that writes one.
  void checkBeforeWrites(Operation *program) {
    bool writes = false;
    program->walk<WalkOrder::PreOrder>([&](Operation *op) {
      writes |= vxrt::writesVariable(op);
      if (!writes || !mayFailCall(op))
        return;
      op->emitError()
          << "after 'schedule' nothing may fail a call from the first command on that writes a variable, got '"
          << op->getName() << "' of " << describeSource(op->getLoc());
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace vx
