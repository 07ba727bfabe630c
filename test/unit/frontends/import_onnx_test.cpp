// The importer's interface: what comes back, and what the report says when nothing does.
#include "onnx_model.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

namespace vx::onnx_test {
namespace {

using namespace mlir;

/// A folder that goes with its files.
class Folder {
public:
  Folder() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("vx-import-onnx-test", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }

  std::string write(llvm::StringRef name, llvm::StringRef bytes) const {
    std::string file = pathOf(name);
    std::error_code error;
    llvm::raw_fd_ostream stream(file, error);
    EXPECT_FALSE(error) << error.message();
    stream << bytes;
    return file;
  }
  std::string str() const { return path.str().str(); }

private:
  std::string pathOf(llvm::StringRef name) const {
    llvm::SmallString<128> file = path;
    llvm::sys::path::append(file, name);
    return file.str().str();
  }
  llvm::SmallString<128> path;
};

class ImportOnnx : public ::testing::Test {
protected:
  OwningOpRef<ModuleOp> import(const ModelProto &model, llvm::StringRef folder = "") {
    std::string bytes = model.SerializeAsString();
    return importOnnx(context, llvm::MemoryBufferRef(bytes, "model.onnx"), folder, options, report);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  ImportOptions options;
  ImportReport report;
};

ModelProto relu(const Dims &dims) {
  return model(graph({value("x", tensorType(F32, dims))}, {node("Relu", {"x"}, {"y"})}, {value("y")}));
}

TEST_F(ImportOnnx, SizesOfOneNameAlongAConcatDifferWhereThoseOfAnOperandAreNotKnown) {
  GraphProto parts = graph({value("x", tensorType(F32, {"N", 4})), value("z", tensorType(F32, {"N", 4}))},
                           {node("Shape", {"x"}, {"sizes"}), node("Reshape", {"x", "sizes"}, {"same"}),
                            node("Concat", {"same", "z"}, {"y"}, {attribute("axis", int64_t(0))})},
                           {value("y")});
  OwningOpRef<ModuleOp> module = import(model(std::move(parts)));
  ASSERT_TRUE(module) << report.issues.front().str();
  auto types = module->lookupSymbol<func::FuncOp>("main").getArgumentTypes();
  EXPECT_NE(getDim(cast<RankedTensorType>(types[0]), 0), getDim(cast<RankedTensorType>(types[1]), 0));
}

TEST_F(ImportOnnx, GivesAFunctionWithTheNamesOfTheGraph) {
  OwningOpRef<ModuleOp> module = import(relu({"batch", 4}));
  ASSERT_TRUE(module) << report.issues.front().str();
  EXPECT_TRUE(report.issues.empty());
  EXPECT_EQ(report.file, "model.onnx");
  EXPECT_TRUE(succeeded(verify(*module)));
  auto main = module->lookupSymbol<func::FuncOp>("main");
  ASSERT_TRUE(main);
  EXPECT_EQ(main.getArgAttrOfType<StringAttr>(0, "vx.name"), "x");
  EXPECT_EQ(main.getResultAttrOfType<StringAttr>(0, "vx.name"), "y");
  auto type = cast<RankedTensorType>(main.getArgumentTypes()[0]);
  EXPECT_EQ(getDim(type, 0).asSymbol(), "batch");
  EXPECT_EQ(getDim(type, 1).asConstant(), 4);
  auto symbols = llvm::to_vector(module->getOps<SymbolOp>());
  ASSERT_EQ(symbols.size(), 1u);
  EXPECT_EQ(symbols[0].getName(), "batch");
  EXPECT_FALSE(symbols[0].getDataDependent());
}

TEST_F(ImportOnnx, TheBytesMayGoAfterTheCall) {
  auto bytes = std::make_unique<std::string>(
      model(graph({value("x", tensorType(F32, {100}))},
                  {floats("w", {100}, std::vector<float>(100, 0.5f)), node("Add", {"x", "w"}, {"y"})}, {value("y")}))
          .SerializeAsString());
  OwningOpRef<ModuleOp> module = importOnnx(context, llvm::MemoryBufferRef(*bytes, "model.onnx"), "", options, report);
  bytes->assign(bytes->size(), '\xff');
  bytes.reset();
  ASSERT_TRUE(module) << report.issues.front().str();
  int constants = 0;
  module->walk([&](ConstantOp constant) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
    ASSERT_TRUE(resource);
    ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    ASSERT_EQ(data.size(), 400u);
    for (float element : ArrayRef(reinterpret_cast<const float *>(data.data()), 100))
      ASSERT_EQ(element, 0.5f);
    ++constants;
  });
  EXPECT_EQ(constants, 1);
}

TEST_F(ImportOnnx, MaxInlineElementsDecidesWhatIsAResource) {
  ModelProto proto = model(graph({value("x", tensorType(F32, {3}))},
                                 {floats("w", {3}, {1, 2, 3}), node("Add", {"x", "w"}, {"y"})}, {value("y")}));
  for (int64_t limit : {2, 3}) {
    options.maxInlineElements = limit;
    OwningOpRef<ModuleOp> module = import(proto);
    ASSERT_TRUE(module);
    module->walk([&](ConstantOp constant) {
      EXPECT_EQ(isa<DenseResourceElementsAttr>(constant.getValue()), limit == 2) << limit;
    });
  }
}

TEST_F(ImportOnnx, ExternalDataComesFromTheModelsFolder) {
  Folder folder;
  const float elements[] = {1, 2, 3};
  folder.write("w.bin", llvm::StringRef(reinterpret_cast<const char *>(elements), sizeof(elements)));
  TensorProto weights = floats("w", {3}, {});
  weights.set_data_location(TensorProto::EXTERNAL);
  auto *entry = weights.add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  ModelProto proto =
      model(graph({value("x", tensorType(F32, {3}))}, {weights, node("Add", {"x", "w"}, {"y"})}, {value("y")}));
  std::string file = folder.write("model.onnx", proto.SerializeAsString());
  EXPECT_TRUE(importOnnx(context, file, options, report)) << report.issues.front().str();
  EXPECT_EQ(report.file, file);
  EXPECT_TRUE(import(proto, folder.str()));
  // Without a folder there is no such data.
  EXPECT_FALSE(import(proto));
  ASSERT_EQ(report.issues.size(), 1u);
  EXPECT_EQ(report.issues[0].str(),
            "tensor 'w': its data is in 'w.bin', but the model has no folder; put the files of the "
            "weights where they were beside the model when it was exported, or export it again "
            "into one file");
}

TEST_F(ImportOnnx, ListsEveryNodeThatIsNotSupported) {
  NodeProto first = node("Unheard", {"x"}, {"a"}), second = node("Unknown", {"a"}, {"b"}),
            third = node("Other", {"x"}, {"c"});
  first.set_name("first");
  second.set_name("");
  third.set_name("third");
  EXPECT_FALSE(import(model(graph({value("x", tensorType(F32, {2, 2}))}, {first, second, third}, {value("b")}))));
  ASSERT_EQ(report.issues.size(), 3u);
  EXPECT_EQ(report.issues[0].kind, ImportIssue::Kind::Unsupported);
  EXPECT_EQ(report.issues[0].node, "first");
  EXPECT_EQ(report.issues[0].opType, "Unheard");
  EXPECT_EQ(report.issues[0].domain, "ai.onnx");
  EXPECT_EQ(report.issues[0].version, 21);
  EXPECT_EQ(report.issues[1].node, "Unknown_1");
  std::string text;
  llvm::raw_string_ostream stream(text);
  report.print(stream);
  const std::string end = ") is not supported: the op is not imported; export the model again with ops that "
                          "docs/onnx-ops.md lists, or add the op to the model as a function of it\n";
  EXPECT_EQ(text, "model.onnx: node 'first' (Unheard, ai.onnx 21" + end +
                      "model.onnx: node 'Unknown_1' (Unknown, ai.onnx 21" + end +
                      "model.onnx: node 'third' (Other, ai.onnx 21" + end + "model.onnx: 3 nodes are not supported\n");
}

TEST(ImportIssue, SaysWhatIsWrongWithWhich) {
  ImportIssue issue;
  issue.kind = ImportIssue::Kind::Invalid;
  issue.reason = "the reason";
  EXPECT_EQ(issue.str(), "the reason");
  issue.node = "n";
  issue.opType = "Op";
  issue.domain = "own";
  EXPECT_EQ(issue.str(), "node 'n' (Op, own): the reason");
  issue.version = 3;
  issue.kind = ImportIssue::Kind::Unsupported;
  EXPECT_EQ(issue.str(), "node 'n' (Op, own 3) is not supported: the reason");
  issue.advice = "export it again";
  EXPECT_EQ(issue.str(), "node 'n' (Op, own 3) is not supported: the reason; export it again");
}

TEST_F(ImportOnnx, FailsOnEmptyBytes) {
  EXPECT_FALSE(importOnnx(context, llvm::MemoryBufferRef("", "none"), "", options, report));
  ASSERT_EQ(report.issues.size(), 1u);
  EXPECT_EQ(report.issues[0].kind, ImportIssue::Kind::Invalid);
  EXPECT_EQ(report.issues[0].str(), "expects an ONNX model, got an empty file; give the .onnx file that an exporter "
                                    "has written");
}

TEST_F(ImportOnnx, OneContextTakesManyModels) {
  EXPECT_TRUE(import(relu({"n"})));
  EXPECT_FALSE(import(model(graph({}, {}, {}))));
  report = {};
  EXPECT_TRUE(import(relu({"n", "m"})));
  EXPECT_TRUE(report.issues.empty());
}

} // namespace
} // namespace vx::onnx_test
