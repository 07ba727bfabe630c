// The model that a training module was made of, as it infers.
#ifndef VX_TRAIN_INFERENCE_FORM_H
#define VX_TRAIN_INFERENCE_FORM_H

#include "model_bytes.h"

#include <string>

namespace vx::train {

// The bytes of an ONNX model without what it does in training only:
//
// - Dropout nodes are left out, and nodes that read their result read their input. Where the result is an output of a
//   graph an Identity stands in its place. One whose mask is read stays, without its input `training_mode`.
// - BatchNormalization nodes have no `training_mode`, and one output. A node that reads the running mean or variance
//   that they gave reads the one that they use.
// - Initializers and Constant nodes that only these inputs have read are left out.
//
// All else stays byte for byte, in its order. False, with the reason in `error`, where the bytes are no ONNX model.
bool toInferenceForm(ModelBytes &model, std::string &error);

} // namespace vx::train

#endif
