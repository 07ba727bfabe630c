// Checks of a node against its op's signature.
#ifndef VX_FRONTEND_ONNX_NODECHECKS_H
#define VX_FRONTEND_ONNX_NODECHECKS_H

#include "mlir/IR/Types.h"
#include "onnx_wire.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace vx::onnx {

/// A line of OpSignatures.inc: an op from `version` of its domain on, up to the next line of the op.
struct OpSignature {
  llvm::StringLiteral domain, name;
  int64_t version;
  bool isDeprecated;                                      // the version ends the op
  int leastInputs, mostInputs, leastOutputs, mostOutputs; // -1: any number
  /// A word for each parameter: a letter of `types`, and '?' if it is optional, '*' for a list of one type, '~' for a
  /// list of several types.
  llvm::StringLiteral inputs;
  /// "a=HEX" is bit N for each ONNX element type N of tensors; "a=HEX/HEX" has the same for sequences after the slash,
  /// and "a=HEX/HEX/o" allows optionals too. Parameters with one letter have one type.
  llvm::StringLiteral types;
  /// "axis:i", or "axis:i!" for a required one, sorted by name. The letter is the type, a capital a list.
  llvm::StringLiteral attributes;
};

/// Returns the signature of an op in a version of its domain; null without a schema.
const OpSignature *findSignature(llvm::StringRef domain, llvm::StringRef name, int64_t version);

/// Returns the version that removed the op; 0 if none has.
int64_t getEnd(const OpSignature &signature);

/// Returns the type of an attribute. Old writers leave the field out; it is then inferred.
AttributeProto::AttributeType getType(const AttributeProto &attribute);
/// "an int", "floats".
llvm::StringRef spell(AttributeProto::AttributeType type);

/// The attributes of the function around a node. An attribute that the call does not give is null, and so is the
/// pointer to the map in graphs.
using FunctionAttributes = llvm::StringMap<const AttributeProto *>;

/// Returns all mistakes of the node by itself: in its numbers of inputs and outputs, and in its attributes.
llvm::SmallVector<std::string> findMistakes(const NodeProto &node, const OpSignature &signature, int64_t version,
                                            const FunctionAttributes *function);

/// The type of an input, if it is known.
struct InputType {
  unsigned index;
  mlir::Type type;
};

/// Throws for a type that neither this version of the op nor the newest one accepts, and for two types where one is
/// required. Optionals are not checked.
void checkInputTypes(const OpSignature &signature, int64_t version, llvm::ArrayRef<InputType> inputs);

} // namespace vx::onnx

#endif
