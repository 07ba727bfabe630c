// How an import fails inside of this library: the functions that read nodes and tensors throw an ImportError, which the
// model's importer catches once for each node and turns into an issue of the report. None crosses an MLIR frame.
#ifndef VX_FRONTEND_ONNX_IMPORTERROR_H
#define VX_FRONTEND_ONNX_IMPORTERROR_H

#include "vx/Frontend/ONNX/ImportOnnx.h"
#include "llvm/ADT/Twine.h"

namespace vx::onnx {

class NodeProto;

struct ImportError {
  ImportIssue::Kind kind;
  std::string reason;
  /// An If, where another import that takes one of its branches alone may succeed.
  const NodeProto *undecided = nullptr;
  /// The expression of a size has too many terms: with names for those that it is made of the node may succeed.
  bool isTooLong = false;
};

/// The input of a node whose own import failed: the failure is in the report already.
struct PoisonedInput {};

[[noreturn]] inline void throwInvalid(const llvm::Twine &reason) {
  throw ImportError{ImportIssue::Kind::Invalid, reason.str(), nullptr};
}
[[noreturn]] inline void throwUnsupported(const llvm::Twine &reason, const NodeProto *undecided = nullptr) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), undecided};
}

[[noreturn]] inline void throwTooLong(const llvm::Twine &reason) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), nullptr, /*isTooLong=*/true};
}

} // namespace vx::onnx

#endif
