// The files of external data of a model.
#ifndef VX_FRONTEND_ONNX_EXTERNALFILES_H
#define VX_FRONTEND_ONNX_EXTERNALFILES_H

#include "onnx_wire.pb.h"
#include <filesystem>
#include <string>
#include <vector>

namespace vx::onnx {

/// Returns the names of all files with data of the model's tensors, each once, beginning with `folder`: tensors of
/// graphs, attributes and functions, read or not. Opens no file. The tools of the runtime use it too, so it must not
/// use LLVM.
std::vector<std::string> collectExternalFiles(const ModelProto &model, const std::filesystem::path &folder);

} // namespace vx::onnx

#endif
