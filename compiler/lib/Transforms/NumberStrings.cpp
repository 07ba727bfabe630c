#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_NUMBERSTRINGSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

bool holdsStrings(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && isa<StringType>(tensor.getElementType());
}

/// The type with numbers in the place of strings.
Type numbered(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return SequenceType::get(type.getContext(), cast<TensorType>(numbered(sequence.getElementType())));
  if (auto optional = dyn_cast<OptionalType>(type))
    return OptionalType::get(type.getContext(), numbered(optional.getValueType()));
  return holdsStrings(type) ? cast<TensorType>(type).clone(IntegerType::get(type.getContext(), 32)) : type;
}

class StringNumbers {
public:
  explicit StringNumbers(ModuleOp module) : module(module) { getNumber(StringAttr::get(module.getContext(), "")); }

  LogicalResult number() {
    if (module.walk([](Operation *op) { return WalkResult(check(op)); }).wasInterrupted() ||
        module.walk([&](Operation *op) { return WalkResult(visit(op)); }).wasInterrupted())
      return failure();
    if (isUsed)
      module->setAttr(kStringsAttr, ArrayAttr::get(module.getContext(), strings));
    return success();
  }

private:
  int32_t getNumber(StringAttr text) {
    auto [place, isNew] = numbers.try_emplace(text, static_cast<int32_t>(strings.size()));
    if (isNew)
      strings.push_back(text);
    return place->second;
  }

  void replace(Value value) {
    Type type = numbered(value.getType());
    isUsed |= type != value.getType();
    value.setType(type);
  }

  static LogicalResult check(Operation *op) {
    if (auto compare = dyn_cast<CompareOp>(op); compare && holdsStrings(compare.getLhs().getType()) &&
                                                compare.getPredicate() != ComparePredicate::eq &&
                                                compare.getPredicate() != ComparePredicate::ne)
      return op->emitError() << "expected 'eq' or 'ne' of strings, which have no order, got '"
                             << stringifyComparePredicate(compare.getPredicate()) << "' in "
                             << describeSource(op->getLoc());
    if (auto variable = dyn_cast<VariableOp>(op); variable && holdsStrings(variable.getType()))
      return op->emitError() << "variable '" << variable.getSymName() << "': expected numbers or bools, got strings";
    return success();
  }

  LogicalResult visit(Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op))
      visitFunction(function);
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (failed(visitConstant(constant)))
        return failure();
    for (Value result : op->getResults())
      replace(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          replace(argument);
    return success();
  }

  void visitFunction(func::FuncOp function) {
    FunctionType type = function.getFunctionType();
    auto convert = [&](TypeRange types, auto mark) {
      SmallVector<Type> converted;
      for (auto [index, each] : llvm::enumerate(types)) {
        converted.push_back(numbered(each));
        if (converted.back() != each)
          mark(index);
      }
      return converted;
    };
    auto unit = UnitAttr::get(module.getContext());
    SmallVector<Type> inputs =
        convert(type.getInputs(), [&](unsigned i) { function.setArgAttr(i, kIsStringAttr, unit); });
    SmallVector<Type> results =
        convert(type.getResults(), [&](unsigned i) { function.setResultAttr(i, kIsStringAttr, unit); });
    function.setFunctionType(FunctionType::get(module.getContext(), inputs, results));
  }

  LogicalResult visitConstant(ConstantOp constant) {
    auto type = cast<RankedTensorType>(constant.getValue().getType());
    if (!holdsStrings(type))
      return success();
    auto texts = dyn_cast<DenseStringElementsAttr>(constant.getValue());
    if (!texts)
      return constant.emitError() << "expects strings inline, got " << constant.getValue();
    SmallVector<int32_t> elements;
    for (StringRef text : texts.getRawStringData()) // one for all of a splat
      elements.push_back(getNumber(StringAttr::get(module.getContext(), text)));
    constant.setValueAttr(DenseElementsAttr::get(cast<RankedTensorType>(numbered(type)), ArrayRef(elements)));
    return success();
  }

  ModuleOp module;
  SmallVector<Attribute> strings;
  llvm::DenseMap<Attribute, int32_t> numbers;
  bool isUsed = false;
};

struct NumberStringsPass : impl::NumberStringsPassBase<NumberStringsPass> {
  void runOnOperation() override {
    if (failed(StringNumbers(getOperation()).number()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
