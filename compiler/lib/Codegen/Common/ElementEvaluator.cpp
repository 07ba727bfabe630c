#include "ElementEvaluator.h"
#include "IndexFacts.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace vx {

ElementEvaluator::ElementEvaluator(OpBuilder &builder, int64_t lanes) : builder(builder), lanes(lanes) {
  pushScope(builder.getInsertionBlock(), /*isBarrier=*/true);
}

void ElementEvaluator::setSource(Value tensor, Source source) {
  if (source)
    sources[tensor] = std::move(source);
  else
    sources.erase(tensor);
}

//===-- Scopes --------------------------------------------------------------------------------===//

void ElementEvaluator::pushScope(Block *block, bool isBarrier) {
  if (!scopes.empty())
    scopes.back().child = block->getParentOp();
  scopes.push_back({block, nullptr, isBarrier, {}});
}

size_t ElementEvaluator::depthOf(Value value) const {
  Block *block = value.getParentBlock();
  for (size_t depth = scopes.size(); depth-- > 0;)
    if (scopes[depth].block == block)
      return depth;
  return 0; // A value of the function's level.
}

size_t ElementEvaluator::depthOf(const LaneIndex &index) const {
  if (index.isInvariant())
    return depthOf(index.base);
  // Lanes beyond the last element are left out by the loop that they belong to, and by its mask.
  if (!laneScope)
    return scopes.size() - 1;
  return std::max(*laneScope, depthOf(index.vector ? index.vector : index.base));
}

size_t ElementEvaluator::barrierDepth() const {
  if (isGuarded)
    return scopes.size() - 1;
  for (size_t depth = scopes.size(); depth-- > 0;)
    if (scopes[depth].isBarrier)
      return depth;
  return 0;
}

scf::ForOp ElementEvaluator::enterLoop(Location loc, Value lower, Value upper, Value step, ValueRange inits) {
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step, inits);
  // Without carried values the builder makes a terminator of its own; leaveLoop makes it.
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  pushScope(loop.getBody(), /*isBarrier=*/false);
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

void ElementEvaluator::leaveLoop(ValueRange yielded) {
  Operation *loop = scopes.back().block->getParentOp();
  builder.setInsertionPointToEnd(scopes.back().block);
  scf::YieldOp::create(builder, loop->getLoc(), yielded);
  scopes.pop_back();
  builder.setInsertionPointAfter(loop);
}

scf::IfOp ElementEvaluator::enterIf(Location loc, Value condition) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  pushScope(branch.thenBlock(), /*isBarrier=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  return branch;
}

void ElementEvaluator::leaveIf() {
  Operation *branch = scopes.back().block->getParentOp();
  scopes.pop_back();
  builder.setInsertionPointAfter(branch);
}

//===-- Indices -------------------------------------------------------------------------------===//

LaneIndex ElementEvaluator::constantIndex(int64_t value) {
  // At the start of the outermost scope's function, where every scope sees it.
  Operation *function = scopes.front().block->getParentOp();
  while (function->getParentOp() && !isa<FunctionOpInterface>(function))
    function = function->getParentOp();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function->getRegion(0).front());
  return {arith::ConstantIndexOp::create(builder, function->getLoc(), value), 0, {}};
}

Value ElementEvaluator::toVector(Location loc, Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, loc, VectorType::get(lanes, value.getType()), value);
}

Value ElementEvaluator::materialize(Location loc, const LaneIndex &index) {
  if (index.vector)
    return index.vector;
  if (index.stride == 0)
    return index.base;
  auto type = VectorType::get(lanes, builder.getIndexType());
  Value steps = vector::StepOp::create(builder, loc, type);
  if (index.stride != 1)
    steps = arith::MulIOp::create(builder, loc, steps, toVector(loc, constantIndex(index.stride).base));
  return arith::AddIOp::create(builder, loc, toVector(loc, index.base), steps);
}

LaneIndex ElementEvaluator::addIndices(Location loc, LaneIndex lhs, LaneIndex rhs) {
  if (lhs.vector || rhs.vector) {
    Value left = toVector(loc, materialize(loc, lhs)), right = toVector(loc, materialize(loc, rhs));
    return {{}, 0, arith::AddIOp::create(builder, loc, left, right)};
  }
  auto left = getConstantIntValue(lhs.base), right = getConstantIntValue(rhs.base);
  int64_t stride = lhs.stride + rhs.stride;
  if (left && right)
    return {constantIndex(*left + *right).base, stride, {}};
  if (left == 0)
    return {rhs.base, stride, {}};
  if (right == 0)
    return {lhs.base, stride, {}};
  Value base = emitAt(std::max(depthOf(lhs.base), depthOf(rhs.base)),
                      [&]() -> Value { return arith::AddIOp::create(builder, loc, lhs.base, rhs.base); });
  return {base, stride, {}};
}

LaneIndex ElementEvaluator::multiplyIndices(Location loc, LaneIndex lhs, LaneIndex rhs) {
  auto constantOf = [](const LaneIndex &index) -> std::optional<int64_t> {
    if (!index.isInvariant())
      return std::nullopt;
    return getConstantIntValue(index.base);
  };
  if (constantOf(lhs))
    std::swap(lhs, rhs);
  std::optional<int64_t> factor = constantOf(rhs);
  if (factor == 1)
    return lhs;
  bool isAffine = !lhs.vector && !rhs.vector && (factor || (lhs.isInvariant() && rhs.isInvariant()));
  if (!isAffine) {
    Value left = toVector(loc, materialize(loc, lhs)), right = toVector(loc, materialize(loc, rhs));
    return {{}, 0, arith::MulIOp::create(builder, loc, left, right)};
  }
  int64_t stride = factor ? lhs.stride * *factor : 0;
  if (auto left = getConstantIntValue(lhs.base); left && factor)
    return {constantIndex(*left * *factor).base, stride, {}};
  Value base = emitAt(std::max(depthOf(lhs.base), depthOf(rhs.base)),
                      [&]() -> Value { return arith::MulIOp::create(builder, loc, lhs.base, rhs.base); });
  return {base, stride, {}};
}

SmallVector<LaneIndex> ElementEvaluator::delinearize(Location loc, LaneIndex flat, ArrayRef<Value> sizes) {
  SmallVector<LaneIndex> result(sizes.size());
  LaneIndex all = flat;
  for (size_t d = sizes.size(); d-- > 1;) {
    Value size = sizes[d];
    std::optional<int64_t> constant = getConstantIntValue(size);
    if (constant == 1) {
      result[d] = constantIndex(0);
      continue;
    }
    // Lanes that begin at a multiple of their number stay in one row when that divides the row.
    bool staysInRow = flat.stride == 1 && isMultipleOf(size, lanes) && isMultipleOf(flat.base, lanes);
    if (!flat.vector && (flat.stride == 0 || staysInRow)) {
      Value rest = arith::RemUIOp::create(builder, loc, flat.base, size);
      result[d] = {rest, flat.stride, {}};
      flat = {arith::DivUIOp::create(builder, loc, flat.base, size), 0, {}};
      continue;
    }
    Value numbers = toVector(loc, materialize(loc, flat)), divisor = toVector(loc, size);
    result[d] = {{}, 0, arith::RemUIOp::create(builder, loc, numbers, divisor)};
    flat = {{}, 0, arith::DivUIOp::create(builder, loc, numbers, divisor)};
  }
  result[0] = flat;
  bool isSplit = llvm::all_of(llvm::zip(result, sizes), [](auto part) {
    return std::get<0>(part).vector || getConstantIntValue(std::get<1>(part)) == 1;
  });
  if (all.stride == 1 && sizes.size() > 1 && isSplit && result[0].vector)
    splits.push_back({all, result, SmallVector<Value>(sizes)});
  return result;
}

LaneIndex ElementEvaluator::evaluateExpr(Location loc, AffineExpr expr, ArrayRef<LaneIndex> ivs) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return ivs[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constantIndex(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  LaneIndex lhs = evaluateExpr(loc, binary.getLHS(), ivs), rhs = evaluateExpr(loc, binary.getRHS(), ivs);
  // The maps of the linalg form hold sums and products only; divisions are ops of a body.
  return expr.getKind() == AffineExprKind::Add ? addIndices(loc, lhs, rhs) : multiplyIndices(loc, lhs, rhs);
}

Value ElementEvaluator::sizeOf(Value tensor, int64_t dimension) {
  auto type = cast<ShapedType>(tensor.getType());
  if (!type.isDynamicDim(dimension))
    return constantIndex(type.getDimSize(dimension)).base;
  Operation *op = tensor.getDefiningOp();
  auto dynamicOperand = [&](ValueRange sizes) {
    int64_t place = 0;
    for (int64_t d = 0; d < dimension; ++d)
      place += type.isDynamicDim(d);
    return sizes[place];
  };
  if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(op))
    return dynamicOperand(empty.getDynamicSizes());
  if (auto buffer = dyn_cast_or_null<vxk::BufferOp>(op))
    return dynamicOperand(buffer.getSizes());
  if (auto places = dyn_cast_or_null<vxk::PlacesOp>(op))
    return dynamicOperand(places.getSizes());
  if (auto toTensor = dyn_cast_or_null<bufferization::ToTensorOp>(op))
    return sizeOf(toTensor.getBuffer(), dimension);
  if (auto cast = dyn_cast_or_null<tensor::CastOp>(op))
    return sizeOf(cast.getSource(), dimension);
  if (auto destination = dyn_cast_or_null<DestinationStyleOpInterface>(op))
    return sizeOf(destination.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber())->get(), dimension);
  return emitAt(0, [&]() -> Value { return tensor::DimOp::create(builder, tensor.getLoc(), tensor, dimension); });
}

//===-- Elements ------------------------------------------------------------------------------===//

static bool hasFaults(linalg::GenericOp op) {
  return op.getBody()->walk([](vxk::ReportFaultOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

Value ElementEvaluator::evaluate(Value tensor, ArrayRef<LaneIndex> indices) {
  if (auto source = sources.find(tensor); source != sources.end())
    return source->second(indices);
  return compute(tensor, indices);
}

Value ElementEvaluator::compute(Value tensor, ArrayRef<LaneIndex> indices) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return emitError(tensor.getLoc())
               << "expects a tensor that an op of the kernel computes, got a block argument of type "
               << tensor.getType(),
           Value();
  Location loc = op->getLoc();
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return evaluate(cast.getSource(), indices);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constantElement(constant, indices);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getInputs().front();
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op); elements && elements.getElements().size() == 1)
    return elements.getElements().front();
  if (isa<tensor::EmptyOp>(op))
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(getElementTypeOrSelf(tensor)));

  auto toTensor = dyn_cast<bufferization::ToTensorOp>(op);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!toTensor && !generic)
    return op->emitOpError() << "is not known to the code generator of kernels", Value();

  bool isInvariant = llvm::all_of(indices, [](const LaneIndex &index) { return index.isInvariant(); });
  Key key = {toTensor ? tensor.getAsOpaquePointer() : static_cast<void *>(op)};
  for (const LaneIndex &index : indices) {
    key.push_back((index.vector ? index.vector : index.base).getAsOpaquePointer());
    key.push_back(reinterpret_cast<void *>(index.stride));
  }
  key.push_back(isInvariant && !isGuarded ? nullptr : mask.getAsOpaquePointer());
  unsigned number = generic ? cast<OpResult>(tensor).getResultNumber() : 0;
  for (Scope &scope : scopes)
    if (auto known = scope.known.find(key); known != scope.known.end())
      return known->second[number];

  size_t depth = barrierDepth();
  for (const LaneIndex &index : indices)
    depth = std::max(depth, depthOf(index));
  if (mask && !isInvariant)
    depth = std::max(depth, depthOf(mask));
  if (generic && hasFaults(generic))
    depth = scopes.size() - 1; // Where nothing is read, nothing is wrong.
  // A value that is the same for all lanes is computed whether or not a lane is left out.
  const Value laneMask = isInvariant && !isGuarded ? Value() : mask;
  auto results = emitAt(depth, [&]() -> SmallVector<Value> {
    llvm::SaveAndRestore<Value> saved(mask, laneMask);
    if (generic)
      return evaluateGeneric(generic, indices, number);
    return {load(loc, toTensor.getBuffer(), indices)};
  });
  if (results.empty())
    return {};
  scopes[std::min(depth, scopes.size() - 1)].known[key] = results;
  return results[number];
}

} // namespace vx
