#include "data_folder.h"

#include "command_line.h"

#include <algorithm>
#include <filesystem>

namespace vx::tools {

namespace fs = std::filesystem;

static bool isPredictedFrom(const vx_training_info &training, const std::string &name) {
  const vx_function_info *predict = training.predict;
  return predict && std::any_of(predict->inputs, predict->inputs + predict->input_count,
                                [&](const vx_argument_info &input) { return input.name == name; });
}

std::vector<std::pair<std::string, std::string>> dataFiles(const std::string &folder,
                                                           const vx_training_info &training) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw fileError("data: expected a folder of .npy files, '{}' is none", folder);
  std::vector<std::string> names, labels, missing;
  for (size_t i = 0; i < training.input_count; ++i) {
    names.emplace_back(training.train_step->inputs[training.inputs[i]].name);
    if (!isPredictedFrom(training, names.back()))
      labels.push_back(names.back());
  }
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string &name : names) {
    std::string path = fs::path(folder) / (name + ".npy");
    if (!fs::exists(path, error)) {
      const std::string label = fs::path(folder) / "label.npy";
      if (labels.size() == 1 && labels[0] == name && fs::exists(label, error))
        path = label;
      else
        missing.push_back(name + ".npy");
    }
    files.emplace_back(name, std::move(path));
  }
  if (!missing.empty())
    throw fileError("data: '{}' lacks {}; the model is trained by {}", folder, quoteNames(missing), quoteNames(names));
  return files;
}

} // namespace vx::tools
