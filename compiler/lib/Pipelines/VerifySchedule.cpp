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
                      << describeSource(op->getLoc()) << " after one";
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
                          << " after the first command that writes result " << pair.result
                          << ", which may be its memory, got '" << op->getName() << "' of "
                          << describeSource(op->getLoc());
          signalPassFailure();
        }
        if (llvm::is_contained(vxrt::getWrittenBuffers(op), result))
          first = op;
      });
    }
  }

  /// What the commands so far, of any path to here, may have done.
  struct Progress {
    bool writes = false;      // to a variable, in this call or in this iteration of a loop that commits
    bool mayBeFaulty = false; // a kernel may have reported a fault that nothing has looked for

    void join(const Progress &other) {
      writes |= other.writes;
      mayBeFaulty |= other.mayBeFaulty;
    }
  };

  /// A call that fails changes no variable, and no input that a result may lie in: what may refuse it stands before the
  /// first command that writes one, and where a kernel may have reported a fault that nothing has looked for yet, only
  /// guarded kernels write.
  void checkBeforeWrites(Operation *program) {
    reported.clear();
    kept.clear();
    if (auto schedule = dyn_cast<vxrt::ProgramOp>(program))
      for (vxrt::AliasPair pair : vxrt::getAliases(schedule))
        kept.insert(vxrt::getResult(schedule, pair.result));
    for (Region &region : program->getRegions())
      for (Block &block : region) {
        Progress progress;
        check(block, progress);
      }
  }

  void check(Block &block, Progress &progress) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<vxrt::WhileOp>(op)) {
        checkLoop(loop, progress);
      } else if (auto branch = dyn_cast<vxrt::IfOp>(op)) {
        Progress other = progress;
        check(branch.getThenRegion().front(), progress);
        check(branch.getElseRegion().front(), other);
        progress.join(other);
      } else if (auto segment = dyn_cast<vxrt::SegmentOp>(op)) {
        check(segment.getBody().front(), progress);
      } else {
        checkOp(&op, progress);
      }
    }
  }

  /// An iteration comes behind the one before it.
  void checkLoop(vxrt::WhileOp loop, Progress &progress) {
    Block &body = loop.getBody().front();
    if (!loop.getCommits()) {
      Progress none = progress;
      for (int round = 0; round < 2; ++round)
        check(body, progress);
      progress.join(none);
      return;
    }
    if (progress.mayBeFaulty)
      report(loop, Twine("after 'schedule' a loop that commits begins with no fault to be looked for, got '") +
                       loop->getName().getStringRef() + "' of " + describeSource(loop.getLoc()));
    Progress iteration{progress.writes, false};
    check(body, iteration);
    if (iteration.mayBeFaulty)
      report(loop, Twine("after 'schedule' an iteration that commits ends with no fault to be looked for, got '") +
                       loop->getName().getStringRef() + "' of " + describeSource(loop.getLoc()));
    progress.mayBeFaulty = false;
  }

  void checkOp(Operation *op, Progress &progress) {
    // What was written before a look for faults was so by guarded kernels, or without any.
    bool writesHere = vxrt::writesVariable(op) || writesKept(op),
         isCheck = isa<vxrt::CheckFaultsOp, vxrt::ReadI64Op>(op);
    if (isCheck)
      progress.mayBeFaulty = false;
    if (writesHere && progress.mayBeFaulty && !op->hasAttr(kGuardedAttr))
      return report(op, Twine("after 'schedule' only guarded kernels write a variable or the memory of an input "
                              "where a fault may have been reported, got '") +
                            op->getName().getStringRef() + "' of " + describeSource(op->getLoc()));
    progress.writes |= writesHere;
    progress.mayBeFaulty |= op->hasAttr(kFaultSitesAttr);
    if (progress.writes && !isCheck && mayFailCall(op))
      report(op, Twine("after 'schedule' nothing may fail a call from the first command on that writes a variable or "
                       "the memory of an input, got '") +
                     op->getName().getStringRef() + "' of " + describeSource(op->getLoc()));
  }

  /// Once for each op: a loop is looked at twice.
  void report(Operation *op, const Twine &message) {
    if (reported.insert(op).second)
      op->emitError(message);
    signalPassFailure();
  }

  /// A copy of an input to its own memory is nothing.
  bool writesKept(Operation *op) const {
    return isa<vxrt::DispatchOp>(op) &&
           llvm::any_of(vxrt::getWrittenBuffers(op), [&](Value buffer) { return kept.contains(buffer); });
  }

  llvm::SmallPtrSet<Operation *, 4> reported;
  llvm::DenseSet<Value> kept; // results that may be the memory of an input
};

} // namespace
} // namespace vx
