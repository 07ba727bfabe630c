// Wrong and unsupported models, with the reason that the importer must give.
#ifndef VX_TEST_UNIT_FRONTENDS_EXPECT_ISSUE_H
#define VX_TEST_UNIT_FRONTENDS_EXPECT_ISSUE_H

#include "onnx_model.h"

namespace vx::onnx_test {

/// The model's only issue is invalid, or unsupported, for this reason.
void expectInvalid(const ModelProto &model, const std::string &reason, const std::string &folder = "");
void expectUnsupported(const ModelProto &model, const std::string &reason, const std::string &folder = "");
/// The same of a model that is to be trained.
void expectUnsupportedInTraining(const ModelProto &model, const std::string &reason);

/// A model of one node whose inputs "a", "b", ... have these types; `parts` are what else it reads.
ModelProto one(const NodeProto &node, const std::vector<TypeProto> &types, const std::vector<Part> &parts = {},
               int64_t opset = 21);

inline TypeProto f32(const Dims &dims) { return tensorType(F32, dims); }
inline TypeProto i64(const Dims &dims) { return tensorType(I64, dims); }

} // namespace vx::onnx_test

#endif
