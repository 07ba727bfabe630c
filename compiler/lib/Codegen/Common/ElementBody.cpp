#include "ElementEvaluator.h"
#include "IndexFacts.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace vx {

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

Value ElementEvaluator::anyLane(Location loc, Value condition) {
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, condition);
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
  // One branch for all lanes. Its results are vectors as soon as lanes differ anywhere in this body.
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
  // Carried values are vectors as soon as lanes differ anywhere in this body.
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
