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
      if (auto program = dyn_cast<vxrt::ProgramOp>(top))
        checkAliases(program);
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

  /// An input and a result that may be the same memory: what reads the input stands before the first command that
  /// writes the result. That may be the one that reads it last, and then it is a copy, or reads each element before it
  /// writes it.
  void checkAliases(vxrt::ProgramOp program) {
    for (vxrt::AliasPair pair : vxrt::getAliases(program)) {
      Value input = vxrt::getInput(program, pair.input), result = vxrt::getResult(program, pair.result);
      Operation *first = nullptr;
      program.walk<WalkOrder::PreOrder>([&](Operation *op) {
        bool readsInput = llvm::is_contained(op->getOperands(), input);
        if (first && readsInput) {
          op->emitError() << "after 'schedule' nothing reads input " << pair.input
                          << " behind the first command that writes result " << pair.result
                          << ", which may be its memory, got '" << op->getName() << "' of "
                          << describeSource(op->getLoc());
          signalPassFailure();
        }
        if (llvm::is_contained(vxrt::getWrittenBuffers(op), result))
          first = op;
      });
    }
  }

  /// A call that fails changes no variable, and no input that a result may lie in: what may refuse it stands before the
  /// first command that writes one, and where a kernel may have reported a fault that nothing has looked for yet, only
  /// guarded kernels write.
  void checkBeforeWrites(Operation *program) {
    llvm::DenseSet<Value> kept; // results that may be the memory of an input
    if (auto schedule = dyn_cast<vxrt::ProgramOp>(program))
      for (vxrt::AliasPair pair : vxrt::getAliases(schedule))
        kept.insert(vxrt::getResult(schedule, pair.result));
    // A copy of the input to its own memory is nothing.
    auto writesKept = [&](Operation *op) {
      return isa<vxrt::DispatchOp>(op) &&
             llvm::any_of(vxrt::getWrittenBuffers(op), [&](Value buffer) { return kept.contains(buffer); });
    };
    bool writes = false, mayBeFaulty = false;
    program->walk<WalkOrder::PreOrder>([&](Operation *op) {
      bool writesHere = vxrt::writesVariable(op) || writesKept(op), isCheck = isa<vxrt::CheckFaultsOp>(op);
      if (isCheck || isa<vxrt::ReadI64Op>(op))
        mayBeFaulty = false;
      if (writesHere && mayBeFaulty && !op->hasAttr(kGuardedAttr)) {
        op->emitError() << "after 'schedule' only guarded kernels write a variable or the memory of an input where a "
                        << "fault may have been reported, got '" << op->getName() << "' of "
                        << describeSource(op->getLoc());
        return signalPassFailure();
      }
      writes |= writesHere;
      mayBeFaulty |= op->hasAttr(kFaultSitesAttr);
      // What was written before a check was so by guarded kernels.
      if (!writes || isCheck || !mayFailCall(op))
        return;
      op->emitError()
          << "after 'schedule' nothing may fail a call from the first command on that writes a variable or the "
          << "memory of an input, got '" << op->getName() << "' of " << describeSource(op->getLoc());
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace vx
