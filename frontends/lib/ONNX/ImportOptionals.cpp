// Optionals. For one that a node makes it is known whether it holds a value. One with a value is imported as that
// value, and an empty one has no value, until branches or iterations make it depend on the call.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

/// The type inside of an optional, for all of its values: without symbols, which belong to one value.
static Type getHeldType(Type type) {
  if (auto optional = dyn_cast<OptionalType>(type))
    type = optional.getValueType();
  auto tensor = dyn_cast<TensorType>(type);
  return tensor ? Type(joinElementTypes(tensor, tensor)) : type;
}

Type joinHostTypes(Type lhs, Type rhs) {
  auto leftSequence = dyn_cast<SequenceType>(lhs), rightSequence = dyn_cast<SequenceType>(rhs);
  if (leftSequence && rightSequence) {
    TensorType left = leftSequence.getElementType(), right = rightSequence.getElementType();
    if (left.getElementType() != right.getElementType())
      return {};
    return SequenceType::get(lhs.getContext(), joinElementTypes(left, right));
  }
  if (!isa<OptionalType>(lhs) && !isa<OptionalType>(rhs))
    return {};
  Type left = getHeldType(lhs), right = getHeldType(rhs), held = joinHostTypes(left, right);
  auto leftTensor = dyn_cast<TensorType>(left), rightTensor = dyn_cast<TensorType>(right);
  if (leftTensor && rightTensor && leftTensor.getElementType() == rightTensor.getElementType())
    held = joinElementTypes(leftTensor, rightTensor);
  return held ? OptionalType::get(lhs.getContext(), held) : Type();
}

Value wrapOptional(OpBuilder &builder, Location location, Value value, Type type) {
  if (!isa<OptionalType>(type) || isa<OptionalType>(value.getType()))
    return value;
  return OptionalOp::create(builder, location, type, value);
}

Value convertToDeclared(OpBuilder &builder, Location location, Value value, const TypeProto &declared) {
  Type type = value.getType();
  if (declared.has_optional_type())
    return wrapOptional(builder, location, value, OptionalType::get(type.getContext(), getHeldType(type)));
  auto optional = dyn_cast<OptionalType>(type);
  if (!optional || !declared.has_sequence_type() || !isa<SequenceType>(optional.getValueType()))
    return value;
  return OptionalValueOp::create(builder, location, optional.getValueType(), value);
}

static void importOptional(NodeImporter &n) {
  const AttributeProto *type = n.findAttribute("type", AttributeProto::TYPE_PROTO);
  if (!n.hasInput(0)) {
    if (!type)
      throwInvalid("expects an input or attribute 'type', got neither");
    Entry none{OptionalType::get(n.context, n.model.importType(type->tp(), n.proto.output(0))), n.location};
    none.isNone = true;
    return n.setEntry(0, std::move(none));
  }
  Entry entry = n.getEntry(0);
  if (isa<OptionalType>(entry.type))
    throwInvalid("expects a tensor or a sequence as input 0, got " + describe(entry.type));
  if (type) {
    auto elementType = [](Type type) {
      if (auto sequence = dyn_cast<SequenceType>(type))
        type = sequence.getElementType();
      return std::pair(isa<SequenceType>(type), cast<TensorType>(type).getElementType());
    };
    Type want = n.model.importType(type->tp(), n.proto.output(0));
    if (elementType(want) != elementType(entry.type))
      throwInvalid("expects input 0 of the type that 'type' states: " + describe(want) + ", got " +
                   describe(entry.type));
  }
  n.setEntry(0, std::move(entry));
}

static void importOptionalHasElement(NodeImporter &n) {
  bool hasElement = n.hasInput(0) && !n.getEntry(0).isNone;
  if (hasElement && isa<OptionalType>(n.getEntry(0).type)) {
    Value count = n.emitAs<SequenceLengthOp>(RankedTensorType::get({}, n.builder.getI64Type()), n.getInput(0));
    return n.setOutput(0, n.cast(count, n.builder.getI1Type()));
  }
  n.setContents(0, {n.dim(hasElement ? 1 : 0)}, RankedTensorType::get({}, n.builder.getI1Type()));
}

static void importOptionalGetElement(NodeImporter &n) {
  Entry entry = n.getEntry(0);
  if (entry.isNone)
    throwInvalid("expects an optional with a value as input 0, got '" + n.proto.input(0) + "', which has none");
  auto optional = dyn_cast<OptionalType>(entry.type);
  if (optional && isa<SequenceType>(optional.getValueType()))
    return n.setOutput(0, n.emitAs<OptionalValueOp>(optional.getValueType(), n.getInput(0)));
  if (optional)
    return n.setOutput(0, emitSequenceAt(n, n.getInput(0), n.emitScalar(0, n.builder.getI64Type()), n.proto.output(0)));
  n.setEntry(0, std::move(entry));
}

static constexpr OpTableEntry optionalsTable[] = {
    {"Optional", 15, newestOpset, importOptional},
    {"OptionalGetElement", 15, newestOpset, importOptionalGetElement},
    {"OptionalHasElement", 15, newestOpset, importOptionalHasElement},
};
const llvm::ArrayRef<OpTableEntry> optionalsOps = optionalsTable;

} // namespace vx::onnx
