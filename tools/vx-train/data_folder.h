// The data that vx-train is given: folders of .npy files or of images, and CSV files.
#ifndef VX_TRAIN_TOOL_DATA_FOLDER_H
#define VX_TRAIN_TOOL_DATA_FOLDER_H

#include "file_checks.h"
#include "vx/train/dataset.hpp"

#include <string>
#include <vector>

namespace vx::tools {

struct DataOptions {
  std::string label;              // a column of a CSV file
  std::string imageSize;          // "224" or "224x320" (height, width); empty: that of the model
  int64_t resize = 0;             // see vx::train::ImageOptions
  std::string normalize = "unit"; // unit, signed, imagenet, or "MEAN,...:DEVIATION,..."
  bool normalizes = false;        // whether `normalize` was given
};

// The data of `path`, for the inputs of the training step that are data:
//
// - a file that ends in .csv or .tsv: Dataset::csv.
// - a folder with .npy files: NAME.npy for each input, or label.npy for the only one that the model does not predict
//   from.
// - any other folder: Dataset::images, with the sizes and the layout of the model's input.
//
// `classes` are those of the data to train on, for a validation; empty: any. Files are added to `files`. Throws a
// ToolError (exit 3) for data that do not fit, with all files that are missing, and a usage error for an option that is
// for other data.
train::Dataset openData(const std::string &path, const DataOptions &options, const vx_training_info &training,
                        const std::vector<std::string> &classes, CommandFiles &files);

} // namespace vx::tools

#endif
