// Batch norms and dropouts that an export for inference has left out.
#ifndef VX_TRAIN_LOST_PARTS_H
#define VX_TRAIN_LOST_PARTS_H

#include "vx/runtime/vx.h"

#include <span>
#include <string>

namespace vx::train {

// A warning if the model's file shows that it is PyTorch's export for inference, empty otherwise. Such an export folds
// batch norms into convolutions and leaves out dropouts. Its traces are names such as "onnx::Conv_15" and
// "onnx::MatMul_15" or "val_15" of weights that it has computed, or the class of a batch norm in the metadata of a
// node. A module without the model's ONNX form is judged by the names of its parameters alone.
std::string lostParts(const vx_training_info &training, std::span<const vx_variable_info> variables);

} // namespace vx::train

#endif
