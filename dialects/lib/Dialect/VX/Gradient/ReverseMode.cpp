#include "vx/Dialect/VX/Gradient/ReverseMode.h"

#include "Sequences.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

bool isDifferentiable(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    type = sequence.getElementType();
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

Value createWatch(OpBuilder &builder, Location location, Value value) {
  auto watch = WatchOp::create(builder, location, value.getType(), value);
  watch->setAttr("mark", DistinctAttr::create(builder.getUnitAttr()));
  return watch;
}

static bool isDifferentiableOptional(Type type) {
  auto optional = dyn_cast<OptionalType>(type);
  return optional && isDifferentiable(optional.getValueType());
}

Value makeZeros(GraphBuilder &g, Value like) {
  return isa<SequenceType>(like.getType()) ? makeZeroSequence(g, like) : g.splatLike(0, like);
}

void visitReads(Operation *op, llvm::function_ref<void(Value)> visit) {
  for (Value operand : op->getOperands())
    visit(operand);
  if (op->getNumRegions() == 0)
    return;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    visit(value);
}

static unsigned getDepth(Operation *op) {
  unsigned depth = 0;
  while ((op = op->getParentOp()))
    ++depth;
  return depth;
}

SmallVector<Operation *> collectDependences(Value value) {
  llvm::SetVector<Operation *> ops;
  auto insert = [&](Value read) {
    if (Operation *op = read.getDefiningOp())
      ops.insert(op);
  };
  insert(value);
  for (size_t i = 0; i < ops.size(); ++i)
    visitReads(ops[i], insert);
  // What a region reads of outside stands before it.
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted, [](Operation *a, Operation *b) {
    if (a->getBlock() == b->getBlock())
      return a->isBeforeInBlock(b);
    return getDepth(a) < getDepth(b);
  });
  return sorted;
}

ReverseMode::ReverseMode(OpBuilder &builder, ValueRange wanted) : builder(builder) {
  active.insert(wanted.begin(), wanted.end());
}

void ReverseMode::add(GraphBuilder &g, Value value, Value cotangent) {
  if (!cotangent)
    return;
  // Two sizes that are equal may be spelt in two ways.
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    cotangent = g.reshape(cotangent, getDims(type));
  Value &sum = cotangents[value];
  if (!sum || !cotangent)
    sum = cotangent;
  else if (isa<SequenceType>(value.getType()))
    sum = addSequences(g, sum, cotangent);
  else
    sum = g.emit<AddOp>(sum, cotangent);
}

Value ReverseMode::getOrZeros(GraphBuilder &g, Value value) const {
  Value cotangent = get(value);
  return cotangent ? cotangent : makeZeros(g, value);
}

void ReverseMode::replace(Value before, Value after) {
  before.replaceAllUsesWith(after);
  if (active.erase(before))
    active.insert(after);
  if (Value cotangent = cotangents.lookup(before)) {
    cotangents.erase(before);
    cotangents[after] = cotangent;
  }
}

LogicalResult ReverseMode::run(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    bool reads = false;
    if (!op->hasTrait<OpTrait::NonDifferentiable>())
      visitReads(op, [&](Value value) { reads |= isActive(value); });
    if (reads)
      for (Value result : op->getResults()) {
        if (isDifferentiable(result.getType()))
          active.insert(result);
        if (!isDifferentiableOptional(result.getType()))
          continue;
        op->emitOpError() << "has no gradient here: none passes through an optional";
        hasFailed = true;
      }
  }
  for (Operation *op : llvm::reverse(ops)) {
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable ||
        llvm::none_of(op->getResults(), [&](Value result) { return isActive(result) && get(result); }))
      continue;
    GraphBuilder g(builder, op->getLoc());
    Pullback pullback(op, *this, g);
    SmallVector<Value> reads; // of the op as it is: a rule may put another one in its place
    visitReads(op, [&](Value value) {
      if (pullback.wants(value) && isa<RankedTensorType>(value.getType()))
        reads.push_back(value);
    });
    const bool failedBefore = std::exchange(hasFailed, false);
    differentiable.buildPullback(pullback);
    hasFailed |= g.hasRefused();
    // Goes on as if there were one, so that what stands before is told too.
    if (hasFailed)
      for (Value value : reads)
        if (!get(value))
          add(g, value, makeZeros(g, value));
    hasFailed |= failedBefore;
  }
  return failure(hasFailed);
}

Value Pullback::of(unsigned result) { return reverse.get(op->getResult(result)); }
Value Pullback::ofOrZeros(unsigned result) { return reverse.getOrZeros(g, op->getResult(result)); }

bool Pullback::wants(Value value) { return isDifferentiable(value.getType()) && reverse.isActive(value); }

void Pullback::give(Value value, Value cotangent) {
  if (wants(value))
    reverse.add(g, value, cotangent);
}

void Pullback::refuse(const Twine &message) {
  op->emitOpError() << "has no gradient here: " << message;
  reverse.fail();
}

void Pullback::useDecomposition() {
  SmallVector<Value> wanted;
  for (Value operand : op->getOperands())
    if (wants(operand) && !llvm::is_contained(wanted, operand))
      wanted.push_back(operand);
  // What the decomposition makes stands between the last op that is there now and where the builder stands.
  Block *block = reverse.builder.getInsertionBlock();
  Block::iterator end = reverse.builder.getInsertionPoint();
  Operation *before = end == block->begin() ? nullptr : &*std::prev(end);
  SmallVector<Value> results = cast<DecomposableOpInterface>(op).decompose(g);
  if (g.hasRefused())
    return;
  SmallVector<Operation *> ops;
  for (Block::iterator it = before ? std::next(before->getIterator()) : block->begin(); it != end; ++it)
    ops.push_back(&*it);
  ReverseMode inner(reverse.builder, wanted);
  for (auto [result, value] : llvm::zip(op->getResults(), results))
    inner.add(g, value, reverse.get(result));
  if (failed(inner.run(ops)))
    reverse.fail();
  for (Value value : wanted)
    give(value, inner.get(value));
}

} // namespace vx
