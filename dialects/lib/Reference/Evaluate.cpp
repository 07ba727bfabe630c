#include "vx/Reference/Evaluate.h"

#include "OpEvaluators.h"
#include "mlir/IR/TypeUtilities.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace vx::reference {

//===-- Shared by the families ----------------------------------------------------------------===//

llvm::Error callError(Operation *op, const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 message + " in '" + describeSource(op->getLoc()) + "'");
}

std::string describeShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  return text + "]";
}

ElementType elementTypeOf(Value value) { return *getElementType(getElementTypeOrSelf(value.getType())); }

Shape getStrides(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

std::vector<double> toFloats(const HostTensor &tensor) {
  std::vector<double> values(tensor.getNumElements());
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    values[i] = tensor.getFloat(i);
  return values;
}

//===-- Dimensions ----------------------------------------------------------------------------===//

static llvm::Error dimError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<int64_t> evaluateDim(DimAttr dim, const SymbolValues &symbols) {
  llvm::SetVector<StringAttr> names;
  dim.collectSymbols(names);
  for (StringAttr name : names)
    if (!symbols.contains(name.getValue()))
      return dimError("symbol '" + name.getValue() + "' has no value yet in '" + dim.str() + "'");
  std::optional<int64_t> value =
      dim.evaluate([&](llvm::StringRef name) -> std::optional<int64_t> { return symbols.lookup(name); });
  if (!value)
    return dimError("dimension '" + dim.str() + "' divides by zero or does not fit 64 bits");
  return *value;
}

llvm::Expected<Shape> evaluateShape(RankedTensorType type, const SymbolValues &symbols) {
  Shape shape;
  for (auto [index, dim] : llvm::enumerate(getDims(type))) {
    if (!dim)
      return dimError("dimension " + llvm::Twine(index) + " has no size in its type");
    llvm::Expected<int64_t> size = evaluateDim(dim, symbols);
    if (!size)
      return size.takeError();
    if (*size < 0)
      return dimError("dimension '" + dim.str() + "' is " + llvm::Twine(*size) + ", below 0");
    shape.push_back(*size);
  }
  // In bytes of the widest element, so that offsets fit too.
  int64_t bytes = 8;
  for (int64_t size : shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return dimError("a tensor of the shape " + describeShape(shape) + " has more bytes than 64 bits count");
  return shape;
}

//===-- Ops -----------------------------------------------------------------------------------===//

llvm::Expected<int64_t> evaluateDimOf(Operation *op, DimAttr dim, const SymbolValues &symbols) {
  llvm::Expected<int64_t> value = evaluateDim(dim, symbols);
  if (!value)
    return callError(op, llvm::toString(value.takeError()));
  return value;
}

llvm::Expected<Shape> evaluateDimsOf(Operation *op, ArrayAttr dims, const SymbolValues &symbols) {
  Shape values;
  for (auto dim : dims.getAsRange<DimAttr>()) {
    llvm::Expected<int64_t> value = evaluateDimOf(op, dim, symbols);
    if (!value)
      return value.takeError();
    values.push_back(*value);
  }
  return values;
}

llvm::Expected<Shape> evaluateResultShapeOf(Operation *op, const SymbolValues &symbols) {
  llvm::Expected<Shape> shape = evaluateShape(llvm::cast<RankedTensorType>(op->getResult(0).getType()), symbols);
  if (!shape)
    return callError(op, llvm::toString(shape.takeError()));
  return shape;
}

static const EvaluatorTable &getEvaluatorTable() {
  static const EvaluatorTable table = [] {
    EvaluatorTable all;
    for (auto addFamily : {addElementwiseEvaluators, addShapeEvaluators, addContractionEvaluators,
                           addReductionEvaluators, addNormEvaluators, addQuantizationEvaluators, addAttentionEvaluators,
                           addIndexingEvaluators, addSequenceEvaluators})
      addFamily(all);
    return all;
  }();
  return table;
}

bool canEvaluate(OperationName op) { return getEvaluatorTable().find(op) != nullptr; }

static Type elementTypeIn(Type type) {
  if (auto optional = llvm::dyn_cast<OptionalType>(type))
    return elementTypeIn(optional.getValueType());
  if (auto sequence = llvm::dyn_cast<SequenceType>(type))
    return elementTypeIn(sequence.getElementType());
  auto tensor = llvm::dyn_cast<TensorType>(type);
  return tensor ? tensor.getElementType() : Type();
}

llvm::Error checkEvaluableTypes(Operation *op, TypeRange types) {
  for (Type type : types) {
    const Type elementType = elementTypeIn(type);
    if (!elementType || getElementType(elementType))
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return callError(op, "the reference evaluator computes with numbers and bools, got '" + text + "'");
  }
  return llvm::Error::success();
}

llvm::Error checkEvaluable(Operation *op) {
  if (!canEvaluate(op->getName()))
    return callError(op, "the reference evaluator does not know '" + op->getName().getStringRef() + "'");
  if (llvm::Error error = checkEvaluableTypes(op, op->getOperandTypes()))
    return error;
  return checkEvaluableTypes(op, op->getResultTypes());
}

llvm::Expected<llvm::SmallVector<HostValue>> evaluate(Operation *op, llvm::ArrayRef<HostValue> operands,
                                                      const SymbolValues &symbols) {
  if (llvm::Error error = checkEvaluable(op))
    return error;
  return getEvaluatorTable().find(op->getName())(op, operands, symbols);
}

} // namespace vx::reference
