// Lets kernels write the new value of a variable where the variable lies.

#include "Lifetimes.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Memory/CallFailures.h"
#include "vx/Memory/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_WRITEVARIABLESINPLACEPASS
#include "vx/Memory/Passes.h.inc"

namespace {

/// The ops of a program's outermost block in the order in which they run, a segment's commands in its place.
class Steps {
public:
  explicit Steps(vxrt::ProgramOp program) : block(program.getBody().front()) { number(); }

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
  explicit VariableWriter(vxrt::ProgramOp program) : program(program), steps(program) {}

  void run() {
    if (!program.walk([](vxrt::CopyOp copy) { return WalkResult(failure(vxrt::writesVariable(copy))); })
             .wasInterrupted())
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
      check.erase();
      joinSegments();
    }
    dropEmptySegments();
  }

private:
  /// Without a kernel that may report a fault since the last check, there is nothing to wait for.
  void dropNeedlessChecks() {
    bool mayBeFaulty = false;
    for (Operation *step : steps.get()) {
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
    for (Operation &op : llvm::make_early_inc_range(program.getBody().front())) {
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
    for (auto segment : llvm::make_early_inc_range(program.getBody().getOps<vxrt::SegmentOp>()))
      if (segment.getBody().front().empty())
        segment.erase();
  }

  /// The check that the stores of copies wait for; null where no kernel may have reported a fault by then.
  vxrt::CheckFaultsOp findLastCheck() {
    vxrt::CheckFaultsOp check;
    for (Operation *step : steps.get())
      if (auto faults = dyn_cast<vxrt::CheckFaultsOp>(step))
        check = faults;
    return check;
  }

  /// What makes a stored value: one kernel, or a copy of the variable and kernels that replace elements of it, in
  /// order.
  struct Production {
    vxrt::CopyOp copied;
    SmallVector<vxrt::DispatchOp> kernels;
  };

  /// No kernels where something else may write the value, or holds it beyond its commands.
  Production getProduction(vxrt::CopyOp store) {
    Value value = store.getSource();
    if (!value.getDefiningOp<vxrt::AllocateOp>())
      return {};
    SetVector<Operation *> writers;
    for (Operation *user : value.getUsers()) {
      if (!isBriefUse(user))
        return {};
      if (llvm::is_contained(vxrt::getWrittenBuffers(user), value))
        writers.insert(user);
    }
    Production production;
    SmallVector<Operation *> inOrder = writers.takeVector();
    llvm::sort(inOrder, [&](Operation *a, Operation *b) { return steps.getPosition(a) < steps.getPosition(b); });
    for (Operation *writer : inOrder) {
      if (!isa<vxrt::ProgramOp>(writer->getParentOp()->getParentOp()))
        return {};
      auto kernel = dyn_cast<vxrt::DispatchOp>(writer);
      auto copy = dyn_cast<vxrt::CopyOp>(writer);
      if (copy && writer == inOrder.front() && isOfVariable(copy.getSource(), store))
        production.copied = copy;
      else if (kernel && (production.copied ? updates(kernel, value) : inOrder.size() == 1))
        production.kernels.push_back(kernel);
      else
        return {};
    }
    return production;
  }

  static bool isOfVariable(Value value, vxrt::CopyOp store) {
    auto variable = value.getDefiningOp<vxrt::VariableOp>();
    return variable &&
           variable.getVariableAttr() == store.getTarget().getDefiningOp<vxrt::VariableOp>().getVariableAttr();
  }

  /// True where the kernel writes a part of what lies in the buffer.
  static bool updates(vxrt::DispatchOp dispatch, Value buffer) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(dispatch, dispatch.getKernelAttr());
    for (auto [number, output] : llvm::enumerate(dispatch.getOutputs()))
      if (output == buffer)
        return kernel && getUpdatedOperand(kernel, number);
    return false;
  }

  int64_t getProducerStep(vxrt::CopyOp store) {
    Production production = getProduction(store);
    return production.kernels.empty() ? -1 : steps.getPosition(production.kernels.front());
  }

  /// The names of a variable's memory.
  SmallVector<vxrt::VariableOp> getNames(FlatSymbolRefAttr variable) {
    SmallVector<vxrt::VariableOp> names;
    program.walk([&](vxrt::VariableOp op) {
      if (op.getVariableAttr() == variable)
        names.push_back(op);
    });
    return names;
  }

  /// True when the kernel may write over what it reads of the variable: each element after it has read it.
  static bool allows(vxrt::DispatchOp dispatch, int64_t operand, Value value) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(dispatch, dispatch.getKernelAttr());
    return kernel && llvm::any_of(getInPlacePairs(kernel), [&](InPlacePair pair) {
             return pair.operand == operand && dispatch.getOutputs()[pair.result] == value;
           });
  }

  /// True where the value is written to the variable from now on, and the copy is gone. Only guarded kernels do that
  /// before `check`.
  bool writeInPlace(vxrt::CopyOp store, vxrt::CheckFaultsOp check) {
    Production production = getProduction(store);
    ArrayRef<vxrt::DispatchOp> producers = production.kernels;
    if (producers.empty() || llvm::any_of(producers, [](vxrt::DispatchOp producer) { return mayFailCall(producer); }))
      return false;
    auto isProducer = [&](Operation *op) {
      return llvm::any_of(producers, [&](vxrt::DispatchOp producer) { return producer == op; });
    };
    Value value = store.getSource();
    auto target = store.getTarget().getDefiningOp<vxrt::VariableOp>();
    // The step behind which the old value is read no more and the call cannot fail any more.
    int64_t last = -1;
    unsigned ownReads = 0;
    for (vxrt::VariableOp name : getNames(target.getVariableAttr()))
      for (OpOperand &use : name->getUses()) {
        Operation *user = use.getOwner();
        if (user == store || user == production.copied)
          continue;
        if (!isBriefUse(user))
          return false; // a loop or branch may give it another name
        if (isProducer(user)) {
          auto producer = cast<vxrt::DispatchOp>(user);
          if (++ownReads > 1 || !allows(producer, use.getOperandNumber() - getFirstInput(producer), value))
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
      if (user != production.copied && !isProducer(user) && steps.getPosition(user) <= last)
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
          if (int64_t read = steps.getPosition(user); !isProducer(user) && read > position && read <= last)
            return false;
      // What it reads must still be there.
      for (Value input : producer.getInputs())
        if (auto other = input.getDefiningOp<vxrt::VariableOp>(); other && other.getVariable() != target.getVariable())
          for (int64_t between = position + 1; between <= last; ++between)
            if (writes(steps.get()[between], other.getVariableAttr()))
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

  static unsigned getFirstInput(vxrt::DispatchOp dispatch) {
    return dispatch.getInputs().empty() ? 0 : dispatch.getInputs().getBeginOperandIndex();
  }

  static bool writes(Operation *step, FlatSymbolRefAttr variable) {
    auto result = step->walk([&](Operation *op) {
      return WalkResult(failure(llvm::any_of(vxrt::getWrittenBuffers(op), [&](Value written) {
        auto name = written.getDefiningOp<vxrt::VariableOp>();
        return name && name.getVariableAttr() == variable;
      })));
    });
    return result.wasInterrupted();
  }

  vxrt::ProgramOp program;
  Steps steps;
};

struct WriteVariablesInPlacePass : impl::WriteVariablesInPlacePassBase<WriteVariablesInPlacePass> {
  void runOnOperation() override { VariableWriter(getOperation()).run(); }
};

} // namespace
} // namespace vx
