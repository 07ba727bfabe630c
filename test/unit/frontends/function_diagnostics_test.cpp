// Reasons that the import of ops with subgraphs, of optionals, random numbers, transforms, sorts and samples may fail
// for.
#include "expect_issue.h"

#include <gtest/gtest.h>

namespace vx::onnx_test {
namespace {

ModelProto ofDomain(NodeProto op, const std::string &domain, const std::vector<TypeProto> &types) {
  op.set_domain(domain);
  ModelProto result = one(op, types);
  auto *opset = result.add_opset_import();
  opset->set_domain(domain);
  opset->set_version(1);
  return result;
}

TEST(ImportHyperbolics, Reasons) {
  for (const char *op : {"Acosh", "Asinh", "Atanh", "Cosh", "Sinh"})
    expectInvalid(one(node(op, {"a"}, {"y"}), {i64({4})}),
                  "expects f32, f16 or f64 as input 0 in version 21, got 'i64[4]'");
}

TEST(ImportRandoms, Reasons) {
  expectInvalid(one(node("RandomUniformLike", {"a"}, {"y"}), {i64({4})}),
                "expects 'dtype' to be a type of floats, got 'i64'");
  expectInvalid(one(node("RandomUniformLike", {"a"}, {"y"}, {attribute("low", 2.0f)}), {f32({4})}),
                "expects finite numbers 'low' and 'high' in this order, got 2.000000 and 1.000000");
  expectInvalid(one(node("RandomNormal", {}, {"y"}), {}), "expects attribute 'shape', got none");
  expectInvalid(one(node("Bernoulli", {"a"}, {"y"}), {i64({4})}),
                "expects f32, f16 or f64 as input 0 in version 21, got 'i64[4]'");
  expectInvalid(one(node("Multinomial", {"a"}, {"y"}), {f32({4})}),
                "expects floats of 2 dimensions as input 0, got 'f32[4]'");
  expectInvalid(one(node("Multinomial", {"a"}, {"y"}, {attribute("dtype", int64_t(F32))}), {f32({2, 4})}),
                "expects 'dtype' to be i32 or i64, got 'f32'");
  expectInvalid(one(node("Multinomial", {"a"}, {"y"}, {attribute("sample_size", int64_t(0))}), {f32({2, 4})}),
                "expects 'sample_size' to be at least 1, got 0");
}

TEST(ImportOptionals, Reasons) {
  expectInvalid(one(node("Optional", {}, {"y"}), {}), "expects an input or attribute 'type', got neither");
  AttributeProto type;
  type.set_name("type");
  type.set_type(AttributeProto::TYPE_PROTO);
  *type.mutable_tp() = f32({4});
  expectInvalid(one(node("Optional", {"a"}, {"y"}, {type}), {i64({4})}),
                "expects input 0 of the type that 'type' states: 'f32[4]', got 'i64[4]'");
  GraphProto none =
      graph({value("a", f32({4}))},
            {node("Optional", {}, {"nothing"}, {type}), node("OptionalGetElement", {"nothing"}, {"y"})}, {value("y")});
  expectInvalid(model(none), "expects an optional with a value as input 0, got 'nothing', which has none");
  none = graph({value("a", f32({4}))}, {node("Optional", {}, {"nothing"}, {type}), node("Relu", {"nothing"}, {"y"})},
               {value("y")});
  expectInvalid(model(none), "expects a tensor as input 0, got 'optional f32[4]'");
  TypeProto optional;
  optional.mutable_optional_type()->mutable_elem_type()->mutable_map_type();
  expectUnsupported(one(node("OptionalHasElement", {"a"}, {"y"}), {optional}),
                    "'a' is an optional of what is neither a tensor nor a sequence");
}

TEST(ImportControlFlow, ReasonsOfScan) {
  GraphProto body =
      graph({value("s", f32({2})), value("x", f32({2}))}, {node("Add", {"s", "x"}, {"t"})}, {value("t"), value("t")});
  auto scan = [&](std::vector<AttributeProto> attributes, const std::vector<TypeProto> &types) {
    attributes.push_back(attribute("body", body));
    return one(node("Scan", {"a", "b"}, {"y", "z"}, attributes), types);
  };
  AttributeProto count = attribute("num_scan_inputs", int64_t(1));
  expectInvalid(scan({attribute("num_scan_inputs", int64_t(3))}, {f32({2}), f32({5, 2})}),
                "expects 'num_scan_inputs' from 1 to the node's 2 states and scanned inputs, got 3");
  expectInvalid(scan({attribute("num_scan_inputs", int64_t(2))}, {f32({4}), f32({5, 2})}),
                "expects scanned inputs of one length, got 4 and 5");
  expectInvalid(scan({count, attribute("scan_input_axes", std::vector<int64_t>{0, 1})}, {f32({2}), f32({5, 2})}),
                "expects 1 numbers in 'scan_input_axes', got 2");
  expectInvalid(scan({count}, {f32({1}), f32({5, 2})}), "expects states that keep their types: 'f32[1]', got 'f32[2]'");
  body = graph({value("s", f32({2}))}, {node("Identity", {"s"}, {"t"})}, {value("t")});
  expectInvalid(scan({count}, {f32({2}), f32({5, 2})}),
                "expects a body with 2 inputs and at least 2 outputs, got 1 and 1");
}

TEST(ImportControlFlow, ReasonsOfSequenceMap) {
  GraphProto body = graph({value("x")}, {node("Neg", {"x"}, {"z"})}, {value("z")});
  expectInvalid(one(node("SequenceMap", {"a"}, {"y"}, {attribute("body", body)}), {f32({4})}),
                "expects a sequence of f32, a sequence of u8, a sequence of i8, a sequence of u16, a sequence of i16, "
                "a sequence of i32, a sequence of i64, a sequence of string, a sequence of bool, a sequence of f16, a "
                "sequence of f64, a sequence of u32 or a sequence of u64 as input 0 in version 21, got 'f32[4]'");
  expectInvalid(
      one(node("SequenceMap", {"a", "b"}, {"y"}, {attribute("body", body)}), {sequenceType(F32, {4}), f32({})}),
      "expects a body with 2 inputs and at least 1 outputs, got 1 and 1");
}

TEST(ImportFourier, Reasons) {
  expectInvalid(one(node("DFT", {"a"}, {"y"}), {i64({4, 1})}),
                "expects f32, f16, f64 or bf16 as input 0 in version 21, got 'i64[4,1]'");
  expectInvalid(one(node("DFT", {"a"}, {"y"}), {f32({4, 3})}),
                "expects 1 or 2 places in the last dimension of input 0, got 'f32[4,3]'");
  expectInvalid(one(node("DFT", {"a"}, {"y"}, {attribute("onesided", int64_t(1))}), {f32({4, 2})}),
                "expects 1 places in the last dimension of input 0, got 'f32[4,2]'");
  expectInvalid(one(node("DFT", {"a", "", "axis"}, {"y"}), {f32({2, 4, 2})}, {integers("axis", {}, {-1})}),
                "expects 'axis' to be no dimension of the parts of numbers, got -1");
  expectInvalid(one(node("DFT", {"a", "length"}, {"y"}), {f32({4, 2})}, {integers("length", {}, {0})}),
                "expects a length of at least 1 as input 1, got 0");
  expectInvalid(one(node("STFT", {"a", "step"}, {"y"}), {f32({4, 4, 4, 1})}, {integers("step", {}, {2})}),
                "expects a signal of 2 or 3 dimensions, got 'f32[4,4,4,1]'");
  expectInvalid(one(node("STFT", {"a", "b"}, {"y"}), {f32({1, 4, 1}), i64({2})}),
                "expects one integer as input 1, got 'i64[2]'");
  expectInvalid(one(node("STFT", {"a", "step", "b"}, {"y"}), {f32({1, 9, 1}), i64({4})}, {integers("step", {}, {2})}),
                "expects f32, f16, f64 or bf16 as input 2 in version 21, got 'i64[4]'");
}

TEST(ImportAttention, ReasonsOfLinearAttention) {
  auto linear = [](const char *rule, int64_t heads, const std::vector<TypeProto> &types) {
    Names inputs;
    for (size_t i = 0; i < types.size(); ++i)
      inputs.push_back(std::string(1, char('a' + i)));
    return one(
        node("LinearAttention", inputs, {"y", "s"},
             {attribute("update_rule", rule), attribute("q_num_heads", heads), attribute("kv_num_heads", int64_t(2))}),
        types, {}, 27);
  };
  TypeProto x = f32({1, 3, 8});
  expectInvalid(linear("fast", 2, {x, x, x}),
                "expects 'update_rule' to be linear, gated, delta or gated_delta, got 'fast'");
  expectInvalid(linear("gated", 2, {x, x, x}), "expects input 'decay' with 'update_rule' gated, got none");
  expectInvalid(linear("linear", 2, {x, x, x, f32({1, 2, 4, 4}), x}),
                "expects no input 'decay' with 'update_rule' linear, got one");
  expectInvalid(linear("linear", 3, {x, x, x}),
                "expects 'q_num_heads' to be a multiple of 'kv_num_heads', both at least 1, got 3 and 2");
  expectInvalid(linear("linear", 2, {x, x, f32({3, 8})}),
                "expects floats of one type in 3 dimensions, got 'f32[1,3,8]' and 'f32[3,8]'");
  expectInvalid(linear("linear", 2, {x, x, x, f32({1, 2, 4, 5})}),
                "expects input 3 of the shape 'f32[1,2,4,4]', got 'f32[1,2,4,5]'");
}

TEST(ImportAttention, ReasonsOfFlexAttention) {
  TypeProto x = f32({1, 2, 3, 4});
  auto flex = [&](const std::vector<AttributeProto> &attributes, const TypeProto &key) {
    return ofDomain(node("FlexAttention", {"a", "b", "c"}, {"y"}, attributes), "ai.onnx.preview", {x, key, x});
  };
  expectInvalid(flex({}, f32({2, 3, 4})),
                "expects floats of one type in 4 dimensions, got 'f32[1,2,3,4]' and 'f32[2,3,4]'");
  expectInvalid(flex({attribute("softmax_precision", int64_t(I64))}, x),
                "expects 'softmax_precision' to be a type of floats (1, 10, 11 or 16), got 7");
  GraphProto two = graph({value("p"), value("q")}, {node("Add", {"p", "q"}, {"r"})}, {value("r")});
  expectInvalid(flex({attribute("score_mod", two)}, x),
                "expects a graph with 1 input and 1 output as 'score_mod', got 2 and 1");
  GraphProto other = graph({value("p")}, {node("IsNaN", {"p"}, {"r"})}, {value("r")});
  expectInvalid(flex({attribute("prob_mod", other)}, x),
                "expects 'prob_mod' to keep the type of its input: 'f32[1,2,3,3]', got 'bool[1,2,3,3]'");
}

TEST(ImportCausalConv, Reasons) {
  auto convolve = [](const TypeProto &input, const TypeProto &filter, std::vector<AttributeProto> attributes = {}) {
    return one(node("CausalConvWithState", {"a", "b"}, {"y", "s"}, attributes), {input, filter}, {}, 27);
  };
  expectInvalid(convolve(f32({2, 3}), f32({2, 1, 4})),
                "expects an input and a filter of floats of one type in 3 dimensions, got 'f32[2,3]' and 'f32[2,1,4]'");
  expectInvalid(convolve(f32({1, 2, 3}), f32({2, 1, 4}), {attribute("activation", "relu")}),
                "expects 'activation' to be none, silu or swish, got 'relu'");
  expectInvalid(convolve(f32({1, 2, 3}), f32({2, 1, 0})), "expects a filter of at least 1 place, got 'f32[2,1,0]'");
}

TEST(ImportOptimizers, Reasons) {
  auto step = [](const std::string &op, const std::vector<TypeProto> &types,
                 std::vector<AttributeProto> attributes = {}) {
    Names inputs;
    for (size_t i = 0; i < types.size(); ++i)
      inputs.push_back(std::string(1, char('a' + i)));
    return ofDomain(node(op, inputs, {"y", "z"}, attributes), "ai.onnx.preview.training", types);
  };
  TypeProto x = f32({4});
  expectInvalid(step("Adagrad", {f32({}), i64({}), x, x}),
                "expects 2 inputs and 3 for each tensor that is updated, got 4");
  expectInvalid(step("Adagrad", {f32({}), i64({}), x, x, x, x, x, x}), "expects 4 outputs, got 2");
  expectInvalid(step("Adagrad", {i64({}), i64({}), x, x, x}),
                "expects f32 or f64 as input 0 in version 1, got 'i64[]'");
  expectInvalid(step("Adagrad", {f32({}), i64({}), x, i64({4}), x}),
                "expects f32 or f64 as input 3 in version 1, got 'i64[4]'");
  expectInvalid(step("Momentum", {f32({}), i64({}), x, x, x},
                     {attribute("alpha", 1.0f), attribute("beta", 1.0f), attribute("norm_coefficient", 0.0f),
                      attribute("mode", "fast")}),
                "expects 'mode' to be standard or nesterov, got 'fast'");
  expectInvalid(step("Adam", {f32({}), i64({}), x, x, x, x}, {attribute("beta", 2.0f)}),
                "expects 'beta' from 0 to 1, got 2.000000");
}

TEST(ImportDeterminant, Reasons) {
  expectInvalid(one(node("Det", {"a"}, {"y"}), {f32({2, 3})}),
                "expects square matrices of floats as input 0, got 'f32[2,3]'");
}

TEST(ImportUnpooling, Reasons) {
  AttributeProto kernel = attribute("kernel_shape", std::vector<int64_t>{2, 2});
  expectInvalid(one(node("MaxUnpool", {"a", "b"}, {"y"}, {kernel}), {f32({2, 3}), i64({2, 3})}),
                "expects a tensor of 3 or more dimensions and places of i64, got 'f32[2,3]' and 'i64[2,3]'");
  expectInvalid(one(node("MaxUnpool", {"a", "b"}, {"y"}), {f32({1, 1, 2, 2}), i64({1, 1, 2, 2})}),
                "expects attribute 'kernel_shape', got none");
  expectInvalid(one(node("MaxUnpool", {"a", "b", "s"}, {"y"}, {kernel}), {f32({1, 1, 2, 2}), i64({1, 1, 2, 2})},
                    {integers("s", {3}, {1, 1, 5})}),
                "expects 4 sizes as input 2, got 3");
  expectInvalid(one(node("MaxUnpool", {"a", "b", "s"}, {"y"}, {kernel}), {f32({1, 1, 2, 2}), i64({1, 1, 2, 2})},
                    {integers("s", {4}, {1, 2, 5, 5})}),
                "expects an output of 1 x 1 planes, got 1 x 2");
}

TEST(ImportSampling, ReasonsOfRegions) {
  auto align = [](const TypeProto &image, const TypeProto &regions, std::vector<AttributeProto> attributes = {}) {
    return one(node("RoiAlign", {"a", "b", "c"}, {"y"}, attributes), {image, regions, i64({5})});
  };
  TypeProto image = f32({1, 2, 8, 8}), regions = f32({5, 4});
  expectInvalid(align(f32({2, 8, 8}), regions),
                "expects images of 4 dimensions and regions, of floats of one type, got 'f32[2,8,8]' and 'f32[5,4]'");
  expectInvalid(align(image, f32({5, 5})), "expects input 1 of the shape 'f32[5,4]', got 'f32[5,5]'");
  expectInvalid(align(image, regions, {attribute("mode", "min")}), "expects 'mode' to be avg or max, got 'min'");
  expectInvalid(align(image, regions, {attribute("output_width", int64_t(0))}),
                "expects 'output_width' to be at least 1, got 0");
  expectInvalid(align(image, regions, {attribute("sampling_ratio", int64_t(-1))}),
                "expects 'sampling_ratio' to be at least 0, got -1");
  expectInvalid(align(image, regions, {attribute("coordinate_transformation_mode", "whole")}),
                "expects 'coordinate_transformation_mode' to be half_pixel or output_half_pixel, got 'whole'");
  auto deform = [](const TypeProto &filter, const TypeProto &offset, std::vector<AttributeProto> attributes = {}) {
    return one(node("DeformConv", {"a", "b", "c"}, {"y"}, attributes), {f32({1, 2, 5, 5}), filter, offset});
  };
  expectInvalid(deform(f32({3, 2, 2}), f32({1, 8, 4, 4})),
                "expects an input, a filter and offsets of floats of one type and rank, 3 or more, got 'f32[1,2,5,5]', "
                "'f32[3,2,2]' and 'f32[1,8,4,4]'");
  expectInvalid(deform(f32({3, 2, 2, 2}), f32({1, 8, 4, 4}), {attribute("group", int64_t(0))}),
                "expects 'group' and 'offset_group' of at least 1, got 0 and 1");
  expectInvalid(deform(f32({3, 2, 2, 2}), f32({1, 8, 3, 4})),
                "expects input 2 of the shape 'f32[1,8,4,4]', got 'f32[1,8,3,4]'");
}

TEST(ImportSorting, Reasons) {
  expectInvalid(one(node("TopK", {"a", "k"}, {"y", "i"}), {f32({})}, {integers("k", {1}, {2})}),
                "expects numbers of 1 or more dimensions as input 0, got 'f32[]'");
  expectInvalid(one(node("TopK", {"a", "k"}, {"y", "i"}), {f32({3})}, {integers("k", {1}, {4})}),
                "expects from 0 to 3 elements of dimension 0, got 4");
  expectInvalid(one(node("TopK", {"a", "b"}, {"y", "i"}), {f32({3}), i64({2})}),
                "expects one integer as input 1, got 'i64[2]'");
}

TEST(ImportNonMaxSuppression, Reasons) {
  auto suppress = [](const TypeProto &boxes, const TypeProto &scores, std::vector<AttributeProto> attributes = {}) {
    return one(node("NonMaxSuppression", {"a", "b", "m", "c"}, {"y"}, attributes), {boxes, scores, f32({})},
               {integers("m", {1}, {3})});
  };
  expectInvalid(suppress(f32({6, 4}), f32({1, 1, 6})),
                "expects boxes and scores of f32 in 3 dimensions, got 'f32[6,4]' and 'f32[1,1,6]'");
  expectInvalid(suppress(f32({1, 6, 4}), f32({1, 1, 7})),
                "expects input 0 of the shape 'f32[1,7,4]', got 'f32[1,6,4]'");
  expectInvalid(suppress(f32({1, 6, 4}), f32({1, 1, 6}), {attribute("center_point_box", int64_t(2))}),
                "expects 'center_point_box' to be 0 or 1, got 2");
}

} // namespace
/// A classifier of so many classes by as many support vectors as `perClass` says, each a number.
ModelProto pairwise(int64_t classes, const std::vector<int64_t> &perClass, int64_t vectors) {
  auto floats = [](const char *name, int64_t count) {
    AttributeProto list;
    list.set_name(name);
    list.set_type(AttributeProto::FLOATS);
    for (int64_t i = 0; i < count; ++i)
      list.add_floats(0.5f);
    return list;
  };
  const int64_t pairs = std::min<int64_t>(classes * (classes - 1) / 2, 5050);
  std::vector<int64_t> labels(classes, 1);
  NodeProto op = node("SVMClassifier", {"a"}, {"y", "z"},
                      {attribute("classlabels_ints", labels), attribute("vectors_per_class", perClass),
                       floats("support_vectors", vectors), floats("coefficients", vectors * (classes - 1)),
                       floats("rho", pairs), floats("prob_a", pairs), floats("prob_b", pairs)});
  return ofDomain(op, "ai.onnx.ml", {f32({2, 1})});
}

TEST(ImportSupportVectors, Limits) {
  std::vector<int64_t> few(101, 0), many(20000, 0);
  few[0] = many[0] = 1;
  expectUnsupported(pairwise(101, few, 1), "expects probabilities of at most 100 classes, got 101");
  expectUnsupported(pairwise(20000, many, 1),
                    "expects at most 67108864 vectors of pairs of classes, got 1 of 199990000");
}

} // namespace vx::onnx_test
