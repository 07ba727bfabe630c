// What `#vx.training` wants: see its definition.
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace vx {

LogicalResult TrainingAttr::verify(function_ref<InFlightDiagnostic()> emitError, FlatSymbolRefAttr trainStep,
                                   FlatSymbolRefAttr, FlatSymbolRefAttr, FlatSymbolRefAttr, FlatSymbolRefAttr,
                                   ArrayAttr inputs, DictionaryAttr hypers, ArrayAttr metrics, StringAttr, StringAttr,
                                   FloatAttr, ArrayAttr counts) {
  for (auto [what, names] : {std::pair("inputs", inputs), {"metrics", metrics}, {"counts", counts}})
    for (Attribute name : names ? names.getValue() : ArrayRef<Attribute>())
      if (!isa<StringAttr>(name)) // C2
        return emitError() << "expects strings as '" << what << "', got " << name;
  for (NamedAttribute hyper : hypers ? hypers.getValue() : ArrayRef<NamedAttribute>())
    if (!symbolizeHyperKind(hyper.getName()) || !isa<StringAttr>(hyper.getValue())) // C2
      return emitError() << "expects strings under 'rate', 'seed' and 'scale' as 'hypers', got '"
                         << hyper.getName().getValue() << "' = " << hyper.getValue();
  if (!trainStep && (inputs || hypers || metrics)) // C2
    return emitError() << "expects a 'train_step' that has the inputs and metrics, got none";
  if (const size_t want = metrics ? metrics.size() : 0; counts && counts.size() != want) // C7
    return emitError() << "expects a count for each of " << want << " metrics, got " << counts.size();
  return success();
}

namespace {

std::string getName(Attribute name, unsigned number) {
  auto given = dyn_cast_or_null<StringAttr>(name);
  return given ? given.getValue().str() : std::to_string(number);
}
std::string getInputName(func::FuncOp function, unsigned number) {
  return getName(function.getArgAttr(number, "vx.name"), number);
}
std::string getResultName(func::FuncOp function, unsigned number) {
  return getName(function.getResultAttr(number, "vx.name"), number);
}

bool isScalar(Type type, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && tensor.getElementType() == element;
}

std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The numbers of inputs or results by the names that training gives them; each is found once.
class Names {
public:
  Names(func::FuncOp function, StringRef what, unsigned count,
        llvm::function_ref<std::string(func::FuncOp, unsigned)> nameOf)
      : function(function), what(what), left(count) {
    for (unsigned i = 0; i < count; ++i)
      numbers[nameOf(function, i)] = i;
  }

  FailureOr<unsigned> take(Operation *module, StringRef name) {
    auto it = numbers.find(name);
    if (it == numbers.end())
      return module->emitOpError() << "expects '" << kTrainingAttr << "' to name " << what << "s of '"
                                   << function.getName() << "', got '" << name << "'";
    if (!taken.insert(name).second)
      return module->emitOpError() << "expects '" << kTrainingAttr << "' to name each " << what << " of '"
                                   << function.getName() << "' once, got '" << name << "' again";
    --left;
    return it->second;
  }

  unsigned countLeft() const { return left; }
  std::string firstLeft() const {
    std::pair<unsigned, StringRef> first(UINT_MAX, "");
    for (auto &entry : numbers)
      if (!taken.contains(entry.getKey()))
        first = std::min(first, std::pair(entry.getValue(), entry.getKey()));
    return first.second.str();
  }

private:
  func::FuncOp function;
  StringRef what;
  llvm::StringMap<unsigned> numbers;
  llvm::StringSet<> taken;
  unsigned left;
};

LogicalResult verifyStep(Operation *module, TrainingAttr training, func::FuncOp step) {
  Names inputs(step, "input", step.getNumArguments(), getInputName);
  if (ArrayAttr names = training.getInputs())
    for (auto name : names.getAsValueRange<StringAttr>())
      if (failed(inputs.take(module, name))) // C3
        return failure();
  if (DictionaryAttr hypers = training.getHypers())
    for (NamedAttribute hyper : hypers) {
      StringRef name = cast<StringAttr>(hyper.getValue()).getValue();
      FailureOr<unsigned> number = inputs.take(module, name);
      if (failed(number)) // C3
        return failure();
      Type type = step.getArgument(*number).getType(), want = Float32Type::get(module->getContext());
      if (*symbolizeHyperKind(hyper.getName()) == HyperKind::seed)
        want = IntegerType::get(module->getContext(), 64);
      if (!isScalar(type, want)) // C4
        return module->emitOpError() << "expects '" << hyper.getName().getValue() << "' to be a scalar of " << want
                                     << ", got input '" << name << "' of type " << type;
    }
  if (inputs.countLeft() > 0) // C3
    return module->emitOpError() << "expects '" << kTrainingAttr << "' to name all inputs of '" << step.getName()
                                 << "', got none for '" << inputs.firstLeft() << "'";
  Names results(step, "result", step.getNumResults(), getResultName);
  if (ArrayAttr names = training.getMetrics())
    for (auto name : names.getAsValueRange<StringAttr>()) {
      FailureOr<unsigned> number = results.take(module, name);
      if (failed(number)) // C5
        return failure();
      Type type = step.getResultTypes()[*number], want = Float32Type::get(module->getContext());
      if (!isScalar(type, want)) // C5
        return module->emitOpError() << "expects metric '" << name << "' to be a scalar of " << want << ", got "
                                     << type;
    }
  if (ArrayAttr names = training.getCounts())
    for (auto name : names.getAsValueRange<StringAttr>()) {
      if (name.empty())
        continue;
      bool isMetric = llvm::is_contained(training.getMetrics().getAsValueRange<StringAttr>(), name);
      auto numbers = llvm::seq<unsigned>(0, step.getNumResults());
      auto number = llvm::find_if(numbers, [&](unsigned i) { return getResultName(step, i) == name; });
      bool isFound = number != numbers.end();
      if (isMetric || !isFound ||
          !isScalar(step.getResultTypes()[*number], Float32Type::get(module->getContext()))) // C7
        return module->emitOpError() << "expects count '" << name << "' to be a scalar of f32 that '" << step.getName()
                                     << "' gives beside its metrics, got "
                                     << (isMetric   ? std::string("a metric")
                                         : !isFound ? std::string("no result")
                                                    : describe(step.getResultTypes()[*number]));
    }
  return success();
}

} // namespace

LogicalResult verifyTraining(Operation *op, TrainingAttr training) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module) // C1
    return op->emitOpError() << "expects '" << kTrainingAttr << "' to stand on a module, got '" << op->getName() << "'";
  for (FlatSymbolRefAttr name : {training.getTrainStep(), training.getEvaluate(), training.getPredict(),
                                 training.getBackward(), training.getStep()}) {
    if (!name)
      continue;
    // Programs of the schedule phase are what functions were.
    Operation *function = SymbolTable::lookupSymbolIn(op, name);
    auto source = dyn_cast_or_null<func::FuncOp>(function);
    if (!function || isa<VariableOp>(function) || (source && (source.isPrivate() || source.isExternal()))) // C1
      return op->emitOpError() << "expects '" << kTrainingAttr << "' to name public functions with a body, got '"
                               << name.getValue() << "'";
  }
  auto lookup = [&](FlatSymbolRefAttr name) {
    return name ? module.lookupSymbol<func::FuncOp>(name.getValue()) : func::FuncOp();
  };
  if (func::FuncOp step = lookup(training.getTrainStep()); step && failed(verifyStep(op, training, step)))
    return failure();
  func::FuncOp evaluate = lookup(training.getEvaluate());
  if (!evaluate || !training.getTrainStep())
    return success();
  SmallVector<std::string> want, got;
  if (training.getInputs())
    for (auto name : training.getInputs().getAsValueRange<StringAttr>())
      want.push_back(name.str());
  for (unsigned i = 0; i < evaluate.getNumArguments(); ++i)
    got.push_back(getInputName(evaluate, i));
  if (want != got) // C6
    return op->emitOpError() << "expects '" << evaluate.getName()
                             << "' to take the inputs of training: " << llvm::join(want, ", ") << ", got "
                             << llvm::join(got, ", ");
  return success();
}

} // namespace vx
