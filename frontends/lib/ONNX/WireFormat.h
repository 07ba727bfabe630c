// The fields of a protobuf message as they stand in its bytes.
#ifndef VX_FRONTEND_ONNX_WIREFORMAT_H
#define VX_FRONTEND_ONNX_WIREFORMAT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace vx::onnx {

struct WireField {
  uint64_t number;
  bool isBytes;            // a text, a message or a packed list: has a length
  llvm::StringRef whole;   // with its tag
  llvm::StringRef tag;     // alone
  llvm::StringRef payload; // of one with a length
};

/// Calls `visit` with each field of a message in order. False where the bytes are no message.
bool forEachField(llvm::StringRef message, llvm::function_ref<void(const WireField &)> visit);

void appendVarint(std::string &text, uint64_t value);
/// The tag of a field with a length.
void appendTag(std::string &text, uint64_t number);

} // namespace vx::onnx

#endif
