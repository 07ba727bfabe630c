#include "lost_parts.h"

#include "vx/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace vx::train {

// True for a name that consists of one of these and a number.
static bool isNumbered(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() > prefix.size() &&
           std::all_of(name.begin() + static_cast<ptrdiff_t>(prefix.size()), name.end(),
                       [](char digit) { return digit >= '0' && digit <= '9'; });
  });
}

std::string lostParts(const vx_training_info &training, std::span<const vx_variable_info> variables) {
  std::string folded, renamed;
  bool hasNorms = false, hasDropouts = false;
  for (const vx_variable_info &variable : variables) {
    hasNorms |= variable.role == VX_ROLE_STATISTIC;
    if (variable.role != VX_ROLE_PARAMETER)
      continue;
    if (folded.empty() && isNumbered(variable.source, {"onnx::Conv_", "onnx::ConvTranspose_"}))
      folded = fmt::format("the weight '{}'", printableLine(variable.source));
    if (renamed.empty() && variable.rank >= 2 && isNumbered(variable.source, {"onnx::MatMul_", "onnx::Gemm_", "val_"}))
      renamed = printableLine(variable.source);
  }
  if (const vx_asset_info *skeleton = training.skeleton) {
    const std::string_view bytes(static_cast<const char *>(skeleton->bytes), skeleton->size);
    hasNorms |= bytes.find("BatchNormalization") != std::string_view::npos; // the op is there, if only with constants
    hasDropouts = bytes.find("Dropout") != std::string_view::npos;
    if (bytes.find("torch.nn.modules.batchnorm.") != std::string_view::npos)
      folded = "the metadata of its nodes";
  }
  if (!folded.empty() && !hasNorms)
    return fmt::format("warning: the model's file has lost its batch norms, as {} shows: an export for inference has "
                       "folded them into convolutions, which are trained without them, and has left out dropouts; "
                       "export the model for training (docs/training.md, From PyTorch)",
                       folded);
  if (!renamed.empty() && !hasDropouts)
    return fmt::format("warning: the model's file is an export for inference, as the weight '{}' shows, which has no "
                       "name of the module: dropouts are left out of it, and it is trained without them; export the "
                       "model for training (docs/training.md, From PyTorch)",
                       renamed);
  return {};
}

} // namespace vx::train
