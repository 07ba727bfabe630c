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
};

// Looks at one file or folder, wherever it is. What others may write is refused, and where `root` is not empty, what
// links lead out of it.
ModelPlace lookAtModel(const std::string &path, const std::string &root = "");

// All models of a folder, and of the folders in it, in the order of their names. Where it cannot be read, or others may
// write it, `refusal` says so and there are none.
std::vector<ModelPlace> findModels(const std::string &folder, std::string &refusal);

} // namespace vx::serve

#endif
