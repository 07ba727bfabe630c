#include "ElementEvaluator.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace vx {

/// The one op that combines the accumulator with what an iteration computes, where it is known how to combine vectors.
static Operation *matchCombiner(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return nullptr;
  SmallVector<Operation *> combiners;
  if (!matchReduction(op.getRegionOutputArgs(), 0, combiners) || combiners.size() != 1)
    return nullptr;
  if (!linalg::getCombinerOpKind(combiners.front()))
    return nullptr;
  return combiners.front();
}

SmallVector<Value> ElementEvaluator::reduce(Body &body) {
  linalg::GenericOp op = body.op;
  Location loc = op.getLoc();
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    SmallVector<LaneIndex> at;
    for (AffineExpr expr : op.getMatchingIndexingMap(&init).getResults())
      at.push_back(evaluateExpr(loc, expr, body.ivs));
    Value value = evaluate(init.get(), at);
    if (!value)
      return {};
    body.accumulators.push_back(body.isVarying ? toVector(loc, value) : value);
  }
  if (lanes > 1 && !body.isVarying && !isGuarded)
    if (Operation *combiner = matchCombiner(op)) {
      // Lanes run along the dimension that an operand stores its elements along.
      std::optional<unsigned> laneDim;
      for (unsigned dim : llvm::reverse(dims))
        for (AffineMap map : op.getIndexingMapsArray())
          if (!laneDim && map.getNumResults() != 0 && map.getResults().back() == builder.getAffineDimExpr(dim))
            laneDim = dim;
      if (laneDim) {
        llvm::erase(dims, *laneDim);
        Value result = reduceWithLanes(body, dims, *laneDim, combiner);
        return result ? SmallVector<Value>{result} : SmallVector<Value>{};
      }
    }
  if (!reduceNest(body, dims))
    return {};
  return body.accumulators;
}

/// The sizes of the loops come from whichever operand has a dimension of its own for them.
std::pair<Value, int64_t> shapeOfLoop(linalg::GenericOp op, unsigned loop) {
  for (OpOperand &operand : op->getOpOperands())
    for (auto [d, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() == loop)
        return {operand.get(), d};
  llvm_unreachable("a linalg op's loop has a size");
}

bool ElementEvaluator::reduceNest(Body &body, ArrayRef<unsigned> dims) {
  Location loc = body.op.getLoc();
  if (dims.empty()) {
    SmallVector<Value> results;
    if (!evaluateBody(body, results))
      return false;
    for (auto [accumulator, result] : llvm::zip(body.accumulators, results))
      accumulator = body.isVarying ? toVector(loc, result) : result;
    return true;
  }
  auto [tensor, dimension] = shapeOfLoop(body.op, dims.front());
  scf::ForOp loop =
      enterLoop(loc, constantIndex(0).base, sizeOf(tensor, dimension), constantIndex(1).base, body.accumulators);
  body.ivs[dims.front()] = {loop.getInductionVar(), 0, {}};
  body.accumulators.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  if (!reduceNest(body, dims.drop_front()))
    return false;
  leaveLoop(body.accumulators);
  body.accumulators.assign(loop.getResults().begin(), loop.getResults().end());
  return true;
}

/// How many vectors a reduction adds to in turns: an iteration that does little would wait for the one before.
int64_t ElementEvaluator::countChains(linalg::GenericOp op, std::optional<int64_t> size) const {
  constexpr int64_t chains = 4;
  constexpr size_t mostOps = 12;
  if (size && *size < 2 * chains * lanes)
    return 1;
  SetVector<Operation *> ops;
  ops.insert(op);
  size_t cost = 0;
  for (size_t next = 0; next < ops.size(); ++next) {
    auto generic = dyn_cast<linalg::GenericOp>(ops[next]);
    if (!generic || (next != 0 && generic.getNumReductionLoops() != 0))
      continue;
    for (Operation &inner : generic.getBody()->without_terminator()) {
      if (inner.getNumRegions() != 0 || isa_and_present<math::MathDialect>(inner.getDialect()))
        return 1;
      cost += isa<arith::DivFOp, arith::RemFOp>(inner) ? mostOps : 1;
    }
    for (OpOperand *input : generic.getDpsInputOperands())
      if (Operation *producer = input->get().getDefiningOp(); producer && !sources.contains(input->get()))
        ops.insert(producer);
  }
  return cost <= mostOps ? chains : 1;
}

/// Accumulates a vector along `laneDim`, the innermost loop, and combines its lanes at the end. The other dimensions
/// (`dims`) are loops around it.
Value ElementEvaluator::reduceWithLanes(Body &body, ArrayRef<unsigned> dims, unsigned laneDim, Operation *combiner) {
  linalg::GenericOp op = body.op;
  Location loc = op.getLoc();
  Value init = body.accumulators.front();
  auto type = VectorType::get(lanes, init.getType());
  // Every op that combines vectors (`matchCombiner`) has a neutral element.
  Attribute neutral = *arith::getNeutralElement(combiner);
  Value neutrals = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, neutral));
  body.isVarying = true;

  auto [sized, sizedDim] = shapeOfLoop(op, laneDim);
  Value size = sizeOf(sized, sizedDim);
  std::optional<int64_t> staticSize = getConstantIntValue(size);
  const int64_t chains = countChains(op, staticSize);
  SmallVector<Value> carried(chains, neutrals);
  auto enter = [&](Value lower, Value upper, Value step) {
    scf::ForOp loop = enterLoop(loc, lower, upper, step, carried);
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    return loop.getInductionVar();
  };
  auto leave = [&] {
    Operation *loop = scopes.back().block->getParentOp();
    leaveLoop(carried);
    carried.assign(loop->result_begin(), loop->result_end());
  };
  Value zero = constantIndex(0).base, one = constantIndex(1).base;
  for (unsigned dim : dims) {
    auto [tensor, dimension] = shapeOfLoop(op, dim);
    body.ivs[dim] = {enter(zero, sizeOf(tensor, dimension), one), 0, {}};
  }
  auto iterate = [&](Value base, int64_t chain = 0) -> bool {
    body.ivs[laneDim] = {addIndices(loc, {base, 0, {}}, constantIndex(chain * lanes)).base, 1, {}};
    body.accumulators = {carried[chain]};
    SmallVector<Value> results;
    if (!evaluateBody(body, results))
      return false;
    Value next = toVector(loc, results.front());
    // A lane that is left out keeps its sum.
    if (mask)
      next = arith::SelectOp::create(builder, loc, mask, next, carried[chain]);
    carried[chain] = next;
    return true;
  };
  Value step = constantIndex(lanes).base;
  /// The greatest multiple of `width` up to the size.
  auto wholeEnd = [&](int64_t width) -> Value {
    if (staticSize)
      return constantIndex(*staticSize / width * width).base;
    Value divisor = constantIndex(width).base;
    return emitAt(depthOf(size), [&]() -> Value {
      Value rest = arith::RemUIOp::create(builder, loc, size, divisor);
      return arith::SubIOp::create(builder, loc, size, rest);
    });
  };
  const Value mainEnd = wholeEnd(lanes);
  llvm::SaveAndRestore<Value> saved(mask, Value());
  Value first = zero;
  if (chains > 1) {
    first = wholeEnd(chains * lanes);
    Value base = enter(zero, first, constantIndex(chains * lanes).base);
    for (int64_t chain = 0; chain < chains; ++chain)
      if (!iterate(base, chain))
        return {};
    leave();
  }
  if (!staticSize || *staticSize % (chains * lanes) >= lanes || (chains == 1 && *staticSize >= lanes)) {
    if (!iterate(enter(first, mainEnd, step)))
      return {};
    leave();
  }
  if (!staticSize || *staticSize % lanes != 0) {
    // One more iteration, or none.
    Value base = enter(mainEnd, size, step);
    Value left = arith::SubIOp::create(builder, loc, size, base);
    mask = vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), left);
    if (!iterate(base))
      return {};
    mask = {};
    leave();
  }
  for (size_t k = 0; k < dims.size(); ++k)
    leave();
  for (; carried.size() > 1; carried.resize(carried.size() / 2)) // in pairs
    for (size_t k = 0; k < carried.size() / 2; ++k)
      carried[k] = builder
                       .create(loc, combiner->getName().getIdentifier(), {carried[k], carried[k + carried.size() / 2]},
                               type, combiner->getAttrs())
                       ->getResult(0);
  auto kind = *linalg::getCombinerOpKind(combiner);
  bool isFloat = isa<FloatType>(init.getType());
  // The lanes of one vector are combined as a tree, the same on each run.
  auto flags = isFloat ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
  return vector::ReductionOp::create(builder, loc, kind, carried.front(), init, flags);
}

} // namespace vx
