// One test for each reason that the import of an op that trains may fail for.
#include "expect_issue.h"

#include <gtest/gtest.h>

namespace vx::onnx_test {
namespace {

NodeProto gradient(const Names &inputs, const Names &outputs, const std::vector<AttributeProto> &attributes) {
  NodeProto proto = node("Gradient", inputs, outputs, attributes);
  proto.set_domain("ai.onnx.preview.training");
  return proto;
}

AttributeProto xs(const Names &names) { return attribute("xs", names); }
AttributeProto zs(const Names &names) { return attribute("zs", names); }
AttributeProto y(const char *name) { return attribute("y", name); }

/// Of floats "a", "b" and integers "n": "s" is a + b, "m" is n + n; then `part`, and what it makes is "d".
ModelProto training(const std::vector<Part> &parts) {
  std::vector<Part> all = {node("Add", {"a", "b"}, {"s"}), node("Add", {"n", "n"}, {"m"})};
  all.insert(all.end(), parts.begin(), parts.end());
  ModelProto proto =
      model(graph({value("a", f32({3})), value("b", f32({3})), value("n", i64({3}))}, all, {value("d")}));
  auto *opset = proto.add_opset_import();
  opset->set_domain("ai.onnx.preview.training");
  opset->set_version(1);
  return proto;
}

TEST(ImportTraining, ReasonsOfGradient) {
  auto expect = [](const NodeProto &node, const std::string &reason) { expectInvalid(training({node}), reason); };
  expect(gradient({"a"}, {"d"}, {y("s")}), "expects attribute 'xs', got none");
  expect(gradient({"a"}, {"d"}, {xs({"a"})}), "expects attribute 'y', got none");
  expect(gradient({"a", "b"}, {"d"}, {xs({"a"}), zs({"b", "n"}), y("s")}),
         "expects an input for each of 1 names in 'xs' and 2 in 'zs', got 2 inputs");
  expect(gradient({"a", "b"}, {"d", "e"}, {xs({"a"}), zs({"b"}), y("s")}),
         "expects at most an output for each of 1 names in 'xs', got 2");
  expect(gradient({"a"}, {"d"}, {xs({"a"}), y("q")}),
         "expects 'y' to name a value of the graph, but nothing before the node makes 'q'");
  expect(gradient({"a"}, {"d"}, {xs({"q"}), y("s")}),
         "expects 'xs' to name a value of the graph, but nothing before the node makes 'q'");
  expect(gradient({"a", "b"}, {"d"}, {xs({"a"}), zs({"q"}), y("s")}),
         "expects 'zs' to name a value of the graph, but nothing before the node makes 'q'");
  expect(gradient({"a", "a"}, {"d"}, {xs({"a"}), zs({"a"}), y("s")}),
         "expects each name once in 'xs' and 'zs', but 'a' stands there twice");
  expect(gradient({"n"}, {"d"}, {xs({"a"}), y("s")}), "expects input 0 to hold what 'a' does: 'f32[3]', got 'i64[3]'");
  expect(gradient({"n"}, {"d"}, {xs({"n"}), y("m")}), "expects tensors of floats in 'xs', got 'i64[3]' for 'n'");
  expect(gradient({"a", "n"}, {"d"}, {xs({"a", "b"}), y("m")}),
         "expects input 1 to hold what 'b' does: 'f32[3]', got 'i64[3]'");
  expect(gradient({"a", "b"}, {"d"}, {xs({"a", "b"}), y("m")}),
         "expects 'y' to depend on a value of 'xs', but 'm' depends on none of 'a', 'b'");
  // What `y` is made of ends at a value of `zs`.
  expect(gradient({"a", "s"}, {"d"}, {xs({"a"}), zs({"s"}), y("s")}),
         "expects 'y' to depend on a value of 'xs', but 's' depends on none of 'a'");
  expect(gradient({"a"}, {"d"}, {xs({"a"}), y("s"), attribute("z", "b")}),
         "expects no attributes but xs, y, zs in version 1, got 'z'");
}

TEST(ImportTraining, GradientsOfWhatIsNoFloat) {
  expectInvalid(training({node("Greater", {"a", "b"}, {"g"}), gradient({"a"}, {"d"}, {xs({"a"}), y("g")})}),
                "expects a tensor of floats as 'y', got 'bool[3]' for 'g'");
}

// The value that another one stands for has another size: the node that cannot take it is named.
TEST(ImportTraining, OtherSizes) {
  expectInvalid(training({node("Concat", {"a", "a"}, {"c"}, {attribute("axis", int64_t(0))}),
                          gradient({"c"}, {"d"}, {xs({"a"}), y("s")})}),
                "expects shapes that broadcast together, got the sizes 6 and 3");
}

// A branch has a name that the graph around it has too.
TEST(ImportTraining, NamesOfTwoValues) {
  GraphProto branch = graph({}, {node("Neg", {"b"}, {"a"}), gradient({"b"}, {"e"}, {xs({"b"}), y("s")})}, {value("e")});
  expectInvalid(
      training({bools("yes", {}, {1}),
                node("If", {"yes"}, {"d"}, {attribute("then_branch", branch), attribute("else_branch", branch)})}),
      "expects a name once in a graph and those around it, but 'a' names two values");
}

} // namespace
} // namespace vx::onnx_test
