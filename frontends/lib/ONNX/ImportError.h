// Errors inside of this library. Functions that read nodes and tensors throw an ImportError. The model's importer
// catches it at each node and adds an issue to the report. No exception crosses an MLIR frame.
#ifndef VX_FRONTEND_ONNX_IMPORTERROR_H
#define VX_FRONTEND_ONNX_IMPORTERROR_H

#include "Advice.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"
#include "llvm/ADT/Twine.h"

namespace vx::onnx {

class NodeProto;
struct BranchPath;

/// An If that decides between two ranks, with the branches of other Ifs around it (ChooseBranches.h).
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
  /// With ConvertVersion: a version that is imported.
  int64_t version = 0;
  /// An If; a new import with one of its branches alone may succeed.
  Decider undecided = {};
  /// The expression of a size has too many terms. The node may succeed if the sizes in it get names of their own.
  bool isTooLong = false;
};

/// Thrown for an input that a failed node would have made. The report has the failure of that node already.
struct PoisonedInput {};

[[noreturn]] inline void throwInvalid(const llvm::Twine &reason, Advice advice = Advice::CheckModel) {
  throw ImportError{ImportIssue::Kind::Invalid, reason.str(), advice};
}
/// Each refusal has advice for the user.
[[noreturn]] inline void throwUnsupported(Advice advice, const llvm::Twine &reason, int64_t version = 0) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), advice, version};
}
[[noreturn]] inline void throwUndecided(const llvm::Twine &reason, Decider undecided) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), Advice::FixSizes, 0, undecided};
}
[[noreturn]] inline void throwTooLong(const llvm::Twine &reason) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), Advice::SimplifySizes, 0, {}, /*isTooLong=*/true};
}

/// For a model that is exported, not imported.
[[noreturn]] inline void throwNotExported(const llvm::Twine &reason) {
  throw ImportError{ImportIssue::Kind::Unsupported, reason.str(), Advice::CheckModel};
}

} // namespace vx::onnx

#endif
