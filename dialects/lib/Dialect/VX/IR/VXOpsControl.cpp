#include "VXOpFamilies.h"

#include "vx/Dialect/DescribeEnd.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsControl.cpp.inc"

namespace vx {

LogicalResult SymbolOp::verify() {
  int64_t min = getMinAttr().getInt(), max = getMaxAttr().getInt(), multiple = getMultipleAttr().getInt();
  if (min < 0 || min > max || multiple < 1) // C1
    return emitOpError() << "expects 0 <= min <= max and multiple >= 1, got min " << min << ", max " << max
                         << " and multiple " << multiple;
  if (getInstance() && getDataDependent()) // C3
    return emitOpError() << "expects symbol '" << getName() << "' to be of the instance or data-dependent, got both";
  for (SymbolOp other : (*this)->getParentOfType<ModuleOp>().getOps<SymbolOp>()) {
    if (other == *this)
      break;
    if (other.getName() == getName()) // C2
      return emitOpError() << "expects one declaration of symbol '" << getName() << "', got a second one";
  }
  return success();
}

/// The declaration of a symbol, null when there is none.
static SymbolOp findSymbol(Operation *from, StringRef name) {
  if (auto module = from->getParentOfType<ModuleOp>())
    for (SymbolOp symbol : module.getOps<SymbolOp>())
      if (symbol.getName() == name)
        return symbol;
  return {};
}

static StringRef describeKind(SymbolOp symbol) {
  if (!symbol)
    return "no declaration";
  if (symbol.getDataDependent())
    return "a data-dependent symbol";
  return symbol.getInstance() ? "a symbol of the instance" : "a symbol of an input's size";
}

static LogicalResult verifyYield(Operation *op, Block &block, TypeRange want, StringRef what) {
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError() << "expects " << what << " to end with 'vx.yield', got " << describeEnd(block);
  if (yield.getValues().size() != want.size())
    return op->emitOpError() << "expects " << what << " to yield " << want.size() << " values, got "
                             << yield.getValues().size();
  for (auto [index, value] : llvm::enumerate(yield.getValues()))
    if (!areCompatibleTypes(value.getType(), want[index]))
      return op->emitOpError() << "expects " << what << " to yield " << want[index] << " as value " << index << ", got "
                               << value.getType();
  return success();
}

LogicalResult IfOp::verify() {
  if (failed(verifyYield(*this, getThenRegion().front(), getResultTypes(), "the first region"))) // C1
    return failure();
  return verifyYield(*this, getElseRegion().front(), getResultTypes(), "the second region"); // C1
}

static LogicalResult verifyCommits(LoopOp loop) {
  Operation *parent = loop->getParentOp();
  if (isa_and_present<LoopOp, IfOp>(parent))
    return loop.emitOpError() << "expects a loop that commits to stand in a function's own block, got one in '"
                              << parent->getName() << "'";
  VariablePlaces places(loop->getParentOfType<ModuleOp>());
  SmallVector<StringAttr> stored;
  loop.walk([&](VariableStoreOp store) { stored.push_back(store.getVariableAttr().getAttr()); });
  for (Operation &op : llvm::make_range(loop->getBlock()->begin(), Block::iterator(loop))) {
    StringAttr before, inside;
    op.walk([&](VariableStoreOp store) {
      for (StringAttr name : stored)
        if (places.overlap(name, store.getVariableAttr().getAttr()))
          before = store.getVariableAttr().getAttr(), inside = name;
    });
    if (before && !(isa<LoopOp>(op) && cast<LoopOp>(op).getCommits()))
      return loop.emitOpError() << "expects no store before it of what it commits, got one of '" << before.getValue()
                                << "' before '" << inside.getValue() << "'";
  }
  return success();
}

LogicalResult LoopOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInits().size() || getNumResults() != getInits().size()) // C1
    return emitOpError() << "expects one region argument and one result for each of the " << getInits().size()
                         << " carried values, got " << body.getNumArguments() << " and " << getNumResults();
  for (auto [index, init] : llvm::enumerate(getInits()))
    for (Type type : {body.getArgument(index).getType(), getResult(index).getType()})
      if (!areCompatibleTypes(init.getType(), type)) // C1
        return emitOpError() << "expects carried value " << index << " to keep its type: " << init.getType() << ", got "
                             << type;
  // A loop in a region that is still being made stands in no module; it is verified again when it does.
  SymbolOp iteration = findSymbol(*this, getIteration());
  if ((*this)->getParentOfType<ModuleOp>() && (!iteration || !iteration.getDataDependent())) // C3
    return emitOpError() << "expects the symbol '" << getIteration() << "' to be declared as data-dependent, got "
                         << describeKind(iteration);
  if (getCommits() && failed(verifyCommits(*this))) // C4
    return failure();
  SmallVector<Type> want = {RankedTensorType::get({}, IntegerType::get(getContext(), 1))};
  llvm::append_range(want, getResultTypes());
  return verifyYield(*this, body, want, "the region"); // C2
}

void LoopOp::collectConstraints(ConstraintCollector &collector) {
  for (TypeRange types : {TypeRange(getBody().getArgumentTypes()), TypeRange(getResultTypes())})
    for (auto [init, type] : llvm::zip(getInits(), types))
      collector.wantKnownShape(type, *this, init.getType());
}

// What the op around it wants of the values.
void YieldOp::collectConstraints(ConstraintCollector &collector) {
  Operation *parent = (*this)->getParentOp();
  if (auto branch = dyn_cast<IfOp>(parent)) {
    for (auto [value, type] : llvm::zip(getValues(), branch.getResultTypes()))
      collector.wantKnownShape(type, branch, value.getType());
  } else if (auto loop = dyn_cast<LoopOp>(parent)) {
    for (TypeRange types : {TypeRange(loop.getBody().getArgumentTypes()), TypeRange(loop.getResultTypes())})
      for (auto [value, type] : llvm::zip(getValues().drop_front(), types))
        collector.wantKnownShape(type, loop, value.getType());
  }
}

LogicalResult VariableOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  for (DimAttr dim : getDims(type)) {
    llvm::SetVector<StringAttr> symbols;
    if (!dim) // C1
      return emitOpError() << "expects each size to be a number or over symbols of the instance, got " << type;
    dim.collectSymbols(symbols);
    for (StringAttr name : symbols)
      if (SymbolOp symbol = findSymbol(*this, name); !symbol || !symbol.getInstance()) // C1
        return emitOpError() << "expects sizes over symbols of the instance, got '" << name.getValue() << "'";
  }
  if (getInitial() && getInitial()->getType() != type) // C2
    return emitOpError() << "expects 'initial' of the variable's type: " << type << ", got " << getInitial()->getType();
  if (getPool().has_value() != getOffset().has_value())
    return emitOpError() << "expects a pool and an offset, or neither, got "
                         << (getPool() ? "a pool without an offset" : "an offset without a pool");
  std::optional<InitAttr> init = getInit();
  if (!init)
    return success();
  if (getInitial()) // C3
    return emitOpError() << "expects 'initial' or 'init', got both";
  Type element = type.getElementType();
  if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element)) // C4
    return emitOpError() << "expects random values of f16, bf16, f32 or f64, got " << type;
  if (!type.hasStaticShape()) // C4
    return emitOpError() << "expects random values of a static size, got " << type;
  if (init->getKind() == InitKind::orthogonal && type.getRank() < 2) // C4
    return emitOpError() << "expects rank 2 or more of orthogonal values, got " << type;
  const APFloat a = init->getA().getValue(), b = init->getB().getValue();
  if (!a.isFinite() || !b.isFinite()) // C4
    return emitOpError() << "expects random values by finite numbers, got " << init->getA() << " and " << init->getB();
  if (init->getKind() == InitKind::uniform && a > b) // C4
    return emitOpError() << "expects a first bound of at most the second, got " << init->getA() << " and "
                         << init->getB();
  if (init->getKind() == InitKind::normal && b.isNegative() && !b.isZero()) // C4
    return emitOpError() << "expects a deviation of at least 0, got " << init->getB();
  return success();
}

static bool isShared(VariableOp variable) {
  return variable.getRole() == VariableRole::parameter || variable.getRole() == VariableRole::statistic;
}

static bool hasStart(VariableOp variable) { return variable.getInitial() || variable.getInit(); }

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getPool())
    return success();
  auto pool = symbolTable.lookupNearestSymbolFrom<VariableOp>(*this, getPoolAttr());
  if (!pool) // C5
    return emitOpError() << "expects a variable '" << *getPool() << "' to lie in, got none";
  if (pool.getPool()) // C5
    return emitOpError() << "expects a pool that lies in no other, got '" << *getPool() << "', which lies in '"
                         << *pool.getPool() << "'";
  auto type = cast<RankedTensorType>(getType()), poolType = cast<RankedTensorType>(pool.getType());
  if (poolType.getRank() != 1 || poolType.getElementType() != type.getElementType()) // C5
    return emitOpError() << "expects a pool of one dimension and of " << type.getElementType() << ", got '"
                         << *getPool() << "' of type " << poolType;
  VariablePlace place = vx::getPlace(*this), whole = vx::getPlace(pool);
  if (place.size < 0 || whole.size < 0) // C5
    return emitOpError() << "expects sizes that are numbers in a pool and of it, got " << type << " in " << poolType;
  if (place.offset < 0 || place.offset % kVariableAlignment != 0) // C6
    return emitOpError() << "expects an offset that is a multiple of " << kVariableAlignment << ", got "
                         << place.offset;
  if (place.offset > whole.size || place.size > whole.size - place.offset) // C6
    return emitOpError() << "expects to lie in the " << whole.size << " bytes of '" << *getPool() << "', got "
                         << place.size << " bytes at " << place.offset;
  if (isShared(*this) != isShared(pool)) // C7
    return emitOpError() << "expects instances to share a variable as its pool, got role "
                         << stringifyVariableRole(getRole()) << " in '" << *getPool() << "' of role "
                         << stringifyVariableRole(pool.getRole());
  if (!hasStart(*this))
    return success();
  for (VariableOp other : (*this)->getParentOfType<ModuleOp>().getOps<VariableOp>())
    if (other != *this && hasStart(other) && vx::getPlace(other).overlaps(place)) // C8
      return emitOpError() << "expects one initial value for its bytes, got another one by '" << other.getSymName()
                           << "'";
  return success();
}

static LogicalResult verifyVariableUse(Operation *op, FlatSymbolRefAttr name, Type type,
                                       SymbolTableCollection &symbolTable) {
  auto variable = symbolTable.lookupNearestSymbolFrom<VariableOp>(op, name);
  if (!variable) // C1
    return op->emitOpError() << "expects a variable '" << name.getValue() << "', got none";
  if (!areCompatibleTypes(variable.getType(), type)) // C1
    return op->emitOpError() << "expects the type of variable '" << name.getValue() << "': " << variable.getType()
                             << ", got " << type;
  return success();
}

LogicalResult VariableLoadOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getVariableAttr(), getResult().getType(), symbolTable);
}
LogicalResult VariableStoreOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getVariableAttr(), getValue().getType(), symbolTable);
}

static void collectVariableUse(Operation *op, FlatSymbolRefAttr name, Type type, ConstraintCollector &collector) {
  if (auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(op, name))
    collector.wantEqualShapes(type, variable.getType()); // C1
}

void VariableLoadOp::collectConstraints(ConstraintCollector &collector) {
  collectVariableUse(*this, getVariableAttr(), getResult().getType(), collector);
}
void VariableStoreOp::collectConstraints(ConstraintCollector &collector) {
  collectVariableUse(*this, getVariableAttr(), getValue().getType(), collector);
}

/// Equal, but for dimensions that are no numbers: the symbols of two functions are different ones.
static bool fitsSignature(Type type, Type want) {
  if (auto optional = dyn_cast<OptionalType>(want)) {
    auto given = dyn_cast<OptionalType>(type);
    return given && fitsSignature(given.getValueType(), optional.getValueType());
  }
  if (auto sequence = dyn_cast<SequenceType>(want)) {
    auto given = dyn_cast<SequenceType>(type);
    return given && fitsSignature(given.getElementType(), sequence.getElementType());
  }
  auto given = dyn_cast<RankedTensorType>(type), wanted = dyn_cast<RankedTensorType>(want);
  if (!given || !wanted)
    return type == want;
  return given.getElementType() == wanted.getElementType() &&
         succeeded(verifyCompatibleShape(given.getShape(), wanted.getShape()));
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto function = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getCalleeAttr());
  if (!function || function.isExternal()) // C1
    return emitOpError() << "expects '" << getCallee() << "' to be a function of the module, with a body, got none";
  auto check = [&](TypeRange given, ArrayRef<Type> wanted, StringRef what) -> LogicalResult {
    if (given.size() != wanted.size()) // C2
      return emitOpError() << "expects as many " << what << "s as '" << getCallee() << "' has: " << wanted.size()
                           << ", got " << given.size();
    for (auto [index, type, want] : llvm::enumerate(given, wanted))
      if (!fitsSignature(type, want)) // C3
        return emitOpError() << "expects " << what << " " << index << " of the type that '" << getCallee()
                             << "' has: " << want << ", got " << type;
    return success();
  };
  if (failed(check(getInputs().getTypes(), function.getArgumentTypes(), "operand")))
    return failure();
  return check(getResultTypes(), function.getResultTypes(), "result");
}

static LogicalResult verifyElement(Operation *op, Type sequence, Type type) {
  auto optional = dyn_cast<OptionalType>(sequence);
  Type element = optional ? optional.getValueType() : cast<SequenceType>(sequence).getElementType();
  if (!areCompatibleTypes(element, type))
    return op->emitOpError() << "expects tensors of the sequence's element type: " << element << ", got " << type;
  return success();
}

LogicalResult SequenceConstructOp::verify() {
  for (Value input : getInputs())
    if (failed(verifyElement(*this, getResult().getType(), input.getType()))) // C1
      return failure();
  return success();
}
LogicalResult SequenceInsertOp::verify() {
  if (!areCompatibleTypes(getSequence().getType(), getResult().getType()))
    return emitOpError() << "expects a result of the sequence's type: " << getSequence().getType() << ", got "
                         << getResult().getType();
  return verifyElement(*this, getResult().getType(), getValue().getType()); // C1
}
LogicalResult SequenceAtOp::verify() {
  return verifyElement(*this, getSequence().getType(), getResult().getType()); // C1
}

LogicalResult OptionalOp::verify() {
  Type want = getResult().getType().getValueType();
  if (getValue() && !areCompatibleTypes(want, getValue().getType())) // C1
    return emitOpError() << "expects a value of the type that the optional holds: " << want << ", got "
                         << getValue().getType();
  return success();
}
LogicalResult OptionalValueOp::verify() {
  Type held = getOptional().getType().getValueType();
  if (!areCompatibleTypes(held, getResult().getType())) // C1
    return emitOpError() << "expects a result of the type that the optional holds: " << held << ", got "
                         << getResult().getType();
  return success();
}

void SequenceConstructOp::collectConstraints(ConstraintCollector &collector) {
  for (Type type : getInputs().getTypes())
    collector.wantEqualShapes(getResult().getType().getElementType(), type); // C1
}
void SequenceInsertOp::collectConstraints(ConstraintCollector &collector) {
  collector.wantEqualShapes(getResult().getType().getElementType(), getValue().getType()); // C1
}

Operation *getAnchor(Block &body) {
  for (Operation &op : body)
    if (op.hasAttr(kAnchorAttr))
      return &op;
  return nullptr;
}

/// What fusions and kernels have in common; `body` ends with a yield.
static LogicalResult verifyKernelBody(Operation *op, Block &body, StrategyAttrInterface strategy) {
  Operation *anchor = nullptr, *candidate = nullptr;
  for (Operation &inner : body) {
    bool isAnchor = getRole(&inner) == Role::Anchor;
    // What others check as they read it decides nothing.
    bool isChecked = isa<CheckIndicesOp>(inner) && llvm::none_of(inner.getUsers(), llvm::IsaPred<YieldOp>);
    if (isAnchor && !candidate && !isChecked)
      candidate = &inner;
    if (!inner.hasAttr(kAnchorAttr))
      continue;
    if (!isAnchor) // C2
      return op->emitOpError() << "expects an op with the role of an anchor to be marked '" << kAnchorAttr << "', got '"
                               << inner.getName() << "' of " << describeSource(inner.getLoc());
    if (anchor) // C2
      return op->emitOpError() << "expects one op marked '" << kAnchorAttr << "', got '" << anchor->getName() << "' of "
                               << describeSource(anchor->getLoc()) << " and '" << inner.getName() << "' of "
                               << describeSource(inner.getLoc());
    anchor = &inner;
  }
  if (candidate && !anchor) // C2
    return op->emitOpError() << "expects one op marked '" << kAnchorAttr << "', got none where '"
                             << candidate->getName() << "' of " << describeSource(candidate->getLoc())
                             << " has the role of an anchor";
  if (body.getTerminator()->getNumOperands() == 0 ||
      !isa<RankedTensorType>(body.getTerminator()->getOperand(0).getType()))
    return success();
  size_t rank = getVisitedType(body).getRank(), sizes = strategy.getWorkgroupTile().size();
  if (sizes > rank) // C3
    return op->emitOpError() << "expects a strategy with at most one tile size for each of " << rank
                             << " dimensions that are visited, got " << sizes << " in " << strategy;
  return success();
}

LogicalResult FusionOp::verify() {
  Block &body = getBody().front();
  if (!areCompatibleTypes(TypeRange(getInputs()), body.getArgumentTypes())) // C1
    return emitOpError() << "expects the region's arguments to have the types of the operands: ("
                         << getInputs().getTypes() << "), got (" << body.getArgumentTypes() << ")";
  if (failed(verifyYield(*this, body, getResultTypes(), "the region"))) // C1
    return failure();
  return verifyKernelBody(*this, body, getStrategy());
}

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (body.empty() || !isa<YieldOp>(body.back()))
    return emitOpError() << "expects the region to end with 'vx.yield', got " << describeEnd(body);
  if (failed(verifyKernelBody(*this, body, getStrategy())))
    return failure();
  SetVector<StringAttr> named;
  AttrTypeWalker walker;
  walker.addWalk([&](DimAttr dim) {
    dim.collectSymbols(named);
    return WalkResult::skip();
  });
  getWorkgroups().collectSymbols(named);
  getBody().walk([&](Block *block) {
    for (BlockArgument argument : block->getArguments())
      walker.walk(argument.getType());
    for (Operation &op : *block) {
      walker.walk(op.getAttrDictionary());
      for (Type type : op.getResultTypes())
        walker.walk(type);
    }
  });
  for (StringAttr name : named)
    if (!llvm::is_contained(getSymbols(), name)) // C1
      return emitOpError() << "expects every symbol in 'symbols', got '" << name.getValue() << "' in the body only";
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel = symbolTable.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel) // C1
    return emitOpError() << "expects a kernel '" << getKernel() << "', got none";
  Block &body = kernel.getBody().front();
  if (body.empty())
    return success(); // the kernel's own verifier says so
  if (!areCompatibleTypes(TypeRange(getInputs()), body.getArgumentTypes()) ||
      !areCompatibleTypes(getResultTypes(), body.getTerminator()->getOperandTypes())) // C1
    return emitOpError() << "expects the operands and results of kernel '" << getKernel() << "': ("
                         << body.getArgumentTypes() << ") -> (" << body.getTerminator()->getOperandTypes() << "), got ("
                         << getInputs().getTypes() << ") -> (" << getResultTypes() << ")";
  if (getSymbols().size() != kernel.getSymbols().size()) // C1
    return emitOpError() << "expects one value for each symbol of kernel '" << getKernel()
                         << "': " << kernel.getSymbols().size() << ", got " << getSymbols().size();
  return success();
}

// The trip count and the condition come first.
bool LoopOp::isHostScalar(unsigned operand) {
  return operand < (getTripCount() ? 1u : 0u) + (getCondition() ? 1u : 0u);
}

// The position.
bool SequenceInsertOp::isHostScalar(unsigned operand) { return operand == 2; }

void registerControlOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsControl.cpp.inc"
      >(dialect);
}

} // namespace vx
