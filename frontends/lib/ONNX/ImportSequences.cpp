// Sequences of tensors.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

TensorType joinElementTypes(TensorType lhs, TensorType rhs) {
  auto left = dyn_cast<RankedTensorType>(lhs), right = dyn_cast<RankedTensorType>(rhs);
  if (!left || !right || left.getRank() != right.getRank())
    return UnrankedTensorType::get(lhs.getElementType());
  SmallVector<int64_t> shape;
  for (auto [l, r] : llvm::zip(left.getShape(), right.getShape()))
    shape.push_back(l == r ? l : ShapedType::kDynamic);
  // Symbols of one tensor say nothing about the others.
  return RankedTensorType::get(shape, lhs.getElementType());
}

static SequenceType getSequenceType(NodeImporter &n, unsigned index) {
  auto type = dyn_cast<SequenceType>(n.getEntry(index).type);
  if (!type)
    throwInvalid("expects a sequence as input " + Twine(index) + ", got " + describe(n.getEntry(index).type));
  return type;
}

static Value getPosition(NodeImporter &n, unsigned index) {
  return n.cast(n.reshape(n.getTensor(index), {}), n.builder.getI64Type());
}

static void importSequenceConstruct(NodeImporter &n) {
  SmallVector<Value> values;
  TensorType elementType;
  for (unsigned i = 0; i < n.getNumInputs(); ++i) {
    values.push_back(n.getTensor(i));
    TensorType type = typeOf(values[i]);
    if (elementType && elementType.getElementType() != type.getElementType())
      throwInvalid("expects tensors of one element type, got " + describe(elementType) + " and " + describe(type));
    elementType = joinElementTypes(elementType ? elementType : type, type);
  }
  if (values.empty())
    throwInvalid("expects at least 1 input, got 0");
  n.setOutput(0, n.emitAs<SequenceConstructOp>(SequenceType::get(n.context, elementType), ValueRange(values)));
}

static void importSequenceEmpty(NodeImporter &n) {
  Type elementType = getElementType(n.context, n.getInt("dtype", TensorProto::FLOAT), "the sequence");
  auto type = SequenceType::get(n.context, UnrankedTensorType::get(elementType));
  Entry entry{type, n.location};
  entry.value = n.emitAs<SequenceConstructOp>(type, ValueRange());
  entry.isEmptySequence = true;
  n.setEntry(0, std::move(entry));
}

static void importSequenceInsert(NodeImporter &n) {
  SequenceType type = getSequenceType(n, 0);
  Value value = n.getTensor(1), sequence = n.getInput(0);
  if (type.getElementType().getElementType() != elementOf(value))
    throwInvalid("expects tensors of the sequence's element type: want " + describe(type.getElementType()) + ", got " +
                 describe(value.getType()));
  TensorType elementType = typeOf(value);
  if (n.getEntry(0).isEmptySequence) {
    // Nothing is in the sequence yet: the first tensor says what it holds.
    elementType = joinElementTypes(elementType, elementType);
    type = SequenceType::get(n.context, elementType);
    sequence = n.emitAs<SequenceConstructOp>(type, ValueRange());
  } else {
    type = SequenceType::get(n.context, joinElementTypes(type.getElementType(), elementType));
  }
  Value position = n.hasInput(2) ? getPosition(n, 2) : Value();
  n.setOutput(0, n.emitAs<SequenceInsertOp>(type, sequence, value, position));
}

static void importSequenceAt(NodeImporter &n) {
  SequenceType type = getSequenceType(n, 0);
  auto element = dyn_cast<RankedTensorType>(type.getElementType());
  if (!element)
    throwUnsupported("expects a sequence whose tensors have one known rank, got " + describe(type));
  Value position = getPosition(n, 1), sequence = n.getInput(0);
  Dims dims;
  for (int64_t i = 0; i < element.getRank(); ++i)
    dims.push_back(element.isDynamicDim(i) ? n.model.declareSize(n.proto.output(0), i) : n.dim(element.getDimSize(i)));
  n.setOutput(0, n.emitAs<SequenceAtOp>(makeTensorType(dims, element.getElementType()), sequence, position));
}

static void importSequenceErase(NodeImporter &n) {
  SequenceType type = getSequenceType(n, 0);
  Value position = n.hasInput(1) ? getPosition(n, 1) : Value();
  n.setOutput(0, n.emitAs<SequenceEraseOp>(type, n.getInput(0), position));
}

static void importSequenceLength(NodeImporter &n) {
  (void)getSequenceType(n, 0);
  n.setOutput(0, n.emitAs<SequenceLengthOp>(RankedTensorType::get({}, n.builder.getI64Type()), n.getInput(0)));
}

static constexpr OpTableEntry sequencesTable[] = {
    {"SequenceAt", 11, newestOpset, importSequenceAt, ""},
    {"SequenceConstruct", 11, newestOpset, importSequenceConstruct, ""},
    {"SequenceEmpty", 11, newestOpset, importSequenceEmpty, "dtype"},
    {"SequenceErase", 11, newestOpset, importSequenceErase, ""},
    {"SequenceInsert", 11, newestOpset, importSequenceInsert, ""},
    {"SequenceLength", 11, newestOpset, importSequenceLength, ""},
};
const llvm::ArrayRef<OpTableEntry> sequencesOps = sequencesTable;

} // namespace vx::onnx
