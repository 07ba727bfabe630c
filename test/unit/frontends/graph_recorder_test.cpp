// Recorded graphs from below: what the module holds, and that nothing is left behind wherever a recording ends.
#include "vx/Frontend/ONNX/GraphRecorder.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace vx {
namespace {

const RecordedPlace place{"fc", "Linear", "model.cpp", 7};

struct Recording {
  MLIRContext context;
  GraphRecorder recorder{context, "test", {}};
  std::vector<GraphRecorder::Value> values;

  void begin() {
    ASSERT_TRUE(recorder.beginFunction("f", {{"x", {1, {{-1, "n"}, {3, ""}}}}}, place, values)) << recorder.getError();
  }
  GraphRecorder::Value add(llvm::StringRef op, llvm::ArrayRef<GraphRecorder::Value> inputs,
                           llvm::ArrayRef<RecordedAttribute> attributes = {}) {
    std::vector<GraphRecorder::Value> outputs;
    EXPECT_TRUE(recorder.addNode(op, inputs, attributes, place, 1, outputs)) << recorder.getError();
    return outputs.empty() ? -2 : outputs.front();
  }
  std::string text() {
    std::string text;
    llvm::raw_string_ostream os(text);
    recorder.getModule().print(os);
    return text;
  }
};

TEST(GraphRecorder, functionsShareSymbolsAndVariables) {
  Recording r;
  RecordedVariable variable;
  variable.name = "w";
  variable.type = {1, {{3, ""}}};
  variable.init = InitKind::normal;
  variable.b = 1;
  const std::optional<GraphRecorder::Value> w = r.recorder.addVariable(variable, place);
  ASSERT_TRUE(w) << r.recorder.getError();
  for (std::string name : {"f", "g"}) {
    std::vector<GraphRecorder::Value> inputs;
    ASSERT_TRUE(r.recorder.beginFunction(name, {{"x", {1, {{-1, "n"}, {3, ""}}}}}, place, inputs));
    const GraphRecorder::Value y = r.add("Mul", {inputs[0], *w});
    ASSERT_TRUE(r.recorder.endFunction({"y"}, {y})) << r.recorder.getError();
  }
  const std::string text = r.text();
  EXPECT_EQ(llvm::StringRef(text).count("vx.symbol \"n\""), 1u) << text;
  EXPECT_EQ(llvm::StringRef(text).count("vx.variable @w"), 1u) << text;
  EXPECT_EQ(llvm::StringRef(text).count("vx.variable_load @w"), 2u) << text;
  EXPECT_EQ(r.recorder.getFunctions(), (std::vector<std::string>{"f", "g"}));
}

// A loop is imported for its types while its body is recorded, and again when it is whole.
TEST(GraphRecorder, bodiesLeaveNothingBehind) {
  Recording r;
  r.begin();
  std::vector<GraphRecorder::Value> inner;
  ASSERT_TRUE(r.recorder.beginBody(true, {r.values[0]}, place, inner)) << r.recorder.getError();
  const GraphRecorder::Value next = r.add("Add", {inner[1], r.values[0]});
  const std::optional<RecordedBody> body = r.recorder.endBody({next});
  ASSERT_TRUE(body) << r.recorder.getError();
  EXPECT_EQ(r.text().find("vx.add"), std::string::npos);
  const int64_t three = 3;
  const auto count = r.recorder.addConstant({7, {}}, {reinterpret_cast<const char *>(&three), 8}, place);
  const GraphRecorder::Value last = r.add("Loop", {*count, -1, r.values[0]}, {{"body", *body}});
  ASSERT_TRUE(r.recorder.endFunction({"y"}, {last})) << r.recorder.getError();
  EXPECT_EQ(llvm::StringRef(r.text()).count("vx.add"), 1u) << r.text();
  EXPECT_EQ(llvm::StringRef(r.text()).count("data_dependent \"iteration\""), 1u) << r.text();
  std::string error;
  const auto skeleton = r.recorder.makeSkeleton("f", 20, r.recorder.getModule(), {}, error);
  EXPECT_TRUE(skeleton) << error;
  EXPECT_FALSE(r.recorder.makeSkeleton("f", 29, r.recorder.getModule(), {}, error));
  EXPECT_EQ(error, "expected version 20 to 28 of ONNX's ops, got 29");
}

// A program may end in the middle of anything.
TEST(GraphRecorder, recordingsThatEndEarly) {
  {
    Recording r;
    r.begin();
  }
  {
    Recording r;
    r.begin();
    std::vector<GraphRecorder::Value> outer, inner;
    ASSERT_TRUE(r.recorder.beginBody(true, {r.values[0]}, place, outer));
    ASSERT_TRUE(r.recorder.beginBody(true, {outer[1]}, place, inner));
    (void)r.add("Add", {inner[1], r.values[0]});
    std::vector<GraphRecorder::Value> none;
    EXPECT_FALSE(r.recorder.addNode("Add", {inner[1]}, {}, place, 1, none));
    EXPECT_FALSE(r.recorder.endBody({inner[1]}));
  }
  {
    Recording r;
    r.begin();
    std::vector<GraphRecorder::Value> inner;
    ASSERT_TRUE(r.recorder.beginBody(false, {}, place, inner));
    EXPECT_TRUE(r.recorder.endBody({r.values[0]})); // and no node takes it
  }
}

} // namespace
} // namespace vx
