// The fields of a protobuf message in its encoded bytes.
#ifndef VX_FRONTEND_ONNX_WIREFORMAT_H
#define VX_FRONTEND_ONNX_WIREFORMAT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace vx::onnx {

struct WireField {
  uint64_t number;
  bool isBytes;            // a text, a message or a packed list; it has a length
  llvm::StringRef whole;   // with its tag
  llvm::StringRef tag;     // the tag only
  llvm::StringRef payload; // the bytes after the length, if it has one
};

/// Calls `visit` with each field of a message in order. Returns false if the bytes are not a message.
bool forEachField(llvm::StringRef message, llvm::function_ref<void(const WireField &)> visit);

void appendVarint(std::string &text, uint64_t value);
/// Appends the tag of a field with a length.
void appendTag(std::string &text, uint64_t number);

} // namespace vx::onnx

#endif
