// Which ops are imported, from which version of the default domain on, and by which function.
#ifndef VX_FRONTEND_ONNX_OPTABLE_H
#define VX_FRONTEND_ONNX_OPTABLE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace vx::onnx {

class NodeImporter;
using ImportFunction = void (*)(NodeImporter &);

/// `function` imports op `name` of the versions `first` to `last`.
struct OpTableEntry {
  llvm::StringLiteral name;
  int64_t first, last;
  ImportFunction function;
};

struct OpLookup {
  /// Null when the op is unknown, or known in other versions only.
  ImportFunction function = nullptr;
  bool isKnown = false;
  /// The versions that are imported, when the op is known.
  int64_t first = 0, last = 0;
};

OpLookup findOp(llvm::StringRef name, int64_t version);

} // namespace vx::onnx

#endif
