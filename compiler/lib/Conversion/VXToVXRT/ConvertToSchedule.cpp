// Lowers functions over vx.dispatch to vxrt programs.

#include "vx/Analysis/InputRanges.h"
#include "vx/Analysis/RowIndependence.h"
#include "vx/Conversion/SchedulePasses.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/OpFunctionTable.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Memory/Expressions.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/ScopedHashTable.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CONVERTTOSCHEDULEPASS
#include "vx/Conversion/SchedulePasses.h.inc"

namespace {

/// What is known inside of a region: the values of symbols, sizes and scalars computed so far, and the buffers of
/// tensors. Everything learnt in a region is forgotten when it ends.
struct Scope {
  llvm::DenseMap<StringAttr, Value> symbols;
  llvm::DenseMap<DimAttr, Value> dims;
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Value> memory;          // tensor -> buffer, sequence or optional -> object
  llvm::MapVector<StringAttr, Value> variables; // the variable's value at this point of the program
};

class ScheduleBuilder {
public:
  ScheduleBuilder(ModuleOp module, func::FuncOp function) : module(module), function(function), builder(module) {}

  LogicalResult build();

  // What the program has for each op that may stand in a function by now. Each has its line in the table at the end.
  LogicalResult buildOp(BindSymbolOp op);
  LogicalResult buildOp(ConstantOp op);
  LogicalResult buildOp(ConstraintOp op);
  LogicalResult buildOp(DimValueOp) { return success(); } // read where it is needed
  LogicalResult buildOp(DispatchOp op);
  LogicalResult buildOp(HostFunctionOp op);
  LogicalResult buildOp(IfOp op);
  LogicalResult buildOp(LoopOp op);
  LogicalResult buildOp(ReshapeOp op);
  LogicalResult buildOp(OptionalOp op);
  LogicalResult buildOp(OptionalValueOp op);
  LogicalResult buildOp(SequenceAtOp op);
  LogicalResult buildOp(SequenceConstructOp op);
  LogicalResult buildOp(SequenceEraseOp op);
  LogicalResult buildOp(SequenceInsertOp op);
  LogicalResult buildOp(SequenceLengthOp) { return success(); } // read where it is needed
  LogicalResult buildOp(VariableLoadOp op);
  LogicalResult buildOp(VariableStoreOp op);
  LogicalResult buildOp(YieldOp) { return success(); } // what holds the region reads it
  LogicalResult buildOp(func::CallOp op);
  LogicalResult buildOp(func::ReturnOp op);

private:
  MLIRContext *context() { return builder.getContext(); }
  Value constant(int64_t value) { return evaluate(DimAttr::constant(context(), value)); }
  Value calc(vxrt::CalcKind kind, Value lhs, Value rhs) {
    return vxrt::CalcOp::create(builder, location, builder.getI64Type(), kind, lhs, rhs);
  }

  template <typename Map, typename Key>
  Value lookup(Map Scope::*map, Key key) {
    for (Scope &scope : llvm::reverse(scopes))
      if (auto it = (scope.*map).find(key); it != (scope.*map).end())
        return it->second;
    return {};
  }

  /// The value of an expression, computed once in each region; null after an error about a symbol that is not bound.
  Value evaluate(DimAttr dim);
  void reportUnknownSize(Type type);
  Value getSizeInBytes(RankedTensorType type);
  Value allocate(RankedTensorType type);
  /// The scalar that a rank-0 tensor holds, without a round trip where the host knows it.
  Value getHostScalar(Value tensor);
  std::optional<unsigned> findInput(Value scalar);
  /// The buffer or object of a value. Something that is not in memory is an error, reported once; a stand-in keeps the
  /// rest going.
  Value getMemory(Value value);
  void setMemory(Value value, Value memory) { scopes.back().memory[value] = memory; }

  /// Symbols of `types` that nothing has bound so far: the op that has these types binds them.
  SetVector<StringAttr> getUnboundSymbols(TypeRange types);
  /// The value that symbol `symbol` of `pattern` takes for a tensor whose sizes are those of `type` in the current
  /// region.
  Value matchSymbol(StringAttr symbol, TypeRange patterns, TypeRange types);
  LogicalResult checkSymbolRange(StringAttr symbol, Value value);

  OpBuilder commands();
  void endSegment() {
    if (segment)
      builder.setInsertionPointAfter(segment);
    segment = nullptr;
  }

  Value getPosition(Value list, Value position, bool insert);
  Value insert(Value list, Value position, Value tensor);
  /// Sets a tensor of a list that has the type of `result`, and binds the symbols of the type that nothing has bound so
  /// far.
  LogicalResult getElement(Value list, Value position, Value result);
  LogicalResult buildBlock(Block &block);
  /// What the ops in `root`, a function or a loop that commits, have stored.
  LogicalResult storeVariables(Operation *root);
  /// Whether other variables' stores may change what is there.
  static bool mayBeVariable(Value memory);
  /// Makes `memory` that of a copy where it may be a variable's.
  LogicalResult keep(Type type, Value &memory);
  LogicalResult keepOldValues(LoopOp loop);
  Value copyToFresh(Value buffer, RankedTensorType type);
  SmallVector<StringAttr> getStoredVariables(Operation *op);
  Type getMemoryType(Type type) {
    return isa<TensorType>(type) ? Type(vxrt::BufferType::get(context())) : Type(vxrt::ObjectType::get(context()));
  }

  ModuleOp module;
  func::FuncOp function;
  OpBuilder builder;
  Location location = UnknownLoc::get(module.getContext());
  Block *entry = nullptr; // of the program
  SmallVector<Scope> scopes;
  bool hasErrors = false;
  bool commits = false;               // some loop of the function
  SmallVector<Attribute> constraints; // of the function's inputs
  vxrt::SegmentOp segment;            // open: commands go into it, everything else before it
};

Value ScheduleBuilder::getMemory(Value value) {
  if (Value memory = lookup(&Scope::memory, value))
    return memory;
  emitError(value.getLoc()) << "a value of " << describeSource(value.getLoc())
                            << " is read as memory, but only the host has it";
  hasErrors = true;
  Value standIn;
  if (isa<TensorType>(value.getType()))
    standIn = vxrt::AllocateOp::create(builder, location, vxrt::BufferType::get(context()), constant(0));
  else
    standIn = vxrt::ListEmptyOp::create(builder, location, vxrt::ObjectType::get(context()), builder.getF32Type());
  setMemory(value, standIn);
  return standIn;
}

void ScheduleBuilder::reportUnknownSize(Type type) {
  emitError(location) << "the size of " << type << " is not known, in " << describeSource(location);
}

Value ScheduleBuilder::evaluate(DimAttr dim) {
  auto known = [&](DimAttr part) -> Value {
    if (part.getKind() != DimKind::Symbol)
      return lookup(&Scope::dims, part);
    Value value = lookup(&Scope::symbols, part.getSymbol());
    if (!value)
      emitError(location) << "the size '" << part.getSymbol().getValue() << "' is used before it is known, in "
                          << describeSource(location);
    return value;
  };
  return emitExpression(builder, location, dim, known,
                        [&](DimAttr part, Value value) { scopes.back().dims[part] = value; });
}

Value ScheduleBuilder::getSizeInBytes(RankedTensorType type) {
  DimAttr elements = getNumElements(type);
  if (!elements) {
    reportUnknownSize(type);
    return {};
  }
  unsigned bits = vxrt::getStorageBits(type.getElementType());
  if (bits == 0) {
    emitError(location) << "tensors of " << type.getElementType() << " have no form in device memory, in "
                        << describeSource(location);
    return {};
  }
  return evaluate(DimAttr::ceilDiv(elements * bits, DimAttr::constant(context(), 8)));
}

Value ScheduleBuilder::allocate(RankedTensorType type) {
  Value size = getSizeInBytes(type);
  return size ? vxrt::AllocateOp::create(builder, location, vxrt::BufferType::get(context()), size).getResult()
              : Value();
}

/// The number of the function's input of one element that a scalar is, if it is one.
std::optional<unsigned> ScheduleBuilder::findInput(Value scalar) {
  while (auto reshape = scalar.getDefiningOp<ReshapeOp>())
    scalar = reshape.getInput();
  auto argument = dyn_cast<BlockArgument>(scalar);
  auto type = argument ? dyn_cast<RankedTensorType>(argument.getType()) : RankedTensorType();
  if (!type || argument.getOwner()->getParentOp() != function || !type.hasStaticShape() || type.getNumElements() != 1)
    return std::nullopt;
  return argument.getArgNumber();
}

static bool isOptionalSequence(Type type) {
  auto optional = dyn_cast<OptionalType>(type);
  return optional && isa<SequenceType>(optional.getValueType());
}

Value ScheduleBuilder::getHostScalar(Value tensor) {
  if (Value known = lookup(&Scope::scalars, tensor))
    return known;
  Value value;
  if (auto dim = tensor.getDefiningOp<DimValueOp>()) {
    value = evaluate(dim.getValue());
  } else if (auto length = tensor.getDefiningOp<SequenceLengthOp>()) {
    Value list = getMemory(length.getSequence());
    value = isOptionalSequence(length.getSequence().getType())
                ? vxrt::HasListOp::create(builder, location, builder.getI64Type(), list).getResult()
                : vxrt::ListSizeOp::create(builder, location, builder.getI64Type(), list).getResult();
  } else if (auto literal = tensor.getDefiningOp<ConstantOp>(); literal && isa<DenseElementsAttr>(literal.getValue())) {
    APInt element = cast<DenseElementsAttr>(literal.getValue()).getValues<APInt>()[0];
    value = constant(element.getBitWidth() == 1 ? element.getZExtValue() : element.getSExtValue());
  } else if (std::optional<unsigned> input = findInput(tensor)) {
    // Before anything may write over it, and once.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(entry, llvm::find_if_not(*entry, llvm::IsaPred<vxrt::ReadInputOp>));
    value = vxrt::ReadInputOp::create(builder, location, *input, getElementTypeOrSelf(tensor.getType()),
                                      /*symbol=*/StringAttr());
    scopes.front().scalars[tensor] = value;
  } else {
    Value buffer = getMemory(tensor);
    endSegment();
    auto type = cast<RankedTensorType>(tensor.getType());
    value =
        vxrt::ReadI64Op::create(builder, location, builder.getI64Type(), buffer, constant(0), type.getElementType());
  }
  if (value)
    scopes.back().scalars[tensor] = value;
  return value;
}

SetVector<StringAttr> ScheduleBuilder::getUnboundSymbols(TypeRange types) {
  SetVector<StringAttr> unbound;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (DimAttr dim : getDims(tensor))
        if (StringAttr symbol = dim ? dim.asSymbol() : StringAttr())
          if (!lookup(&Scope::symbols, symbol))
            unbound.insert(symbol);
  return unbound;
}

Value ScheduleBuilder::matchSymbol(StringAttr symbol, TypeRange patterns, TypeRange types) {
  for (auto [pattern, type] : llvm::zip(patterns, types)) {
    auto tensor = dyn_cast<RankedTensorType>(pattern);
    for (auto [index, dim] : llvm::enumerate(tensor ? getDims(tensor) : SmallVector<DimAttr>()))
      if (dim && dim.asSymbol() == symbol) {
        DimAttr size = getDim(cast<RankedTensorType>(type), index);
        if (!size) {
          reportUnknownSize(type);
          return {};
        }
        return evaluate(size);
      }
  }
  llvm_unreachable("the symbol comes from the patterns");
}

LogicalResult ScheduleBuilder::checkSymbolRange(StringAttr symbol, Value value) {
  for (auto declaration : module.getOps<SymbolOp>()) {
    if (declaration.getNameAttr() != symbol)
      continue;
    // No size is below 0, whatever the data says.
    int64_t max = declaration.getMax();
    vxrt::CheckRangeOp::create(builder, location, value, constant(declaration.getMin()),
                               constant(max == INT64_MAX ? max : max + 1),
                               builder.getStringAttr("size '" + symbol.getValue() + "'"));
    if (declaration.getMultiple() > 1)
      vxrt::CheckOp::create(builder, location, vxrt::CheckKind::multiple, value, constant(declaration.getMultiple()),
                            builder.getStringAttr("size '" + symbol.getValue() + "' to be a multiple of " +
                                                  Twine(declaration.getMultiple())));
    return success();
  }
  return emitError(location) << "the symbol '" << symbol.getValue() << "' is not declared, in "
                             << describeSource(location);
}

OpBuilder ScheduleBuilder::commands() {
  if (!segment) {
    segment = vxrt::SegmentOp::create(builder, location);
    segment.getBody().emplaceBlock();
    builder.setInsertionPoint(segment);
  }
  return OpBuilder::atBlockEnd(&segment.getBody().front());
}

LogicalResult ScheduleBuilder::buildOp(DispatchOp op) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(op, op.getKernelAttr());
  llvm::DenseMap<StringAttr, DimAttr> bindings;
  SmallVector<Value> scalars, inputs, outputs;
  for (auto [name, dim] :
       llvm::zip(kernel.getSymbols().getAsRange<StringAttr>(), op.getSymbols().getAsRange<DimAttr>())) {
    bindings[name] = dim;
    scalars.push_back(evaluate(dim));
    if (!scalars.back())
      return failure();
  }
  Value workgroups =
      evaluate(kernel.getWorkgroups().substitute([&](StringAttr symbol) { return bindings.lookup(symbol); }));
  if (!workgroups)
    return failure();
  for (Value input : op.getInputs())
    inputs.push_back(getMemory(input));
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    if (std::optional<int64_t> updated = getUpdatedOperand(kernel, number)) {
      // The kernel reads what it updates where it lies, unless it reads the old elements too.
      outputs.push_back(copyToFresh(inputs[*updated], type));
      if (kernel.getBody().getArgument(*updated).hasOneUse())
        inputs[*updated] = outputs.back();
    } else {
      outputs.push_back(allocate(type));
    }
    if (!outputs.back())
      return failure();
    setMemory(result, outputs.back());
  }
  OpBuilder command = commands();
  auto dispatch =
      vxrt::DispatchOp::create(command, location, op.getKernelAttr(), workgroups, inputs, outputs, scalars, UnitAttr());
  if (Attribute sites = op->getAttr(kFaultSitesAttr))
    dispatch->setAttr(kFaultSitesAttr, sites);
  return success();
}

SmallVector<StringAttr> ScheduleBuilder::getStoredVariables(Operation *op) {
  SetVector<StringAttr> stored;
  op->walk([&](VariableStoreOp store) { stored.insert(store.getVariableAttr().getAttr()); });
  return SmallVector<StringAttr>(stored.begin(), stored.end());
}

LogicalResult ScheduleBuilder::buildOp(IfOp op) {
  Value condition = getHostScalar(op.getCondition());
  if (!condition)
    return failure();
  endSegment();
  SetVector<StringAttr> symbols = getUnboundSymbols(op.getResultTypes());
  SmallVector<StringAttr> variables = getStoredVariables(op);
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(getMemoryType(type));
  types.append(symbols.size(), builder.getI64Type());
  types.append(variables.size(), vxrt::BufferType::get(context()));
  auto result = vxrt::IfOp::create(builder, location, types, condition);
  for (auto [source, target] : {std::pair(&op.getThenRegion(), &result.getThenRegion()),
                                std::pair(&op.getElseRegion(), &result.getElseRegion())}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&target->emplaceBlock());
    scopes.emplace_back();
    if (failed(buildBlock(source->front())))
      return failure();
    auto yield = cast<YieldOp>(source->front().getTerminator());
    location = yield.getLoc();
    SmallVector<Value> values;
    for (Value value : yield.getValues())
      values.push_back(getMemory(value));
    for (StringAttr symbol : symbols) {
      values.push_back(matchSymbol(symbol, op.getResultTypes(), yield.getValues().getTypes()));
      if (!values.back())
        return failure();
    }
    for (StringAttr variable : variables)
      values.push_back(lookup(&Scope::variables, variable));
    endSegment();
    vxrt::YieldOp::create(builder, location, values);
    scopes.pop_back();
  }
  location = op.getLoc();
  builder.setInsertionPointAfter(result);
  ValueRange results = result.getResults();
  for (auto [value, memory] : llvm::zip(op.getResults(), results))
    setMemory(value, memory);
  results = results.drop_front(op.getNumResults());
  for (auto [symbol, value] : llvm::zip(symbols, results))
    scopes.back().symbols[symbol] = value;
  results = results.drop_front(symbols.size());
  for (auto [variable, value] : llvm::zip(variables, results))
    scopes.back().variables[variable] = value;
  return success();
}

LogicalResult ScheduleBuilder::buildOp(LoopOp op) {
  Value tripCount = op.getTripCount() ? getHostScalar(op.getTripCount()) : Value();
  Value condition = op.getCondition() ? getHostScalar(op.getCondition()) : constant(1);
  if (!condition || (op.getTripCount() && !tripCount))
    return failure();
  endSegment();
  Block &sourceBody = op.getBody().front();
  SetVector<StringAttr> symbols = getUnboundSymbols(sourceBody.getArgumentTypes());
  // What commits reads and writes variables where they lie, iteration by iteration.
  SmallVector<StringAttr> variables;
  if (!op.getCommits())
    variables = getStoredVariables(op);
  else if (failed(keepOldValues(op)))
    return failure();
  auto continues = [&](Value iteration, Value flag) {
    return tripCount ? calc(vxrt::CalcKind::mul, calc(vxrt::CalcKind::lt, iteration, tripCount), flag) : flag;
  };

  // Carried: the iteration, the memory of each value, the sizes that may change, the variables that are stored to.
  SmallVector<Value> inits = {constant(0)};
  for (Value init : op.getInits())
    inits.push_back(getMemory(init));
  for (StringAttr symbol : symbols) {
    inits.push_back(matchSymbol(symbol, sourceBody.getArgumentTypes(), op.getInits().getTypes()));
    if (!inits.back())
      return failure();
  }
  for (StringAttr variable : variables)
    inits.push_back(lookup(&Scope::variables, variable));
  Value first = continues(inits[0], condition);
  if (op.getCommits()) {
    endSegment();
    vxrt::CheckFaultsOp::create(builder, location);
  }
  auto loop = vxrt::WhileOp::create(builder, location, TypeRange(ValueRange(inits)), first, inits, op.getCommitsAttr());
  {
    OpBuilder::InsertionGuard guard(builder);
    Block &body = loop.getBody().emplaceBlock();
    for (Value init : inits)
      body.addArgument(init.getType(), location);
    builder.setInsertionPointToStart(&body);
    scopes.emplace_back();
    unsigned next = 0;
    Value iteration = body.getArgument(next++);
    scopes.back().symbols[op.getIterationAttr()] = iteration;
    for (BlockArgument argument : sourceBody.getArguments())
      setMemory(argument, body.getArgument(next++));
    for (StringAttr symbol : symbols)
      scopes.back().symbols[symbol] = body.getArgument(next++);
    for (StringAttr variable : variables)
      scopes.back().variables[variable] = body.getArgument(next++);
    if (failed(buildBlock(sourceBody)))
      return failure();
    auto yield = cast<YieldOp>(sourceBody.getTerminator());
    location = yield.getLoc();
    Value flag = getHostScalar(yield.getValues()[0]);
    if (!flag)
      return failure();
    SmallVector<Value> values = {Value(), calc(vxrt::CalcKind::add, iteration, constant(1))};
    values[0] = continues(values[1], flag);
    for (Value value : yield.getValues().drop_front())
      values.push_back(getMemory(value));
    for (StringAttr symbol : symbols) {
      values.push_back(matchSymbol(symbol, sourceBody.getArgumentTypes(), yield.getValues().drop_front().getTypes()));
      if (!values.back())
        return failure();
    }
    for (StringAttr variable : variables)
      values.push_back(lookup(&Scope::variables, variable));
    if (op.getCommits()) {
      for (auto [value, carried] :
           llvm::zip(yield.getValues().drop_front(), MutableArrayRef(values).slice(2, op.getNumResults())))
        if (failed(keep(value.getType(), carried)))
          return failure();
      if (failed(storeVariables(op)))
        return failure();
    }
    endSegment();
    vxrt::YieldOp::create(builder, location, values);
    scopes.pop_back();
  }
  location = op.getLoc();
  builder.setInsertionPointAfter(loop);
  ValueRange results = loop.getResults().drop_front();
  for (auto [value, memory] : llvm::zip(op.getResults(), results))
    setMemory(value, memory);
  // A result's own symbol is the final value of the argument's size in its place.
  llvm::DenseMap<StringAttr, Value> finalSizes;
  for (auto [symbol, value] : llvm::zip(symbols, results.drop_front(op.getNumResults())))
    finalSizes[symbol] = value;
  for (StringAttr symbol : getUnboundSymbols(op.getResultTypes()))
    for (auto [resultType, argumentType] : llvm::zip(op.getResultTypes(), sourceBody.getArgumentTypes())) {
      auto tensor = dyn_cast<RankedTensorType>(resultType);
      for (auto [index, dim] : llvm::enumerate(tensor ? getDims(tensor) : SmallVector<DimAttr>())) {
        if (!dim || dim.asSymbol() != symbol || scopes.back().symbols.contains(symbol))
          continue;
        DimAttr argumentDim = getDim(cast<RankedTensorType>(argumentType), index);
        Value size = argumentDim && argumentDim.asSymbol() ? finalSizes.lookup(argumentDim.asSymbol()) : Value();
        if (!size && argumentDim)
          size = evaluate(argumentDim);
        if (!size)
          return reportUnknownSize(argumentType), failure();
        scopes.back().symbols[symbol] = size;
      }
    }
  results = results.drop_front(op.getNumResults() + symbols.size());
  for (auto [variable, value] : llvm::zip(variables, results))
    scopes.back().variables[variable] = value;
  return success();
}

/// A position of a list, counted from its end when negative, checked.
Value ScheduleBuilder::getPosition(Value list, Value position, bool insert) {
  Value size = vxrt::ListSizeOp::create(builder, location, builder.getI64Type(), list);
  Value lower = calc(vxrt::CalcKind::sub, constant(0), size);
  Value upper = insert ? calc(vxrt::CalcKind::add, size, constant(1)) : size;
  vxrt::CheckRangeOp::create(builder, location, position, lower, upper, builder.getStringAttr("position"));
  Value isNegative = calc(vxrt::CalcKind::lt, position, constant(0));
  return vxrt::SelectOp::create(builder, location, builder.getI64Type(), isNegative,
                                calc(vxrt::CalcKind::add, position, size), position);
}

LogicalResult ScheduleBuilder::buildOp(SequenceAtOp op) {
  Value list = getMemory(op.getSequence());
  Value position = getHostScalar(op.getPosition());
  if (!position)
    return failure();
  return getElement(list, getPosition(list, position, false), op.getResult());
}

LogicalResult ScheduleBuilder::getElement(Value list, Value position, Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<Type> types = {vxrt::BufferType::get(context())};
  types.append(type.getRank(), builder.getI64Type());
  auto get = vxrt::ListGetOp::create(builder, location, types, ValueRange{list, position});
  setMemory(result, get.getBuffer());
  for (auto [dim, value] : llvm::zip(getDims(type), get.getDims())) {
    StringAttr symbol = dim ? dim.asSymbol() : StringAttr();
    if (symbol && !lookup(&Scope::symbols, symbol)) {
      scopes.back().symbols[symbol] = value;
      continue;
    }
    if (!dim)
      return reportUnknownSize(type), failure();
    Value want = evaluate(dim);
    if (!want)
      return failure();
    vxrt::CheckRangeOp::create(builder, location, value, want, calc(vxrt::CalcKind::add, want, constant(1)),
                               builder.getStringAttr("size"));
  }
  return success();
}

Value ScheduleBuilder::copyToFresh(Value buffer, RankedTensorType type) {
  Value fresh = allocate(type);
  if (!fresh)
    return {};
  OpBuilder command = commands();
  vxrt::CopyOp::create(command, location, buffer, fresh, UnitAttr());
  return fresh;
}

bool ScheduleBuilder::mayBeVariable(Value memory) {
  return isa_and_present<vxrt::VariableOp, vxrt::IfOp, vxrt::WhileOp, vxrt::ListGetOp>(memory.getDefiningOp());
}

LogicalResult ScheduleBuilder::keep(Type type, Value &memory) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && mayBeVariable(memory))
    memory = copyToFresh(memory, tensor);
  return success(memory != nullptr);
}

/// A value that is read from the loop on, and may be what a variable holds before it.
LogicalResult ScheduleBuilder::keepOldValues(LoopOp loop) {
  for (Operation &op : llvm::make_range(loop->getBlock()->begin(), Block::iterator(loop)))
    for (Value value : op.getResults()) {
      Value memory = lookup(&Scope::memory, value);
      if (!memory || llvm::all_of(value.getUsers(), [&](Operation *user) {
            return loop->getBlock()->findAncestorOpInBlock(*user)->isBeforeInBlock(loop);
          }))
        continue;
      if (failed(keep(value.getType(), memory)))
        return failure();
      setMemory(value, memory);
    }
  return success();
}

LogicalResult ScheduleBuilder::storeVariables(Operation *root) {
  SmallVector<StringAttr> stored = getStoredVariables(root);
  if (stored.empty())
    return success();
  struct Store {
    Value value, storage;
  };
  SmallVector<Store> stores;
  for (StringAttr name : stored) {
    auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(function, name);
    auto type = cast<RankedTensorType>(variable.getType());
    Value value = lookup(&Scope::variables, name);
    Value storage =
        vxrt::VariableOp::create(builder, location, vxrt::BufferType::get(context()), FlatSymbolRefAttr::get(name));
    if (auto source = value.getDefiningOp<vxrt::VariableOp>(); source && source.getVariableAttr().getAttr() == name)
      continue; // stored what it holds
    // Another variable's storage may be overwritten before it is read, and what a loop, a branch or a list gives may be
    // the storage of any.
    if (failed(keep(type, value)))
      return failure();
    stores.push_back({value, storage});
  }
  endSegment();
  vxrt::CheckFaultsOp::create(builder, location);
  for (Store &store : stores) {
    OpBuilder command = commands();
    vxrt::CopyOp::create(command, location, store.value, store.storage, UnitAttr());
  }
  return success();
}

LogicalResult ScheduleBuilder::buildOp(func::ReturnOp op) {
  SmallVector<Value> values;
  SmallVector<int64_t> ranks;
  llvm::DenseSet<Value> returned;
  for (Value operand : op.getOperands()) {
    Value memory = getMemory(operand);
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type) {
      values.push_back(memory);
      ranks.push_back(-1);
      continue;
    }
    // The caller owns its results: what the program does not own, or returns twice, is copied.
    if (!memory.getDefiningOp<vxrt::AllocateOp>() || !returned.insert(memory).second)
      memory = copyToFresh(memory, type);
    if (!memory)
      return failure();
    values.push_back(memory);
    ranks.push_back(type.getRank());
    for (DimAttr dim : getDims(type)) {
      if (!dim)
        return reportUnknownSize(type), failure();
      values.push_back(evaluate(dim));
      if (!values.back())
        return failure();
    }
  }
  if (failed(storeVariables(function)))
    return failure();
  endSegment();
  vxrt::ReturnOp::create(builder, location, values, ranks);
  return success();
}

/// What the inputs' sizes decide is checked before the program runs, the rest by the program.
LogicalResult ScheduleBuilder::buildOp(ConstraintOp op) {
  SetVector<StringAttr> symbols;
  op.getLhs().collectSymbols(symbols);
  op.getRhs().collectSymbols(symbols);
  bool isOfInputs = isa<func::FuncOp>(op->getParentOp()) && llvm::none_of(symbols, [&](StringAttr symbol) {
                      return llvm::any_of(module.getOps<SymbolOp>(), [&](SymbolOp declaration) {
                        return declaration.getNameAttr() == symbol && declaration.getDataDependent();
                      });
                    });
  if (isOfInputs) {
    constraints.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("kind", op.getKindAttr()), builder.getNamedAttr("lhs", op.getLhs()),
         builder.getNamedAttr("rhs", op.getRhs()), builder.getNamedAttr("want", op.getWantAttr()),
         builder.getNamedAttr("node", builder.getStringAttr(describeSource(op.getLoc())))}));
    return success();
  }
  Value lhs = evaluate(op.getLhs()), rhs = evaluate(op.getRhs());
  if (!lhs || !rhs)
    return failure();
  vxrt::CheckOp::create(builder, location, static_cast<vxrt::CheckKind>(op.getKind()), lhs, rhs, op.getWantAttr());
  return success();
}

LogicalResult ScheduleBuilder::buildOp(ConstantOp op) {
  auto buffer = vxrt::BufferType::get(context());
  setMemory(op, vxrt::ConstantOp::create(builder, location, buffer, op.getValue(), op.getNamesAttr()));
  return success();
}

LogicalResult ScheduleBuilder::buildOp(func::CallOp op) {
  setMemory(op.getResult(0),
            vxrt::DerivedOp::create(builder, location, vxrt::BufferType::get(context()), op.getCalleeAttr()));
  return success();
}

LogicalResult ScheduleBuilder::buildOp(ReshapeOp op) {
  setMemory(op, getMemory(op.getInput()));
  return success();
}

LogicalResult ScheduleBuilder::buildOp(BindSymbolOp op) {
  Value value = getHostScalar(op.getValue());
  if (!value)
    return failure();
  scopes.back().symbols[op.getSymbolAttr()] = value;
  if (auto read = value.getDefiningOp<vxrt::ReadInputOp>();
      read && builder.getInsertionBlock() == entry && !read.getSymbol())
    read.setSymbolAttr(op.getSymbolAttr());
  return checkSymbolRange(op.getSymbolAttr(), value);
}

LogicalResult ScheduleBuilder::buildOp(VariableLoadOp op) {
  setMemory(op, lookup(&Scope::variables, op.getVariableAttr().getAttr()));
  return success();
}

LogicalResult ScheduleBuilder::buildOp(VariableStoreOp op) {
  scopes.back().variables[op.getVariableAttr().getAttr()] = getMemory(op.getValue());
  return success();
}

/// The list with one more tensor; null after an error.
Value ScheduleBuilder::insert(Value list, Value position, Value tensor) {
  SmallVector<Value> dims;
  auto type = cast<RankedTensorType>(tensor.getType());
  for (DimAttr dim : getDims(type)) {
    if (!dim) {
      reportUnknownSize(type);
      return {};
    }
    dims.push_back(evaluate(dim));
    if (!dims.back())
      return {};
  }
  Value memory = getMemory(tensor);
  // A list may hold it until iterations have stored the variable.
  if (commits && failed(keep(type, memory)))
    return {};
  return vxrt::ListInsertOp::create(builder, location, vxrt::ObjectType::get(context()), list, position, memory, dims);
}

LogicalResult ScheduleBuilder::buildOp(SequenceConstructOp op) {
  Value list = vxrt::ListEmptyOp::create(builder, location, vxrt::ObjectType::get(context()),
                                         op.getResult().getType().getElementType().getElementType());
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    list = insert(list, constant(index), input);
    if (!list)
      return failure();
  }
  setMemory(op, list);
  return success();
}

LogicalResult ScheduleBuilder::buildOp(SequenceInsertOp op) {
  Value list = getMemory(op.getSequence()), position;
  if (op.getPosition()) {
    position = getHostScalar(op.getPosition());
    if (!position)
      return failure();
    position = getPosition(list, position, true);
  } else {
    position = vxrt::ListSizeOp::create(builder, location, builder.getI64Type(), list);
  }
  Value result = insert(list, position, op.getValue());
  if (!result)
    return failure();
  setMemory(op, result);
  return success();
}

LogicalResult ScheduleBuilder::buildOp(SequenceEraseOp op) {
  Value list = getMemory(op.getSequence());
  Value position = op.getPosition() ? getHostScalar(op.getPosition()) : constant(-1);
  if (!position)
    return failure();
  setMemory(op, vxrt::ListEraseOp::create(builder, location, vxrt::ObjectType::get(context()), list,
                                          getPosition(list, position, false)));
  return success();
}

/// An optional tensor is a list of one tensor at most, an optional sequence that sequence, or no list.
LogicalResult ScheduleBuilder::buildOp(OptionalOp op) {
  Type type = op.getResult().getType().getValueType();
  if (isa<SequenceType>(type)) {
    setMemory(op, op.getValue() ? getMemory(op.getValue())
                                : vxrt::NoListOp::create(builder, location, vxrt::ObjectType::get(context()),
                                                         cast<SequenceType>(type).getElementType().getElementType())
                                      .getResult());
    return success();
  }
  Value list = vxrt::ListEmptyOp::create(builder, location, vxrt::ObjectType::get(context()),
                                         cast<TensorType>(type).getElementType());
  if (op.getValue() && !(list = insert(list, constant(0), op.getValue())))
    return failure();
  setMemory(op, list);
  return success();
}

LogicalResult ScheduleBuilder::buildOp(OptionalValueOp op) {
  Value list = getMemory(op.getOptional());
  Value holds = vxrt::HasListOp::create(builder, location, builder.getI64Type(), list);
  vxrt::CheckOp::create(builder, location, vxrt::CheckKind::equal, holds, constant(1),
                        builder.getStringAttr("the optional to hold 1 sequence"));
  setMemory(op, list);
  return success();
}

LogicalResult ScheduleBuilder::buildOp(HostFunctionOp op) {
  Value list = vxrt::ListEmptyOp::create(builder, location, vxrt::ObjectType::get(context()),
                                         getElementTypeOrSelf(op.getInputs()[0].getType()));
  SmallVector<Attribute> elementTypes;
  for (Value input : op.getInputs())
    if (!(list = insert(list, vxrt::ListSizeOp::create(builder, location, builder.getI64Type(), list), input)))
      return failure();
  for (Type type : op.getResultTypes())
    elementTypes.push_back(TypeAttr::get(getElementTypeOrSelf(type)));
  endSegment();
  list = vxrt::HostCallOp::create(builder, location, vxrt::ObjectType::get(context()),
                                  stringifyHostFunctionKind(op.getKind()), op.getText(), op.getLimit(),
                                  builder.getArrayAttr(elementTypes), list);
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    if (failed(getElement(list, constant(index), result)))
      return failure();
  return success();
}

using BuildFunction = LogicalResult (*)(ScheduleBuilder &builder, Operation *op);

template <typename... Ops>
OpFunctionTable<BuildFunction> makeBuildTable() {
  OpFunctionTable<BuildFunction> table;
  (table.add<Ops>([](ScheduleBuilder &builder, Operation *op) { return builder.buildOp(cast<Ops>(op)); }), ...);
  return table;
}

const OpFunctionTable<BuildFunction> &getBuildTable() {
  static const auto table =
      makeBuildTable<BindSymbolOp, ConstantOp, ConstraintOp, DimValueOp, DispatchOp, HostFunctionOp, IfOp, LoopOp,
                     OptionalOp, OptionalValueOp, ReshapeOp, SequenceAtOp, SequenceConstructOp, SequenceEraseOp,
                     SequenceInsertOp, SequenceLengthOp, VariableLoadOp, VariableStoreOp, YieldOp, func::CallOp,
                     func::ReturnOp>();
  return table;
}

LogicalResult ScheduleBuilder::buildBlock(Block &block) {
  for (Operation &op : block) {
    location = op.getLoc();
    BuildFunction buildOp = getBuildTable().find(op.getName());
    if (!buildOp)
      return op.emitError() << "'" << op.getName() << "' of " << describeSource(op.getLoc())
                            << " is not scheduled: neither the host nor a kernel runs it";
    if (failed(buildOp(*this, &op)))
      return failure();
  }
  return success();
}

/// The function's type with strings where the caller has them and the program has their numbers.
static FunctionType getCallersType(func::FuncOp function) {
  SmallVector<Type> inputs(function.getArgumentTypes()), results(function.getResultTypes());
  auto string = StringType::get(function.getContext());
  auto toStrings = [&](auto self, Type type) -> Type {
    if (auto optional = dyn_cast<OptionalType>(type))
      return OptionalType::get(type.getContext(), self(self, optional.getValueType()));
    if (auto sequence = dyn_cast<SequenceType>(type))
      return SequenceType::get(type.getContext(), sequence.getElementType().clone(string));
    return cast<TensorType>(type).clone(string);
  };
  for (auto [index, type] : llvm::enumerate(inputs))
    if (function.getArgAttr(index, kIsStringAttr))
      type = toStrings(toStrings, type);
  for (auto [index, type] : llvm::enumerate(results))
    if (function.getResultAttr(index, kIsStringAttr))
      type = toStrings(toStrings, type);
  return FunctionType::get(function.getContext(), inputs, results);
}

LogicalResult ScheduleBuilder::build() {
  builder.setInsertionPoint(function);
  function.walk([&](LoopOp loop) { commits |= loop.getCommits(); });
  // Stores reach memory at the end, so that a load behind one gives a value and not what lies there.
  for (OverlappingAccess overlap : findOverlappingAccesses(function, VariablePlaces(module)))
    return overlap.access->emitError() << "'" << overlap.access->getName() << "' of '"
                                       << getAccessedVariable(overlap.access).getValue() << "' may follow a store of '"
                                       << getAccessedVariable(overlap.store).getValue()
                                       << "', which shares bytes with it, in "
                                       << describeSource(overlap.access->getLoc())
                                       << ": expected one variable for both, got two; run 'vx-resolve-overlaps' first";
  // What is derived knows no sizes, and of the state only what it is derived from.
  auto derived = function->getAttrOfType<StringAttr>(kDerivedAttr);
  SmallVector<SymbolOp> sizes;
  SmallVector<VariableOp> state;
  if (!derived) {
    llvm::append_range(sizes, module.getOps<SymbolOp>());
    llvm::append_range(state, module.getOps<VariableOp>());
  } else {
    llvm::DenseSet<StringAttr> loaded;
    function.walk([&](VariableLoadOp load) { loaded.insert(load.getVariableAttr().getAttr()); });
    for (auto variable : module.getOps<VariableOp>())
      if (loaded.contains(variable.getSymNameAttr()))
        state.push_back(variable);
  }
  SmallVector<Attribute> symbols;
  for (SymbolOp symbol : sizes)
    symbols.push_back(symbol.getNameAttr());
  location = function.getLoc();
  auto program =
      vxrt::ProgramOp::create(builder, location, function.getSymName(), builder.getArrayAttr(symbols), StringAttr());
  if (derived)
    program->setAttr(vxrt::kDerivedAttr, derived);
  // The module writer reads names and types of inputs and results from the program.
  program->setAttr(vxrt::kFunctionTypeAttr, TypeAttr::get(getCallersType(function)));
  auto names = [&](unsigned count, auto nameOf) {
    SmallVector<Attribute> list;
    for (unsigned i = 0; i < count; ++i)
      list.push_back(nameOf(i) ? nameOf(i) : builder.getStringAttr(std::to_string(i)));
    return builder.getArrayAttr(list);
  };
  program->setAttr(vxrt::kInputNamesAttr, names(function.getNumArguments(), [&](unsigned i) -> Attribute {
                     return function.getArgAttr(i, "vx.name");
                   }));
  SmallVector<Attribute> ranges;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Attribute range = function.getArgAttr(i, kRangeAttr);
    ranges.push_back(range ? range : builder.getUnitAttr());
  }
  if (llvm::any_of(ranges, llvm::IsaPred<DictionaryAttr>))
    program->setAttr(kInputRangesAttr, builder.getArrayAttr(ranges));
  if (Attribute batch = function->getAttr(kBatchAttr))
    program->setAttr(kBatchAttr, batch);
  program->setAttr(vxrt::kResultNamesAttr, names(function.getNumResults(), [&](unsigned i) -> Attribute {
                     return function.getResultAttr(i, "vx.name");
                   }));
  Block &body = program.getBody().emplaceBlock();
  entry = &body;
  builder.setInsertionPointToStart(&body);
  scopes.emplace_back();
  for (SymbolOp symbol : sizes) {
    Value value = body.addArgument(builder.getI64Type(), location);
    if (!symbol.getDataDependent())
      scopes.back().symbols[symbol.getNameAttr()] = value;
  }
  for (BlockArgument argument : function.getArguments())
    setMemory(argument, body.addArgument(getMemoryType(argument.getType()), argument.getLoc()));
  for (VariableOp variable : state)
    scopes.back().variables[variable.getSymNameAttr()] = vxrt::VariableOp::create(
        builder, location, vxrt::BufferType::get(context()), FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  if (failed(buildBlock(function.front())) || hasErrors) {
    program.erase();
    return failure();
  }
  if (!derived)
    program->setAttr(vxrt::kConstraintsAttr, builder.getArrayAttr(constraints));
  return success();
}

struct ConvertToSchedulePass : impl::ConvertToSchedulePassBase<ConvertToSchedulePass> {
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (failed(ScheduleBuilder(getOperation(), function).build()))
        return signalPassFailure();
      function.erase();
    }
  }
};

} // namespace

bool canBeScheduled(OperationName op) { return getBuildTable().find(op) != nullptr; }

} // namespace vx
