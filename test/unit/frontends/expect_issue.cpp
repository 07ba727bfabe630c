#include "expect_issue.h"

#include "vx/Frontend/ONNX/ImportOnnx.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

namespace vx::onnx_test {

static void expectIssue(const ModelProto &model, ImportIssue::Kind kind, const std::string &reason,
                        const std::string &folder, const ImportOptions &options = ImportOptions()) {
  SCOPED_TRACE(reason);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportReport report;
  std::string bytes = model.SerializeAsString();
  EXPECT_FALSE(importOnnx(context, llvm::MemoryBufferRef(bytes, "model.onnx"), folder, options, report));
  ASSERT_EQ(report.issues.size(), 1u);
  EXPECT_EQ(report.issues[0].reason, reason);
  EXPECT_EQ(report.issues[0].kind, kind);
  EXPECT_FALSE(report.issues[0].advice.empty());
}

void expectInvalid(const ModelProto &model, const std::string &reason, const std::string &folder) {
  expectIssue(model, ImportIssue::Kind::Invalid, reason, folder);
}

void expectUnsupported(const ModelProto &model, const std::string &reason, const std::string &folder) {
  expectIssue(model, ImportIssue::Kind::Unsupported, reason, folder);
}

void expectUnsupportedInTraining(const ModelProto &model, const std::string &reason) {
  ImportOptions options;
  options.trains = true;
  expectIssue(model, ImportIssue::Kind::Unsupported, reason, "", options);
}

ModelProto one(const NodeProto &node, const std::vector<TypeProto> &types, const std::vector<Part> &parts,
               int64_t opset) {
  std::vector<ValueInfoProto> inputs;
  for (const TypeProto &type : types)
    inputs.push_back(value(std::string(1, static_cast<char>('a' + inputs.size())), type));
  std::vector<Part> all = parts;
  all.emplace_back(node);
  return model(graph(inputs, all, {value(node.output(0))}), opset);
}

} // namespace vx::onnx_test
