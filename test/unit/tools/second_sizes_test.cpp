// What is wrong at sizes that a case's files do not have is seen. The evaluator beside which cases are run is one that
// is right at the sizes of the files and as a test says elsewhere, so the module is the wrong one of the two.
#include "second_sizes.h"

#include "case_run.h"
#include "tensor_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <unistd.h>

namespace vx::tools {
namespace {

namespace fs = std::filesystem;

// What the evaluator makes of f32 inputs 'x' and maybe 'w'.
using Evaluate = std::function<bool(const ReferenceModel::Values &, ReferenceModel::Values &, std::string &)>;
Evaluate evaluate;
std::string problem; // of the import

class PlantedModel : public ReferenceModel {
public:
  bool call(const Values &inputs, Values &outputs, std::string &refusal) override {
    return evaluate(inputs, outputs, refusal);
  }
};

Value valueOf(Tensor tensor) { return {VX_TENSOR, tensor.type, {std::move(tensor)}}; }

Tensor f32Tensor(std::vector<int64_t> dims) {
  const uint64_t count = elementCount(VX_F32, dims).value();
  Tensor tensor{VX_F32, std::move(dims), std::vector<uint8_t>(byteCount(VX_F32, count))};
  for (uint64_t i = 0; i < count; ++i)
    setElement(tensor, i, static_cast<double>(i) + 1);
  return tensor;
}

// Neg, which is what the cases below compute.
bool negate(const ReferenceModel::Values &inputs, ReferenceModel::Values &outputs, std::string &) {
  Tensor y = inputs.at("x").tensors.front();
  for (uint64_t i = 0; i < elementCount(y.type, y.dims).value(); ++i)
    setElement(y, i, -elementAsDouble(y, i));
  outputs["y"] = valueOf(std::move(y));
  return true;
}

class SecondSizesTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("second_sizes_" + std::to_string(::getpid()));
    fs::create_directories(folder / "test_data_set_0");
    evaluate = negate;
    problem.clear();
    model.set_ir_version(8);
    model.add_opset_import()->set_version(13);
    onnx::NodeProto &node = *model.mutable_graph()->add_node();
    node.set_op_type("Neg");
    node.add_input("x");
    node.add_output("y");
  }
  void TearDown() override { fs::remove_all(folder); }

  void addInput(const char *name, const std::vector<int64_t> &dims) {
    onnx::GraphProto &graph = *model.mutable_graph();
    write("input_" + std::to_string(graph.input_size()), f32Tensor(dims));
    declare(*graph.add_input(), name, dims);
  }

  // The result of Neg, reshaped to `dims`.
  void addReshape(const std::vector<int64_t> &dims) {
    onnx::GraphProto &graph = *model.mutable_graph();
    graph.mutable_node(0)->set_output(0, "h");
    onnx::TensorProto &shape = *graph.add_initializer();
    shape.set_name("shape");
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(static_cast<int64_t>(dims.size()));
    for (int64_t dim : dims)
      shape.add_int64_data(dim);
    onnx::NodeProto &node = *graph.add_node();
    node.set_op_type("Reshape");
    node.add_input("h");
    node.add_input("shape");
    node.add_output("y");
  }

  CaseFolder writeCase() {
    const CaseFolder made{"case", folder.string()};
    onnx::GraphProto &graph = *model.mutable_graph();
    Tensor y = f32Tensor(dimsOf(graph.input(0)));
    ReferenceModel::Values outputs;
    std::string refusal;
    negate({{"x", valueOf(y)}}, outputs, refusal);
    write("output_0", outputs.at("y").tensors.front());
    graph.clear_output();
    declare(*graph.add_output(), "y", y.dims);
    std::ofstream(folder / "model.onnx", std::ios::binary) << model.SerializeAsString();
    return made;
  }

  TargetOutcome run(Mode mode = Mode::Dynamic) {
    CaseRequest request;
    request.folder = writeCase();
    request.mode = mode;
    request.targets = {"cpu"};
    TargetOutcome outcome;
    runCase(request, [&](const TargetOutcome &told) { outcome = told; });
    return outcome;
  }

  SecondSizes find() {
    const CaseData data(writeCase());
    PlantedModel planted;
    return findSecondSizes(data, Mode::Dynamic, data.sets().front(), planted);
  }

private:
  static void declare(onnx::ValueInfoProto &value, const char *name, const std::vector<int64_t> &dims) {
    value.set_name(name);
    auto &type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims)
      type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  static std::vector<int64_t> dimsOf(const onnx::ValueInfoProto &value) {
    std::vector<int64_t> dims;
    for (const auto &dim : value.type().tensor_type().shape().dim())
      dims.push_back(dim.dim_value());
    return dims;
  }
  void write(const std::string &name, const Tensor &tensor) {
    const std::vector<uint8_t> bytes = formatTensorFile(name, valueOf(tensor));
    std::ofstream(folder / "test_data_set_0" / (name + ".pb"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  fs::path folder;
  onnx::ModelProto model;
};

TEST_F(SecondSizesTest, ComparesAtOtherSizes) {
  addInput("x", {2, 3});
  const TargetOutcome outcome = run();
  EXPECT_EQ(outcomeName(outcome.outcome), "passed") << outcome.message;
  EXPECT_EQ(outcome.second.result, SecondSizesResult::Compared);
  EXPECT_EQ(outcome.second.message, "x_0=3, x_1=4");
  EXPECT_EQ(outcome.second.refused, 0u);
  // The second sizes; each of two is 0, 1 and one more, as are both of the input.
  EXPECT_EQ(outcome.second.compared, 9u);
  const TargetOutcome fixed = run(Mode::Static);
  EXPECT_EQ(outcomeName(fixed.outcome), "passed") << fixed.message;
  EXPECT_EQ(fixed.second.result, SecondSizesResult::Untried);
  EXPECT_EQ(fixed.second.comparedOwn, 1u);
}

TEST_F(SecondSizesTest, SeesAWrongElementAtTheSizesOfTheFiles) {
  addInput("x", {2, 3});
  evaluate = [](const auto &inputs, auto &outputs, std::string &refusal) {
    negate(inputs, outputs, refusal);
    Tensor &y = outputs.at("y").tensors.front();
    if (y.dims == std::vector<int64_t>{2, 3})
      setElement(y, 5, -6.001); // less than a file may differ by
    return true;
  };
  for (Mode mode : {Mode::Static, Mode::Dynamic, Mode::Symbolic}) {
    const TargetOutcome outcome = run(mode);
    EXPECT_EQ(outcomeName(outcome.outcome), "wrong");
    EXPECT_TRUE(outcome.message.starts_with("beside the reference evaluator: output 'y': 1 of 6 elements differ, the "
                                            "first at [1,2]: got -6, expected -6.001"))
        << outcome.message;
  }
}

TEST_F(SecondSizesTest, SeesACallOfTheFilesThatHadToBeRefused) {
  addInput("x", {2, 3});
  evaluate = [](const auto &, auto &, std::string &refusal) {
    refusal = "needs more";
    return false;
  };
  EXPECT_EQ(run(Mode::Static).message, "the call is done, and the reference evaluator refuses it: needs more");
}

// The planted evaluator computes what the module refuses: a Reshape to six elements.
TEST_F(SecondSizesTest, SeesSecondSizesThatTheModuleAloneRefuses) {
  addInput("x", {2, 3});
  addReshape({2, 3});
  const TargetOutcome outcome = run();
  EXPECT_EQ(outcomeName(outcome.outcome), "run_failure");
  EXPECT_TRUE(
      outcome.message.starts_with("at the second sizes x_0=3, x_1=4: the reference evaluator computes the call, "
                                  "and the module refuses it: "))
      << outcome.message;
}

TEST_F(SecondSizesTest, SeesAWrongElementAtTheSecondSizes) {
  addInput("x", {2, 3});
  evaluate = [](const auto &inputs, auto &outputs, std::string &refusal) {
    negate(inputs, outputs, refusal);
    Tensor &y = outputs.at("y").tensors.front();
    if (y.dims == std::vector<int64_t>{3, 4})
      setElement(y, 6, 100);
    return true;
  };
  const TargetOutcome outcome = run();
  EXPECT_EQ(outcomeName(outcome.outcome), "wrong");
  EXPECT_TRUE(outcome.message.starts_with(
      "at the second sizes x_0=3, x_1=4: output 'y': 1 of 12 elements differ, the first at [1,2]: got -"))
      << outcome.message;
}

// The last digits of a wanted value count too, which a file of ONNX's tests does not have.
TEST_F(SecondSizesTest, SeesWhatIsRoundedToF16) {
  addInput("x", {2, 3});
  double by = 1;
  evaluate = [&](const auto &inputs, auto &outputs, std::string &refusal) {
    negate(inputs, outputs, refusal);
    Tensor &y = outputs.at("y").tensors.front();
    for (uint64_t i = 0; i < elementCount(y.type, y.dims).value(); ++i)
      setElement(y, i, elementAsDouble(y, i) * by);
    return true;
  };
  by = 1 + 0x1p-20;
  EXPECT_EQ(outcomeName(run().outcome), "passed");
  by = 1 + 0x1p-12;
  EXPECT_EQ(outcomeName(run().outcome), "wrong");
}

TEST_F(SecondSizesTest, SeesAWrongShapeOfNothing) {
  addInput("x", {2, 3});
  evaluate = [](const auto &inputs, auto &outputs, std::string &refusal) {
    negate(inputs, outputs, refusal);
    Tensor &y = outputs.at("y").tensors.front();
    if (y.dims == std::vector<int64_t>{0, 3})
      y.dims = {3, 0};
    return true;
  };
  const TargetOutcome outcome = run();
  EXPECT_EQ(outcomeName(outcome.outcome), "wrong");
  EXPECT_EQ(outcome.message, "at the second sizes x_0=0: output 'y': got f32[0,3], expected f32[3,0]");
}

TEST_F(SecondSizesTest, SeesACallThatHadToBeRefused) {
  addInput("x", {2, 3});
  evaluate = [](const auto &inputs, auto &outputs, std::string &refusal) {
    if (inputs.at("x").tensors.front().dims[0] == 1) {
      refusal = "needs more";
      return false;
    }
    return negate(inputs, outputs, refusal);
  };
  const TargetOutcome outcome = run();
  EXPECT_EQ(outcomeName(outcome.outcome), "wrong");
  EXPECT_EQ(outcome.message,
            "at the second sizes x_0=1: the call is done, and the reference evaluator refuses it: needs more");
}

TEST_F(SecondSizesTest, SaysWhatTheEvaluatorDoesNotKnow) {
  addInput("x", {2, 3});
  problem = "no such op";
  const TargetOutcome outcome = run();
  EXPECT_EQ(outcomeName(outcome.outcome), "passed") << outcome.message;
  EXPECT_EQ(outcome.second.result, SecondSizesResult::Unknown);
  EXPECT_EQ(outcome.second.message, "no such op");
}

// Sizes that are equal in the files change together where the model ties them.
TEST_F(SecondSizesTest, KeepsEqualSizesEqual) {
  addInput("x", {2, 3});
  addInput("w", {3, 2, 4});
  evaluate = [](const auto &inputs, auto &outputs, std::string &refusal) {
    const std::vector<int64_t> &x = inputs.at("x").tensors.front().dims, &w = inputs.at("w").tensors.front().dims;
    // The last size of 'w' is even, and the first is the last of 'x'.
    if (w[0] != x[1] || w[2] % 2 != 0) {
      refusal = "they differ";
      return false;
    }
    return negate(inputs, outputs, refusal);
  };
  const SecondSizes found = find();
  EXPECT_EQ(found.result, SecondSizesResult::Compared);
  EXPECT_EQ(found.message, "x_0=3, x_1=4, w_0=4, w_1=3, w_2=8");
}

TEST_F(SecondSizesTest, ChangesAPartOfEqualSizes) {
  addInput("x", {3, 3});
  addInput("w", {3});
  evaluate = [](const auto &inputs, auto &outputs, std::string &refusal) {
    if (inputs.at("w").tensors.front().dims[0] != 3) {
      refusal = "it is 3";
      return false;
    }
    return negate(inputs, outputs, refusal);
  };
  EXPECT_EQ(find().message, "x_0=4, x_1=4");
  evaluate = [](const auto &inputs, auto &outputs, std::string &refusal) {
    if (inputs.at("w").tensors.front().dims[0] != 3 || inputs.at("x").tensors.front().dims[0] != 3) {
      refusal = "it is 3";
      return false;
    }
    return negate(inputs, outputs, refusal);
  };
  EXPECT_EQ(find().message, "x_1=4");
}

TEST_F(SecondSizesTest, SaysWhyThereAreNone) {
  addInput("x", {2, 3});
  evaluate = [](const auto &inputs, auto &, std::string &refusal) {
    refusal = "of 2 and 3";
    return inputs.at("x").tensors.front().dims == std::vector<int64_t>{2, 3};
  };
  const SecondSizes found = find();
  EXPECT_EQ(found.result, SecondSizesResult::Refused);
  EXPECT_EQ(found.message, "x_0=3, x_1=4: of 2 and 3");
}

TEST_F(SecondSizesTest, HasNoneWithoutSymbols) {
  addInput("x", {1, 1});
  EXPECT_EQ(find().result, SecondSizesResult::NoSymbols);
}

TEST_F(SecondSizesTest, LeavesManyElementsAlone) {
  addInput("x", {300, 300});
  const SecondSizes found = find();
  EXPECT_EQ(found.result, SecondSizesResult::TooLarge);
  EXPECT_TRUE(found.calls.empty());
}

// Elements are the tensor's own, in their columns where only rows change.
TEST(ResizedTest, DrawsAlongWhatChanges) {
  const Tensor from = f32Tensor({3, 4});
  const Tensor taller = resized(from, {50, 4});
  std::vector<int> rows(3);
  for (uint64_t i = 0; i < 200; ++i) {
    const auto element = static_cast<uint64_t>(elementAsDouble(taller, i)) - 1;
    EXPECT_EQ(element % 4, i % 4);
    EXPECT_EQ(element / 4, (static_cast<uint64_t>(elementAsDouble(taller, i / 4 * 4)) - 1) / 4);
    ++rows[element / 4];
  }
  for (int count : rows)
    EXPECT_GT(count, 0);
  EXPECT_EQ(taller.bytes, resized(from, {50, 4}).bytes);
  EXPECT_EQ(resized(from, {3, 0}).dims, (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(elementAsDouble(resized(f32Tensor({0, 4}), {2, 4}), 7), 0);
  // Elements of four bits, two in a byte.
  const Tensor packed{VX_U4, {3}, {0x21, 0x03}};
  const Tensor longer = resized(packed, {9});
  ASSERT_EQ(longer.bytes.size(), 5u);
  for (uint64_t i = 0; i < 9; ++i)
    EXPECT_TRUE(elementAsDouble(longer, i) >= 1 && elementAsDouble(longer, i) <= 3);
}

} // namespace

std::unique_ptr<ReferenceModel> importReference(const std::string &, const std::string &, std::string &told) {
  told = problem;
  return problem.empty() ? std::make_unique<PlantedModel>() : nullptr;
}

} // namespace vx::tools
