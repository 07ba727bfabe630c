// Optionals. Whether one that the graph makes holds a value is known where it is made: what holds one is that value,
// and what holds none stays without a value.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

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
      throwInvalid("expects input 0 of the type that 'type' states: want " + describe(want) + ", got " +
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
  if (isa<OptionalType>(entry.type))
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
