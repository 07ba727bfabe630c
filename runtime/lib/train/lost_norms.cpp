#include "lost_norms.h"

#include "vx/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace vx::train {

// "onnx::Conv_15" or "onnx::ConvTranspose_15"
static bool isFoldedName(std::string_view name) {
  for (const std::string_view prefix : {"onnx::Conv_", "onnx::ConvTranspose_"})
    if (name.starts_with(prefix) && name.size() > prefix.size())
      return std::all_of(name.begin() + static_cast<ptrdiff_t>(prefix.size()), name.end(),
                         [](char digit) { return digit >= '0' && digit <= '9'; });
  return false;
}

std::string lostBatchNorms(const vx_training_info &training, std::span<const vx_variable_info> variables) {
  std::string trace;
  for (const vx_variable_info &variable : variables) {
    if (variable.role == VX_ROLE_STATISTIC)
      return {};
    if (variable.role == VX_ROLE_PARAMETER && isFoldedName(variable.source) && trace.empty())
      trace = fmt::format("the weight '{}'", printableLine(variable.source));
  }
  if (const vx_asset_info *skeleton = training.skeleton) {
    const std::string_view bytes(static_cast<const char *>(skeleton->bytes), skeleton->size);
    if (bytes.find("BatchNormalization") != std::string_view::npos) // the op is there, if only with constants
      return {};
    if (bytes.find("torch.nn.modules.batchnorm.") != std::string_view::npos)
      trace = "the metadata of its nodes";
  }
  if (trace.empty())
    return {};
  return fmt::format("warning: the model's file has lost its batch norms, as {} shows: an export for inference has "
                     "folded them into convolutions, which are trained without them, and has left out dropouts; export "
                     "the model for training (docs/training.md, From PyTorch)",
                     trace);
}

} // namespace vx::train
