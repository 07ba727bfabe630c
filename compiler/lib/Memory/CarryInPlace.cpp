// Gives what loops and branches carry one memory.

#include "Hoisting.h"
#include "Lifetimes.h"
#include "SharedMemory.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Memory/Expressions.h"
#include "vx/Memory/Passes.h"

#include "mlir/IR/Dominance.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CARRYINPLACEPASS
#include "vx/Memory/Passes.h.inc"

namespace {

bool isBuffer(Value value) { return isa<vxrt::BufferType>(value.getType()); }

/// A carried value of a loop, or a result of a branch.
struct CarriedSlot {
  Operation *op = nullptr;
  unsigned number = 0;

  /// What the regions give for it.
  SmallVector<Value, 2> getYielded() const {
    if (auto loop = dyn_cast<vxrt::WhileOp>(op))
      return {loop.getBody().front().getTerminator()->getOperand(number + 1)};
    auto branch = cast<vxrt::IfOp>(op);
    return {branch.getThenRegion().front().getTerminator()->getOperand(number),
            branch.getElseRegion().front().getTerminator()->getOperand(number)};
  }

  Value getResult() const { return op->getResult(number); }

  /// Null for a branch.
  Value getArgument() const {
    auto loop = dyn_cast<vxrt::WhileOp>(op);
    return loop ? Value(loop.getBody().getArgument(number)) : Value();
  }

  OpOperand &getInit() const { return cast<vxrt::WhileOp>(op).getInitsMutable()[number]; }
};

/// Values that are handed on to one another.
struct Web {
  SetVector<Value> values; // what loops and branches give and take, and fresh memory
  SmallVector<CarriedSlot> slots;
};

/// Which values that loops begin with are to be in the memory too.
enum class Joining { Everything, Carried, Nothing };

class Carrier {
public:
  Carrier(vxrt::ProgramOp program, const VariablePlaces &places) : program(program), places(places) {}

  void run() {
    while (carryOne(Joining::Everything) || carryOne(Joining::Carried) || carryOne(Joining::Nothing)) {
    }
    program.walk([](vxrt::SegmentOp segment) {
      if (segment.getBody().front().empty())
        segment.erase();
    });
  }

private:
  bool carryOne(Joining joining) {
    return llvm::any_of(collect(joining), [&](const Web &web) { return carry(web); });
  }

  SmallVector<Web> collect(Joining joining) {
    SmallVector<CarriedSlot> slots;
    program.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<vxrt::WhileOp, vxrt::IfOp>(op))
        for (Value result : op->getResults())
          if (isBuffer(result))
            slots.push_back({op, cast<OpResult>(result).getResultNumber()});
    });
    llvm::MapVector<Value, unsigned> ids;
    auto add = [&](Value value) { ids.try_emplace(value, unsigned(ids.size())); };
    for (CarriedSlot slot : slots) {
      add(slot.getResult());
      if (Value argument = slot.getArgument())
        add(argument);
    }
    auto addFresh = [&](Value value) {
      if (value.getDefiningOp<vxrt::AllocateOp>())
        add(value);
    };
    for (CarriedSlot slot : slots) {
      llvm::for_each(slot.getYielded(), addFresh);
      if (joining == Joining::Everything && slot.getArgument())
        addFresh(slot.getInit().get());
    }
    llvm::IntEqClasses classes(ids.size());
    auto join = [&](Value a, Value b) {
      if (ids.contains(a) && ids.contains(b))
        classes.join(ids[a], ids[b]);
    };
    for (CarriedSlot slot : slots) {
      for (Value value : slot.getYielded())
        join(slot.getResult(), value);
      if (Value argument = slot.getArgument()) {
        join(slot.getResult(), argument);
        if (Value init = slot.getInit().get();
            joining == Joining::Everything || (joining == Joining::Carried && !init.getDefiningOp<vxrt::AllocateOp>()))
          join(argument, init);
      }
    }
    classes.compress();
    SmallVector<Web> webs(classes.getNumClasses());
    for (auto [value, id] : ids)
      webs[classes[id]].values.insert(value);
    for (CarriedSlot slot : slots)
      webs[classes[ids[slot.getResult()]]].slots.push_back(slot);
    llvm::erase_if(webs, [&](const Web &web) { return !isWorthIt(web); });
    return webs;
  }

  bool isStore(vxrt::CopyOp copy) const { return copy.getTarget().getDefiningOp<vxrt::VariableOp>(); }

  bool isStored(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto copy = dyn_cast<vxrt::CopyOp>(user);
      return copy && copy.getSource() == value &&
             (isStore(copy) || (copy.getTarget().getDefiningOp<vxrt::AllocateOp>() &&
                                llvm::any_of(copy.getTarget().getUsers(), [&](Operation *next) {
                                  auto store = dyn_cast<vxrt::CopyOp>(next);
                                  return store && store.getSource() == copy.getTarget() && isStore(store);
                                })));
    });
  }

  /// A branch takes another's memory over for nothing; a copy of it pays where a variable is what it gives.
  bool isWorthIt(const Web &web) const {
    return llvm::any_of(web.values, [](Value value) { return bool(value.getDefiningOp<vxrt::AllocateOp>()); }) &&
           !web.slots.empty() &&
           (llvm::any_of(web.slots, [](CarriedSlot slot) { return isa<vxrt::WhileOp>(slot.op); }) ||
            llvm::any_of(web.values, [&](Value value) { return isStored(value); }));
  }

  bool isSame(Value a, Value b) const {
    auto aName = a.getDefiningOp<vxrt::VariableOp>(), bName = b.getDefiningOp<vxrt::VariableOp>();
    return a == b ||
           (aName && bName &&
            places.lookup(aName.getVariableAttr().getAttr()) == places.lookup(bName.getVariableAttr().getAttr()));
  }

  /// All have one size: only what loops and branches carry beside may change it.
  static bool hasFixedSizes(CarriedSlot slot) {
    auto isNumber = [](Value value) { return value.getType().isInteger(64); };
    return llvm::count_if(slot.op->getResults(), isNumber) <= (isa<vxrt::WhileOp>(slot.op) ? 1 : 0);
  }

  static Block *getCommonBlock(const Web &web) {
    Block *block = nullptr;
    auto add = [&](Block *other) {
      while (block && other && !block->getParent()->isAncestor(other->getParent()))
        block = block->getParentOp()->getBlock();
      block = block ? block : other;
    };
    for (CarriedSlot slot : web.slots)
      add(slot.op->getBlock());
    for (Value value : web.values)
      if (Operation *op = value.getDefiningOp())
        add(op->getBlock());
    return block;
  }

  bool carry(const Web &web) {
    if (!llvm::all_of(web.slots, hasFixedSizes))
      return false;
    Block *block = getCommonBlock(web);
    SharedMemory memory;
    for (Value value : web.values)
      memory.add(value);
    Operation *first = nullptr, *outermost = nullptr;
    auto comesFirst = [&](Operation *op, Operation *&earliest) {
      Operation *step = block->findAncestorOpInBlock(*op);
      if (!earliest || step->isBeforeInBlock(earliest))
        earliest = step;
    };
    for (Value value : web.values)
      for (Operation *user : value.getUsers())
        comesFirst(user, first);
    for (CarriedSlot slot : web.slots) {
      comesFirst(slot.op, first);
      comesFirst(slot.op, outermost);
    }
    // What is given here and there as it came in.
    SmallVector<Value> others;
    for (CarriedSlot slot : web.slots)
      for (Value value : slot.getYielded())
        if (!memory.contains(value))
          others.push_back(value);
    if (!llvm::all_of(others, [&](Value other) { return isSame(other, others.front()); }))
      return false;
    Value entering = others.empty() ? Value() : others.front();
    DominanceInfo dominance(program);
    bool isVariable = entering && entering.getDefiningOp<vxrt::VariableOp>();
    if (entering && !isVariable && !dominance.properlyDominates(entering, outermost))
      return false;
    for (Value other : others)
      memory.addEntry(other, outermost);
    SmallVector<CarriedSlot> copied;
    for (CarriedSlot slot : web.slots) {
      if (!slot.getArgument() || memory.contains(slot.getInit().get()))
        continue;
      if (entering && isSame(slot.getInit().get(), entering)) {
        memory.addEntry(slot.getInit().get(), outermost);
        continue;
      }
      memory.addEntry(slot.getInit());
      copied.push_back(slot);
    }
    SharedMemory::State state;
    if (!memory.run(*block, state))
      return false;
    Hoister hoister(first);
    Value size = findSize(web, hoister);
    if (!size)
      return false;
    hoister.move();
    OpBuilder builder(first);
    Location location = web.slots.front().op->getLoc();
    Value place = vxrt::AllocateOp::create(builder, location, vxrt::BufferType::get(program.getContext()), size);
    if (isVariable) {
      auto name = entering.getDefiningOp<vxrt::VariableOp>();
      builder.setInsertionPoint(outermost);
      entering = vxrt::VariableOp::create(builder, location, name.getType(), name.getVariableAttr());
    }
    if (entering)
      copyBefore(outermost, entering, place);
    for (CarriedSlot slot : copied)
      copyBefore(slot.op, slot.getInit().get(), place);
    for (Operation *copy : memory.needless)
      copy->erase();
    SmallVector<Operation *> freed;
    for (Value value : web.values) {
      if (auto fresh = value.getDefiningOp<vxrt::AllocateOp>())
        freed.push_back(fresh);
      value.replaceAllUsesWith(place);
    }
    for (Operation *op : freed)
      op->erase();
    dropSlots(web);
    return true;
  }

  /// Bytes, where all memory of the web has as many.
  Value findSize(const Web &web, Hoister &hoister) {
    Value size;
    for (Value value : web.values) {
      auto fresh = value.getDefiningOp<vxrt::AllocateOp>();
      if (!fresh)
        continue;
      if (!size) {
        size = fresh.getSize();
        if (!hoister.add(size))
          return {};
      }
      DimAttr bytes = expressions.get(size);
      if (fresh.getSize() != size && (!bytes || expressions.get(fresh.getSize()) != bytes))
        return {};
    }
    return size;
  }

  /// In the segment before, where nothing but arithmetic stands between.
  void copyBefore(Operation *op, Value source, Value target) {
    OpBuilder builder(op);
    for (Operation *before = op->getPrevNode();
         before &&
         isa<vxrt::ConstOp, vxrt::CalcOp, vxrt::SelectOp, vxrt::AllocateOp, vxrt::VariableOp, vxrt::SegmentOp>(
             before) &&
         before != source.getDefiningOp() && before != target.getDefiningOp();
         before = before->getPrevNode())
      if (auto segment = dyn_cast<vxrt::SegmentOp>(before)) {
        builder.setInsertionPointToEnd(&segment.getBody().front());
        vxrt::CopyOp::create(builder, op->getLoc(), source, target, UnitAttr());
        return;
      }
    auto segment = vxrt::SegmentOp::create(builder, op->getLoc());
    builder.setInsertionPointToStart(&segment.getBody().emplaceBlock());
    vxrt::CopyOp::create(builder, op->getLoc(), source, target, UnitAttr());
  }

  /// Loops and branches name the memory themselves.
  static void dropSlots(const Web &web) {
    llvm::MapVector<Operation *, llvm::BitVector> dropped;
    for (CarriedSlot slot : web.slots) {
      auto [it, isNew] = dropped.try_emplace(slot.op, llvm::BitVector(slot.op->getNumResults()));
      it->second.set(slot.number);
    }
    for (auto &[op, numbers] : dropped) {
      OpBuilder builder(op);
      SmallVector<Type> types;
      SmallVector<Value> kept, inits;
      for (auto [number, result] : llvm::enumerate(op->getResults()))
        if (!numbers[number]) {
          types.push_back(result.getType());
          kept.push_back(result);
        }
      Operation *smaller;
      if (auto loop = dyn_cast<vxrt::WhileOp>(op)) {
        for (auto [number, init] : llvm::enumerate(loop.getInits()))
          if (!numbers[number])
            inits.push_back(init);
        smaller =
            vxrt::WhileOp::create(builder, op->getLoc(), types, loop.getCondition(), inits, loop.getCommitsAttr());
        Block &body = loop.getBody().front();
        llvm::BitVector yielded(numbers.size() + 1);
        for (unsigned number : numbers.set_bits())
          yielded.set(number + 1);
        body.getTerminator()->eraseOperands(yielded);
        body.eraseArguments(numbers);
      } else {
        smaller = vxrt::IfOp::create(builder, op->getLoc(), types, cast<vxrt::IfOp>(op).getCondition());
        for (Region &region : op->getRegions())
          region.front().getTerminator()->eraseOperands(numbers);
      }
      for (auto [from, to] : llvm::zip_equal(op->getRegions(), smaller->getRegions()))
        to.takeBody(from);
      for (auto [before, after] : llvm::zip_equal(kept, smaller->getResults()))
        before.replaceAllUsesWith(after);
      op->erase();
    }
  }

  vxrt::ProgramOp program;
  const VariablePlaces &places;
  EntryExpressions expressions;
};

struct CarryInPlacePass : impl::CarryInPlacePassBase<CarryInPlacePass> {
  void runOnOperation() override {
    VariablePlaces places(getOperation()->getParentOfType<ModuleOp>());
    Carrier(getOperation(), places).run();
  }
};

} // namespace
} // namespace vx
