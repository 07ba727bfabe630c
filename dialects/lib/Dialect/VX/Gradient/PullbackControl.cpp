// Gradients of control flow: the reverse of a region begins with a copy of it, which computes anew what the reverse
// reads.
#include "Sequences.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Dialect/VX/Utils/CloneWithFreshSymbols.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

//===-- Directives --------------------------------------------------------------------------------===//

void WatchOp::buildPullback(Pullback &p) { p.give(0u, p.of()); }

void DropoutOp::buildPullback(Pullback &p) {
  Value gradient = p.of();
  if (getKey())
    gradient =
        DropoutOp::create(p.g.builder, p.g.location, gradient, getKey(), getRatioAttr(), getNumberAttr()).getResult();
  p.give(0u, gradient);
}

void BatchNormOp::buildPullback(Pullback &p) { p.useDecomposition(); }

/// The ops of a region of one block, but for its end, where the builder stands; what it yields.
static SmallVector<Value> cloneRegion(Pullback &p, Region &region, IRMapping &mapping, SymbolMap &symbols,
                                      SmallVectorImpl<Operation *> &ops) {
  OpBuilder &builder = p.g.builder;
  Block *block = builder.getInsertionBlock();
  Block::iterator end = builder.getInsertionPoint();
  Operation *before = end == block->begin() ? nullptr : &*std::prev(end);
  cloneWithFreshSymbols(region, builder, p.g.location, mapping, symbols);
  for (Block::iterator it = before ? std::next(before->getIterator()) : block->begin(); it != end; ++it)
    ops.push_back(&*it);
  SmallVector<Value> values;
  for (Value value : region.front().getTerminator()->getOperands())
    values.push_back(mapping.lookupOrDefault(value));
  return values;
}

void CustomGradientOp::buildPullback(Pullback &p) {
  IRMapping mapping;
  SymbolMap symbols;
  Block &body = getPullback().front();
  unsigned argument = 0;
  for (Value value : getInputs())
    mapping.map(body.getArgument(argument++), value);
  for (Value value : getResults())
    mapping.map(body.getArgument(argument++), value);
  for (auto [index, result] : llvm::enumerate(getResults()))
    if (isDifferentiable(result.getType()))
      mapping.map(body.getArgument(argument++), p.ofOrZeros(index));
  SmallVector<Operation *> ops;
  SmallVector<Value> gradients = cloneRegion(p, getPullback(), mapping, symbols, ops);
  for (Value input : getInputs())
    if (isDifferentiable(input.getType())) {
      p.give(input, gradients.front());
      gradients.erase(gradients.begin());
    }
}

//===-- Regions -----------------------------------------------------------------------------------===//

/// The values of outside that the regions read and whose gradients are wanted.
static SmallVector<Value> findWantedCaptures(Pullback &p) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(p.op->getRegions(), captured);
  return llvm::filter_to_vector(captured, [&](Value value) { return p.wants(value); });
}

/// Where an op of the block that holds `op`, or `op` itself, stands; null outside of the block.
static Operation *findStepIn(Block *block, Operation *op) { return block->findAncestorOpInBlock(*op); }

/// False, and told, where a copy of the regions that stands behind the op could not compute what they computed: one
/// that reads a variable which is stored between.
static bool canComputeAnew(Pullback &p) {
  VariablePlaces places(p.op->getParentOfType<ModuleOp>());
  Block *copies = p.g.builder.getInsertionBlock();
  Block::iterator end = p.g.builder.getInsertionPoint();
  SmallVector<StringAttr> stored;
  p.op->getParentOfType<func::FuncOp>()->walk([&](VariableStoreOp store) {
    Operation *step = findStepIn(p.op->getBlock(), store), *behind = findStepIn(copies, store);
    bool isBefore = step && step != p.op && step->isBeforeInBlock(p.op);
    bool isBehind = behind && end != copies->end() && !behind->isBeforeInBlock(&*end);
    if (!isBefore && !isBehind)
      stored.push_back(store.getVariableAttr().getAttr());
  });
  WalkResult result = p.op->walk([&](VariableLoadOp load) {
    for (StringAttr name : stored)
      if (places.overlap(name, load.getVariableAttr().getAttr())) {
        p.refuse("it reads variable '" + load.getVariable() + "', which is stored before the gradient is taken");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// True for ops that do nothing but compute their results and bind no size but for what stands inside of them.
static bool onlyComputes(Operation *op) {
  if (!isa<IfOp, LoopOp>(op))
    return isMemoryEffectFree(op);
  auto isNumber = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.hasStaticShape();
  };
  if (!llvm::all_of(op->getResultTypes(), isNumber))
    return false;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front())
      if (!llvm::all_of(inner.getResultTypes(), isNumber) || !onlyComputes(&inner))
        return false;
  return true;
}

/// Drops what the reverse, which stands behind it in the block, does not read of a copied region, and what only the
/// forward may do.
static void dropUnread(Block &block, ArrayRef<Operation *> kept = {}) {
  block.walk([](VariableStoreOp store) { store.erase(); });
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty() && op->getNumResults() > 0 && !llvm::is_contained(kept, op) && onlyComputes(op))
      op->erase();
}

void IfOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  SmallVector<Value> captured = findWantedCaptures(p);
  if (captured.empty() || !canComputeAnew(p))
    return;
  SmallVector<Value> gradients;
  for (unsigned i = 0; i < getNumResults(); ++i)
    gradients.push_back(p.of(i));
  auto branch = IfOp::create(g.builder, g.location, TypeRange(ValueRange(captured)), getCondition());
  for (auto [from, to] :
       {std::pair(&getThenRegion(), &branch.getThenRegion()), {&getElseRegion(), &branch.getElseRegion()}}) {
    OpBuilder::InsertionGuard guard(g.builder);
    g.builder.createBlock(to);
    IRMapping mapping;
    SymbolMap symbols;
    SmallVector<Operation *> ops;
    SmallVector<Value> values = cloneRegion(p, *from, mapping, symbols, ops);
    ReverseMode inner(g.builder, captured);
    for (auto [value, gradient] : llvm::zip(values, gradients))
      inner.add(g, value, gradient);
    if (failed(inner.run(ops)))
      p.reverse.fail();
    SmallVector<Value> results;
    for (Value value : captured)
      results.push_back(inner.getOrZeros(g, value));
    if (llvm::is_contained(results, Value()))
      return p.refuse("the tensors of a sequence differ in rank");
    YieldOp::create(g.builder, g.location, results);
    dropUnread(*g.builder.getInsertionBlock());
  }
  for (auto [value, result] : llvm::zip(captured, branch.getResults()))
    p.give(value, result);
}

//===-- Loops -------------------------------------------------------------------------------------===//

namespace {

/// The type of the tensors of a sequence that keeps one of each iteration: sizes that are no numbers are each tensor's
/// own.
TensorType getStackedType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

class LoopReverser {
public:
  LoopReverser(Pullback &p, LoopOp loop)
      : p(p), g(p.g), builder(p.g.builder), loop(loop), body(loop.getBody().front()),
        module(loop->getParentOfType<ModuleOp>()) {}

  void run() {
    captured = findWantedCaptures(p);
    for (unsigned i = 0; i < loop.getInits().size(); ++i)
      if (isDifferentiable(loop.getInits()[i].getType()))
        carried.push_back(i);
    if (!canComputeAnew(p))
      return;
    SmallVector<Value> gradients;
    for (unsigned i : carried)
      gradients.push_back(p.ofOrZeros(i));
    saveArguments();
    reverseBody(gradients);
  }

private:
  /// Replaces the loop by one that keeps the tensors that each iteration began with.
  void saveArguments() {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop);
    SmallVector<Value> inits(loop.getInits());
    SmallVector<Type> types(loop.getResultTypes());
    for (Value argument : body.getArguments()) {
      if (!isa<RankedTensorType>(argument.getType()))
        continue;
      auto type = SequenceType::get(g.context, getStackedType(argument.getType()));
      inits.push_back(SequenceConstructOp::create(builder, loop.getLoc(), type, ValueRange()));
      types.push_back(type);
    }
    auto longer = LoopOp::create(builder, loop.getLoc(), types, loop.getTripCount(), loop.getCondition(), inits,
                                 loop.getIterationAttr(), loop.getCommitsAttr());
    longer.getBody().takeBody(loop.getBody());
    Block &block = longer.getBody().front();
    numArguments = block.getNumArguments();
    auto yield = cast<YieldOp>(block.getTerminator());
    builder.setInsertionPointToStart(&block);
    for (unsigned i = 0, next = numArguments; i < numArguments; ++i) {
      if (!isa<RankedTensorType>(block.getArgument(i).getType()))
        continue;
      Value stack = block.addArgument(types[next++], loop.getLoc());
      yield.getValuesMutable().append(
          SequenceInsertOp::create(builder, loop.getLoc(), stack.getType(), stack, block.getArgument(i), Value())
              .getResult());
    }
    for (auto [before, after] : llvm::zip(loop.getResults(), longer.getResults()))
      p.reverse.replace(before, after);
    stacks.assign(longer.getResults().begin() + numArguments, longer.getResults().end());
    LoopOp old = loop;
    loop = longer;
    p.op = longer;
    old.erase();
  }

  /// What the loop's own symbols are in the copy: the sizes that each iteration finds anew, and the place of the
  /// iteration counted from the end.
  void bindSymbols(DimAttr executed, DimAttr iteration, SymbolMap &symbols) {
    SymbolRanges ranges(module);
    llvm::StringMap<Operation *> binders = findSymbolBinders(loop->getParentOfType<func::FuncOp>(), ranges);
    SmallVector<StringAttr> names;
    for (auto &[name, op] : binders)
      if (op == loop && name != loop.getIteration())
        names.push_back(StringAttr::get(g.context, name));
    llvm::sort(names, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
    declareAnew(module, names, symbols);
    symbols[loop.getIterationAttr()] = executed - iteration + (-1);
  }

  Type rename(Type type, const SymbolMap &symbols) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return type;
    SmallVector<DimAttr> dims;
    for (DimAttr dim : getDims(tensor))
      dims.push_back(dim ? dim.substitute([&](StringAttr name) { return symbols.lookup(name); }) : dim);
    return getTensorType(dims, tensor.getElementType());
  }

  /// The number of iterations that there were: a stack's length, or the count of a loop that carries sequences only.
  Value makeExecuted() {
    if (!stacks.empty())
      return SequenceLengthOp::create(builder, g.location, stacks.front());
    return loop.getTripCount();
  }

  void reverseBody(ArrayRef<Value> gradients) {
    Value length = makeExecuted();
    DimAttr executed = declareDataDependent(module, "executed"), iteration = declareDataDependent(module, "iteration");
    BindSymbolOp::create(builder, g.location, length, executed.asSymbol());
    // The sizes of the carried gradients are bound by the loop, of each iteration and of the last; those of the copies
    // where they are taken.
    SymbolMap ofGradients, ofResults, ofCopies;
    bindSymbols(executed, iteration, ofGradients);
    bindSymbols(executed, iteration, ofResults);
    bindSymbols(executed, iteration, ofCopies);

    SmallVector<Value> inits(gradients);
    SmallVector<Type> argumentTypes, resultTypes;
    for (unsigned i : carried) {
      Type argument = loop.getBody().front().getArgument(i).getType();
      argumentTypes.push_back(rename(argument, ofGradients));
      resultTypes.push_back(rename(argument, ofResults));
    }
    for (Value value : captured) {
      Value zeros = makeZeros(g, value);
      if (!zeros)
        return p.refuse("the tensors of a sequence differ in rank");
      inits.push_back(zeros);
      argumentTypes.push_back(value.getType());
      resultTypes.push_back(value.getType());
    }
    auto reverse = LoopOp::create(builder, g.location, resultTypes, length, Value(), inits, iteration.asSymbol(),
                                  /*commits=*/false);
    {
      OpBuilder::InsertionGuard guard(builder);
      SmallVector<Location> locations(argumentTypes.size(), g.location);
      Block *block = builder.createBlock(&reverse.getBody(), {}, argumentTypes, locations);
      fillBody(*block, executed, iteration, ofCopies);
    }
    for (auto [place, i] : llvm::enumerate(carried))
      p.give(loop.getInits()[i], reverse.getResult(place));
    for (auto [place, value] : llvm::enumerate(captured))
      p.give(value, reverse.getResult(carried.size() + place));
  }

  void fillBody(Block &block, DimAttr executed, DimAttr iteration, SymbolMap &symbols) {
    Block &forward = loop.getBody().front();
    Value position = g.emitDim(executed - iteration + (-1), builder.getI64Type());
    IRMapping mapping;
    SmallVector<Value> sequences;
    for (unsigned i = 0, next = 0; i < numArguments; ++i) {
      Type type = forward.getArgument(i).getType();
      Value copy;
      if (isa<RankedTensorType>(type)) {
        copy = SequenceAtOp::create(builder, g.location, rename(type, symbols), stacks[next++], position);
      } else {
        // Stands for a sequence of which nothing was kept; what is only put into it needs nothing of it.
        copy = SequenceConstructOp::create(builder, g.location, type, ValueRange());
        sequences.push_back(copy);
      }
      mapping.map(forward.getArgument(i), copy);
    }
    SmallVector<Operation *> ops;
    SmallVector<Value> yielded = cloneRegion(p, loop.getBody(), mapping, symbols, ops);
    SmallVector<Value> wanted(captured);
    for (unsigned i : carried)
      wanted.push_back(mapping.lookup(forward.getArgument(i)));
    ReverseMode inner(builder, wanted);
    for (auto [place, i] : llvm::enumerate(carried))
      inner.add(g, yielded[i + 1], block.getArgument(place));
    if (failed(inner.run(ops)))
      p.reverse.fail();
    SmallVector<Value> results = {g.emitScalar(1, builder.getI1Type())};
    for (unsigned i : carried)
      results.push_back(inner.getOrZeros(g, mapping.lookup(forward.getArgument(i))));
    for (auto [place, value] : llvm::enumerate(captured)) {
      Value sum = block.getArgument(carried.size() + place), more = inner.get(value);
      ReverseMode adder(builder, {});
      adder.add(g, value, sum);
      adder.add(g, value, more);
      results.push_back(adder.get(value));
    }
    YieldOp::create(builder, g.location, results);
    llvm::SmallVector<Operation *> standIns;
    for (Value sequence : sequences)
      standIns.push_back(sequence.getDefiningOp());
    dropUnread(block, standIns);
    for (Operation *op : standIns) {
      if (op->use_empty())
        op->erase();
      else
        p.refuse("it reads a sequence that it carries");
    }
  }

  Pullback &p;
  GraphBuilder &g;
  OpBuilder &builder;
  LoopOp loop;
  Block &body;
  ModuleOp module;
  SmallVector<Value> captured, stacks;
  SmallVector<unsigned> carried;
  unsigned numArguments = 0; // of the loop as it was
};

} // namespace

void LoopOp::buildPullback(Pullback &p) { LoopReverser(p, *this).run(); }

} // namespace vx
