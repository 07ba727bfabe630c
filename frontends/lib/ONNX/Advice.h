// Advice to the user about a refused model.
#ifndef VX_FRONTEND_ONNX_ADVICE_H
#define VX_FRONTEND_ONNX_ADVICE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace vx::onnx {

/// The kinds of advice. Each refusal has one, since `throwUnsupported` requires it.
enum class Advice : uint8_t {
  /// The model breaks a rule of ONNX.
  CheckModel,
  /// The file is not a model.
  GiveModel,
  /// The file is larger than a message of protobuf may be.
  MoveWeights,
  /// External data is not at the path that the model states.
  RestoreData,
  /// An op that vx does not have, of a known or unknown domain.
  ReplaceOp,
  /// Another version of the op, of its domain or of the format.
  ConvertVersion,
  /// An input's number of dimensions is not known.
  StateShape,
  /// A number of dimensions or the length of a list is known at run time only.
  FixSizes,
  /// The expressions of sizes are too long.
  SimplifySizes,
  /// Sparse tensors, and tensors that are stored in pieces.
  StoreDense,
  /// Complex numbers.
  SplitComplex,
  /// An element type that the op is not imported for.
  CastElements,
  /// Maps.
  GiveTensors,
  /// A value of an attribute or of a constant input that is not imported.
  ChangeSetting,
  /// A model that is exported in training mode.
  ExportForInference,
  /// An output of a node that is not imported.
  DropOutput,
  /// A limit of vx.
  SplitModel,
};
constexpr Advice lastAdvice = Advice::SplitModel;

/// One sentence without a full stop, never empty. `domain` ("ai.onnx" for the default one) and `op` are those of the
/// node, empty if the refusal is not of a node; `version` is a version that is imported, 0 if none is known.
std::string describeAdvice(Advice advice, llvm::StringRef domain, llvm::StringRef op, int64_t version);

} // namespace vx::onnx

#endif
