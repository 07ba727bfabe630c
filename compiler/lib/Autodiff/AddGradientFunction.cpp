#include "ModelOutput.h"
#include "vx/Autodiff/Passes.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/UserText.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_ADDGRADIENTFUNCTIONPASS
#include "vx/Autodiff/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kFunctionName = "gradient";

std::optional<unsigned> findResult(func::FuncOp function, StringRef name) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto known = function.getResultAttrOfType<StringAttr>(i, kNameAttr); known && known.getValue() == name)
      return i;
  return std::nullopt;
}

/// What a name of `wrt` stands for in a function: an input, or all constants or loads of it in the function's own
/// block.
SmallVector<Value> findValues(func::FuncOp function, StringRef name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto known = function.getArgAttrOfType<StringAttr>(i, kNameAttr); known && known.getValue() == name)
      return {function.getArgument(i)};
  SmallVector<Value> values;
  for (Operation &op : function.getBody().front()) {
    if (auto constant = dyn_cast<ConstantOp>(op); constant && constant.getNames())
      if (llvm::is_contained(constant.getNames()->getAsValueRange<StringAttr>(), name))
        values.push_back(constant.getResult());
    if (auto load = dyn_cast<VariableLoadOp>(op); load && load.getVariable() == name)
      values.push_back(load.getResult());
  }
  return values;
}

struct AddGradientFunctionPass : impl::AddGradientFunctionPassBase<AddGradientFunctionPass> {
  using AddGradientFunctionPassBase::AddGradientFunctionPassBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    if (wrt.empty())
      return module.emitError() << "the gradient of '" << of
                                << "': expected names to take it with respect to, got none";
    if (module.lookupSymbol(kFunctionName))
      return module.emitError()
             << "expected no '" << kFunctionName
             << "' in the model, got one: the gradient is added as a function of this name; rename it";
    func::FuncOp source;
    std::string known;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!function.isPublic())
        continue;
      if (!source && findResult(function, of))
        source = function;
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr))
          known += (known.empty() ? "'" : ", '") + name.getValue().str() + "'";
    }
    if (!source)
      return module.emitError() << "expected the name of an output to take the gradient of, got '" << of
                                << "'; the model has " << (known.empty() ? "none with names" : known);
    OpBuilder builder(source);
    builder.setInsertionPointAfter(source);
    auto function = cast<func::FuncOp>(builder.clone(*source));
    function.setName(kFunctionName);
    if (failed(fill(function, *findResult(source, of)))) {
      function.erase();
      return failure();
    }
    return success();
  }

  LogicalResult fill(func::FuncOp function, unsigned number) {
    function.walk([](VariableStoreOp store) { store.erase(); });
    Operation *end = function.getBody().front().getTerminator();
    Value value = end->getOperand(number);
    if (!isa<RankedTensorType>(value.getType()) || !isDifferentiable(value.getType()))
      return function.emitError() << "the gradient of '" << of << "': expected a tensor of floats, got "
                                  << describeType(value.getType());
    // The operand of the function's end is replaced too, where a watched value is the output itself.
    SmallVector<SmallVector<Value>> watched;
    bool isComplete = true;
    for (const std::string &name : wrt) {
      SmallVector<Value> values = findValues(function, name);
      if (values.empty()) {
        function.emitError() << "the gradient of '" << of
                             << "': expected the name of an input, initializer or variable, got '" << name << "'";
        isComplete = false;
      }
      for (Value &each : values) {
        if (isa<RankedTensorType>(each.getType()) && isDifferentiable(each.getType())) {
          each = watch(each);
          continue;
        }
        function.emitError() << "the gradient of '" << of << "': expected '" << name
                             << "' to be a tensor of floats, got " << describeType(each.getType());
        isComplete = false;
      }
      watched.push_back(values);
    }
    if (!isComplete)
      return failure();
    OpBuilder builder(end);
    SmallVector<Value> all, results;
    for (ArrayRef<Value> values : watched)
      llvm::append_range(all, values);
    // Of several constants of one name some may not matter.
    auto gradient = GradientOp::create(builder, function.getLoc(), end->getOperand(number), all, Value(),
                                       /*zero_unreached=*/all.size() != watched.size());
    unsigned next = 0;
    for (ArrayRef<Value> values : watched) {
      Value sum;
      for (size_t i = 0; i < values.size(); ++i, ++next)
        sum = sum ? AddOp::create(builder, function.getLoc(), sum, gradient.getResult(next)).getResult()
                  : gradient.getResult(next);
      results.push_back(sum);
    }
    end->setOperands(results);
    SmallVector<DictionaryAttr> attributes;
    for (const std::string &name : wrt)
      attributes.push_back(
          builder.getDictionaryAttr(builder.getNamedAttr(kNameAttr, builder.getStringAttr("grad/" + name))));
    function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
    function.setAllResultAttrs(attributes);
    return success();
  }

  /// The value, marked for all that reads it.
  static Value watch(Value value) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Value mark = createWatch(builder, value.getLoc(), value);
    value.replaceAllUsesExcept(mark, mark.getDefiningOp());
    return mark;
  }
};

} // namespace
} // namespace vx
