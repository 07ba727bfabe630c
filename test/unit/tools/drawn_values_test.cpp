// What is wrong with drawn values is seen: a wrong rate, mean or spread, a value out of range, calls that give the same
// and should not, and those that give something else and should not.
#include "drawn_values.h"

#include "tensor_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace vx::tools {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t Count = 64;

Tensor f32Tensor(std::vector<int64_t> dims, const std::vector<double> &elements) {
  Tensor tensor{VX_F32, std::move(dims), std::vector<uint8_t>(elements.size() * sizeof(float))};
  for (size_t i = 0; i < elements.size(); ++i)
    setElement(tensor, i, elements[i]);
  return tensor;
}

class DrawnValuesTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("drawn_values_" + std::to_string(::getpid()));
    fs::create_directories(folder / "test_data_set_0");
    onnx::GraphProto &graph = *model.mutable_graph();
    node = graph.add_node();
    node->add_output("y");
    graph.add_output()->set_name("y");
  }
  void TearDown() override { fs::remove_all(folder); }

  void setAttribute(const std::string &name, float value) {
    onnx::AttributeProto &attribute = *node->add_attribute();
    attribute.set_name(name);
    attribute.set_f(value);
  }

  void addInput(const Tensor &tensor) {
    node->add_input("x");
    model.mutable_graph()->add_input()->set_name("x");
    write("input_0.pb", tensor);
  }

  // What is said of calls whose elements `draw` gives, and of a second instance that gives the same first ones.
  std::string judge(const std::function<double(size_t call, uint64_t element)> &draw, bool repeats = true) {
    write("output_0.pb", f32Tensor({Count}, std::vector<double>(Count)));
    std::ofstream(folder / "model.onnx", std::ios::binary) << model.SerializeAsString();
    const CaseData data({"case", folder.string()});
    EXPECT_TRUE(DrawnValues::draws(data));
    DrawnValues drawn(data, data.sets().front());
    std::vector<std::map<std::string, Value>> outputs;
    for (size_t call = 0; call < DrawnValues::calls; ++call) {
      std::vector<double> elements;
      for (uint64_t i = 0; i < Count; ++i)
        elements.push_back(draw(call, i));
      outputs.push_back({{"y", Value{VX_TENSOR, VX_F32, {f32Tensor({Count}, elements)}}}});
      if (std::optional<std::string> difference = drawn.add(0, call, outputs.back()))
        return *difference;
    }
    for (size_t call = 0; call < DrawnValues::callsAgain; ++call)
      if (std::optional<std::string> difference = drawn.add(1, call, outputs[repeats ? call : call + 1]))
        return *difference;
    return drawn.difference().value_or("right");
  }

  onnx::ModelProto model;
  onnx::NodeProto *node = nullptr;
  std::mt19937 random{7};

private:
  void write(const std::string &name, const Tensor &tensor) {
    const std::vector<uint8_t> bytes = formatTensorFile(name, Value{VX_TENSOR, tensor.type, {tensor}});
    std::ofstream(folder / "test_data_set_0" / name, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  fs::path folder;
};

bool says(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST_F(DrawnValuesTest, uniform) {
  node->set_op_type("RandomUniform");
  setAttribute("low", -2);
  setAttribute("high", 4);
  std::uniform_real_distribution<double> right(-2, 4), wide(-2, 4.1), narrow(-1.7, 3.7), high(-1, 4);
  EXPECT_EQ(judge([&](size_t, uint64_t) { return right(random); }), "right");
  std::string said = judge([&](size_t, uint64_t) { return wide(random); });
  EXPECT_TRUE(says(said, "expected -2 to 4")) << said;
  said = judge([&](size_t, uint64_t) { return narrow(random); });
  EXPECT_TRUE(says(said, "output 'y': the sum of the squared distances from the mean of 2048 draws is off by")) << said;
  said = judge([&](size_t, uint64_t) { return high(random); });
  EXPECT_TRUE(says(said, "output 'y': the sum of 2048 draws is off by")) << said;
  said = judge([&](size_t, uint64_t) { return NAN; });
  EXPECT_EQ(said, "output 'y': element [0] is nan, expected a number");
}

TEST_F(DrawnValuesTest, repeatability) {
  node->set_op_type("RandomUniform");
  std::uniform_real_distribution<double> right(0, 1);
  EXPECT_EQ(judge([&](size_t, uint64_t) { return right(random); }, /*repeats=*/false),
            "call 0 of another instance gives other values");
  std::vector<double> same;
  for (uint64_t i = 0; i < Count; ++i)
    same.push_back(right(random));
  const std::string said = judge([&](size_t, uint64_t i) { return same[i]; });
  EXPECT_TRUE(says(said, "32 calls give the same values, and no node that draws has a seed") || says(said, "is off by"))
      << said;
  setAttribute("seed", 3);
  EXPECT_EQ(judge([&](size_t, uint64_t i) { return same[i]; }), "right");
  EXPECT_EQ(judge([&](size_t, uint64_t) { return right(random); }),
            "call 1 gives other values, and each node that draws has a seed");
}

TEST_F(DrawnValuesTest, normal) {
  node->set_op_type("RandomNormal");
  setAttribute("mean", 1);
  setAttribute("scale", 2);
  std::normal_distribution<double> right(1, 2), shifted(1.3, 2), wide(1, 2.3);
  EXPECT_EQ(judge([&](size_t, uint64_t) { return right(random); }), "right");
  EXPECT_TRUE(says(judge([&](size_t, uint64_t) { return shifted(random); }), "the sum of 2048 draws"));
  EXPECT_TRUE(says(judge([&](size_t, uint64_t) { return wide(random); }), "the sum of the squared distances"));
}

TEST_F(DrawnValuesTest, bernoulli) {
  node->set_op_type("Bernoulli");
  std::vector<double> rates;
  for (uint64_t i = 0; i < Count; ++i)
    rates.push_back(static_cast<double>(i % 8) / 10);
  addInput(f32Tensor({Count}, rates));
  std::uniform_real_distribution<double> draw(0, 1);
  EXPECT_EQ(judge([&](size_t, uint64_t i) { return double(draw(random) < rates[i]); }), "right");
  EXPECT_TRUE(says(judge([&](size_t, uint64_t i) { return double(draw(random) >= rates[i]); }), "expected one of 0"));
  EXPECT_TRUE(says(judge([&](size_t, uint64_t i) { return double(draw(random) < rates[i] + 0.1 * (i % 8 > 0)); }),
                   "is off by"));
  EXPECT_EQ(judge([&](size_t, uint64_t) { return 0.5; }), "output 'y': element [0] is 0.5, expected one of 0");
}

TEST_F(DrawnValuesTest, multinomial) {
  node->set_op_type("Multinomial");
  onnx::AttributeProto &samples = *node->add_attribute();
  samples.set_name("sample_size");
  samples.set_i(Count / 2);
  addInput(f32Tensor({2, 3}, {0, 1, -1, 2, 2, -100}));
  std::discrete_distribution<int> first({1, std::exp(1), std::exp(-1)}), second({1, 1, 0});
  auto right = [&](size_t, uint64_t i) { return double(i < Count / 2 ? first(random) : second(random)); };
  EXPECT_EQ(judge(right), "right");
  EXPECT_TRUE(says(judge([&](size_t, uint64_t) { return double(first(random)); }), "is off by"));
  EXPECT_TRUE(says(judge([&](size_t, uint64_t) { return 3.0; }), "is 3, expected one of 0, 1, 2"));
}

} // namespace
} // namespace vx::tools
