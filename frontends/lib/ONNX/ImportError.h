// How an import fails inside of this library: the functions that read nodes and tensors throw an ImportError, which the
// model's importer catches once for each node and turns into an issue of the report. None crosses an MLIR frame.
#ifndef VX_FRONTEND_ONNX_IMPORTERROR_H
#define VX_FRONTEND_ONNX_IMPORTERROR_H

#include "Advice.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"
#include "llvm/ADT/Twine.h"

namespace vx::onnx {

class NodeProto;
struct BranchPath;

/// An If that decides between two ranks, in the branches of others that it is imported in (ChooseBranches.h).
struct Decider {
  const NodeProto *node = nullptr;
  const BranchPath *path = nullptr;

  explicit operator bool() const { return node; }
  friend bool operator<(const Decider &lhs, const Decider &rhs) {
    return std::pair(lhs.node, lhs.path) < std::pair(rhs.node, rhs.path);
  }
};

struct ImportError {
  ImportIssue::Kind kind;
  std::string reason;
  Advice advice;
  /// With ConvertVersion, a version that is imported.
  int64_t version = 0;
  /// An If, where another import that takes one of its branches alone may succeed.
  Decider undecided = {};
  /// The expression of a size has too many terms: with names for those that it is made of the node may succeed.
  bool isTooLong = false;
};

/// The input of a node whose own import failed: the failure is in the report already.
struct PoisonedInput {};

[[noreturn]] inline void throwInvalid(const llvm::Twine &reason, Advice advice = Advice::CheckModel) {
  throw ImportError{ImportIssue::Kind::Invalid, reason.str(), advice};
}
/// Every refusal says what to do about it.
[[noreturn]] inline void throwUnsupported(Advice advice, const llvm::Twine &reason, int64_t version = 0) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), advice, version};
}
[[noreturn]] inline void throwUndecided(const llvm::Twine &reason, Decider undecided) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), Advice::FixSizes, 0, undecided};
}
[[noreturn]] inline void throwTooLong(const llvm::Twine &reason) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), Advice::SimplifySizes, 0, {}, /*isTooLong=*/true};
}

/// Of a model that is written and not read.
[[noreturn]] inline void throwNotExported(const llvm::Twine &reason) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), Advice::CheckModel};
}

} // namespace vx::onnx

#endif
