#include "vx/Reference/Interpreter.h"

#include "OpEvaluators.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace vx::reference {

using Values = llvm::SmallVector<HostValue>;

namespace {

/// What is known of the symbols of a module.
class SymbolTableOfDims {
public:
  explicit SymbolTableOfDims(ModuleOp module) {
    for (auto symbol : module.getOps<SymbolOp>())
      declarations[symbol.getName()] = symbol;
  }

  SymbolOp lookup(llvm::StringRef name) const { return declarations.lookup(name); }

  /// Fails when the declaration does not allow `value`.
  llvm::Error check(Operation *at, llvm::StringRef name, int64_t value) const {
    SymbolOp symbol = lookup(name);
    if (!symbol)
      return callError(at, "symbol '" + name + "' is not declared");
    if (value < static_cast<int64_t>(symbol.getMin()) || value > static_cast<int64_t>(symbol.getMax()))
      return callError(at, "symbol '" + name + "': expected " + llvm::Twine(symbol.getMin()) + " to " +
                               llvm::Twine(symbol.getMax()) + ", got " + llvm::Twine(value));
    if (value % static_cast<int64_t>(symbol.getMultiple()) != 0)
      return callError(at, "symbol '" + name + "': expected a multiple of " + llvm::Twine(symbol.getMultiple()) +
                               ", got " + llvm::Twine(value));
    return llvm::Error::success();
  }

private:
  llvm::StringMap<SymbolOp> declarations;
};

void collectPlainSymbols(Type type, llvm::SetVector<StringAttr> &names) {
  if (auto tensor = llvm::dyn_cast<RankedTensorType>(type))
    for (DimAttr dim : getDims(tensor))
      if (dim && dim.asSymbol())
        names.insert(dim.asSymbol());
}

/// Which op binds each data-dependent symbol: its `vx.bind_symbol`, or else the first `vx.loop`, `vx.if` or
/// `vx.sequence_at` of the function that makes a value of a type that names it.
llvm::StringMap<Operation *> findBinders(func::FuncOp function, const SymbolTableOfDims &symbols) {
  llvm::StringMap<Operation *> binders;
  function.walk([&](BindSymbolOp op) { binders[op.getSymbol()] = op; });
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->hasTrait<OpTrait::BindsResultSizes>())
      return;
    llvm::SetVector<StringAttr> names;
    for (Type type : op->getResultTypes())
      collectPlainSymbols(type, names);
    if (auto loop = llvm::dyn_cast<LoopOp>(op))
      for (Type type : loop.getBody().getArgumentTypes())
        collectPlainSymbols(type, names);
    for (StringAttr name : names) {
      SymbolOp symbol = symbols.lookup(name.getValue());
      if (symbol && symbol.getDataDependent())
        binders.try_emplace(name.getValue(), op);
    }
  });
  return binders;
}

/// The functions whose calls are under way, the innermost one last, and who looks on.
struct CallStack {
  llvm::SmallVector<func::FuncOp> functions;
  DispatchObserver observer;
};

llvm::Expected<Values> callFunction(func::FuncOp function, llvm::ArrayRef<HostValue> inputs, ProgramState &state,
                                    CallStack &stack);

/// One activation of a function or a kernel: the values and symbols that its body sees.
class Frame {
public:
  Frame(ModuleOp module, const SymbolTableOfDims &table, const llvm::StringMap<Operation *> &binders,
        ProgramState &state, ProgramState &committed, CallStack &stack, SymbolValues symbols)
      : module(module), table(table), binders(binders), state(state), committed(committed), stack(stack),
        symbols(std::move(symbols)) {}

  SymbolValues &getSymbols() { return symbols; }

  llvm::Expected<Values> runBlock(Block &block, llvm::ArrayRef<HostValue> arguments) {
    for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
      values[argument] = value;
    for (Operation &op : block.without_terminator()) {
      llvm::Expected<Values> results = run(&op);
      if (!results)
        return results.takeError();
      if (llvm::Error error = assign(&op, op.getResults(), *results))
        return error;
    }
    return getValues(block.getTerminator()->getOperands());
  }

  /// Binds the data-dependent symbols that `op` is to bind to the sizes of `incoming`, and checks all other sizes.
  llvm::Error bindAndCheck(Operation *op, TypeRange types, llvm::ArrayRef<HostValue> incoming) {
    for (auto [type, value] : llvm::zip(types, incoming)) {
      auto tensorType = llvm::dyn_cast<RankedTensorType>(type);
      if (!tensorType)
        continue;
      const auto &tensor = std::get<HostTensor>(value);
      for (auto [index, dim] : llvm::enumerate(getDims(tensorType))) {
        if (!dim || !dim.asSymbol() || binders.lookup(dim.asSymbol().getValue()) != op)
          continue;
        if (llvm::Error error = table.check(op, dim.asSymbol().getValue(), tensor.getShape()[index]))
          return error;
        symbols[dim.asSymbol().getValue()] = tensor.getShape()[index];
      }
    }
    for (auto [type, value] : llvm::zip(types, incoming))
      if (llvm::Error error = check(op, type, value))
        return error;
    return llvm::Error::success();
  }

private:
  Values getValues(ValueRange range) {
    Values result;
    for (Value value : range)
      result.push_back(values.lookup(value));
    return result;
  }

  /// A value must be what its type says: this is also what tests the inference of types.
  llvm::Error check(Operation *op, Type type, const HostValue &value) {
    auto tensorType = llvm::dyn_cast<RankedTensorType>(type);
    if (!tensorType)
      return llvm::Error::success();
    const auto &tensor = std::get<HostTensor>(value);
    bool matches = tensor.getRank() == tensorType.getRank() &&
                   reference::getElementType(tensorType.getElementType()) == tensor.getElementType();
    for (int64_t d = 0; matches && d < tensor.getRank(); ++d) {
      DimAttr dim = getDim(tensorType, d);
      if (!dim)
        continue;
      llvm::Expected<int64_t> size = evaluateDim(dim, symbols);
      if (!size)
        return callError(op, llvm::toString(size.takeError()));
      matches = *size == tensor.getShape()[d];
    }
    if (matches)
      return llvm::Error::success();
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return callError(op, "expected a value of type '" + text + "', got " + tensor.describe());
  }

  llvm::Error assign(Operation *op, ValueRange results, llvm::ArrayRef<HostValue> incoming) {
    if (llvm::Error error = bindAndCheck(op, results.getTypes(), incoming))
      return error;
    for (auto [result, value] : llvm::zip(results, incoming))
      values[result] = value;
    return llvm::Error::success();
  }

  llvm::Expected<Values> run(Operation *op) {
    if (auto bind = llvm::dyn_cast<BindSymbolOp>(op))
      return runBindSymbol(bind);
    if (auto constraint = llvm::dyn_cast<ConstraintOp>(op))
      return runConstraint(constraint);
    if (auto ifOp = llvm::dyn_cast<IfOp>(op)) {
      bool condition = std::get<HostTensor>(values.lookup(ifOp.getCondition())).getInt(0);
      return runBlock((condition ? ifOp.getThenRegion() : ifOp.getElseRegion()).front(), {});
    }
    if (auto loop = llvm::dyn_cast<LoopOp>(op))
      return runLoop(loop);
    if (auto load = llvm::dyn_cast<VariableLoadOp>(op))
      return runLoad(load);
    if (auto store = llvm::dyn_cast<VariableStoreOp>(op)) {
      return runStore(store);
    }
    if (auto fusion = llvm::dyn_cast<FusionOp>(op))
      return runBlock(fusion.getBody().front(), getValues(fusion.getInputs()));
    if (auto dispatch = llvm::dyn_cast<DispatchOp>(op))
      return runDispatch(dispatch);
    if (llvm::isa<func::CallOp, CallOp>(op))
      return runCall(op, op->getAttrOfType<FlatSymbolRefAttr>("callee").getValue());
    return nameSite(op, evaluate(op, getValues(op->getOperands()), symbols));
  }

  /// Equal kernels share their ops, so that the dispatch knows which node an error comes from.
  llvm::Expected<Values> nameSite(Operation *op, llvm::Expected<Values> results) {
    auto site = faultSites.find(op);
    if (results || site == faultSites.end())
      return results;
    std::string message = llvm::toString(results.takeError());
    llvm::StringRef text = message;
    std::string shared = "'" + describeSource(op->getLoc()) + "'";
    text.consume_back(shared);
    return llvm::createStringError(llvm::inconvertibleErrorCode(), text + "'" + site->second + "'");
  }

  llvm::Expected<Values> runLoad(VariableLoadOp op) {
    llvm::Expected<HostTensor> value = loadVariable(op, op.getVariable(), state);
    if (!value)
      return value.takeError();
    return Values{std::move(*value)};
  }

  llvm::Expected<Values> runStore(VariableStoreOp op) {
    const HostTensor &value = std::get<HostTensor>(values.find(op.getValue())->second);
    if (llvm::Error error = storeVariable(op, op.getVariable(), value, state))
      return error;
    return Values{};
  }

  /// What an iteration has stored stays.
  llvm::Error commit(LoopOp loop) {
    llvm::SmallVector<VariableStoreOp> stores;
    loop.walk([&](VariableStoreOp store) { stores.push_back(store); });
    for (VariableStoreOp store : stores) {
      llvm::Expected<HostTensor> value = loadVariable(store, store.getVariable(), state);
      if (!value)
        return value.takeError();
      if (llvm::Error error = storeVariable(store, store.getVariable(), *value, committed))
        return error;
    }
    return llvm::Error::success();
  }

  /// What lies in a pool is a part of the pool's value, and of no other. The variable is there: the op's verifier sees
  /// to it.
  llvm::Expected<HostTensor> loadVariable(Operation *op, llvm::StringRef name, const ProgramState &from) {
    auto variable = module.lookupSymbol<VariableOp>(name);
    llvm::Expected<HostTensor> storage = loadStorage(op, getPlace(variable).storage, from);
    if (!storage || !variable.getPool())
      return storage;
    auto type = llvm::cast<RankedTensorType>(variable.getType());
    HostTensor value(storage->getElementType(), type.getShape());
    llvm::copy(storage->getBytes().slice(getPlace(variable).offset, value.getBytes().size()),
               value.getMutableBytes().begin());
    return value;
  }

  llvm::Error storeVariable(Operation *op, llvm::StringRef name, const HostTensor &value, ProgramState &to) {
    auto variable = module.lookupSymbol<VariableOp>(name);
    if (!variable.getPool()) {
      to.variables[name] = value;
      return llvm::Error::success();
    }
    llvm::Expected<HostTensor> storage = loadStorage(op, variable.getPoolAttr().getAttr(), to);
    if (!storage)
      return storage.takeError();
    llvm::copy(value.getBytes(), storage->getMutableBytes().begin() + getPlace(variable).offset);
    to.variables[*variable.getPool()] = std::move(*storage);
    return llvm::Error::success();
  }

  /// The value of a variable that lies in no other.
  llvm::Expected<HostTensor> loadStorage(Operation *op, StringAttr name, const ProgramState &from) {
    if (auto stored = from.variables.find(name.getValue()); stored != from.variables.end())
      return stored->second;
    auto variable = module.lookupSymbol<VariableOp>(name);
    if (variable.getInitial()) {
      llvm::Expected<HostTensor> initial = getHostTensor(*variable.getInitial());
      if (!initial)
        return callError(variable, llvm::toString(initial.takeError()));
      return initial;
    }
    if (variable.getInit())
      return callError(op, "variable '" + name.getValue() + "' starts with random values, which are not given");
    auto type = llvm::cast<RankedTensorType>(variable.getType());
    llvm::Expected<llvm::SmallVector<int64_t>> shape = evaluateShape(type, from.symbols);
    if (!shape)
      return callError(op, "variable '" + name.getValue() + "': " + llvm::toString(shape.takeError()));
    std::optional<ElementType> elementType = reference::getElementType(type.getElementType());
    if (!elementType)
      return callError(op, "variable '" + name.getValue() + "' holds neither numbers nor bools");
    HostTensor storage(*elementType, *shape);
    for (auto member : module.getOps<VariableOp>()) {
      if (member.getPoolAttr() != FlatSymbolRefAttr::get(name))
        continue;
      auto place = storage.getMutableBytes().begin() + getPlace(member).offset;
      if (auto given = from.variables.find(member.getSymName()); given != from.variables.end()) {
        llvm::copy(given->second.getBytes(), place);
        continue;
      }
      if (member.getInit())
        return callError(op, "variable '" + member.getSymName() + "' starts with random values, which are not given");
      if (!member.getInitial())
        continue;
      llvm::Expected<HostTensor> initial = getHostTensor(*member.getInitial());
      if (!initial)
        return callError(member, llvm::toString(initial.takeError()));
      llvm::copy(initial->getBytes(), place);
    }
    return storage;
  }

  llvm::Expected<Values> runBindSymbol(BindSymbolOp op) {
    int64_t value = std::get<HostTensor>(values.lookup(op.getValue())).getInt(0);
    if (llvm::Error error = table.check(op, op.getSymbol(), value))
      return error;
    symbols[op.getSymbol()] = value;
    return Values{};
  }

  llvm::Expected<Values> runConstraint(ConstraintOp op) {
    llvm::Expected<int64_t> lhs = evaluateDim(op.getLhs(), symbols);
    if (!lhs)
      return callError(op, llvm::toString(lhs.takeError()));
    llvm::Expected<int64_t> rhs = evaluateDim(op.getRhs(), symbols);
    if (!rhs)
      return callError(op, llvm::toString(rhs.takeError()));
    if (!holds(op.getKind(), *lhs, *rhs))
      return callError(op, "needs " + op.getWant() + ", got " + llvm::Twine(*lhs) + " and " + llvm::Twine(*rhs));
    return Values{};
  }

  llvm::Expected<Values> runLoop(LoopOp op) {
    Block &body = op.getBody().front();
    auto readInt = [&](Value value) { return std::get<HostTensor>(values.lookup(value)).getInt(0); };
    std::optional<int64_t> tripCount = op.getTripCount() ? std::optional(readInt(op.getTripCount())) : std::nullopt;
    bool condition = !op.getCondition() || readInt(op.getCondition());
    Values carried = getValues(op.getInits());
    for (int64_t iteration = 0; condition && (!tripCount || iteration < *tripCount); ++iteration) {
      symbols[op.getIteration()] = iteration;
      if (llvm::Error error = bindAndCheck(op, body.getArgumentTypes(), carried))
        return error;
      llvm::Expected<Values> yielded = runBlock(body, carried);
      if (!yielded)
        return yielded.takeError();
      condition = std::get<HostTensor>(yielded->front()).getInt(0);
      carried.assign(yielded->begin() + 1, yielded->end());
      if (op.getCommits())
        if (llvm::Error error = commit(op))
          return error;
    }
    return carried;
  }

  llvm::Expected<Values> runCall(Operation *op, llvm::StringRef name) {
    // The function is there and takes these operands: the call's verifier sees to it.
    auto callee = module.lookupSymbol<func::FuncOp>(name);
    if (llvm::is_contained(stack.functions, callee))
      return callError(op, "function '" + name + "' calls itself");
    return callFunction(callee, getValues(op->getOperands()), state, stack);
  }

  llvm::Expected<Values> runDispatch(DispatchOp op) {
    // The kernel is there and has as many symbols: the dispatch's verifier sees to it.
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(op, op.getKernelAttr());
    SymbolValues inner;
    for (auto [name, dim] : llvm::zip(kernel.getSymbols().getAsValueRange<StringAttr>(), op.getSymbols())) {
      llvm::Expected<int64_t> value = evaluateDim(llvm::cast<DimAttr>(dim), symbols);
      if (!value)
        return callError(op, llvm::toString(value.takeError()));
      inner[name] = *value;
    }
    static const llvm::StringMap<Operation *> noBinders;
    Frame frame(module, table, noBinders, state, committed, stack, std::move(inner));
    if (auto sites = op->getAttrOfType<ArrayAttr>(kFaultSitesAttr)) {
      size_t next = 0;
      kernel.getBody().walk([&](Operation *inside) {
        if (mayFault(inside) && next < sites.size())
          if (auto name = llvm::dyn_cast<StringAttr>(sites[next++]))
            frame.faultSites[inside] = name.getValue();
      });
    }
    Block &body = kernel.getBody().front();
    Values arguments = getValues(op.getInputs());
    if (llvm::Error error = frame.bindAndCheck(op, body.getArgumentTypes(), arguments))
      return error;
    llvm::Expected<Values> results = frame.runBlock(body, arguments);
    if (results && stack.observer)
      stack.observer({op, kernel, stack.functions.back(), frame.getSymbols(), arguments, *results});
    return results;
  }

  ModuleOp module;
  const SymbolTableOfDims &table;
  const llvm::StringMap<Operation *> &binders;
  ProgramState &state;
  ProgramState &committed; // what stays when the call fails
  CallStack &stack;
  SymbolValues symbols;
  llvm::DenseMap<Value, HostValue> values;
  llvm::DenseMap<Operation *, llvm::StringRef> faultSites; // of a dispatched kernel
};

std::string getInputName(func::FuncOp function, unsigned index) {
  auto name = function.getArgAttrOfType<StringAttr>(index, "vx.name");
  return name ? name.getValue().str() : std::to_string(index);
}

llvm::Error inputError(func::FuncOp function, unsigned index, const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "input '" + getInputName(function, index) + "': " + message);
}

std::string describe(const HostValue &value) {
  if (auto *tensor = std::get_if<HostTensor>(&value))
    return tensor->describe();
  return std::holds_alternative<HostSequence>(value) ? "a sequence" : "an optional";
}

/// Binds symbols to the sizes of the inputs where a size is a symbol and nothing else; then every size can be checked.
llvm::Error bindInputs(func::FuncOp function, llvm::ArrayRef<HostValue> inputs, const SymbolTableOfDims &table,
                       SymbolValues &symbols) {
  if (inputs.size() != function.getNumArguments())
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "function '" + function.getName() + "' needs " +
                                                                       llvm::Twine(function.getNumArguments()) +
                                                                       " inputs, got " + llvm::Twine(inputs.size()));
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensorType = llvm::dyn_cast<RankedTensorType>(type);
    auto *tensor = std::get_if<HostTensor>(&inputs[index]);
    std::string text;
    llvm::raw_string_ostream(text) << type;
    if (llvm::isa<SequenceType, OptionalType>(type) != (tensor == nullptr) || (!tensorType && tensor))
      return inputError(function, index, "expected '" + text + "', got " + describe(inputs[index]));
    if (!tensorType)
      continue;
    if (tensor->getRank() != tensorType.getRank() ||
        tensor->getElementType() != reference::getElementType(tensorType.getElementType()))
      return inputError(function, index, "expected '" + text + "', got " + tensor->describe());
    for (auto [d, dim] : llvm::enumerate(getDims(tensorType))) {
      if (!dim || !dim.asSymbol())
        continue;
      llvm::StringRef name = dim.asSymbol().getValue();
      int64_t size = tensor->getShape()[d];
      auto [known, isNew] = symbols.try_emplace(name, size);
      if (!isNew && known->second != size)
        return inputError(function, index,
                          "expected size " + llvm::Twine(known->second) + " of '" + name + "' in dimension " +
                              llvm::Twine(d) + ", got " + llvm::Twine(size));
      if (llvm::Error error = table.check(function, name, size))
        return inputError(function, index, llvm::toString(std::move(error)));
    }
  }
  return llvm::Error::success();
}

llvm::Expected<Values> callFunction(func::FuncOp function, llvm::ArrayRef<HostValue> inputs, ProgramState &state,
                                    CallStack &stack) {
  auto module = function->getParentOfType<ModuleOp>();
  SymbolTableOfDims table(module);
  if (!function.getBody().hasOneBlock())
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "function '" + function.getName() + "' has no body of one block");
  SymbolValues symbols = state.symbols;
  if (llvm::Error error = bindInputs(function, inputs, table, symbols))
    return error;
  llvm::StringMap<Operation *> binders = findBinders(function, table);
  ProgramState changed = state;
  stack.functions.push_back(function);
  llvm::scope_exit leave([&] { stack.functions.pop_back(); });
  Frame frame(module, table, binders, changed, state, stack, std::move(symbols));
  Block &body = function.getBody().front();
  if (llvm::Error error = frame.bindAndCheck(function, body.getArgumentTypes(), inputs))
    return error;
  llvm::Expected<Values> results = frame.runBlock(body, inputs);
  if (results)
    state = std::move(changed);
  return results;
}

} // namespace

llvm::Error checkEvaluable(func::FuncOp function) {
  if (llvm::Error error = checkEvaluableTypes(function, function.getArgumentTypes()))
    return error;
  std::optional<llvm::Error> failure;
  function.walk([&](Operation *op) {
    // What a frame runs by itself, and what ends a block.
    if (op->hasTrait<mlir::OpTrait::IsTerminator>() ||
        llvm::isa<BindSymbolOp, CallOp, ConstraintOp, DispatchOp, func::CallOp, func::FuncOp, FusionOp, IfOp, LoopOp,
                  VariableLoadOp, VariableStoreOp>(op))
      return WalkResult::advance();
    llvm::Error error = checkEvaluable(op);
    if (!error)
      return WalkResult::advance();
    failure.emplace(std::move(error));
    return WalkResult::interrupt();
  });
  return failure ? std::move(*failure) : llvm::Error::success();
}

llvm::Expected<Values> evaluateFunction(func::FuncOp function, llvm::ArrayRef<HostValue> inputs, ProgramState &state,
                                        DispatchObserver observer) {
  CallStack stack{{}, observer};
  return callFunction(function, inputs, state, stack);
}

} // namespace vx::reference
