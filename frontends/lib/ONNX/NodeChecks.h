// What a node must be by its op's signature, whatever the op computes.
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
  /// A word for each parameter: a letter of `types`, and '?' where it may be left out, '*' for a list of one type, '~'
  /// for a list of several.
  llvm::StringLiteral inputs;
  /// "a=HEX" is bit N for each ONNX element type N of tensors; "a=HEX/HEX" the same of sequences behind it, and
  /// "a=HEX/HEX/o" says that there are optionals, too. Parameters with one letter have one type.
  llvm::StringLiteral types;
  /// "axis:i", or "axis:i!" of one that must be there, sorted by name. The letter is the type, a capital a list.
  llvm::StringLiteral attributes;
};

/// The signature of an op in a version of its domain; null for what no schema describes.
const OpSignature *findSignature(llvm::StringRef domain, llvm::StringRef name, int64_t version);

/// The version that ended the op; 0 where none has.
int64_t getEnd(const OpSignature &signature);

/// The type of an attribute, which writers of old left out.
AttributeProto::AttributeType getType(const AttributeProto &attribute);
/// "an int", "floats".
llvm::StringRef spell(AttributeProto::AttributeType type);

/// The attributes of the function that a node stands in; null values are not given by the call. Null in graphs.
using FunctionAttributes = llvm::StringMap<const AttributeProto *>;

/// Everything that is wrong with the node alone: its numbers of inputs and outputs, and its attributes.
llvm::SmallVector<std::string> findMistakes(const NodeProto &node, const OpSignature &signature, int64_t version,
                                            const FunctionAttributes *function);

/// The type of an input where it is known to be one.
struct InputType {
  unsigned index;
  mlir::Type type;
};

/// Throws for a type that neither this version of the op takes nor the newest one, and for two types of what must be
/// of one. Nothing is said of optionals.
void checkInputTypes(const OpSignature &signature, int64_t version, llvm::ArrayRef<InputType> inputs);

} // namespace vx::onnx

#endif
