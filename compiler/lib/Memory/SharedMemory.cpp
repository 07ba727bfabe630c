#include "SharedMemory.h"

#include "Productions.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Memory/CallFailures.h"

using namespace mlir;

namespace vx {

void SharedMemory::State::join(const State &other) {
  SmallVector<Value> lost;
  for (Value name : current)
    if (!other.current.contains(name))
      lost.push_back(name);
  for (Value name : lost)
    current.erase(name);
  isHeld |= other.isHeld;
  isWritten |= other.isWritten;
  mayBeFaulty |= other.mayBeFaulty;
}

bool SharedMemory::State::operator==(const State &other) const {
  return current == other.current && isHeld == other.isHeld && isWritten == other.isWritten &&
         mayBeFaulty == other.mayBeFaulty;
}

bool SharedMemory::read(Value value, State &state) const {
  Value name = getName(value);
  return !name || state.current.contains(name);
}

/// `name` is what lies there from now on.
bool SharedMemory::write(Operation *op, Value name, State &state) {
  if (state.isHeld)
    return false;
  if (state.mayBeFaulty)
    behindFaults.insert(op);
  if (isa<vxrt::DispatchOp>(op) && mayFailCall(op))
    failing.insert(op);
  state.isWritten = true;
  state.current.clear();
  state.current.insert(name);
  return true;
}

bool SharedMemory::run(Block &block, State &state) {
  for (Operation &op : block) {
    bool wasWritten = state.isWritten;
    if (&op == carriedFrom && !write(&op, carriedName, state))
      return false;
    if (!runOp(&op, state))
      return false;
    if (!wasWritten && state.isWritten && (!firstWrite || block.getParent()->isAncestor(firstWrite->getParentRegion())))
      firstWrite = &op;
  }
  return true;
}

bool SharedMemory::runOp(Operation *op, State &state) {
  if (auto loop = dyn_cast<vxrt::WhileOp>(op))
    return runLoop(loop, state);
  if (auto branch = dyn_cast<vxrt::IfOp>(op))
    return runIf(branch, state);
  if (auto segment = dyn_cast<vxrt::SegmentOp>(op))
    return run(segment.getBody().front(), state);
  if (isa<vxrt::YieldOp>(op))
    return true; // what holds the region looks at it
  bool isWait = isa<vxrt::CheckFaultsOp, vxrt::ReadI64Op>(op);
  if (isWait)
    state.mayBeFaulty = false;
  if (state.isWritten && !isWait && !contains(op->getNumResults() == 1 ? op->getResult(0) : Value()) && mayFailCall(op))
    failing.insert(op);
  if (auto dispatch = dyn_cast<vxrt::DispatchOp>(op)) {
    bool isRight = runDispatch(dispatch, state);
    state.mayBeFaulty |= dispatch->hasAttr(kFaultSitesAttr);
    return isRight;
  }
  if (auto copy = dyn_cast<vxrt::CopyOp>(op))
    return runCopy(copy, state);
  for (Value operand : op->getOperands()) {
    if (!read(operand, state))
      return false;
    state.isHeld |= contains(operand) && !isa<vxrt::ReadI64Op, vxrt::ReturnOp>(op);
  }
  return true;
}

/// What a region gives, as what holds it names it.
bool SharedMemory::runYield(Operation *yield, ValueRange values, ValueRange results, State &state) {
  for (auto [value, result] : llvm::zip_equal(values, results)) {
    Value name = contains(result) ? getCarried(value) : getName(value);
    if (contains(result) && !name)
      return false;
    if (name && !state.current.contains(name))
      return false;
    state.isHeld |= name && !contains(result);
  }
  return true;
}

bool SharedMemory::runLoop(vxrt::WhileOp loop, State &state) {
  Block &body = loop.getBody().front();
  SmallVector<Value> arguments, results;
  bool hasEntry = false;
  for (auto [number, init] : llvm::enumerate(loop.getInitsMutable())) {
    BlockArgument argument = body.getArgument(number);
    if (!contains(argument)) {
      if (!read(init.get(), state))
        return false;
      state.isHeld |= contains(init.get());
      continue;
    }
    arguments.push_back(argument);
    results.push_back(loop.getResult(number));
    if (entries.contains(&init)) {
      hasEntry = true;
      if (!write(loop, argument, state))
        return false;
    } else if (Value name = getCarried(init.get()); !name || !state.current.contains(name)) {
      return false;
    }
  }
  if (hasEntry && arguments.size() > 1)
    return false; // what one begins with is not what the others do
  // Until another iteration adds no way to come here.
  while (true) {
    State iteration = state;
    iteration.current.insert(arguments.begin(), arguments.end());
    if (!run(body, iteration) || !runYield(body.getTerminator(), body.getTerminator()->getOperands().drop_front(),
                                           body.getArguments(), iteration))
      return false;
    State next = state;
    next.join(iteration);
    if (next == state)
      break;
    state = next;
  }
  for (Value argument : arguments)
    state.current.erase(argument);
  state.current.insert(results.begin(), results.end());
  return true;
}

bool SharedMemory::runIf(vxrt::IfOp branch, State &state) {
  State other = state;
  for (auto [region, taken] : {std::pair(&branch.getThenRegion(), &state), std::pair(&branch.getElseRegion(), &other)})
    if (Block &block = region->front();
        !run(block, *taken) ||
        !runYield(block.getTerminator(), block.getTerminator()->getOperands(), branch.getResults(), *taken))
      return false;
  state.join(other);
  for (Value result : branch.getResults())
    if (contains(result))
      state.current.insert(result);
  return true;
}

bool SharedMemory::runDispatch(vxrt::DispatchOp dispatch, State &state) {
  SmallVector<OpOperand *> reads;
  for (OpOperand &input : dispatch.getInputsMutable()) {
    if (!read(input.get(), state))
      return false;
    if (contains(input.get()))
      reads.push_back(&input);
  }
  Value output;
  for (Value written : dispatch.getOutputs()) {
    if (!contains(written))
      continue;
    if (output || parts.contains(written))
      return false;
    output = written;
  }
  if (!output)
    return true;
  Value name = getName(output);
  if (updatesBuffer(dispatch, output) && !state.current.contains(name))
    return false;
  // What the kernel reads and writes by one name was so from the start.
  bool readsOther = llvm::any_of(reads, [&](OpOperand *use) { return use->get() != output; });
  if (readsOther && (reads.size() > 1 || parts.contains(reads.front()->get()) || !mayOverwrite(*reads.front(), output)))
    return false;
  return write(dispatch, name, state);
}

bool SharedMemory::runCopy(vxrt::CopyOp copy, State &state) {
  if (!read(copy.getSource(), state))
    return false;
  if (!contains(copy.getTarget()))
    return true;
  if (parts.contains(copy.getTarget()))
    return false;
  Value name = getName(copy.getTarget());
  if (!contains(copy.getSource()))
    return write(copy, name, state);
  if (parts.contains(copy.getSource()))
    return false;
  needless.insert(copy);
  state.current.insert(name);
  return true;
}

} // namespace vx
