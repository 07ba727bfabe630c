// Batch norms that an export for inference has folded into convolutions.
#ifndef VX_TRAIN_LOST_NORMS_H
#define VX_TRAIN_LOST_NORMS_H

#include "vx/runtime/vx.h"

#include <span>
#include <string>

namespace vx::train {

// A warning if the model's file had batch norms as a module of PyTorch and has none as ONNX, empty otherwise. The
// exporters of PyTorch leave traces: names such as "onnx::Conv_15" of folded weights, or the module's class in the
// metadata of a node. A module without the model's ONNX form is judged by the names of its parameters alone.
std::string lostBatchNorms(const vx_training_info &training, std::span<const vx_variable_info> variables);

} // namespace vx::train

#endif
