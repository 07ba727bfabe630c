// Folders of .npy files as data sets.
#ifndef VX_TRAIN_TOOL_DATA_FOLDER_H
#define VX_TRAIN_TOOL_DATA_FOLDER_H

#include "vx/train/dataset.hpp"

#include <string>
#include <utility>
#include <vector>

namespace vx::tools {

// For each input of the training step that is data, its name and its file in `folder`: NAME.npy; where that is not
// there and the input is the only one that the model does not predict from, label.npy. Throws a ToolError (exit 3) with
// all files that are missing.
std::vector<std::pair<std::string, std::string>> dataFiles(const std::string &folder, const vx_training_info &training);

} // namespace vx::tools

#endif
