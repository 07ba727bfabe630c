// Gradients of directives and of branches.
#include "Regions.h"
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

SmallVector<Value> cloneRegion(Pullback &p, Region &region, IRMapping &mapping, SymbolMap &symbols,
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

SmallVector<Value> findWantedCaptures(Pullback &p) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(p.op->getRegions(), captured);
  return llvm::filter_to_vector(captured, [&](Value value) { return p.wants(value); });
}

/// Where an op of the block that holds `op`, or `op` itself, stands; null outside of the block.
static Operation *findStepIn(Block *block, Operation *op) { return block->findAncestorOpInBlock(*op); }

bool canComputeAnew(Pullback &p) {
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

void dropUnread(Block &block, ArrayRef<Operation *> kept) {
  block.walk([](VariableStoreOp store) { store.erase(); });
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  SymbolRanges ranges(block.getParentOp()->getParentOfType<ModuleOp>());
  // What is taken out of a sequence was there in the forward.
  auto isNeedless = [&](Operation *op) {
    return isa<SequenceAtOp>(op) ? !mayBindSizes(op, ranges) : onlyComputes(op, ranges);
  };
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty() && op->getNumResults() > 0 && !llvm::is_contained(kept, op) && isNeedless(op))
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

} // namespace vx
