// Lets kernels write the new value of a variable where the variable lies.

#include "Lifetimes.h"
#include "Productions.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Memory/CallFailures.h"
#include "vx/Memory/Passes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_WRITEVARIABLESINPLACEPASS
#include "vx/Memory/Passes.h.inc"

namespace {

/// The ops of a block in the order in which they run, a segment's commands in its place.
class Steps {
public:
  explicit Steps(Block &block) : block(block) { number(); }

  /// Of an op in a loop or branch, the step of that.
  int64_t getPosition(Operation *op) const {
    for (; op; op = op->getParentOp())
      if (auto it = positions.find(op); it != positions.end())
        return it->second;
    llvm_unreachable("every op of a program is in its block");
  }

  ArrayRef<Operation *> get() const { return steps; }

  /// Moves a command so that it runs next after step `after`.
  void moveBehind(Operation *command, int64_t after) {
    Operation *next = nullptr;
    for (Operation *step : ArrayRef(steps).drop_front(after + 1))
      if (step->getParentOfType<vxrt::SegmentOp>()) {
        next = step;
        break;
      }
    assert(next && next != command && "what is stored is stored later");
    command->moveBefore(next);
    number();
  }

  void number() {
    steps.clear();
    positions.clear();
    for (Operation &op : block) {
      if (auto segment = dyn_cast<vxrt::SegmentOp>(op))
        for (Operation &command : segment.getBody().front())
          add(&command);
      else
        add(&op);
    }
  }

private:
  void add(Operation *op) {
    positions[op] = static_cast<int64_t>(steps.size());
    steps.push_back(op);
  }

  Block &block;
  SmallVector<Operation *> steps;
  llvm::DenseMap<Operation *, int64_t> positions;
};

class VariableWriter {
public:
  VariableWriter(vxrt::ProgramOp program, Block &block, const VariablePlaces &places)
      : program(program), block(block), places(places), steps(block) {}

  void run() {
    auto writes = [](Operation *op) { return WalkResult(failure(vxrt::writesVariable(op))); };
    if (!block.getParentOp()->walk(writes).wasInterrupted())
      return;
    dropNeedlessChecks();
    joinSegments();
    steps.number();
    SmallVector<vxrt::CopyOp> stores;
    for (Operation *step : steps.get())
      if (auto copy = dyn_cast<vxrt::CopyOp>(step); copy && vxrt::writesVariable(copy))
        stores.push_back(copy);
    vxrt::CheckFaultsOp check = findLastCheck();
    // The last producer first: one that has to wait for a check may hold up those that it reads.
    llvm::sort(stores, [&](vxrt::CopyOp a, vxrt::CopyOp b) { return getProducerStep(a) > getProducerStep(b); });
    bool hasCopies = false;
    for (vxrt::CopyOp store : stores)
      hasCopies |= !writeInPlace(store, check);
    if (check && !hasCopies) {
      // An iteration that is done is one without a fault; a call looks for them at its end.
      if (isIteration())
        check->moveBefore(block.getTerminator());
      else
        check.erase();
      joinSegments();
    }
    dropEmptySegments();
  }

private:
  bool isIteration() const { return isa<vxrt::WhileOp>(block.getParentOp()); }

  static bool isCommittingLoop(Operation *op) {
    auto loop = dyn_cast<vxrt::WhileOp>(op);
    return loop && loop.getCommits();
  }

  /// Without a kernel that may report a fault since the last check, there is nothing to wait for.
  void dropNeedlessChecks() {
    bool mayBeFaulty = false;
    for (Operation *step : steps.get()) {
      if (isCommittingLoop(step)) // it leaves none
        continue;
      step->walk([&](vxrt::DispatchOp dispatch) { mayBeFaulty |= dispatch->hasAttr(kFaultSitesAttr); });
      if (isa<vxrt::CheckFaultsOp>(step) && !mayBeFaulty)
        step->erase();
      else if (isa<vxrt::CheckFaultsOp, vxrt::ReadI64Op>(step))
        mayBeFaulty = false;
    }
    steps.number();
  }

  /// Segments with nothing between them but names of memory are one.
  void joinSegments() {
    vxrt::SegmentOp last;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto segment = dyn_cast<vxrt::SegmentOp>(op);
      if (last && segment) {
        Block &body = last.getBody().front();
        body.getOperations().splice(body.end(), segment.getBody().front().getOperations());
        segment.erase();
      } else if (segment) {
        last = segment;
      } else if (last && isa<vxrt::VariableOp, vxrt::ConstantOp, vxrt::DerivedOp, vxrt::ConstOp>(op)) {
        op.moveBefore(last);
      } else {
        last = nullptr;
      }
    }
  }

  void dropEmptySegments() {
    for (auto segment : llvm::make_early_inc_range(block.getOps<vxrt::SegmentOp>()))
      if (segment.getBody().front().empty())
        segment.erase();
  }

  /// The check that the stores of copies wait for; null where no kernel may have reported a fault by then.
  vxrt::CheckFaultsOp findLastCheck() {
    vxrt::CheckFaultsOp check;
    for (Operation *step : steps.get())
      if (auto faults = dyn_cast<vxrt::CheckFaultsOp>(step))
        check = faults;
      else if (isCommittingLoop(step))
        check = nullptr; // that one is the loop's
    return check;
  }

  VariablePlace getPlace(vxrt::VariableOp name) const { return places.lookup(name.getVariableAttr().getAttr()); }

  bool isOfVariable(Value value, vxrt::CopyOp store) {
    auto variable = value.getDefiningOp<vxrt::VariableOp>();
    return variable && getPlace(variable) == getPlace(store.getTarget().getDefiningOp<vxrt::VariableOp>());
  }

  Production getProduction(vxrt::CopyOp store) {
    return findProduction(store.getSource(), block, [&](Value value) { return isOfVariable(value, store); });
  }

  int64_t getProducerStep(vxrt::CopyOp store) {
    Production production = getProduction(store);
    return production.kernels.empty() ? -1 : steps.getPosition(production.kernels.front());
  }

  /// The names of memory that shares bytes with a variable.
  SmallVector<vxrt::VariableOp> getNames(const VariablePlace &place) {
    SmallVector<vxrt::VariableOp> names;
    program.walk([&](vxrt::VariableOp op) {
      if (getPlace(op).overlaps(place))
        names.push_back(op);
    });
    return names;
  }

  /// True where the value is written to the variable from now on, and the copy is gone. Only guarded kernels do that
  /// before `check`.
  bool writeInPlace(vxrt::CopyOp store, vxrt::CheckFaultsOp check) {
    Production production = getProduction(store);
    ArrayRef<vxrt::DispatchOp> producers = production.kernels;
    if (producers.empty() || llvm::any_of(producers, [](vxrt::DispatchOp producer) { return mayFailCall(producer); }))
      return false;
    Value value = store.getSource();
    auto target = store.getTarget().getDefiningOp<vxrt::VariableOp>();
    // The step behind which the old value is read no more and the call cannot fail any more.
    int64_t last = -1;
    unsigned ownReads = 0;
    const VariablePlace place = getPlace(target);
    for (vxrt::VariableOp name : getNames(place))
      for (OpOperand &use : name->getUses()) {
        Operation *user = use.getOwner();
        if (user == store || user == production.copied)
          continue;
        if (!isBriefUse(user))
          return false; // a loop or branch may give it another name
        if (!block.findAncestorOpInBlock(*user))
          continue; // before this loop, or behind it
        if (llvm::is_contained(vxrt::getWrittenBuffers(user), name.getResult()))
          return false; // the order of two stores of one byte stays
        if (production.contains(user)) {
          if (getPlace(name) != place || ++ownReads > 1 || !mayOverwrite(use, value))
            return false;
          continue;
        }
        last = std::max(last, steps.getPosition(user));
      }
    for (auto [position, step] : llvm::enumerate(steps.get()))
      if (step != check && mayFailCall(step))
        last = std::max(last, static_cast<int64_t>(position));
    // Who reads the new value reads the variable from now on, as long as it does so later.
    for (Operation *user : value.getUsers())
      if (user != production.copied && !production.contains(user) && steps.getPosition(user) <= last)
        return false;
    SmallVector<vxrt::DispatchOp> early;
    for (vxrt::DispatchOp producer : producers) {
      int64_t position = steps.getPosition(producer);
      if (position > last)
        break;
      early.push_back(producer);
      // Nobody has read another result of it by then.
      for (Value output : producer.getOutputs())
        for (Operation *user : output.getUsers())
          if (int64_t read = steps.getPosition(user); !production.contains(user) && read > position && read <= last)
            return false;
      // What it reads must still be there.
      for (Value input : producer.getInputs())
        if (auto other = input.getDefiningOp<vxrt::VariableOp>(); other && !getPlace(other).overlaps(place))
          for (int64_t between = position + 1; between <= last; ++between)
            if (writes(steps.get()[between], getPlace(other)))
              return false;
    }
    // Each goes to the step behind which all of them go, the last one first.
    if (!early.empty()) {
      Operation *behind = steps.get()[last];
      for (vxrt::DispatchOp producer : llvm::reverse(early))
        steps.moveBehind(producer, steps.getPosition(behind));
    }
    if (check)
      for (vxrt::DispatchOp producer : producers)
        producer->setAttr(kGuardedAttr, UnitAttr::get(program.getContext()));
    auto allocate = value.getDefiningOp<vxrt::AllocateOp>();
    target->moveBefore(&program.getBody().front(), program.getBody().front().begin());
    if (production.copied)
      production.copied.erase();
    value.replaceAllUsesWith(target.getResult());
    store.erase();
    allocate.erase();
    steps.number();
    return true;
  }

  bool writes(Operation *step, const VariablePlace &place) const {
    auto result = step->walk([&](Operation *op) {
      return WalkResult(failure(llvm::any_of(vxrt::getWrittenBuffers(op), [&](Value written) {
        auto name = written.getDefiningOp<vxrt::VariableOp>();
        return name && getPlace(name).overlaps(place);
      })));
    });
    return result.wasInterrupted();
  }

  vxrt::ProgramOp program;
  Block &block; // the program's, or that of a loop that commits
  const VariablePlaces &places;
  Steps steps;
};

struct WriteVariablesInPlacePass : impl::WriteVariablesInPlacePassBase<WriteVariablesInPlacePass> {
  void runOnOperation() override {
    VariablePlaces places(getOperation()->getParentOfType<ModuleOp>());
    Block &block = getOperation().getBody().front();
    for (auto loop : block.getOps<vxrt::WhileOp>())
      if (loop.getCommits())
        VariableWriter(getOperation(), loop.getBody().front(), places).run();
    VariableWriter(getOperation(), block, places).run();
  }
};

} // namespace
} // namespace vx
