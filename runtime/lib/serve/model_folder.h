// What lies in a folder of models: files and folders that may be models, each with what it is, or why it is refused.
#ifndef VX_SERVE_MODEL_FOLDER_H
#define VX_SERVE_MODEL_FOLDER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::serve {

enum class ModelKind : uint8_t {
  module, // a .vxm file
  onnx,   // an .onnx file
  folder  // a folder with an .onnx file, and with what a model of texts has beside it
};
std::string_view modelKindName(ModelKind kind);

struct ModelPlace {
  std::string name; // "digits", "org/name"; printable, where the file's own is not
  std::string path; // absolute
  ModelKind kind = ModelKind::module;
  std::string onnx;      // of a folder, within it: "onnx/model.onnx"
  std::string tokenizer; // of a folder, within it: "tokenizer.json"; empty: none
  uint64_t bytes = 0;    // of all its files
  std::string refusal;   // why it cannot be served; empty: it can be
  std::string warning;   // why it is odd that it is served, "'a': others may write it (mode 0777); ..."
};

// Looks at one file or folder, wherever it is. A folder with one .vxm file and no .onnx file is that module, by the
// folder's name. Refused are files that others may change (file_access.h) and, where `root` is not empty, links out of
// it.
ModelPlace lookAtModel(const std::string &path, const std::string &root = "");

// All models of a folder, and of the folders in it, in the order of their names. If it cannot be read, or others may
// change it, `refusal` says so and there are none. `warning` is that of the folder itself.
std::vector<ModelPlace> findModels(const std::string &folder, std::string &refusal, std::string &warning);

} // namespace vx::serve

#endif
