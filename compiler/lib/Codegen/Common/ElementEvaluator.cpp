#include "ElementEvaluator.h"

#include "IndexFacts.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/RegionUtils.h"
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

/// Runs `emit` with the builder at the end of the scope at `depth`, before what was entered from there.
template <typename Emit>
auto ElementEvaluator::emitAt(size_t depth, Emit emit) {
  if (depth + 1 >= scopes.size())
    return emit();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(scopes[depth].child);
  std::vector<Scope> inner(std::make_move_iterator(scopes.begin() + depth + 1), std::make_move_iterator(scopes.end()));
  scopes.erase(scopes.begin() + depth + 1, scopes.end());
  Operation *child = scopes.back().child;
  llvm::SaveAndRestore<Value> saved(mask, Value());
  auto result = emit();
  scopes.back().child = child;
  for (Scope &scope : inner)
    scopes.push_back(std::move(scope));
  return result;
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

Value ElementEvaluator::anyLane(Location loc, Value condition) {
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, condition);
}

const ElementEvaluator::Split *ElementEvaluator::findSplit(Value memref, ArrayRef<LaneIndex> indices) {
  for (const Split &split : splits) {
    size_t count = split.parts.size();
    if (indices.size() < count)
      continue;
    size_t first = indices.size() - count;
    bool isIt = llvm::all_of(indices.take_front(first), [](const LaneIndex &index) { return index.isInvariant(); });
    for (size_t d = 0; d < count && isIt; ++d) {
      const LaneIndex &index = indices[first + d];
      isIt = split.parts[d].vector ? index.vector == split.parts[d].vector
                                   : index.isInvariant() && getConstantIntValue(index.base) == 0;
    }
    for (size_t d = 1; d < count && isIt; ++d) {
      Value size = sizeOf(memref, first + d);
      std::optional<int64_t> constant = getConstantIntValue(size);
      isIt = size == split.sizes[d] || (constant && constant == getConstantIntValue(split.sizes[d]));
    }
    if (isIt)
      return &split;
  }
  return nullptr;
}

Value ElementEvaluator::flattenSplit(Location loc, Value memref, ArrayRef<LaneIndex> indices,
                                     SmallVectorImpl<Value> &bases) {
  const Split *split = findSplit(memref, indices);
  if (!split)
    return {};
  size_t first = indices.size() - split->parts.size();
  SmallVector<ReassociationIndices> groups;
  for (size_t d = 0; d < first; ++d)
    groups.push_back({static_cast<int64_t>(d)});
  groups.emplace_back(llvm::to_vector(llvm::seq<int64_t>(first, indices.size())));
  bases.resize(first);
  bases.push_back(split->flat.base);
  return emitAt(0, [&]() -> Value { return memref::CollapseShapeOp::create(builder, loc, memref, groups); });
}

Value ElementEvaluator::load(Location loc, Value memref, ArrayRef<LaneIndex> indices) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> bases;
  for (const LaneIndex &index : indices)
    bases.push_back(index.base);
  bool isInvariant = llvm::all_of(indices, [](const LaneIndex &index) { return index.isInvariant(); });
  if (isInvariant) {
    if (!isGuarded)
      return memref::LoadOp::create(builder, loc, memref, bases);
    auto branch = scf::IfOp::create(builder, loc, type.getElementType(), anyLane(loc, mask), /*withElseRegion=*/true);
    OpBuilder inner = branch.getThenBodyBuilder();
    scf::YieldOp::create(inner, loc, ValueRange(memref::LoadOp::create(inner, loc, memref, bases)));
    inner = branch.getElseBodyBuilder();
    Value zero = arith::ConstantOp::create(inner, loc, inner.getZeroAttr(type.getElementType()));
    scf::YieldOp::create(inner, loc, zero);
    return branch.getResult(0);
  }
  auto vectorType = VectorType::get(lanes, type.getElementType());
  auto zeros = [&]() -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(vectorType, builder.getZeroAttr(type.getElementType())));
  };
  bool isContiguous = !indices.back().vector && indices.back().stride == 1 &&
                      llvm::all_of(indices.drop_back(), [](const LaneIndex &index) { return index.isInvariant(); });
  if (isContiguous) {
    if (!mask)
      return vector::LoadOp::create(builder, loc, vectorType, memref, bases);
    return vector::MaskedLoadOp::create(builder, loc, vectorType, memref, bases, mask, zeros());
  }
  if (Value flat = flattenSplit(loc, memref, indices, bases)) {
    if (!mask)
      return vector::LoadOp::create(builder, loc, vectorType, flat, bases);
    return vector::MaskedLoadOp::create(builder, loc, vectorType, flat, bases, mask, zeros());
  }
  if (!indices.back().vector && isNarrowStride(indices.back().stride) &&
      llvm::all_of(indices.drop_back(), [](const LaneIndex &index) { return index.isInvariant(); }))
    return loadStrided(loc, memref, bases, indices.back().stride);
  LaneIndex offset = indices.front();
  for (auto [d, index] : llvm::enumerate(indices))
    if (d != 0)
      offset = addIndices(loc, multiplyIndices(loc, offset, {sizeOf(memref, d), 0, {}}), index);
  Value lanesMask = mask;
  if (!lanesMask)
    lanesMask = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(VectorType::get(lanes, builder.getI1Type()), true));
  SmallVector<Value> origin(indices.size(), constantIndex(0).base);
  return vector::GatherOp::create(builder, loc, vectorType, memref, origin, toVector(loc, materialize(loc, offset)),
                                  lanesMask, zeros());
}

bool ElementEvaluator::isNarrowStride(int64_t stride) const {
  // As many loads as the stride, each with a shuffle, take less time than a gather of so many lanes.
  constexpr int64_t leastLanes = 8, widest = 4;
  return lanes >= leastLanes && (stride == -1 || (std::abs(stride) > 1 && std::abs(stride) <= widest));
}

/// Whole vectors that cover the elements, of which those are taken. No element beyond the first and the last is read.
Value ElementEvaluator::loadStrided(Location loc, Value memref, SmallVector<Value> bases, int64_t stride) {
  const int64_t step = std::abs(stride), span = step * (lanes - 1) + 1;
  if (stride < 0)
    bases.back() = addIndices(loc, {bases.back(), 0, {}}, constantIndex(1 - span)).base;
  auto vectorType = VectorType::get(lanes, cast<MemRefType>(memref.getType()).getElementType());
  auto placeOf = [&](int64_t lane) { return step * (stride < 0 ? lanes - 1 - lane : lane); };
  Value all;
  for (int64_t part = 0; part < step; ++part) {
    const int64_t first = part + 1 == step ? span - lanes : part * lanes;
    SmallVector<Value> at = bases;
    at.back() = addIndices(loc, {bases.back(), 0, {}}, constantIndex(first)).base;
    Value loaded;
    if (mask) {
      // Of each element its lane, where it has one.
      SmallVector<int64_t> lanesOfElements;
      SmallVector<bool> isTaken;
      for (int64_t place = first; place < first + lanes; ++place) {
        lanesOfElements.push_back(stride < 0 ? lanes - 1 - place / step : place / step);
        isTaken.push_back(place % step == 0);
      }
      Value elements = vector::ShuffleOp::create(builder, loc, mask, mask, lanesOfElements);
      Value taken = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(cast<VectorType>(mask.getType()), ArrayRef<bool>(isTaken)));
      Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
      loaded = vector::MaskedLoadOp::create(builder, loc, vectorType, memref, at,
                                            arith::AndIOp::create(builder, loc, elements, taken), zeros);
    } else {
      loaded = vector::LoadOp::create(builder, loc, vectorType, memref, at);
    }
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t place = placeOf(lane) - first;
      const bool isHere = place >= 0 && place < lanes;
      order.push_back(isHere ? lanes + place : lane);
    }
    all = vector::ShuffleOp::create(builder, loc, all ? all : loaded, loaded, order);
  }
  return all;
}

/// An element of a small constant is chosen by comparing the index with each place.
Value ElementEvaluator::constantElement(arith::ConstantOp op, ArrayRef<LaneIndex> indices) {
  Location loc = op.getLoc();
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op->emitOpError() << "expects inline elements, got " << op.getValue(), Value();
  auto scalar = [&](Attribute value) -> Value {
    return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(value));
  };
  if (elements.isSplat())
    return scalar(elements.getSplatValue<Attribute>());
  if (elements.getNumElements() == 0)
    return scalar(builder.getZeroAttr(elements.getElementType()));
  constexpr int64_t kMostElements = 64;
  if (elements.getNumElements() > kMostElements)
    return op->emitOpError() << "expects at most " << kMostElements << " elements of a kernel's constant, got "
                             << elements.getNumElements() << ": pass it as a buffer",
           Value();
  LaneIndex offset = constantIndex(0);
  for (auto [d, index] : llvm::enumerate(indices))
    offset = addIndices(loc, multiplyIndices(loc, offset, constantIndex(elements.getType().getDimSize(d))), index);
  Value place = materialize(loc, offset);
  bool isVarying = isa<VectorType>(place.getType());
  Value result;
  for (auto [k, value] : llvm::enumerate(elements.getValues<Attribute>())) {
    Value element = scalar(value);
    if (isVarying)
      element = toVector(loc, element);
    if (!result) {
      result = element;
      continue;
    }
    Value number = constantIndex(k).base;
    if (isVarying)
      number = toVector(loc, number);
    Value isHere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, place, number);
    result = arith::SelectOp::create(builder, loc, isHere, element, result);
  }
  return result;
}

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

//===-- linalg.generic ------------------------------------------------------------------------===//

SmallVector<Value> ElementEvaluator::evaluateGeneric(linalg::GenericOp op, ArrayRef<LaneIndex> indices,
                                                     unsigned result) {
  Body body;
  body.op = op;
  body.ivs.resize(op.getNumLoops());
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  for (auto [expr, index] : llvm::zip(outMap.getResults(), indices)) {
    body.ivs[cast<AffineDimExpr>(expr).getPosition()] = index;
    body.isVarying |= !index.isInvariant();
  }
  if (op.getNumReductionLoops() != 0)
    return reduce(body);
  SmallVector<Value> results;
  if (!evaluateBody(body, results))
    return {};
  return results;
}

SmallVector<Operation *> getBodySlice(Block &body, Value value) {
  SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op)
      op = body.findAncestorOpInBlock(*op);
    if (!op || !needed.insert(op).second)
      continue;
    op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
  }
  SmallVector<Operation *> slice;
  for (Operation &op : body)
    if (needed.contains(&op))
      slice.push_back(&op);
  return slice;
}

LogicalResult ElementEvaluator::store(ArrayRef<bufferization::MaterializeInDestinationOp> results,
                                      ArrayRef<LaneIndex> indices) {
  SmallVector<Value> values;
  SmallVector<bufferization::MaterializeInDestinationOp> stores(results);
  for (bufferization::MaterializeInDestinationOp result : stores) {
    values.push_back(evaluate(result.getSource(), indices));
    if (!values.back())
      return failure();
  }
  bool isVarying = llvm::any_of(indices, [](const LaneIndex &index) { return !index.isInvariant(); });
  for (auto [result, value] : llvm::zip(stores, values)) {
    auto places = result.getDest().getDefiningOp<vxk::PlacesOp>();
    if (!places)
      store(result.getLoc(), value, result.getDest(), indices);
    else if (!storeAtPlace(result.getLoc(), value, places, indices, isVarying))
      return failure();
  }
  return success();
}

void ElementEvaluator::storeElement(Location loc, Value value, Value memref, ValueRange indices, bool isVarying) {
  if (!isVarying)
    memref::StoreOp::create(builder, loc, value, memref, indices);
  else if (mask)
    vector::MaskedStoreOp::create(builder, loc, memref, indices, mask, toVector(loc, value));
  else
    vector::StoreOp::create(builder, loc, toVector(loc, value), memref, indices);
}

void ElementEvaluator::store(Location loc, Value value, Value memref, ArrayRef<LaneIndex> indices) {
  SmallVector<Value> bases;
  for (const LaneIndex &index : indices)
    bases.push_back(index.base);
  bool isVarying = llvm::any_of(indices, [](const LaneIndex &index) { return !index.isInvariant(); });
  if (llvm::any_of(indices, [](const LaneIndex &index) { return !!index.vector; }))
    memref = flattenSplit(loc, memref, indices, bases); // nothing else is stored across rows
  storeElement(loc, value, memref, bases, isVarying);
}

/// A sum of two elements, rounded once: that of narrow floats is exact enough in f32 to be rounded again.
static Value addElements(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  Type type = lhs.getType(), element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element))
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  if (element.getIntOrFloatBitWidth() >= 32)
    return arith::AddFOp::create(builder, loc, lhs, rhs);
  Type wide = builder.getF32Type();
  if (auto vectorType = dyn_cast<VectorType>(type))
    wide = vectorType.clone(wide);
  Value sum = arith::AddFOp::create(builder, loc, arith::ExtFOp::create(builder, loc, wide, lhs),
                                    arith::ExtFOp::create(builder, loc, wide, rhs));
  return arith::TruncFOp::create(builder, loc, type, sum);
}

/// False after an error, which has been reported. Lanes are neighbours in the buffer too.
bool ElementEvaluator::storeAtPlace(Location loc, Value value, vxk::PlacesOp places, ArrayRef<LaneIndex> indices,
                                    bool isVarying) {
  Value buffer = places.getBuffer();
  ArrayRef<int64_t> axes = places.getAxes();
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  size_t tupleRank = cast<RankedTensorType>(places.getIndices().getType()).getRank() - 1;
  SmallVector<LaneIndex> tuple(places.getSlice() ? ArrayRef<LaneIndex>() : indices.take_front(tupleRank));
  Value isInside;
  auto want = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
    isInside = isInside ? Value(arith::AndIOp::create(builder, loc, isInside, holds)) : holds;
  };
  SmallVector<Value> at;
  size_t member = 0, next = tuple.size();
  for (int64_t d = 0; d < rank; ++d) {
    Value size = sizeOf(buffer, d), index;
    if (llvm::is_contained(axes, d)) {
      tuple.push_back(constantIndex(member++));
      Value word = evaluate(places.getIndices(), tuple);
      tuple.pop_back();
      if (!word)
        return false;
      index = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), word);
    }
    if (!places.getSlice()) {
      if (index)
        want(arith::CmpIPredicate::ult, index, size);
      at.push_back(index ? index : indices[next++].base);
      continue;
    }
    // The whole box, so that it is the same for all lanes.
    Value extent = sizeOf(places.getResult(), d);
    if (!index)
      index = constantIndex(0).base;
    want(arith::CmpIPredicate::ule, extent, size);
    want(arith::CmpIPredicate::ule, index, arith::SubIOp::create(builder, loc, size, extent));
    at.push_back(arith::AddIOp::create(builder, loc, index, indices[d].base));
  }
  enterIf(loc, isInside);
  if (places.getAdd()) {
    Value old;
    if (!isVarying) {
      old = memref::LoadOp::create(builder, loc, buffer, at);
    } else {
      value = toVector(loc, value);
      auto type = cast<VectorType>(value.getType());
      Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      old = mask ? Value(vector::MaskedLoadOp::create(builder, loc, type, buffer, at, mask, zeros))
                 : Value(vector::LoadOp::create(builder, loc, type, buffer, at));
    }
    value = addElements(builder, loc, old, value);
  }
  storeElement(loc, value, buffer, at, isVarying);
  leaveIf();
  return true;
}

/// Whether `result` depends on `op`; nothing where a way from the one to the other is not elementwise.
static std::optional<bool> dependsElementwise(Value result, linalg::GenericOp op) {
  llvm::DenseSet<Value> dependent = {op.getResult(0)};
  for (Operation &other : *op->getBlock()) {
    if (&other == op || !op->isBeforeInBlock(&other))
      continue;
    if (result.getDefiningOp() && result.getDefiningOp()->isBeforeInBlock(&other))
      break;
    bool usesIt = llvm::any_of(other.getOperands(), [&](Value operand) { return dependent.contains(operand); });
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(other.getRegions(), captured);
    if (llvm::any_of(captured, [&](Value value) { return dependent.contains(value); }))
      return std::nullopt;
    if (!usesIt || isa<bufferization::MaterializeInDestinationOp>(other))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(other);
    if (!generic && !isa<tensor::CastOp>(other))
      return std::nullopt;
    if (generic) {
      if (generic.getNumReductionLoops() != 0)
        return std::nullopt;
      for (OpOperand &operand : generic->getOpOperands())
        if (dependent.contains(operand.get()) && !generic.getMatchingIndexingMap(&operand).isIdentity())
          return std::nullopt;
      if (!generic.getMatchingIndexingMap(generic.getDpsInitOperand(0)).isIdentity())
        return std::nullopt;
    }
    for (Value value : other.getResults())
      dependent.insert(value);
  }
  return dependent.contains(result);
}

bool isElementwiseOf(Value result, linalg::GenericOp op) { return dependsElementwise(result, op).value_or(false); }

bool isElementwiseOrIndependentOf(Value result, linalg::GenericOp op) {
  return dependsElementwise(result, op).has_value();
}

Value ElementEvaluator::evaluateInBody(linalg::GenericOp op, Value value, ArrayRef<LaneIndex> ivs) {
  Body body;
  body.op = op;
  body.ivs.assign(ivs.begin(), ivs.end());
  body.isVarying = llvm::any_of(ivs, [](const LaneIndex &index) { return !index.isInvariant(); });
  for (Operation *needed : getBodySlice(*op.getBody(), value))
    if (!evaluateOp(body, *needed))
      return {};
  std::optional<LaneValue> result = lookup(body, value);
  if (!result)
    return {};
  return result->index ? materialize(op.getLoc(), *result->index) : result->value;
}

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

std::optional<ElementEvaluator::LaneValue> ElementEvaluator::lookup(Body &body, Value value) {
  if (auto known = body.values.find(value); known != body.values.end())
    return known->second;
  LaneValue result;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != body.op.getBody()) {
    // Defined outside of the body.
    if (value.getType().isIndex())
      result.index = LaneIndex{value, 0, {}};
    else
      result.value = value;
    return result;
  }
  OpOperand &operand = body.op->getOpOperand(argument.getArgNumber());
  if (body.op.isDpsInit(&operand) && !body.accumulators.empty()) {
    result.value = body.accumulators[argument.getArgNumber() - body.op.getNumDpsInputs()];
  } else {
    SmallVector<LaneIndex> at;
    for (AffineExpr expr : body.op.getMatchingIndexingMap(&operand).getResults())
      at.push_back(evaluateExpr(body.op.getLoc(), expr, body.ivs));
    result.value = evaluate(operand.get(), at);
    if (!result.value)
      return std::nullopt;
  }
  body.values[value] = result;
  return result;
}

bool ElementEvaluator::evaluateBody(Body &body, SmallVectorImpl<Value> &results) {
  llvm::SaveAndRestore<DenseMap<Value, LaneValue>> saved(body.values);
  return evaluateBlock(body, *body.op.getBody(), results);
}

bool ElementEvaluator::evaluateBlock(Body &body, Block &block, SmallVectorImpl<Value> &yielded) {
  for (Operation &op : block.without_terminator())
    if (!evaluateOp(body, op))
      return false;
  for (Value value : block.getTerminator()->getOperands()) {
    std::optional<LaneValue> result = lookup(body, value);
    if (!result)
      return false;
    yielded.push_back(result->index ? materialize(value.getLoc(), *result->index) : result->value);
  }
  return true;
}

bool ElementEvaluator::evaluateOp(Body &body, Operation &op) {
  Location loc = op.getLoc();
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    body.values[index.getResult()] = {{}, body.ivs[index.getDim()]};
    return true;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return evaluateIf(body, branch);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return evaluateFor(body, loop);
  if (isa<vxk::ReportFaultOp>(op))
    return reportFaults(body, op);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<LaneIndex> at;
    for (Value index : extract.getIndices()) {
      std::optional<LaneValue> value = lookup(body, index);
      if (!value)
        return false;
      at.push_back(*value->index);
    }
    Value element = evaluate(extract.getTensor(), at);
    if (!element)
      return false;
    body.values[extract.getResult()] = {element, {}};
    return true;
  }
  if (op.getNumResults() == 1 && op.getResult(0).getType().isIndex())
    return evaluateIndexOp(body, op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    if (Value holds = compareAlongLanes(body, compare)) {
      body.values[compare.getResult()] = {holds, {}};
      return true;
    }
  if (op.getNumRegions() != 0 || op.getNumResults() != 1)
    return op.emitOpError() << "is not known in the body of a kernel's op", false;

  SmallVector<Value> operands;
  bool isVarying = false;
  for (Value operand : op.getOperands()) {
    std::optional<LaneValue> value = lookup(body, operand);
    if (!value)
      return false;
    isVarying |= value->isVarying();
    operands.push_back(value->index ? materialize(loc, *value->index) : value->value);
  }
  if (isVarying && !mlir::OpTrait::hasElementwiseMappableTraits(&op))
    return op.emitOpError() << "cannot be computed on vectors", false;
  SmallVector<Type> types(op.getResultTypes());
  if (isVarying) {
    for (auto [k, operand] : llvm::enumerate(operands))
      if (!(isa<arith::SelectOp>(op) && k == 0))
        operand = toVector(loc, operand);
    for (Type &type : types)
      type = VectorType::get(lanes, type);
  }
  Operation *copy = builder.create(loc, op.getName().getIdentifier(), operands, types, op.getAttrs());
  body.values[op.getResult(0)] = {copy->getResult(0), {}};
  return true;
}

/// Compares an index that grows from lane to lane with one that is the same for all: the numbers of the lanes, of 32
/// bits, with a scalar. Null for anything else.
Value ElementEvaluator::compareAlongLanes(Body &body, arith::CmpIOp op) {
  constexpr int64_t widestStride = 1 << 20, bound = 1 << 30;
  if (!op.getLhs().getType().isIndex() || lanes == 1)
    return {};
  std::optional<LaneValue> lhs = lookup(body, op.getLhs()), rhs = lookup(body, op.getRhs());
  if (!lhs || !rhs || !lhs->index || !rhs->index || lhs->index->vector || rhs->index->stride != 0 ||
      rhs->index->vector || lhs->index->stride == 0 || std::abs(lhs->index->stride) > widestStride)
    return {};
  Location loc = op.getLoc();
  auto compare = [&](arith::CmpIPredicate predicate, Value limit) -> Value {
    Value distance = arith::SubIOp::create(builder, loc, limit, lhs->index->base);
    distance = arith::MaxSIOp::create(builder, loc, distance, constantIndex(-bound).base);
    distance = arith::MinSIOp::create(builder, loc, distance, constantIndex(bound).base);
    distance = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), distance);
    SmallVector<int32_t> offsets;
    for (int64_t lane = 0; lane < lanes; ++lane)
      offsets.push_back(static_cast<int32_t>(lane * lhs->index->stride));
    auto type = VectorType::get(lanes, builder.getI32Type());
    Value all = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef(offsets)));
    return arith::CmpIOp::create(builder, loc, predicate, all, toVector(loc, distance));
  };
  switch (op.getPredicate()) {
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::ne:
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
    return compare(op.getPredicate(), rhs->index->base);
  default:
    return {};
  }
}

bool ElementEvaluator::evaluateIndexOp(Body &body, Operation &op) {
  Location loc = op.getLoc();
  SmallVector<LaneValue> operands;
  bool isVarying = false;
  for (Value operand : op.getOperands()) {
    std::optional<LaneValue> value = lookup(body, operand);
    if (!value)
      return false;
    isVarying |= value->isVarying();
    operands.push_back(*value);
  }
  auto finish = [&](LaneIndex index) {
    body.values[op.getResult(0)] = {{}, index};
    return true;
  };
  if (auto constant = getConstantIntValue(op.getResult(0)))
    return finish(constantIndex(*constant));
  if (isa<arith::AddIOp>(op))
    return finish(addIndices(loc, *operands[0].index, *operands[1].index));
  if (isa<arith::MulIOp>(op))
    return finish(multiplyIndices(loc, *operands[0].index, *operands[1].index));
  if (isa<arith::SubIOp>(op))
    return finish(addIndices(loc, *operands[0].index, multiplyIndices(loc, *operands[1].index, constantIndex(-1))));
  if (isa<arith::DivUIOp, arith::RemUIOp>(op)) {
    // Lanes that begin at a multiple of their number have one quotient when that divides the divisor.
    const LaneIndex &dividend = *operands[0].index;
    std::optional<int64_t> divisor = getConstantIntValue(op.getOperand(1));
    if (divisor && *divisor % lanes == 0 && dividend.stride == 1 && !dividend.vector &&
        isMultipleOf(dividend.base, lanes)) {
      Value base = builder
                       .create(loc, op.getName().getIdentifier(), {dividend.base, constantIndex(*divisor).base},
                               builder.getIndexType(), op.getAttrs())
                       ->getResult(0);
      return finish({base, isa<arith::RemUIOp>(op) ? 1 : 0, {}});
    }
  }
  if (isVarying && !mlir::OpTrait::hasElementwiseMappableTraits(&op))
    return op.emitOpError() << "cannot be computed on vectors", false;
  SmallVector<Value> values;
  for (auto [k, operand] : llvm::enumerate(operands)) {
    Value value = operand.index ? materialize(loc, *operand.index) : operand.value;
    values.push_back(isVarying && !(isa<arith::SelectOp>(op) && k == 0) ? toVector(loc, value) : value);
  }
  Type type = isVarying ? Type(VectorType::get(lanes, builder.getIndexType())) : builder.getIndexType();
  Value result = builder.create(loc, op.getName().getIdentifier(), values, type, op.getAttrs())->getResult(0);
  return finish(isVarying ? LaneIndex{{}, 0, result} : LaneIndex{result, 0, {}});
}

bool ElementEvaluator::evaluateIf(Body &body, scf::IfOp op) {
  Location loc = op.getLoc();
  std::optional<LaneValue> condition = lookup(body, op.getCondition());
  if (!condition)
    return false;
  if (condition->isVarying()) {
    // Both branches, each for its lanes.
    Value yes = condition->value;
    Value all = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(cast<VectorType>(yes.getType()), true));
    Value no = arith::XOrIOp::create(builder, loc, yes, all);
    SmallVector<Value> results[2];
    for (bool isElse : {false, true}) {
      Value lanesOfBranch = isElse ? no : yes;
      if (mask)
        lanesOfBranch = arith::AndIOp::create(builder, loc, mask, lanesOfBranch);
      llvm::SaveAndRestore<Value> savedMask(mask, lanesOfBranch);
      llvm::SaveAndRestore<bool> savedGuard(isGuarded, true);
      llvm::SaveAndRestore<DenseMap<Value, LaneValue>> savedValues(body.values);
      if (!evaluateBlock(body, isElse ? *op.elseBlock() : *op.thenBlock(), results[isElse]))
        return false;
    }
    for (auto [result, onTrue, onFalse] : llvm::zip(op.getResults(), results[0], results[1]))
      body.values[result] = {arith::SelectOp::create(builder, loc, yes, toVector(loc, onTrue), toVector(loc, onFalse)),
                             {}};
    return true;
  }
  // One branch for all lanes. What it yields is a vector as soon as lanes differ anywhere in this body.
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(body.isVarying ? Type(VectorType::get(lanes, type)) : type);
  auto branch = scf::IfOp::create(builder, loc, types, condition->value, /*withElseRegion=*/true);
  for (bool isElse : {false, true}) {
    Block *block = isElse ? branch.elseBlock() : branch.thenBlock();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    llvm::SaveAndRestore<DenseMap<Value, LaneValue>> savedValues(body.values);
    pushScope(block, /*isBarrier=*/true);
    SmallVector<Value> yielded;
    bool done = evaluateBlock(body, isElse ? *op.elseBlock() : *op.thenBlock(), yielded);
    scopes.pop_back();
    if (!done)
      return false;
    if (body.isVarying)
      for (Value &value : yielded)
        value = toVector(loc, value);
    scf::YieldOp::create(builder, loc, yielded);
  }
  for (auto [result, value] : llvm::zip(op.getResults(), branch.getResults()))
    body.values[result] = {value, {}};
  return true;
}

/// A loop that all lanes run as often.
bool ElementEvaluator::evaluateFor(Body &body, scf::ForOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> bounds, inits;
  for (Value bound : {op.getLowerBound(), op.getUpperBound(), op.getStep()}) {
    std::optional<LaneValue> value = lookup(body, bound);
    if (!value)
      return false;
    if (value->isVarying())
      return op.emitOpError() << "has bounds that differ from lane to lane", false;
    bounds.push_back(value->index ? materialize(loc, *value->index) : value->value);
  }
  // What is carried is a vector as soon as lanes differ anywhere in this body.
  auto toCarried = [&](Value value) { return body.isVarying ? toVector(loc, value) : value; };
  auto toLanes = [&](Value value) -> LaneValue {
    if (!getElementTypeOrSelf(value.getType()).isIndex())
      return {value, {}};
    return {{}, body.isVarying ? LaneIndex{{}, 0, value} : LaneIndex{value, 0, {}}};
  };
  for (Value init : op.getInitArgs()) {
    std::optional<LaneValue> value = lookup(body, init);
    if (!value)
      return false;
    inits.push_back(toCarried(value->index ? materialize(loc, *value->index) : value->value));
  }
  scf::ForOp loop = enterLoop(loc, bounds[0], bounds[1], bounds[2], inits);
  SmallVector<Value> yielded;
  {
    llvm::SaveAndRestore<DenseMap<Value, LaneValue>> savedValues(body.values);
    body.values[op.getInductionVar()] = {{}, LaneIndex{loop.getInductionVar(), 0, {}}};
    for (auto [argument, value] : llvm::zip(op.getRegionIterArgs(), loop.getRegionIterArgs()))
      body.values[argument] = toLanes(value);
    if (!evaluateBlock(body, *op.getBody(), yielded))
      return false;
  }
  for (Value &value : yielded)
    value = toCarried(value);
  leaveLoop(yielded);
  for (auto [result, value] : llvm::zip(op.getResults(), loop.getResults()))
    body.values[result] = toLanes(value);
  return true;
}

bool ElementEvaluator::reportFaults(Body &body, Operation &op) {
  Location loc = op.getLoc();
  SmallVector<Value> operands;
  for (Value operand : op.getOperands()) {
    std::optional<LaneValue> value = lookup(body, operand);
    if (!value)
      return false;
    operands.push_back(value->index ? materialize(loc, *value->index) : value->value);
  }
  auto report = [&](OpBuilder &b, ArrayRef<Value> scalars) {
    b.create(loc, op.getName().getIdentifier(), scalars, TypeRange(), op.getAttrs());
  };
  bool isVarying = llvm::any_of(operands, [](Value value) { return isa<VectorType>(value.getType()); });
  if (isGuarded || (mask && isVarying)) {
    Value condition = toVector(loc, operands[0]);
    operands[0] = arith::AndIOp::create(builder, loc, condition, mask);
    isVarying = true;
  }
  if (!isVarying)
    return report(builder, operands), true;
  // Rare: lane by lane, in order.
  auto branch = scf::IfOp::create(builder, loc, anyLane(loc, toVector(loc, operands[0])), /*withElseRegion=*/false);
  OpBuilder inner = branch.getThenBodyBuilder();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> scalars;
    for (Value operand : operands)
      scalars.push_back(isa<VectorType>(operand.getType())
                            ? Value(vector::ExtractOp::create(inner, loc, operand, ArrayRef<int64_t>{lane}))
                            : operand);
    report(inner, scalars);
  }
  return true;
}

} // namespace vx
