// A model as a module that trains.
#ifndef VX_TRAIN_TOOL_COMPILE_MODEL_H
#define VX_TRAIN_TOOL_COMPILE_MODEL_H

#include "vx/runtime/vx.hpp"

#include <memory>
#include <string>
#include <vector>

namespace vx::tools {

struct ModelOptions {
  std::string device, train = "auto", freeze, loss, optimizer = "adamw", batchNorm, dropout, init, precision = "f32";
  double clipNorm = 0, clipValue = 0;
  bool noFallback = false, keepGradients = false;
  int64_t classes = 0; // of a new head; 0: the model's
  int64_t memory = 0;  // bytes that a step may take at this batch; 0: any number
  int64_t batch = 0;
  std::string emit; // a file for the module; empty: it is in memory only
};

// A module and the bytes that it reads.
struct CompiledModel {
  std::shared_ptr<void> bytes;
  vx::Module module;
};

// Compiles the model at `path` for the device. Throws a ToolError as vx-compile ends; where there is no compiler it
// says so.
CompiledModel compileModel(const char *tool, const std::string &path, const ModelOptions &options);

} // namespace vx::tools

#endif
