// What an export completes: the pieces of a model for variables of a module that is given as text.
#include "onnx_model.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Frontend/ONNX/ExportOnnx.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace vx::onnx_test {
namespace {

using namespace mlir;

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>((value & 0x7f) | 0x80);
  return text + static_cast<char>(value);
}

/// The file of some pieces, from the last one on; the elements of variables are 'v', and the other file is "w.data".
std::string assemble(ArrayRef<ExportPiece> pieces) {
  std::vector<std::string> parts(pieces.size());
  for (size_t i = pieces.size(); i-- > 0;) {
    const ExportPiece &piece = pieces[i];
    size_t length = 0;
    for (uint32_t j = 0; j < piece.count; ++j)
      length += parts[i + 1 + j].size();
    using enum ExportPiece::Kind;
    parts[i] = piece.kind == Length     ? varint(length)
               : piece.kind == Location ? "w.data"
               : piece.kind == Variable ? std::string(piece.size, 'v')
               : piece.kind == Zeros    ? std::string(piece.size, '\0')
                                        : piece.bytes.str();
  }
  std::string file;
  for (const std::string &part : parts)
    file += part;
  return file;
}

class ExportOnnx : public ::testing::Test {
protected:
  ExportOnnx() { context.loadDialect<VXDialect, func::FuncDialect>(); }

  /// The file that is exported of a model's bytes for variables of a module, or the error.
  std::string exported(const std::string &bytes, llvm::StringRef text) {
    ImportOptions importOptions;
    importOptions.keepSource = true;
    ImportReport report;
    OwningOpRef<ModuleOp> imported =
        importOnnx(context, llvm::MemoryBufferRef(bytes, "model.onnx"), "", importOptions, report);
    std::string problems;
    llvm::raw_string_ostream os(problems);
    report.print(os);
    EXPECT_TRUE(imported) << problems;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    std::string error;
    std::optional<ExportSkeleton> skeleton = makeExportSkeleton(*report.source, *module, options, error);
    EXPECT_EQ(skeleton.has_value(), error.empty());
    if (!skeleton)
      return "error: " + error;
    weights = assemble(skeleton->weights);
    return assemble(skeleton->model);
  }
  std::string exported(const ModelProto &model, llvm::StringRef text) {
    return exported(model.SerializeAsString(), text);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  ExportOptions options;
  std::string weights;
};

/// y = x w^T + b of three classes, with further parts.
ModelProto dense(std::vector<Part> parts = {}) {
  AttributeProto transposed = attribute("transB", int64_t(1));
  parts.push_back(floats("w", {3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  parts.push_back(floats("b", {3}, {1, 2, 3}));
  parts.push_back(node("Gemm", {"x", "w", "b"}, {"y"}, {transposed}));
  ModelProto result =
      model(graph({value("x", tensorType(F32, {"n", 4}))}, parts, {value("y", tensorType(F32, {"n", 3}))}));
  *result.mutable_graph()->add_value_info() = value("y", tensorType(F32, {"n", 3}));
  return result;
}

constexpr const char *head = R"(
  vx.variable @w role = parameter init = <uniform(-0.5, 0.5)> : tensor<5x4xf32>
  vx.variable @b role = parameter init = <uniform(-0.5, 0.5)> : tensor<5xf32>
  func.func private @predict(tensor<2x4xf32>) -> (tensor<2x5xf32> {vx.name = "y"})
)";
constexpr const char *same = R"(
  vx.variable @w role = parameter : tensor<3x4xf32> =
      dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]> : tensor<3x4xf32>
)";

TEST_F(ExportOnnx, nothingIsTrained) {
  const std::string bytes = dense().SerializeAsString();
  EXPECT_EQ(exported(bytes, ""), bytes);
  EXPECT_EQ(exported(bytes, "vx.variable @m role = optimizer : tensor<3x4xf32>"), bytes);
}

TEST_F(ExportOnnx, elementsAreReplaced) {
  const ModelProto before = dense();
  ModelProto after, want = before;
  ASSERT_TRUE(after.ParseFromString(exported(before, same)));
  TensorProto &w = *want.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_raw_data(std::string(48, 'v'));
  EXPECT_EQ(after.SerializeAsString(), want.SerializeAsString());
}

/// A new head: other dimensions of tensors, and of outputs; types of values between are left out.
TEST_F(ExportOnnx, otherDimensions) {
  const ModelProto before = dense();
  ModelProto after, want = before;
  ASSERT_TRUE(after.ParseFromString(exported(before, head)));
  GraphProto &graph = *want.mutable_graph();
  for (TensorProto &tensor : *graph.mutable_initializer()) {
    tensor.clear_float_data();
    tensor.set_raw_data(std::string(tensor.name() == "w" ? 80 : 20, 'v'));
    tensor.set_dims(0, 5);
  }
  graph.clear_value_info();
  graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(5);
  EXPECT_EQ(after.SerializeAsString(), want.SerializeAsString());
}

TEST_F(ExportOnnx, aNumberThatMayBeTheOldDimension) {
  ModelProto after;
  EXPECT_TRUE(after.ParseFromString(exported(dense({integers("shape", {2}, {-1, 3})}), same)));
  EXPECT_TRUE(after.ParseFromString(exported(dense({integers("shape", {2}, {-1, 2})}), head)));
  EXPECT_EQ(
      exported(dense({integers("shape", {2}, {-1, 3})}), head),
      "error: a trained tensor has another size than 3 of the model's, but 'shape' has the number 3, which may be "
      "that size");
}

TEST_F(ExportOnnx, variablesWithoutAPlace) {
  EXPECT_EQ(exported(dense(), "vx.variable @u role = parameter : tensor<3x4xf32>"),
            "error: 'u' is trained, but is the value of no initializer and no Constant node");
  EXPECT_EQ(exported(dense(), "vx.variable @u role = statistic source = \"v\" : tensor<3x4xf32>"),
            "error: 'v' is trained, but is the value of no initializer and no Constant node");
  EXPECT_EQ(exported(dense(), "vx.variable @w role = parameter : tensor<3x4xf16>"),
            "error: 'w' is trained in another element type than the model's: expected f32, got f16");
  EXPECT_EQ(exported(dense(), std::string(same) + "vx.variable @v role = parameter source = \"w\" : tensor<3x4xf32>"),
            "error: two variables are trained that have the name 'w' in the model");
}

/// Which of two tensors of one name a variable begins with is known by its values.
TEST_F(ExportOnnx, oneNameTwice) {
  auto branch = [](float element) {
    return graph({}, {floats("k", {2}, {element, 5}), node("Identity", {"k"}, {"r"})}, {value("r")});
  };
  ModelProto before =
      dense({node("If", {"c"}, {"z"}, {attribute("then_branch", branch(1)), attribute("else_branch", branch(2))})});
  *before.mutable_graph()->add_input() = value("c", tensorType(BOOL, {}));
  ModelProto after, want = before;
  ASSERT_TRUE(after.ParseFromString(
      exported(before, "vx.variable @k role = parameter : tensor<2xf32> = dense<[2.0, 5.0]> : tensor<2xf32>")));
  TensorProto &tensor =
      *want.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g()->mutable_initializer(0);
  tensor.clear_float_data();
  tensor.set_raw_data(std::string(8, 'v'));
  EXPECT_EQ(after.SerializeAsString(), want.SerializeAsString());
  EXPECT_EQ(exported(before, "vx.variable @k role = parameter : tensor<2xf32> = dense<[3.0, 5.0]> : tensor<2xf32>"),
            "error: 'k' is trained, but 2 of the model's tensors have this name, and none of them the values that it "
            "begins with");
}

/// Fields that no reader here knows, groups among them, and lengths that are longer than need be.
TEST_F(ExportOnnx, otherBytesStay) {
  const ModelProto before = dense();
  const std::string graph = before.graph().SerializeAsString(), group = "\xa3\x06\x0a\x02hi\x0b\x0c\xa4\x06";
  std::string wide = varint(graph.size());
  wide.back() = static_cast<char>(wide.back() | 0x80);
  wide += '\0';
  const std::string unchanged = group + std::string("\x42\x02\x10\x15", 4) + "\x08\x08" + "\x3a" + wide + graph + group;
  EXPECT_EQ(exported(unchanged, ""), unchanged);
  const std::string changed = exported(unchanged, same);
  EXPECT_TRUE(llvm::StringRef(changed).starts_with(group) && llvm::StringRef(changed).ends_with(group));
}

TEST_F(ExportOnnx, aGraphInPieces) {
  const ModelProto whole = dense();
  ModelProto first = whole, second;
  first.mutable_graph()->clear_node();
  *second.mutable_graph()->mutable_node() = whole.graph().node();
  EXPECT_EQ(exported(first.SerializeAsString() + second.SerializeAsString(), same),
            "error: a field of the model is stored in segments, expected whole fields");
}

TEST_F(ExportOnnx, externalDataThatNothingReads) {
  ModelProto model = dense();
  TensorProto &tensor = *model.mutable_training_info()->Add()->mutable_initialization()->add_initializer();
  tensor.set_name("t");
  tensor.set_data_type(F32);
  tensor.add_dims(2);
  tensor.set_data_location(TensorProto::EXTERNAL);
  onnx::StringStringEntryProto &entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value("t.bin");
  EXPECT_EQ(exported(model, same), "error: tensor 't': its data is in 't.bin', but the model has no folder");
}

TEST_F(ExportOnnx, weightsBeside) {
  options.largestModel = 0;
  options.leastWeights = 48;
  ModelProto after;
  ASSERT_TRUE(after.ParseFromString(exported(dense(), same)));
  const TensorProto &w = after.graph().initializer(0);
  EXPECT_EQ(w.data_location(), TensorProto::EXTERNAL);
  std::string entries;
  for (const auto &entry : w.external_data())
    entries += entry.key() + "=" + entry.value() + " ";
  EXPECT_EQ(entries, "location=w.data offset=0 length=48 ");
  EXPECT_EQ(weights, std::string(48, 'v'));
  options.leastWeights = 49;
  ASSERT_TRUE(after.ParseFromString(exported(dense(), same)));
  EXPECT_EQ(after.graph().initializer(0).raw_data(), std::string(48, 'v'));
  EXPECT_EQ(weights, "");
}

} // namespace
} // namespace vx::onnx_test
