// vx-verify-schedule: what holds after the `schedule` phase.
#include "vx/Dialect/VX/IR/KernelFacts.h"
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
      checkInputReads(&top);
    }
  }

  /// What the caller gave is read before any command may write over it.
  void checkInputReads(Operation *program) {
    bool hasCommands = false;
    program->walk<WalkOrder::PreOrder>([&](Operation *op) {
      hasCommands |= isa<vxrt::SegmentOp>(op);
      if (!hasCommands || !isa<vxrt::ReadInputOp>(op))
        return;
      op->emitError() << "after 'schedule' inputs are read before the first command, got '" << op->getName() << "' of "
                      << describeSource(op->getLoc()) << " behind one";
      signalPassFailure();
    });
  }

  /// A call that fails changes no variable: what may refuse it stands before the first command that writes one, and
  /// where a kernel may have reported a fault that nothing has looked for yet, only guarded kernels write.
  void checkBeforeWrites(Operation *program) {
    bool writes = false, mayBeFaulty = false;
    program->walk<WalkOrder::PreOrder>([&](Operation *op) {
      bool writesHere = vxrt::writesVariable(op), isCheck = isa<vxrt::CheckFaultsOp>(op);
      if (isCheck || isa<vxrt::ReadI64Op>(op))
        mayBeFaulty = false;
      if (writesHere && mayBeFaulty && !op->hasAttr(kGuardedAttr)) {
        op->emitError() << "after 'schedule' only guarded kernels write a variable where a fault may have been "
                        << "reported, got '" << op->getName() << "' of " << describeSource(op->getLoc());
        return signalPassFailure();
      }
      writes |= writesHere;
      mayBeFaulty |= op->hasAttr(kFaultSitesAttr);
      // What was written before a check was so by guarded kernels.
      if (!writes || isCheck || !mayFailCall(op))
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
