// Tensors, sequences and optionals in files of ONNX's TensorProto, SequenceProto and OptionalProto.
#ifndef VX_TOOLS_TENSOR_FILE_H
#define VX_TOOLS_TENSOR_FILE_H

#include "tensor.h"

#include <span>

namespace vx::tools {

// A file does not say which of the three it holds, so the caller does. Throws a ToolError (exit 3) that begins with the
// path.
Value readTensorFile(const std::string &path, vx_value_kind kind);
Value parseTensorFile(const std::string &path, std::span<const uint8_t> bytes, vx_value_kind kind);

std::vector<uint8_t> formatTensorFile(const std::string &name, const Value &value);

} // namespace vx::tools

#endif
