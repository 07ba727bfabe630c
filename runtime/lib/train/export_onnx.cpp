// Session::export_onnx: the skeleton of the model with the variables as they are.
#include "failure.h"
#include "onnx_skeleton.h"
#include "saved_variables.h"
#include "vx/base/printable.h"
#include "vx/train/session.hpp"
#include "written_file.h"

#include <filesystem>
#include <map>
#include <optional>

namespace vx::train {

void Session::export_onnx(const std::string &path, const std::string &function, ExportForm form) const {
  const std::string known = training->predict ? training->predict->name : "";
  if (function != known)
    throw argumentError("the module's ONNX model is of function '{}', got '{}'", known, function);
  export_onnx(path, form);
}

void Session::export_onnx(const std::string &path, ExportForm form) const {
  if (!training->skeleton)
    throw argumentError("the module has no ONNX model to export: use one that vx-compile --train has made of an ONNX "
                        "file, without --export=none");
  // What is damaged is no model.
  module.verify();
  const vx_asset_info &asset = *training->skeleton;
  OnnxSkeleton skeleton;
  std::string error;
  if (!skeleton.parse({static_cast<const uint8_t *>(asset.bytes), asset.size}, module.variables(), module.constants(),
                      error))
    throw dataError("asset '{}' of the module: {}", printableLine(asset.name), error);

  std::vector<std::string> names;
  for (uint32_t number : skeleton.variables())
    names.emplace_back(module.variables()[number].name);
  const std::vector<Value> values = instance.readVariables(names);
  std::map<uint32_t, std::span<const uint8_t>> elements;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::span<const std::byte> bytes = values[i].bytes();
    elements[skeleton.variables()[i]] = {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
  }
  auto elementsOf = [&](uint32_t variable) { return elements.at(variable); };
  auto into = [](WrittenFile &file) {
    return [&file](std::span<const uint8_t> bytes) { file.write(bytes.data(), bytes.size()); };
  };

  // The weights first. Between the two names the old model stands beside new weights.
  const std::string weightsPath = path + ".data";
  std::vector<WrittenFile *> files;
  std::optional<WrittenFile> weights;
  if (skeleton.hasWeightsFile()) {
    files.push_back(&weights.emplace(weightsPath));
    skeleton.writeWeights(elementsOf, into(*weights));
  }
  WrittenFile model(path);
  files.push_back(&model);
  const std::string location = std::filesystem::path(weightsPath).filename().string();
  if (!skeleton.writeModel(location, form, elementsOf, into(model), error))
    throw dataError("asset '{}' of the module: {}", printableLine(asset.name), error);
  WrittenFile::commitAll(files);
}

void Session::save_module(const std::string &path) const {
  std::vector<std::string> names;
  for (const SavedVariable &variable : savedVariables(instance))
    if (isWeight(variable.variable->role))
      names.emplace_back(variable.variable->name);
  instance.saveModule(path, names);
}

} // namespace vx::train
