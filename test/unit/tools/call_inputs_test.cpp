#include "call_inputs.h"
#include "command_line.h"
#include "tool_error.h"

#include <gtest/gtest.h>

using namespace vx::tools;

// main(image: f32[batch,2], past: i64[past + 1]) -> y: f32[batch]
class CallInputs : public testing::Test {
protected:
  const vx_dim_info imageDims[2] = {{-1, "batch"}, {2, "2"}};
  const vx_dim_info pastDims[1] = {{-1, "past + 1"}};
  const vx_dim_info outputDims[1] = {{-1, "batch"}};
  const vx_symbol_info symbols[2] = {{"batch", 3, 64, 4, 0, 0}, {"past", 0, INT64_MAX, 1, 0, 0}};
  const vx_argument_info inputs[2] = {{"image", VX_TENSOR, VX_F32, 1, 2, imageDims, nullptr},
                                      {"past", VX_TENSOR, VX_I64, 1, 1, pastDims, nullptr}};
  const vx_argument_info outputs[1] = {{"y", VX_TENSOR, VX_F32, 1, 1, outputDims, nullptr}};
  const vx_function_info function{"main", 2, symbols, 2, inputs, 1, outputs};

  std::string errorOf(const std::vector<std::string> &texts, SymbolValues values = {}) {
    try {
      checkDims({}, function, values);
      makeInputs(function, texts, 0, values);
    } catch (const ToolError &error) {
      return fmt::format("{} {}", static_cast<int>(error.exitCode), error.what());
    }
    return "no error";
  }
};

TEST_F(CallInputs, sizesThatNobodyGave) {
  SymbolValues values;
  const std::vector<Value> made = makeInputs(function, {}, 0, values);
  EXPECT_EQ(made[0].tensors[0].dims, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(made[1].tensors[0].dims, (std::vector<int64_t>{2}));
  EXPECT_EQ(values, (SymbolValues{{"batch", 4}, {"past", 1}}));
}

TEST_F(CallInputs, sizesThatWereGiven) {
  SymbolValues values{{"past", 9}};
  const std::vector<Value> made = makeInputs(function, {"image=f32[8,2]:ones"}, 0, values);
  EXPECT_EQ(made[0].tensors[0].dims, (std::vector<int64_t>{8, 2}));
  EXPECT_EQ(elementAsDouble(made[0].tensors[0], 15), 1);
  EXPECT_EQ(made[1].tensors[0].dims, (std::vector<int64_t>{10}));
  EXPECT_EQ(values, (SymbolValues{{"batch", 8}, {"past", 9}}));
}

// What indexes something gets each value that is allowed, and no other; what nobody knows is zeros.
TEST_F(CallInputs, valuesThatTheGraphAllows) {
  const vx_value_range rows{-2, "past + 3", nullptr}, unknown{0, nullptr, nullptr};
  vx_argument_info ranged[2] = {inputs[1], inputs[1]};
  ranged[0].range = &rows;
  ranged[1].name = "sizes";
  ranged[1].range = &unknown;
  const vx_function_info limited{"main", 2, symbols, 2, ranged, 1, outputs};
  SymbolValues values{{"past", 999}};
  std::vector<std::string> zeros;
  const std::vector<Value> made = makeInputs(limited, {}, 0, values, &zeros);
  double least = 1e9, most = -1e9;
  for (uint64_t i = 0; i < 1000; ++i) {
    least = std::min(least, elementAsDouble(made[0].tensors[0], i));
    most = std::max(most, elementAsDouble(made[0].tensors[0], i));
    EXPECT_EQ(elementAsDouble(made[1].tensors[0], i), 0);
  }
  EXPECT_GE(least, -2);
  EXPECT_LT(least, 100);
  EXPECT_LT(most, 1002);
  EXPECT_GT(most, 900);
  EXPECT_EQ(zeros, (std::vector<std::string>{"sizes"}));
  EXPECT_EQ(zerosNote(zeros), "zeros for 'sizes': which values the graph takes there is not known before a call; see "
                              "--input");
}

TEST_F(CallInputs, badTexts) {
  EXPECT_EQ(errorOf({"picture=f32[1]:ones"}), "2 unknown input 'picture', the inputs are 'image', 'past'");
  EXPECT_EQ(errorOf({"image"}), "2 --input: expected NAME=VALUE, got 'image'");
  EXPECT_EQ(errorOf({"image=f32"}), "2 input 'image': expected @FILE or TYPE[DIMS]:random|zeros|ones, got 'f32'");
  EXPECT_EQ(errorOf({"image=f99[1]:ones"}), "2 input 'image': unknown element type 'f99'");
  EXPECT_EQ(errorOf({"image=f32[x]:ones"}), "2 input 'image': expected a size of 0 or more, got 'x'");
  EXPECT_EQ(errorOf({"image=f32[1]:twos"}), "2 input 'image': expected random, zeros or ones, got 'twos'");
  EXPECT_EQ(errorOf({"image=f32[1]:ones", "image=f32[1]:ones"}), "2 input 'image' is given twice");
  EXPECT_EQ(errorOf({"image=@a.txt"}), "2 input 'image': expected a file that ends with .npy or .pb, got 'a.txt'");
  EXPECT_EQ(errorOf({"image=@none.npy"}), "3 cannot open 'none.npy': No such file or directory");
  EXPECT_EQ(errorOf({"image=f32[4611686018427387904,16]:ones"}),
            "2 input 'image': f32[4611686018427387904,16] is negative or too large");
  EXPECT_EQ(errorOf({}, {{"depth", 1}}), "2 unknown dimension 'depth', the dimensions are 'batch', 'past'");
  EXPECT_EQ(errorOf({}, {{"batch", 2}}), "2 --dim batch: expected a size from 3 to 64, got 2");
  EXPECT_EQ(errorOf({}, {{"batch", 6}}), "2 --dim batch: expected a multiple of 4, got 6");
}

TEST(Dims, expressions) {
  const SymbolValues values{{"a", 7}, {"batch.1", 3}};
  EXPECT_EQ(evaluateDim("a", values), 7);
  EXPECT_EQ(evaluateDim("a + batch.1 * 2", values), 13);
  EXPECT_EQ(evaluateDim("(a + batch.1) * 2", values), 20);
  EXPECT_EQ(evaluateDim("a ceildiv 2 + a floordiv 2 + a mod 4", values), 10);
  EXPECT_EQ(evaluateDim("a + -8", values), -1);
  EXPECT_EQ(evaluateDim("(a + -12) floordiv 2", values), -3);
  EXPECT_EQ(evaluateDim("(a + -12) ceildiv 2", values), -2);
  EXPECT_EQ(evaluateDim("(a + -12) mod 4", values), 3);
  EXPECT_EQ(evaluateDim("max(a, min(batch.1, 100)) + 1", values), 8);
  for (const auto &[text, message] : std::map<std::string, std::string>{
           {"b", "size expression 'b': 'b' has no value; give it with --dim b=N"},
           {"a +", "size expression 'a +' is not understood at character 2"},
           {"(a", "size expression '(a' is not understood at character 2"},
           {"a b", "size expression 'a b' is not understood at character 2"},
           {"max(a b)", "size expression 'max(a b)' is not understood at character 6"},
           {"min(a, 1", "size expression 'min(a, 1' is not understood at character 8"},
           {"a floordiv 0", "size expression 'a floordiv 0' has no 64-bit value"},
           {"9223372036854775807 + 1", "size expression '9223372036854775807 + 1' has no 64-bit value"}})
    try {
      evaluateDim(text, values);
      ADD_FAILURE() << text;
    } catch (const ToolError &error) {
      EXPECT_EQ(error.what(), message);
    }
}

TEST(CommandLine, lists) {
  EXPECT_EQ(splitList("a,,b,"), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(splitList(""), std::vector<std::string>());
  EXPECT_EQ(parseNames("--device", "a,b"), (std::vector<std::string>{"a", "b"}));
  EXPECT_THROW(parseNames("--device", "a,"), ToolError);
  EXPECT_THROW(parseNames("--device", "a,b,a"), ToolError);
  EXPECT_EQ(parseDims({"a=1,b=2", "c=3"}), (std::map<std::string, int64_t>{{"a", 1}, {"b", 2}, {"c", 3}}));
  EXPECT_THROW(parseDims({"a=x"}), ToolError);
  EXPECT_THROW(parseDims({"=1"}), ToolError);
}
