// Lets loops update variables where the variables lie.

#include "Lifetimes.h"
#include "Productions.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Memory/CallFailures.h"
#include "vx/Memory/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_UPDATELOOPSINPLACEPASS
#include "vx/Memory/Passes.h.inc"

namespace {

/// A carried value that begins as a variable's and ends as its new one.
struct Slot {
  unsigned number = 0;
  vxrt::VariableOp variable;
  BlockArgument old;
  vxrt::AllocateOp next;
  Production production;
  SmallVector<vxrt::CopyOp> stores; // of the result, the last one to the variable
};

class LoopUpdater {
public:
  LoopUpdater(vxrt::ProgramOp program, vxrt::WhileOp loop, const VariablePlaces &places)
      : loop(loop), places(places), block(program.getBody().front()), body(loop.getBody().front()) {}

  void run() {
    SmallVector<Slot> slots;
    for (unsigned number = 0; number < loop.getInits().size(); ++number)
      if (std::optional<Slot> slot = findSlot(number))
        slots.push_back(*slot);
    if (slots.empty() || !leavesNothingToFail(slots))
      return;
    for (Operation *op : hoisted)
      op->moveBefore(loop);
    const bool isBehindFaults = mayFaultBefore();
    for (Slot &slot : slots)
      update(slot, isBehindFaults);
    dropSlots(slots);
  }

private:
  VariablePlace getPlace(vxrt::VariableOp name) const { return places.lookup(name.getVariableAttr().getAttr()); }

  bool isNameOf(Value value, const VariablePlace &place) const {
    auto name = value.getDefiningOp<vxrt::VariableOp>();
    return name && getPlace(name) == place;
  }

  std::optional<Slot> findSlot(unsigned number) {
    Slot slot;
    slot.number = number;
    slot.variable = loop.getInits()[number].getDefiningOp<vxrt::VariableOp>();
    if (!slot.variable)
      return std::nullopt;
    slot.old = body.getArgument(number);
    slot.next = body.getTerminator()->getOperand(number + 1).getDefiningOp<vxrt::AllocateOp>();
    if (!slot.next || slot.next->getBlock() != &body || !findStores(slot) || !isNamedHereAlone(slot))
      return std::nullopt;
    if (llvm::count(body.getTerminator()->getOperands(), slot.next.getResult()) != 1)
      return std::nullopt;
    slot.production =
        findProduction(slot.next, body, [&](Value value) { return value == slot.old; }, body.getTerminator());
    if (slot.production.kernels.empty() || !readsOldBefore(slot))
      return std::nullopt;
    return slot;
  }

  /// The result goes to the variable, and to those that read it where it lies.
  bool findStores(Slot &slot) {
    const VariablePlace place = getPlace(slot.variable);
    Value result = loop.getResult(slot.number);
    for (Operation *user : result.getUsers()) {
      if (!isBriefUse(user) || llvm::is_contained(vxrt::getWrittenBuffers(user), result))
        return false;
      auto copy = dyn_cast<vxrt::CopyOp>(user);
      if (!copy || !slot.stores.empty())
        continue;
      if (isNameOf(copy.getTarget(), place)) {
        slot.stores = {copy};
      } else if (auto fresh = copy.getTarget().getDefiningOp<vxrt::AllocateOp>();
                 fresh && fresh.getResult().hasNUses(2)) {
        // Behind a copy of it, which no other store changes.
        for (Operation *reader : fresh->getUsers())
          if (auto store = dyn_cast<vxrt::CopyOp>(reader);
              store && store != copy && store.getSource() == fresh && isNameOf(store.getTarget(), place))
            slot.stores = {copy, store};
      }
    }
    return !slot.stores.empty();
  }

  /// Nothing but the loop and the store uses the variable's bytes from the loop on, and nothing else writes them.
  bool isNamedHereAlone(Slot &slot) {
    const VariablePlace place = getPlace(slot.variable);
    WalkResult result = loop->getParentOfType<vxrt::ProgramOp>().walk([&](vxrt::VariableOp name) {
      if (!getPlace(name).overlaps(place))
        return WalkResult::advance();
      for (OpOperand &use : name->getUses()) {
        Operation *user = use.getOwner();
        if (user == slot.stores.back() ||
            (user == loop && use.get() == slot.variable.getResult() && llvm::count(loop.getInits(), use.get()) == 1))
          continue;
        Operation *step = block.findAncestorOpInBlock(*user);
        if (!isBriefUse(user) || llvm::is_contained(vxrt::getWrittenBuffers(user), name.getResult()) || !step ||
            !step->isBeforeInBlock(loop))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return !result.wasInterrupted();
  }

  /// What reads the old value has done so when the first kernel writes the new one.
  bool readsOldBefore(Slot &slot) {
    vxrt::DispatchOp first = slot.production.kernels.front();
    unsigned ownReads = 0;
    for (OpOperand &use : slot.old.getUses()) {
      Operation *user = use.getOwner();
      if (user == slot.production.copied)
        continue;
      if (slot.production.contains(user)) {
        if (++ownReads > 1 || !mayOverwrite(use, slot.next.getResult()))
          return false;
        continue;
      }
      Operation *step = body.findAncestorOpInBlock(*user);
      bool isEarlier = step == first->getParentOp()
                           ? user->getBlock() == first->getBlock() && user->isBeforeInBlock(first)
                           : step->isBeforeInBlock(first->getParentOp());
      if (!isBriefUse(user) || !isEarlier)
        return false;
    }
    return true;
  }

  /// A call that fails changes no variable: from the loop on nothing may fail it that cannot go to before the loop. A
  /// wait is no such thing: guarded kernels have written nothing where it finds a fault.
  bool leavesNothingToFail(ArrayRef<Slot> slots) {
    auto isWait = [](Operation *op) { return isa<vxrt::CheckFaultsOp, vxrt::ReadI64Op>(op); };
    auto check = [&](Operation *op) {
      bool isGone = llvm::any_of(slots, [&](const Slot &slot) { return op == slot.next; });
      if (isGone || isWait(op) || isa<vxrt::WhileOp, vxrt::IfOp>(op) || !mayFailCall(op))
        return WalkResult::advance();
      return WalkResult(success(hoist(op)));
    };
    if (loop->walk([&](Operation *op) { return op == loop ? WalkResult::advance() : check(op); }).wasInterrupted())
      return false;
    for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
      if (op->walk(check).wasInterrupted())
        return false;
    return true;
  }

  /// True where the op may stand before the loop, and will.
  bool hoist(Operation *op) {
    if (hoisted.contains(op) || (op->getBlock() == &block && op->isBeforeInBlock(loop)))
      return true;
    if (op->getBlock() != &block && op->getBlock() != &body)
      return false;
    // One place for all iterations, where nothing keeps it from one to the next.
    bool isMemory = isa<vxrt::AllocateOp>(op) && (op->getBlock() == &block || llvm::all_of(op->getUsers(), isBriefUse));
    if (!isMemory && !isa<vxrt::ConstOp, vxrt::CalcOp, vxrt::SelectOp>(op))
      return false;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer ? !hoist(producer) : operand.getParentBlock() != &block)
        return false;
    }
    hoisted.insert(op);
    return true;
  }

  bool mayFaultBefore() {
    bool mayBeFaulty = false;
    for (Operation &op : block) {
      if (&op == loop)
        break;
      op.walk([&](Operation *inner) { mayBeFaulty |= inner->hasAttr(kFaultSitesAttr); });
      if (isa<vxrt::CheckFaultsOp, vxrt::ReadI64Op>(op))
        mayBeFaulty = false;
    }
    return mayBeFaulty;
  }

  void update(Slot &slot, bool isBehindFaults) {
    slot.variable->moveBefore(&block, block.begin());
    if (isBehindFaults)
      for (vxrt::DispatchOp kernel : slot.production.kernels)
        kernel->setAttr(kGuardedAttr, UnitAttr::get(kernel.getContext()));
    if (slot.production.copied)
      slot.production.copied.erase();
    for (Value name : {Value(slot.old), Value(slot.next), Value(loop.getResult(slot.number))})
      name.replaceAllUsesWith(slot.variable);
    vxrt::CopyOp first = slot.stores.front();
    auto fresh = slot.stores.size() > 1 ? first.getTarget().getDefiningOp<vxrt::AllocateOp>() : vxrt::AllocateOp();
    for (vxrt::CopyOp store : llvm::reverse(slot.stores))
      store.erase();
    if (fresh)
      fresh.erase();
    slot.next.erase();
  }

  /// What is carried no more: the loop names the variables itself.
  void dropSlots(ArrayRef<Slot> slots) {
    llvm::BitVector dropped(loop.getInits().size());
    for (const Slot &slot : slots)
      dropped.set(slot.number);
    SmallVector<Value> inits, kept;
    for (auto [number, init] : llvm::enumerate(loop.getInits()))
      if (!dropped[number]) {
        inits.push_back(init);
        kept.push_back(loop.getResult(number));
      }
    OpBuilder builder(loop);
    auto smaller = vxrt::WhileOp::create(builder, loop.getLoc(), TypeRange(ValueRange(inits)), loop.getCondition(),
                                         inits, loop.getCommitsAttr());
    smaller.getBody().takeBody(loop.getBody());
    llvm::BitVector yielded(dropped.size() + 1);
    for (unsigned number : dropped.set_bits())
      yielded.set(number + 1);
    body.getTerminator()->eraseOperands(yielded);
    body.eraseArguments(dropped);
    for (auto [before, after] : llvm::zip_equal(kept, smaller.getResults()))
      before.replaceAllUsesWith(after);
    loop.erase();
  }

  vxrt::WhileOp loop;
  const VariablePlaces &places;
  Block &block;
  Block &body;
  SetVector<Operation *> hoisted; // what they read first
};

struct UpdateLoopsInPlacePass : impl::UpdateLoopsInPlacePassBase<UpdateLoopsInPlacePass> {
  void runOnOperation() override {
    VariablePlaces places(getOperation()->getParentOfType<ModuleOp>());
    Block &block = getOperation().getBody().front();
    for (auto loop : llvm::make_early_inc_range(block.getOps<vxrt::WhileOp>()))
      if (!loop.getCommits())
        LoopUpdater(getOperation(), loop, places).run();
    for (auto segment : llvm::make_early_inc_range(block.getOps<vxrt::SegmentOp>()))
      if (segment.getBody().front().empty())
        segment.erase();
  }
};

} // namespace
} // namespace vx
