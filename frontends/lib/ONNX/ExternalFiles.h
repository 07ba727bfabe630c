// The files that belong to a model beside its own.
#ifndef VX_FRONTEND_ONNX_EXTERNALFILES_H
#define VX_FRONTEND_ONNX_EXTERNALFILES_H

#include "onnx_wire.pb.h"
#include <filesystem>
#include <string>
#include <vector>

namespace vx::onnx {

/// The names of all files that tensors of the model have their data in, each once, beginning with `folder`: those of
/// graphs, attributes and functions, read or not. Nothing is opened. The tools of the runtime ask, too: no LLVM here.
std::vector<std::string> collectExternalFiles(const ModelProto &model, const std::filesystem::path &folder);

} // namespace vx::onnx

#endif
