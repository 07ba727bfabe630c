// One test for each reason that the import of an op may fail for, by source file of frontends/lib/ONNX.
#include "expect_issue.h"

#include <gtest/gtest.h>

namespace vx::onnx_test {
namespace {

TEST(ImportActivations, Reasons) {
  expectInvalid(one(node("Gelu", {"a"}, {"y"}, {attribute("approximate", "fast")}), {f32({4})}),
                "expects 'approximate' to be 'none' or 'tanh', got 'fast'");
  expectInvalid(one(node("SwiGLU", {"a", "b"}, {"y"}), {f32({4, 3}), f32({1, 3})}, {}, 28),
                "expects input 1 of the shape 'f32[4,3]', got 'f32[1,3]'");
  expectInvalid(one(node("SwiGLU", {"a", "b"}, {"y"}), {i64({4}), i64({4})}, {}, 28),
                "expects f32, f16, f64 or bf16 as input 0 in version 28, got 'i64[4]'");
  expectUnsupported(one(node("SwiGLU", {"a", "b"}, {"y"}), {f32({4}), f32({4})}, {}, 27),
                    "version 27 of the op is not imported, expected 28 to 28");
}

TEST(ImportArithmetic, Reasons) {
  expectInvalid(one(node("Pow", {"a", "b"}, {"y"}), {tensorType(TensorProto::STRING, {2, 3}), f32({})}),
                "expects f32, i32, i64, f16, f64 or bf16 as input 0 in version 21, got 'string[2,3]'");
  expectInvalid(one(node("Mod", {"a", "b"}, {"y"}), {f32({4}), f32({4})}),
                "expects integers when 'fmod' is 0 in version 21, got 'f32[4]'");
  expectInvalid(one(node("Mod", {"a", "b"}, {"y"}), {f32({4}), f32({4})}, {}, 27),
                "expects integers when 'fmod' is 0 in version 27, got 'f32[4]'");
  expectInvalid(one(node("Cast", {"a"}, {"y"},
                         {attribute("to", int64_t(TensorProto::FLOAT8E8M0)), attribute("round_mode", "even")}),
                    {f32({4})}, {}, 25),
                "expects 'round_mode' to be up, down or nearest, got 'even'");
  expectInvalid(one(node("BitCast", {"a"}, {"y"}, {attribute("to", int64_t(TensorProto::INT64))}), {f32({4})}, {}, 26),
                "expects elements of as many bits on both sides: 32, got 64 of 'i64[4]'");
  expectUnsupported(one(node("Dropout", {"a"}, {"y", "mask"}), {f32({4})}, {}, 6),
                    "dropout in training is not imported");
  expectUnsupported(
      one(node("Dropout", {"a", "", "training"}, {"y"}), {f32({4})}, {bools("training", {}, {1})}),
      "dropout in training draws random numbers: it needs an attribute 'seed', or a model that is trained "
      "(--train)");
  expectUnsupported(
      one(node("Dropout", {"a", "", "b"}, {"y"}), {f32({4}), tensorType(TensorProto::BOOL, {})}),
      "dropout in training draws random numbers: it needs an attribute 'seed', or a model that is trained "
      "(--train)");
  expectInvalid(one(node("Dropout", {"a", "b", "training"}, {"y"}, {attribute("seed", int64_t(1))}),
                    {f32({4}), i64({})}, {bools("training", {}, {1})}),
                "expects f32, f16 or f64 as input 1 in version 21, got 'i64[]'");
  expectUnsupportedInTraining(one(node("Dropout", {"a", "b"}, {"y"}), {f32({4}), f32({})}),
                              "expects 'ratio' to be one constant where elements are dropped, got 'f32[]'");
  expectInvalid(one(node("Dropout", {"a", "ratio", "training"}, {"y"}), {f32({4})},
                    {bools("training", {}, {1}), floats("ratio", {}, {1})}),
                "expects 'ratio' to be at least 0 and below 1, got 1.000000");
  TypeProto bytes = tensorType(TensorProto::UINT8, {4});
  expectInvalid(one(node("BitShift", {"a", "b"}, {"y"}), {bytes, bytes}), "expects attribute 'direction', got none");
  expectInvalid(one(node("BitShift", {"a", "b"}, {"y"}, {attribute("direction", "LEFT")}), {f32({4}), f32({4})}),
                "expects u8, u16, u32 or u64 as input 0 in version 21, got 'f32[4]'");
  TypeProto halves = tensorType(TensorProto::UINT4, {4});
  expectInvalid(one(node("BitShift", {"a", "b"}, {"y"}, {attribute("direction", "LEFT")}), {halves, halves}, {}, 28),
                "expects u8, i8, u16, i16, i32, i64, u32 or u64 as input 0 in version 28, got 'u4[4]'");
  expectInvalid(one(node("BitShift", {"a", "b"}, {"y"}, {attribute("direction", "up")}), {i64({4}), i64({4})}, {}, 28),
                "expects 'direction' to be LEFT or RIGHT, got 'up'");
  expectInvalid(one(node("Add", {"a", "b"}, {"y"}), {f32({4}), f32({3})}),
                "expects shapes that broadcast together, got the sizes 4 and 3");
}

ModelProto attention(const std::vector<TypeProto> &types, const std::vector<AttributeProto> &attributes = {},
                     Names inputs = {}) {
  for (size_t i = inputs.size(); i < types.size(); ++i)
    inputs.push_back(std::string(1, char('a' + i)));
  return one(node("Attention", inputs, {"y"}, attributes), types, {}, 24);
}

TEST(ImportAttention, ReasonsOfTypes) {
  TypeProto four = f32({2, 6, 5, 8}), flat = f32({2, 5, 24});
  for (const char *side : {"left_window_size", "right_window_size"}) {
    expectInvalid(
        one(node("Attention", {"a", "b", "c"}, {"y"}, {attribute(side, int64_t(-2))}), {four, four, four}, {}, 25),
        std::string("expects '") + side + "' to be at least -1, got -2");
    expectInvalid(attention({four, four, four}, {attribute(side, int64_t(1))}),
                  "expects no attributes but is_causal, kv_num_heads, q_num_heads, qk_matmul_output_mode, scale, "
                  "softcap, softmax_precision in version 24, got '" +
                      std::string(side) + "'");
  }
  expectInvalid(attention({f32({5, 8}), four, four}), "expects floats of 3 or 4 dimensions as input 0, got 'f32[5,8]'");
  expectInvalid(attention({i64({2, 6, 5, 8}), four, four}),
                "expects f32, f16, f64 or bf16 as input 0 in version 24, got 'i64[2,6,5,8]'");
  expectInvalid(attention({four, four, flat}),
                "expects inputs 0 and 2 of one rank, got 'f32[2,6,5,8]' and 'f32[2,5,24]'");
  expectInvalid(attention({four, tensorType(F64, {2, 6, 5, 8}), four}),
                "expects inputs 0 and 1 of one type, got 'f32[2,6,5,8]' and 'f64[2,6,5,8]'");
  expectInvalid(attention({four, four, i64({2, 6, 5, 8})}),
                "expects f32, f16, f64 or bf16 as input 2 in version 24, got 'i64[2,6,5,8]'");
  expectInvalid(attention({four, f32({2, 4, 5, 8}), f32({2, 4, 5, 8})}),
                "expects the heads of 'key' to divide those of 'query', got 4 and 6");
  expectInvalid(attention({four, four, four, i64({5, 5})}),
                "expects 'attn_mask' of at most 4 dimensions and of bools or the elements of 'f32[2,6,5,8]', got "
                "'i64[5,5]'");
  expectInvalid(attention({four, four, four, f32({5, 6})}), "needs size '5' to be at least '6', got 5 and 6");
  expectInvalid(attention({four, four, four, four}, {}, {"a", "b", "c", "", "d"}),
                "expects 'past_key' and 'past_value' together, got only input 4");
  expectInvalid(attention({four, four, four, four}, {}, {"a", "b", "c", "", "", "d"}),
                "expects 'past_key' and 'past_value' together, got only input 5");
  expectInvalid(attention({four, four, four, flat, four}, {}, {"a", "b", "c", "", "d", "e"}),
                "expects 4 dimensions as input 4, got 'f32[2,5,24]'");
  expectInvalid(attention({four, four, four, four, four, i64({2})}, {}, {"a", "b", "c", "", "d", "e", "f"}),
                "expects 'nonpad_kv_seqlen' without 'past_key' and 'past_value', got all of them");
  expectInvalid(attention({four, four, four, i64({3})}, {}, {"a", "b", "c", "", "", "", "d"}),
                "expects 'nonpad_kv_seqlen' with one i64 for each of 2 in the batch, got 'i64[3]'");
}

TEST(ImportAttention, ReasonsOfAttributes) {
  TypeProto four = f32({2, 6, 5, 8}), flat = f32({2, 5, 24});
  auto heads = [](int64_t count) { return attribute("q_num_heads", count); };
  expectInvalid(attention({flat, flat, flat}), "expects 'q_num_heads' with inputs of 3 dimensions, got none");
  expectInvalid(attention({flat, flat, flat}, {heads(5)}), "expects sizes that 'q_num_heads' = 5 divides, got 24");
  expectInvalid(attention({flat, flat, flat}, {heads(0)}), "expects 'q_num_heads' to be at least 1, got 0");
  expectInvalid(attention({four, four, four}, {heads(3)}),
                "expects 'q_num_heads' to be the heads of input 0: 6, got 3");
  expectInvalid(attention({four, four, four}, {attribute("softcap", -1.0f)}),
                "expects 'softcap' to be at least 0 and finite, got -1.000000");
  expectInvalid(attention({four, four, four}, {attribute("scale", INFINITY)}), "expects 'scale' to be finite, got inf");
  expectInvalid(attention({four, four, four}, {attribute("qk_matmul_output_mode", int64_t(4))}),
                "expects 'qk_matmul_output_mode' from 0 to 3, got 4");
  expectInvalid(attention({four, four, four}, {attribute("softmax_precision", int64_t(7))}),
                "expects 'softmax_precision' to be a type of floats (1, 10, 11 or 16), got 7");
}

TEST(ImportAttention, ReasonsOfRotaryEmbedding) {
  auto rotary = [](const std::vector<TypeProto> &types, const std::vector<AttributeProto> &attributes = {}) {
    Names inputs = {"a", "b", "c", "d"};
    inputs.resize(types.size());
    return one(node("RotaryEmbedding", inputs, {"y"}, attributes), types, {}, 23);
  };
  TypeProto input = f32({2, 3, 5, 8}), cache = f32({50, 4}), rows = f32({2, 5, 4}), places = i64({2, 5});
  expectInvalid(rotary({f32({5, 8}), cache, cache, places}),
                "expects floats of 3 or 4 dimensions as input 0, got 'f32[5,8]'");
  expectInvalid(rotary({f32({2, 5, 24}), rows, rows}), "expects 'num_heads' to be at least 1, got 0");
  expectInvalid(rotary({f32({2, 3, 5, 7}), rows, rows}), "expects heads of an even size, got 7");
  expectInvalid(rotary({input, rows, rows}, {attribute("rotary_embedding_dim", int64_t(10))}),
                "expects 'rotary_embedding_dim' to be even and from 0 to 8, got 10");
  expectInvalid(rotary({input, rows, rows}, {attribute("rotary_embedding_dim", int64_t(3))}),
                "expects 'rotary_embedding_dim' to be even and from 0 to 8, got 3");
  expectInvalid(rotary({input, cache, cache}),
                "expects the elements of 'f32[2,3,5,8]' in 3 dimensions without 'position_ids' as input 1, got "
                "'f32[50,4]'");
  expectInvalid(rotary({input, cache, rows, places}),
                "expects the elements of 'f32[2,3,5,8]' in 2 dimensions with 'position_ids' as input 2, got "
                "'f32[2,5,4]'");
  expectInvalid(rotary({input, rows, f32({2, 5, 1})}),
                "expects a column for each of 4 turned pairs in input 2, got 'f32[2,5,1]'");
  expectInvalid(rotary({input, cache, cache, i64({5})}), "expects 'position_ids' of i64 in 2 dimensions, got 'i64[5]'");
  expectInvalid(rotary({f32({2, 3, 5, -1}), f32({}), f32({})}), "expects 2 or 3 dimensions as input 1, got 'f32[]'");
}

TEST(ModelImporter, NodesWithoutOutputs) {
  for (const auto &[op, inputs] :
       {std::pair<const char *, Names>("SequenceAt", {"a", "a"}), {"Range", {"a", "a", "a"}}, {"Relu", {"a"}}})
    expectInvalid(model(graph({value("a", f32({4}))}, {node(op, inputs, {})}, {value("a")})),
                  "expects at least 1 output, got 0");
}

TEST(OpTable, AttributesOfTheVersion) {
  AttributeProto axes = attribute("axes", std::vector<int64_t>{0});
  expectInvalid(one(node("ReduceMax", {"a"}, {"y"}, {axes}), {f32({4})}, {}, 18),
                "expects no attributes but keepdims, noop_with_empty_axes in version 18, got 'axes'");
  expectInvalid(one(node("Relu", {"a"}, {"y"}, {attribute("alpha", 1.0f)}), {f32({4})}, {}, 17),
                "expects no attribute in version 17, got 'alpha'");
  expectInvalid(one(node("ArgMax", {"a"}, {"y"}, {attribute("select_last_index", int64_t(1))}), {f32({4})}, {}, 11),
                "expects no attributes but axis, keepdims in version 11, got 'select_last_index'");
}

TEST(ImportConstants, Reasons) {
  expectInvalid(one(node("Constant", {}, {"y"}, {attribute("value_string", "\xff")}), {}),
                "expects strings of UTF-8, got '\xff'");
  AttributeProto sparse;
  sparse.set_name("sparse_value");
  sparse.set_type(AttributeProto::SPARSE_TENSOR);
  sparse.mutable_sparse_tensor();
  expectUnsupported(one(node("Constant", {}, {"y"}, {sparse}), {}), "sparse constants are not imported");
  expectInvalid(one(node("Constant", {}, {"y"}), {}), "expects a constant with a value, got none");
  expectInvalid(one(node("ConstantOfShape", {"a"}, {"y"}, {attribute("value", floats("", {2}, {1, 2}))}), {i64({1})}),
                "expects 'value' to have one number or bool, got 'f32[2]'");
}

TEST(ImportConstants, ReasonsOfRange) {
  auto range = [](const TensorProto &start, const TensorProto &limit, const TensorProto &delta) {
    return one(node("Range", {"start", "limit", "delta"}, {"y"}), {}, {start, limit, delta});
  };
  auto number = [](const char *name, float value) { return floats(name, {}, {value}); };
  auto integer = [](const char *name, int64_t value) { return integers(name, {}, {value}); };
  expectInvalid(range(number("start", 0), number("limit", 1), number("delta", 0)), "expects 'delta' that is not 0");
  expectInvalid(range(integer("start", 0), integer("limit", 1), integer("delta", 0)), "expects 'delta' that is not 0");
  expectInvalid(range(number("start", 0), number("limit", 1e30f), number("delta", 1)),
                "expects a range of at most 281474976710656 values, got more");
  expectInvalid(range(number("start", 0), integer("limit", 1), number("delta", 1)),
                "expects inputs 0 and 1 of one type, got 'f32[]' and 'i64[]'");
  expectUnsupported(range(integer("start", 0), integer("limit", 1), integer("delta", INT64_MIN)),
                    "expects a 'delta' above -9223372036854775808");
}

TEST(ImportContractions, Reasons) {
  expectInvalid(one(node("MatMul", {"a", "b"}, {"y"}), {f32({}), f32({4})}),
                "expects tensors of 1 or more dimensions, got 'f32[]' and 'f32[4]'");
  expectInvalid(one(node("Gemm", {"a", "b"}, {"y"}), {f32({2, 3}), f32({2, 3, 4})}),
                "expects matrices as inputs 0 and 1, got 'f32[2,3,4]' as input 1");
}

GraphProto branch(const std::string &output, const std::vector<ValueInfoProto> &inputs = {}) {
  return graph(inputs, {}, {value(output)});
}

ModelProto choice(const TypeProto &condition, const GraphProto &onTrue, const GraphProto &onFalse, const TypeProto &b,
                  const TypeProto &c) {
  return one(node("If", {"a"}, {"y"}, {attribute("then_branch", onTrue), attribute("else_branch", onFalse)}),
             {condition, b, c});
}

TEST(ImportControlFlow, ReasonsOfIf) {
  TypeProto flag = tensorType(BOOL, {});
  expectInvalid(choice(flag, branch("b"), branch("c"), f32({4}), i64({4})),
                "expects branches that give the same types, got 'f32[4]' and 'i64[4]'");
  expectUnsupported(
      choice(flag, branch("b"), branch("c"), f32({4}), f32({4, 1})),
      "expects output 'y' of one rank, got one of 1 or 2 dimensions, as the branches of node 'n' (If) decide");
  NodeProto ranks =
      node("If", {"a"}, {"r"}, {attribute("then_branch", branch("b")), attribute("else_branch", branch("c"))});
  for (const char *op : {"Add", "Less"}) // still of two
    expectUnsupported(
        one(node("Identity", {"s"}, {"y"}), {flag, f32({4}), f32({4, 1})}, {ranks, node(op, {"r", "b"}, {"s"})}),
        "expects output 'y' of one rank, got one of 1 or 2 dimensions, as the branches of node 'n' (If) decide");
  expectInvalid(choice(flag, branch("b", {value("i", f32({4}))}), branch("c"), f32({4}), f32({4})),
                "expects branches without inputs, got 1");
  expectInvalid(choice(flag, branch("b"), graph({}, {}, {value("b"), value("c")}), f32({4}), f32({4})),
                "expects one output of each branch for each of the node's 1, got 2");
  expectInvalid(choice(f32({}), branch("b"), branch("c"), f32({4}), f32({4})),
                "expects bool as input 0 in version 21, got 'f32[]'");
  expectInvalid(one(node("If", {"a"}, {"y"}, {attribute("then_branch", branch("a"))}), {flag}),
                "expects attribute 'else_branch', got none");
}

/// A loop of 3 rounds over "a" whose body makes `parts` of "i", "go" and "x".
ModelProto loop(const TypeProto &carried, const std::vector<Part> &parts, const Names &outputs) {
  std::vector<ValueInfoProto> results;
  for (const std::string &output : outputs)
    results.push_back(value(output));
  GraphProto body =
      graph({value("i", i64({})), value("go", tensorType(BOOL, {})), value("x", carried)}, parts, results);
  return one(node("Loop", {"count", "", "a"}, {"y"}, {attribute("body", body)}), {carried},
             {integers("count", {}, {3})});
}

TEST(ImportControlFlow, ReasonsOfLoop) {
  expectInvalid(loop(f32({4}), {node("Cast", {"x"}, {"z"}, {attribute("to", int64_t(I64))})}, {"go", "z"}),
                "expects carried value 'x' to keep its type: 'f32[4]', got 'i64[4]'");
  expectInvalid(
      loop(sequenceType(F32, {4}), {node("SequenceEmpty", {}, {"z"}, {attribute("dtype", int64_t(I64))})}, {"go", "z"}),
      "expects carried value 'x' to keep its type: 'sequence of f32[4]', got "
      "'sequence of i64[...]'");
  expectUnsupported(loop(f32({4}), {integers("axes", {1}, {0}), node("Unsqueeze", {"x", "axes"}, {"z"})}, {"go", "z"}),
                    "expects carried value 'x' to keep its rank: 'f32[4]', got 'f32[1,4]'");
  expectInvalid(loop(f32({}), {}, {"x", "x"}), "expects a bool as output 0 of the body, got 'f32[]'");
  expectInvalid(loop(f32({4}), {node("SequenceConstruct", {"x"}, {"z"})}, {"go", "x", "z"}),
                "expects tensors as scan outputs, got 'sequence of f32[4]'");
  expectInvalid(
      one(node("Loop", {"count"}, {"y"}, {attribute("body", branch("a"))}), {f32({4})}, {integers("count", {}, {3})}),
      "expects at least 2 inputs, got 1");
  expectInvalid(one(node("Loop", {"count", "", "a"}, {"y"}, {attribute("body", branch("a"))}), {f32({4})},
                    {integers("count", {}, {3})}),
                "expects a body with 3 inputs and at least 2 outputs, got 0 and 1");
}

TEST(ImportIndexing, Reasons) {
  expectInvalid(one(node("Gather", {"a", "b"}, {"y"}), {f32({4}), f32({2})}),
                "expects i32 or i64 as input 1 in version 21, got 'f32[2]'");
  expectInvalid(
      one(node("Gather", {"list", "index"}, {"y"}), {}, {integers("list", {2}, {5, 6}), integers("index", {}, {2})}),
      "expects indices from -2 to 1, got 2");
  expectInvalid(one(node("GatherND", {"a", "b"}, {"y"}), {f32({}), i64({1})}),
                "expects tensors of 1 or more dimensions, got 'f32[]' and 'i64[1]'");
  expectUnsupported(one(node("GatherND", {"a", "b"}, {"y"}), {f32({2, 3}), i64({4, 3})}),
                    "expects tuples of 1 to 2 indices, got 'i64[4,3]'");
  auto scatter = [](const TypeProto &indices, const TypeProto &updates, const char *reduction) {
    return one(node("ScatterND", {"a", "b", "c"}, {"y"}, {attribute("reduction", reduction)}),
               {f32({2, 3}), indices, updates});
  };
  expectInvalid(scatter(i64({4, 1}), f32({4, 3}), "mean"),
                "expects 'reduction' to be none, add, mul, max or min, got 'mean'");
  expectInvalid(scatter(i64({4, 2, 1}), f32({4}), "max"), "expects updates of 2 or more dimensions, got 'f32[4]'");
  expectUnsupported(scatter(i64({4, 3}), f32({4}), "add"), "expects tuples of 1 to 2 indices, got 'i64[4,3]'");
  auto elements = [](const char *op, const TypeProto &indices, std::vector<AttributeProto> attributes = {}) {
    Names inputs = {"a", "b"};
    if (llvm::StringRef(op) == "ScatterElements")
      inputs.push_back("b");
    return one(node(op, inputs, {"y"}, attributes), {i64({2, 3}), indices});
  };
  expectInvalid(elements("GatherElements", i64({2})), "expects indices of 2 dimensions, got 'i64[2]'");
  expectInvalid(elements("GatherElements", i64({3, 1}), {attribute("axis", int64_t(1))}),
                "needs size '2' to be at least '3', got 2 and 3");
  expectInvalid(elements("ScatterElements", i64({2})), "expects indices of 2 dimensions, got 'i64[2]'");
  expectInvalid(elements("ScatterElements", i64({2, 3}), {attribute("reduction", "mean")}),
                "expects 'reduction' to be none, add, mul, max or min, got 'mean'");
  expectInvalid(one(node("OneHot", {"a", "depth", "values"}, {"y"}), {i64({4})},
                    {integers("depth", {2}, {3, 4}), floats("values", {2}, {0, 1})}),
                "expects one depth as input 1, got 'i64[2]'");
  expectInvalid(one(node("OneHot", {"a", "depth", "values"}, {"y"}), {i64({4})},
                    {integers("depth", {}, {3}), floats("values", {3}, {0, 1, 2})}),
                "expects the value off and the value on, got 'f32[3]'");
  expectInvalid(one(node("Compress", {"a", "b"}, {"y"}), {f32({4}), i64({4})}),
                "expects bool as input 1 in version 21, got 'i64[4]'");
  expectInvalid(scatter(i64({}), f32({3}), "none"),
                "expects tensors of 1 or more dimensions, got 'f32[2,3]' and 'i64[]'");
  expectInvalid(scatter(i64({4, 1}), f32({4, 2}), "none"), "expects 'updates' of type 'f32[4,3]', got 'f32[4,2]'");
}

TEST(ImportNorms, Reasons) {
  expectUnsupported(
      one(node("LayerNormalization", {"a", "b"}, {"y"}, {attribute("epsilon", -1.0f)}), {f32({2, 4}), f32({4})}),
      "expects 'epsilon' to be at least 0, got -1.000000");
  auto batchNorm = [](const TypeProto &input, const TypeProto &channels, int64_t opset,
                      std::vector<AttributeProto> attributes = {}) {
    return one(node("BatchNormalization", {"a", "b", "c", "d", "e"}, {"y"}, attributes),
               {input, channels, channels, channels, channels}, {}, opset);
  };
  expectUnsupported(batchNorm(f32({1, 3, 4, 4}), f32({3}), 7, {attribute("spatial", int64_t(0))}),
                    "statistics for each element ('spatial' = 0) are not imported");
  expectInvalid(batchNorm(f32({3}), f32({3}), 15), "expects an input of 2 or more dimensions, got 'f32[3]'");
  expectInvalid(batchNorm(f32({1, 3, 4, 4}), f32({2}), 15),
                "expects one value for each of 3 channels as input 1, got 'f32[2]'");
  expectInvalid(one(node("InstanceNormalization", {"a", "b", "b"}, {"y"}), {f32({1, 3}), f32({3})}),
                "expects an input of 3 or more dimensions, got 'f32[1,3]'");
  expectInvalid(one(node("LayerNormalization", {"a", "b"}, {"y"}), {f32({2, 4}), f32({2, 4})}),
                "expects a shape that broadcasts to 1 dimensions, got 'f32[2,4]'");
  expectInvalid(one(node("RMSNormalization", {"a", "b"}, {"y"}), {f32({2, 4}), i64({4})}, {}, 23),
                "expects f32, f16, f64 or bf16 as input 1 in version 23, got 'i64[4]'");
  expectInvalid(one(node("LayerNormalization", {"a", "b"}, {"y", "mean"}, {attribute("stash_type", int64_t(11))}),
                    {f32({2, 4}), f32({4})}),
                "expects 'stash_type' to be the type of floats that the mean and the deviation have (1 or 16), got 11");
}

TEST(ImportNorms, ReasonsOfOutputsThatAreRead) {
  NodeProto batchNorm = node("BatchNormalization", {"a", "b", "b", "b", "b"}, {"y", "mean"});
  batchNorm.set_name("norm");
  expectUnsupported(model(graph({value("a", f32({1, 3, 2})), value("b", f32({3}))},
                                {batchNorm, node("Relu", {"mean"}, {"z"})}, {value("z")}),
                          13),
                    "output 'mean' of node 'norm' (BatchNormalization) is read, but the statistics of training are not "
                    "imported");
}

TEST(ImportCumulative, Reasons) {
  for (const char *op : {"CumProd", "CumSum"}) {
    expectInvalid(one(node(op, {"a", "b"}, {"y"}), {f32({2, 3}), f32({})}, {}, 26),
                  "expects i32 or i64 as input 1 in version 26, got 'f32[]'");
    expectInvalid(one(node(op, {"a", "b"}, {"y"}), {f32({2, 3}), i64({2})}, {}, 26),
                  "expects one integer as input 1, got 'i64[2]'");
    expectInvalid(one(node(op, {"a", "axis"}, {"y"}), {f32({2, 3})}, {integers("axis", {}, {2})}, 26),
                  "expects 'axis' from -2 to 1, got 2");
    expectInvalid(one(node(op, {"a", "b"}, {"y"}), {f32({}), i64({})}, {}, 26),
                  "expects a tensor of 1 or more dimensions, got 'f32[]'");
  }
}

TEST(ImportDiagonals, Reasons) {
  expectInvalid(one(node("Trilu", {"a"}, {"y"}), {f32({4})}), "expects a tensor of 2 or more dimensions, got 'f32[4]'");
  expectInvalid(one(node("Trilu", {"a", "b"}, {"y"}), {f32({4, 5}), i64({2})}),
                "expects one integer as input 1, got 'i64[2]'");
  expectInvalid(one(node("Trilu", {"a", "b"}, {"y"}), {f32({4, 5}), f32({})}),
                "expects i64 as input 1 in version 21, got 'f32[]'");
  expectInvalid(one(node("EyeLike", {"a"}, {"y"}), {f32({2, 3, 4})}), "expects a matrix, got 'f32[2,3,4]'");
}

TEST(ImportEinsum, Reasons) {
  auto einsum = [](const char *equation, const Dims &a, const Dims &b) {
    return one(node("Einsum", {"a", "b"}, {"y"}, {attribute("equation", equation)}), {f32(a), f32(b)});
  };
  expectInvalid(einsum("ij", {2, 3}, {3}), "expects a term of 'equation' for each of 2 inputs, got 1");
  expectInvalid(einsum("ij,j", {2, 3}, {3, 4}),
                "expects 'j' to have a letter for each dimension of input 1, got 'f32[3,4]'");
  expectInvalid(einsum("ij,1", {2, 3}, {3}), "expects letters and ellipses in 'equation', got '1'");
  expectInvalid(einsum("ij,j->ii", {2, 3}, {3}),
                "expects each letter of the result once, and in a term, but 'i' is there twice");
  expectInvalid(einsum("ij,j->k", {2, 3}, {3}),
                "expects each letter of the result once, and in a term, but 'k' is in none");
  expectInvalid(einsum("ij,j", {2, 3}, {4}), "expects dimensions of one letter to have one size, got 3 and 4");
  expectInvalid(einsum("ii,j", {2, 3}, {4}), "expects dimensions of one letter to have one size, got 2 and 3");
}

TEST(ImportSampling, Reasons) {
  auto grid = [](const Dims &theta, const std::vector<int64_t> &size) {
    return one(node("AffineGrid", {"a", "size"}, {"y"}), {f32(theta)},
               {integers("size", {static_cast<int64_t>(size.size())}, size)});
  };
  expectInvalid(grid({2, 3}, {1, 1, 4, 4}), "expects matrices of floats as input 0, got 'f32[2,3]'");
  expectInvalid(grid({1, 2, 3}, {1, 1, 4}), "expects 4 or 5 sizes as input 1, got 3");
  expectInvalid(grid({1, 2, 3}, {2, 1, 4, 4}), "expects a matrix of 2 x 3 for each of 2 images, got 'f32[1,2,3]'");
  auto sample = [](const Dims &image, const Dims &points, std::vector<AttributeProto> attributes = {}) {
    return one(node("GridSample", {"a", "b"}, {"y"}, attributes), {f32(image), f32(points)});
  };
  expectInvalid(sample({1, 2, 3, 4}, {1, 5, 2}), "expects an image and a grid of floats, of one rank from 3 on, got "
                                                 "'f32[1,2,3,4]' and 'f32[1,5,2]'");
  expectInvalid(sample({1, 2, 3, 4}, {1, 5, 5, 3}),
                "expects a grid of 2 coordinates for each of 1 images, got 'f32[1,5,5,3]'");
  expectUnsupported(sample({1, 1, 2, 2, 2, 2}, {1, 2, 2, 2, 2, 4}), "expects at most 3 dimensions of space, got 4");
  expectInvalid(sample({1, 2, 3, 4}, {1, 5, 5, 2}, {attribute("mode", "bilinear")}),
                "expects 'mode' to be nearest, linear or cubic, got 'bilinear'");
  expectUnsupported(sample({1, 2, 3}, {1, 5, 1}, {attribute("mode", "cubic")}),
                    "expects 'mode' cubic only of 2 dimensions of space, got 1");
  expectInvalid(sample({1, 2, 3, 4}, {1, 5, 5, 2}, {attribute("padding_mode", "wrap")}),
                "expects 'padding_mode' to be zeros, border or reflection, got 'wrap'");
}

TEST(ImportShapes, ReasonsOfBlocks) {
  auto move = [](const char *op, const Dims &dims, std::vector<AttributeProto> attributes) {
    return one(node(op, {"a"}, {"y"}, attributes), {f32(dims)});
  };
  AttributeProto two = attribute("blocksize", int64_t(2)), none = attribute("blocksize", int64_t(0));
  for (const char *op : {"DepthToSpace", "SpaceToDepth"}) {
    expectInvalid(move(op, {1, 4, 4, 4}, {none}), "expects 'blocksize' from 1 to 2147483647, got 0");
    expectInvalid(move(op, {4, 4, 4}, {two}), "expects an input of 4 dimensions, got 'f32[4,4,4]'");
  }
  expectInvalid(move("DepthToSpace", {1, 6, 4, 4}, {two}),
                "expects a size that 'blocksize' divides, got 6 for parts of 4");
  expectInvalid(move("SpaceToDepth", {1, 6, 4, 5}, {two}),
                "expects a size that 'blocksize' divides, got 5 for parts of 2");
  expectInvalid(move("DepthToSpace", {1, 4, 4, 4}, {two, attribute("mode", "RCD")}),
                "expects 'mode' to be DCR or CRD, got 'RCD'");
}

TEST(ImportWindows, ReasonsOfLRN) {
  AttributeProto three = attribute("size", int64_t(3)), none = attribute("size", int64_t(0));
  expectInvalid(one(node("LRN", {"a"}, {"y"}, {three}), {f32({4})}),
                "expects floats of 2 or more dimensions, got 'f32[4]'");
  expectInvalid(one(node("LRN", {"a"}, {"y"}, {none}), {f32({4, 5})}), "expects 'size' from 1 to 2147483648, got 0");
}

TEST(ImportWindows, ReasonsOfCol2Im) {
  auto join = [](const Dims &dims, const std::vector<int64_t> &image, const std::vector<int64_t> &block) {
    return one(node("Col2Im", {"a", "image", "block"}, {"y"}), {f32(dims)},
               {integers("image", {static_cast<int64_t>(image.size())}, image),
                integers("block", {static_cast<int64_t>(block.size())}, block)});
  };
  expectInvalid(join({4, 5}, {5, 5}, {1, 5}), "expects an input of 3 dimensions, got 'f32[4,5]'");
  expectInvalid(join({1, 5, 5}, {5, 5}, {5}), "expects as many sizes of blocks as of the image, got 1 and 2");
  expectInvalid(join({1, 5, 5}, {5, 5}, {0, 5}), "expects blocks of at least one element, got 0");
  expectInvalid(join({1, 5, 4}, {5, 5}, {1, 5}), "expects 5 blocks, got 'f32[1,5,4]'");
}

TEST(ImportLosses, Reasons) {
  for (const char *op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    expectInvalid(one(node(op, {"a", "b"}, {"y"}), {f32({4}), i64({})}),
                  "expects an input of 2 or more dimensions, got 'f32[4]'");
    const std::string floats =
        op == std::string("SoftmaxCrossEntropyLoss") ? "f32, f16, f64 or bf16" : "f32, f16 or f64";
    expectInvalid(one(node(op, {"a", "b"}, {"y"}), {i64({4, 5}), i64({4})}),
                  "expects " + floats + " as input 0 in version 21, got 'i64[4,5]'");
    expectInvalid(one(node(op, {"a", "b"}, {"y"}), {f32({4, 5}), f32({4})}),
                  "expects i32 or i64 as input 1 in version 21, got 'f32[4]'");
    expectInvalid(one(node(op, {"a", "b"}, {"y"}), {f32({4, 5, 6}), i64({4, 5})}),
                  "expects a target for each place of 'f32[4,5,6]' without dimension 1, got 'i64[4,5]'");
    expectInvalid(one(node(op, {"a", "b", "c"}, {"y"}), {f32({4, 5}), i64({4}), f32({4})}),
                  "expects one weight for each of 5 classes as input 2, got 'f32[4]'");
    expectInvalid(one(node(op, {"a", "b"}, {"y"}, {attribute("reduction", "max")}), {f32({4, 5}), i64({4})}),
                  "expects 'reduction' to be none, sum or mean, got 'max'");
  }
}

TEST(ImportWindowFunctions, Reasons) {
  for (const char *op : {"BlackmanWindow", "HammingWindow", "HannWindow"}) {
    expectInvalid(one(node(op, {"a"}, {"y"}, {attribute("output_datatype", int64_t(BOOL))}), {i64({})}),
                  "expects 'output_datatype' to be a type of numbers, got 'bool'");
    expectInvalid(one(node(op, {"a"}, {"y"}), {i64({2})}), "expects one integer as input 0, got 'i64[2]'");
    expectInvalid(one(node(op, {"size"}, {"y"}), {}, {integers("size", {}, {-1})}),
                  "expects a size of at least 0, got -1");
  }
}

TEST(ImportReductions, ReasonsOfNorms) {
  for (const char *op : {"GlobalLpPool", "LpNormalization"})
    expectInvalid(one(node(op, {"a"}, {"y"}, {attribute("p", int64_t(0))}), {f32({1, 3, 4})}),
                  "expects 'p' of at least 1, got 0");
  AttributeProto kernel = attribute("kernel_shape", std::vector<int64_t>{2});
  expectInvalid(one(node("LpPool", {"a"}, {"y"}, {kernel, attribute("p", int64_t(-1))}), {f32({1, 3, 4})}),
                "expects 'p' of at least 1, got -1");
  expectInvalid(one(node("LpPool", {"a"}, {"y"}, {kernel}), {i64({1, 3, 4})}),
                "expects f32, f16 or f64 as input 0 in version 21, got 'i64[1,3,4]'");
  expectInvalid(one(node("MeanVarianceNormalization", {"a"}, {"y"}), {f32({2, 3, 4})}),
                "expects 'axes' from -3 to 2, got 3");
}

TEST(ImportReductions, Reasons) {
  for (const char *op : {"GlobalAveragePool", "GlobalMaxPool"})
    expectInvalid(one(node(op, {"a"}, {"y"}), {f32({1, 3})}),
                  "expects an input of 3 or more dimensions, got 'f32[1,3]'");
}

TEST(ImportSequences, Reasons) {
  expectInvalid(one(node("SequenceLength", {"a"}, {"y"}), {f32({4})}),
                "expects a sequence of f32, a sequence of u8, a sequence of i8, a sequence of u16, a sequence of i16, "
                "a sequence of i32, a sequence of i64, a sequence of string, a sequence of bool, a sequence of f16, a "
                "sequence of f64, a sequence of u32 or a sequence of u64 as input 0 in version 21, got 'f32[4]'");
  expectInvalid(one(node("SequenceConstruct", {"a", "b"}, {"y"}), {f32({4}), i64({4})}),
                "expects inputs 0 and 1 of one type, got 'f32[4]' and 'i64[4]'");
  expectInvalid(one(node("SequenceConstruct", {}, {"y"}), {}), "expects at least 1 input, got 0");
  expectInvalid(one(node("SequenceInsert", {"a", "b"}, {"y"}), {sequenceType(F32, {4}), i64({4})}),
                "expects tensors of the sequence's element type: 'f32[4]', got 'i64[4]'");
  TypeProto anyRank = sequenceType(F32, {});
  anyRank.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->clear_shape();
  expectUnsupported(one(node("SequenceAt", {"a", "b"}, {"y"}), {anyRank, i64({})}),
                    "expects a sequence whose tensors have one known rank, got 'sequence of f32[...]'");
  expectInvalid(
      one(node("Relu", {"a"}, {"y"}), {anyRank}),
      "expects f32, i8, i16, i32, i64, f16, f64 or bf16 as input 0 in version 21, got 'sequence of f32[...]'");
}

TEST(ImportShapes, ReasonsOfReshape) {
  auto reshape = [](const Dims &dims, const std::vector<int64_t> &shape) {
    return one(node("Reshape", {"a", "shape"}, {"y"}), {f32(dims)},
               {integers("shape", {static_cast<int64_t>(shape.size())}, shape)});
  };
  expectInvalid(reshape({4}, {-2}), "expects sizes from -1 on in 'shape', got -2");
  expectInvalid(reshape({4}, {-1, -1}), "expects at most one -1 in 'shape', got another at place 1");
  expectInvalid(reshape({4}, {4, 0}),
                "expects 0 in 'shape' only where the input has a dimension: it has 1, got 0 at place 1");
  expectInvalid(reshape({0, 4}, {0, -1}), "expects sizes above 0 beside -1 in 'shape', got a 0");
  expectInvalid(reshape({4}, {3, -1}),
                "expects a shape that holds the input's 4 elements, got sizes of product 3 beside -1");
  expectInvalid(reshape({4}, {3}), "expects a shape that holds the input's 4 elements, got one of 3");
  expectInvalid(one(node("Reshape", {"a"}, {"y"}), {f32({4})}, {}, 1), "expects attribute 'shape', got none");
}

TEST(ImportShapes, Reasons) {
  expectInvalid(one(node("Flatten", {"a"}, {"y"}, {attribute("axis", int64_t(3))}), {f32({2, 3})}),
                "expects 'axis' from -2 to 2, got 3");
  expectInvalid(one(node("Squeeze", {"a", "axes"}, {"y"}), {f32({1, 3})}, {integers("axes", {1}, {1})}),
                "expects size 1 in each dimension of 'axes', got 3 in dimension 1");
  expectInvalid(one(node("Unsqueeze", {"a"}, {"y"}), {f32({3})}, {}, 11), "expects attribute 'axes', got none");
  std::vector<int64_t> many(32);
  expectUnsupported(one(node("Unsqueeze", {"a", "axes"}, {"y"}), {f32({3})}, {integers("axes", {32}, many)}),
                    "expects at most 32 dimensions, got 33");
  expectInvalid(one(node("Transpose", {"a"}, {"y"}, {attribute("perm", std::vector<int64_t>{1})}), {f32({2, 3})}),
                "expects 'perm' with 2 entries, got 1");
  expectInvalid(one(node("Transpose", {"a"}, {"y"}, {attribute("perm", std::vector<int64_t>{1, 1})}), {f32({2, 3})}),
                "expects each of 'perm' once, got 1 twice");
  expectInvalid(one(node("Expand", {"a", "shape"}, {"y"}), {f32({3})}, {integers("shape", {1}, {-1})}),
                "expects sizes of at least 0 in 'shape', got -1");
  expectInvalid(one(node("Tile", {"a", "repeats"}, {"y"}), {f32({2, 3})}, {integers("repeats", {1}, {2})}),
                "expects one entry of 'repeats' for each of the 2 dimensions, got 1");
  expectInvalid(one(node("Concat", {"a", "b"}, {"y"}, {attribute("axis", int64_t(0))}), {f32({2}), f32({2, 3})}),
                "expects inputs of one rank and element type, got 'f32[2]' and 'f32[2,3]'");
  expectInvalid(one(node("Concat", {"a"}, {"y"}), {f32({2})}), "expects attribute 'axis', got none");
}

TEST(ImportShapes, ReasonsOfSplit) {
  auto split = [](int64_t size, const std::vector<int64_t> &sizes) {
    return one(node("Split", {"a", "sizes"}, {"y", "z"}), {f32({size})},
               {integers("sizes", {static_cast<int64_t>(sizes.size())}, sizes)});
  };
  expectInvalid(one(node("Split", {"a"}, {"y", "z"}, {attribute("num_outputs", int64_t(3))}), {f32({6})}),
                "expects 'num_outputs' to count the outputs: 2, got 3");
  expectInvalid(one(node("Split", {"a"}, {"y", "z", "u", "v"}), {f32({5})}),
                "expects dimension 0 to split into 4 parts, got size 5");
  expectInvalid(split(6, {1, 2, 3}), "expects one size for each of the 2 outputs, got 3");
  expectInvalid(split(6, {1, 2}), "expects parts that make up dimension 0: 6, got 3");
}

TEST(ImportSlices, ReasonsOfSlice) {
  auto slice = [](const Dims &dims, const std::vector<Part> &lists) {
    return one(node("Slice", {"a", "starts", "ends", "axes", "steps"}, {"y"}), {f32(dims)}, lists);
  };
  auto list = [](const char *name, std::vector<int64_t> values) {
    return integers(name, {static_cast<int64_t>(values.size())}, values);
  };
  expectInvalid(one(node("Slice", {"a"}, {"y"}, {attribute("starts", std::vector<int64_t>{0})}), {f32({4})}, {}, 9),
                "expects attribute 'ends', got none");
  expectInvalid(slice({4}, {list("starts", {0}), list("ends", {1, 2}), list("axes", {0}), list("steps", {1})}),
                "expects as many 'ends', 'axes' and 'steps' as 'starts', of which there are 1");
  expectInvalid(slice({4}, {list("starts", {0}), list("ends", {1}), list("axes", {0}), list("steps", {0})}),
                "expects 'steps' that are not 0 and above -2147483648, got 0");
  expectInvalid(slice({4}, {list("starts", {0}), list("ends", {1}), list("axes", {1}), list("steps", {1})}),
                "expects 'axes' from -1 to 0, got 1");
  expectInvalid(one(node("Slice", {"a", "b", "b"}, {"y"}), {f32({4}), f32({1})}),
                "expects i32 or i64 as input 1 in version 21, got 'f32[1]'");
  expectUnsupported(one(node("Slice", {"a", "starts", "b"}, {"y"}), {f32({4}), i64({2})}, {list("starts", {0})}),
                    "expects input 2 to be a list of 1 integers, got 'i64[2]'");
  expectInvalid(one(node("Slice", {"a", "b", "b", "", "b"}, {"y"}), {f32({4}), i64({2})}),
                "expects 'axes' from -1 to 0, got 1");
}

TEST(ImportIndexing, ReasonsOfBatches) {
  auto number = [](const char *name, int64_t value) { return attribute(name, value); };
  expectInvalid(one(node("GatherND", {"a", "b"}, {"y"}, {number("batch_dims", 2)}), {f32({2, 3}), i64({2, 1})}),
                "expects 'batch_dims' from 0 to 1, got 2");
  expectInvalid(one(node("GatherND", {"a", "b"}, {"y"}, {number("batch_dims", 1)}), {f32({2, 3}), i64({3, 1})}),
                "expects 'batch_dims' dimensions that are equal, got 'f32[2,3]' and 'i64[3,1]'");
  expectUnsupported(one(node("GatherND", {"a", "b"}, {"y"}), {f32({2, 3}), i64({3, "k"})}),
                    "expects tuples of 1 to 2 indices, got 'i64[3,k]'");
  expectInvalid(one(node("ReverseSequence", {"a", "b"}, {"y"}), {f32({4}), i64({4})}),
                "expects an input of 2 or more dimensions, got 'f32[4]'");
  expectInvalid(one(node("ReverseSequence", {"a", "b"}, {"y"}, {number("time_axis", 1)}), {f32({4, 3}), i64({3})}),
                "expects 0 and 1 as 'batch_axis' and 'time_axis', got 1 and 1");
  expectInvalid(one(node("ReverseSequence", {"a", "b"}, {"y"}), {f32({4, 3}), i64({4})}),
                "expects a list of 3 integers as input 1, got 'i64[4]'");
  auto scatter = [](const TypeProto &cache, const TypeProto &update, const TypeProto &places,
                    std::vector<AttributeProto> attributes = {}) {
    return one(node("TensorScatter", {"a", "b", "c"}, {"y"}, attributes), {cache, update, places}, {}, 24);
  };
  expectInvalid(scatter(f32({2, 4, 3}), f32({2, 1, 3}), i64({2}), {attribute("mode", "round")}),
                "expects 'mode' to be linear or circular, got 'round'");
  expectInvalid(scatter(f32({2, 4, 3}), f32({2, 1, 3}), i64({2}), {number("axis", -3)}),
                "expects 'axis' after that of the batch, got -3");
  expectInvalid(scatter(f32({2, 4, 3}), f32({2, 1, 5}), i64({2})),
                "expects an update like the cache but for dimension 1, got 'f32[2,1,5]' for 'f32[2,4,3]'");
  expectInvalid(scatter(f32({2, 4, 3}), f32({2, 1, 3}), i64({3})),
                "expects a list of 2 integers as input 2, got 'i64[3]'");
}

TEST(ImportSequences, ReasonsOfSplits) {
  auto split = [](const std::vector<int64_t> &dims, const std::vector<int64_t> &sizes) {
    return one(node("SplitToSequence", {"a", "sizes"}, {"y"}), {f32({6})}, {integers("sizes", dims, sizes)});
  };
  expectInvalid(split({}, {0}), "expects positive numbers as 'split', got 0");
  expectInvalid(split({2}, {2, 3}), "expects parts that make up dimension 0: 6, got 5");
}

TEST(ImportNorms, ReasonsOfGroups) {
  auto normalize = [](const Dims &dims, int64_t groups, const TypeProto &scale, int64_t opset = 21) {
    return one(node("GroupNormalization", {"a", "b", "b"}, {"y"}, {attribute("num_groups", groups)}),
               {f32(dims), scale}, {}, opset);
  };
  expectInvalid(normalize({4}, 2, f32({4})), "expects an input of 2 or more dimensions, got 'f32[4]'");
  expectInvalid(normalize({2, 4}, 3, f32({4})), "expects 'num_groups' to divide the 4 channels, got 3");
  expectInvalid(normalize({2, 4}, 2, f32({2})), "expects one value for each of 4 channels as input 1, got 'f32[2]'");
  expectInvalid(normalize({2, 4}, 2, f32({4}), 18), "expects one value for each of 2 groups as input 1, got 'f32[4]'");
}

TEST(RunTimeLists, Reasons) {
  expectInvalid(one(node("Unsqueeze", {"a", "b"}, {"y"}), {f32({4}), f32({1})}),
                "expects i64 as input 1 in version 21, got 'f32[1]'");
  expectInvalid(one(node("ReduceSum", {"a", "b"}, {"y"}), {f32({4}), i64({2})}), "expects at most 1 axes, got 2");
  expectUnsupported(
      one(node("ReduceSum", {"a", "b"}, {"y"}, {attribute("keepdims", int64_t(0))}), {f32({4}), i64({"n"})}),
      "expects input 1 ('b') to be a list of known length where dimensions are left out, got 'i64[n]'");
  expectUnsupported(one(node("Squeeze", {"a", "b"}, {"y"}), {f32({4}), i64({"n"})}),
                    "expects input 1 ('b') to be a list of known length, got 'i64[n]'");
}

TEST(ImportSlices, ReasonsOfCenterCropPad) {
  expectInvalid(one(node("CenterCropPad", {"a", "sizes"}, {"y"}), {f32({2, 3})}, {integers("sizes", {1}, {4})}),
                "expects one size for each of 2 axes as input 1, got 1");
  expectInvalid(one(node("CenterCropPad", {"a", "sizes"}, {"y"}), {f32({2})}, {integers("sizes", {1}, {-4})}),
                "expects sizes of at least 0 as input 1, got -4");
}

TEST(ImportSlices, ReasonsOfPad) {
  expectInvalid(one(node("Pad", {"a", "pads"}, {"y"}, {attribute("mode", "mirror")}), {f32({4})},
                    {integers("pads", {2}, {1, 1})}),
                "expects 'mode' to be constant, reflect, edge or wrap, got 'mirror'");
  expectInvalid(one(node("Pad", {"a"}, {"y"}), {f32({4})}, {}, 10), "expects attribute 'pads', got none");
  expectInvalid(one(node("Pad", {"a", "pads"}, {"y"}), {f32({4})}, {integers("pads", {3}, {1, 1, 1})}),
                "expects two pads for each of 1 axes, got 3");
  expectUnsupported(
      one(node("Pad", {"a"}, {"y"}, {attribute("pads", std::vector<int64_t>{1, 1}), attribute("value", 1.5f)}),
          {i64({4})}, {}, 10),
      "expects a number that 'i64' can hold, got 1.500000");
}

TEST(ImportQuantization, Reasons) {
  TypeProto input = f32({2, 3}), bytes = tensorType(TensorProto::UINT8, {2, 3});
  auto quantize = [](const TypeProto &a, const TypeProto &scale, std::vector<AttributeProto> attributes = {}) {
    return one(node("QuantizeLinear", {"a", "b"}, {"y"}, attributes), {a, scale});
  };
  expectInvalid(quantize(i64({2, 3}), f32({})),
                "expects f32, i32, f16 or bf16 as input 0 in version 21, got 'i64[2,3]'");
  expectInvalid(one(node("DynamicQuantizeLinear", {"a"}, {"y", "s", "z"}), {i64({4})}),
                "expects f32 as input 0 in version 21, got 'i64[4]'");
  expectInvalid(quantize(input, f32({2, 1, 1}), {attribute("block_size", int64_t(3))}),
                "expects a scale with one number or one for each place of 'axis', or with the 2 dimensions of what is "
                "quantised, got 'f32[2,1,1]'");
  expectInvalid(quantize(input, f32({2, 1}), {attribute("block_size", int64_t(-3))}),
                "expects 'block_size' of at least 0, got -3");
  expectInvalid(quantize(input, f32({2, 2}), {attribute("block_size", int64_t(3))}),
                "needs sizes '2' and '1' equal, got 2 and 1");
  expectInvalid(
      one(node("QuantizeLinear", {"a", "b", "c"}, {"y"}, {attribute("output_dtype", int64_t(TensorProto::INT8))}),
          {input, f32({}), tensorType(TensorProto::UINT8, {})}, {}, 25),
      "expects 'output_dtype' to be the zero point's type: 'u8', got 'i8'");
  expectInvalid(one(node("QuantizeLinear", {"a", "b"}, {"y"}, {attribute("precision", int64_t(TensorProto::INT32))}),
                    {input, f32({})}, {}, 25),
                "expects 'precision' to be a float of 16 bits or more, got 'i32'");
  expectUnsupported(quantize(input, f32({}), {attribute("output_dtype", int64_t(TensorProto::INT32))}),
                    "expects integers of 2 to 16 bits, or floats of 8 or 4 bits with a sign, got 'i32'");
  expectInvalid(
      one(node("DequantizeLinear", {"a", "b"}, {"y"}), {bytes, tensorType(TensorProto::FLOAT8E8M0, {})}, {}, 25),
      "expects a result of floats of 16 bits or more, got 'f8E8M0FNU' of 'output_dtype' or the scale");
  expectInvalid(quantize(input, f32({2, 3})),
                "expects a scale with one number or one for each place of 'axis', got 'f32[2,3]'");
  expectInvalid(quantize(input, f32({5})),
                "expects a scale with one number or one for each of the 3 places of 'axis', got 'f32[5]'");
  expectInvalid(
      one(node("QuantizeLinear", {"a", "b", "c"}, {"y"}), {input, f32({}), tensorType(TensorProto::UINT8, {5})}),
      "expects a zero point with one number or one for each of the 3 places of 'axis', got 'u8[5]'");
  expectInvalid(
      one(node("DequantizeLinear", {"a", "b", "c"}, {"y"}), {bytes, f32({}), tensorType(TensorProto::UINT8, {5})}),
      "expects a zero point with one number or one for each of the 3 places of 'axis', got 'u8[5]'");
  expectInvalid(one(node("DequantizeLinear", {"a", "b"}, {"y"}), {i64({2, 3}), f32({})}),
                "expects u8, i8, u16, i16, i32, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, u4 or i4 as input 0 in "
                "version 21, got 'i64[2,3]'");
}

TEST(ImportQuantization, ReasonsOfProducts) {
  auto bytes = [](const Dims &dims) { return tensorType(TensorProto::UINT8, dims); };
  auto product = [](const std::string &op, std::vector<TypeProto> types) {
    Names inputs;
    for (size_t i = 0; i < types.size(); ++i)
      inputs.push_back(std::string(1, char('a' + i)));
    return one(node(op, inputs, {"y"}), types);
  };
  expectInvalid(product("MatMulInteger", {tensorType(TensorProto::STRING, {2, 3}), bytes({3, 4})}),
                "expects u8 or i8 as input 0 in version 21, got 'string[2,3]'");
  expectInvalid(product("QuantizeLinear", {f32({2}), f32({}), tensorType(TensorProto::STRING, {})}),
                "expects u8, i8, u16, i16, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, u4 or i4 as input 2 in version "
                "21, got 'string[]'");
  expectInvalid(product("MatMulInteger", {i64({2, 3}), bytes({3, 4})}),
                "expects u8 or i8 as input 0 in version 21, got 'i64[2,3]'");
  expectInvalid(product("MatMulInteger", {bytes({2, 3}), bytes({3, 4}), tensorType(TensorProto::INT8, {})}),
                "expects inputs 0 and 2 of one type, got 'u8[2,3]' and 'i8[]'");
  expectInvalid(product("MatMulInteger", {bytes({2, 3}), bytes({3, 4}), bytes({1, 2, 1})}),
                "expects a zero point with one number or one for each row of 'u8[2,3]', got 'u8[1,2,1]'");
  expectInvalid(product("QLinearMatMul", {bytes({2, 3}), f32({}), bytes({}), bytes({3, 4}), f32({1, 1, 4}), bytes({}),
                                          f32({}), bytes({})}),
                "expects a scale with one number or one for each column of 'u8[3,4]', got 'f32[1,1,4]'");
  expectInvalid(product("ConvInteger", {bytes({1, 2, 5}), bytes({3, 2, 2}), bytes({2})}),
                "expects a zero point of the input with one number, got 'u8[2]'");
  expectInvalid(product("ConvInteger", {bytes({1, 2, 5}), bytes({3, 2, 2}), bytes({}), bytes({3, 1})}),
                "expects a zero point with one number or one for each filter, got 'u8[3,1]'");
  expectInvalid(product("QLinearConv", {bytes({1, 2, 5}), f32({}), bytes({}), bytes({3, 2, 2}), f32({}), bytes({}),
                                        f32({}), bytes({}), f32({3})}),
                "expects i32 as input 8 in version 21, got 'f32[3]'");
}

TEST(ImportRecurrent, Reasons) {
  TypeProto data = f32({7, 2, 5}), weight = f32({1, 16, 5}), recurrent = f32({1, 16, 4});
  auto lstm = [](const TypeProto &a, const TypeProto &b, const TypeProto &c,
                 std::vector<AttributeProto> attributes = {}) {
    return one(node("LSTM", {"a", "b", "c"}, {"y"}, attributes), {a, b, c});
  };
  expectInvalid(lstm(f32({7, 5}), weight, recurrent), "expects data of 3 dimensions, got 'f32[7,5]'");
  expectInvalid(lstm(data, f32({16, 5}), recurrent),
                "expects weights of 3 dimensions, got 'f32[16,5]' and 'f32[1,16,4]'");
  expectInvalid(lstm(data, f32({1, 12, 5}), recurrent),
                "expects input 1 of the shape 'f32[1,16,5]', got 'f32[1,12,5]'");
  expectInvalid(lstm(data, weight, recurrent, {attribute("hidden_size", int64_t(3))}),
                "expects input 1 of the shape 'f32[1,12,5]', got 'f32[1,16,5]'");
  for (int64_t size : {int64_t(0), int64_t(-4), INT64_MAX})
    expectInvalid(lstm(data, weight, recurrent, {attribute("hidden_size", size)}),
                  "expects a 'hidden_size' from 1 to 35184372088832, got " + std::to_string(size));
  expectInvalid(lstm(data, weight, recurrent, {attribute("direction", "sideways")}),
                "expects 'direction' to be 'forward', 'reverse' or 'bidirectional', got 'sideways'");
  expectInvalid(one(node("LSTM", {"a", "b", "c", "", "d"}, {"y"}), {data, weight, recurrent, i64({2})}),
                "expects i32 as input 4 in version 21, got 'i64[2]'");
}

TEST(ImportResize, Reasons) {
  TypeProto input = f32({1, 2, 8, 8});
  auto resize = [](const TypeProto &a, std::vector<float> scales, std::vector<AttributeProto> attributes = {}) {
    return one(node("Resize", {"a", "", "scales"}, {"y"}, attributes), {a},
               {floats("scales", {int64_t(scales.size())}, scales)});
  };
  std::vector<float> twice = {1, 1, 2, 2};
  expectInvalid(resize(input, twice, {attribute("mode", "quadratic")}),
                "expects 'mode' to be nearest, linear or cubic, got 'quadratic'");
  expectInvalid(resize(tensorType(BOOL, {1, 2, 8, 8}), twice, {attribute("mode", "linear")}),
                "expects numbers to take means of, got elements of 'bool'");
  expectInvalid(resize(input, twice, {attribute("coordinate_transformation_mode", "corners")}),
                "expects 'coordinate_transformation_mode' to be half_pixel, half_pixel_symmetric, pytorch_half_pixel, "
                "align_corners, asymmetric or tf_crop_and_resize, got 'corners'");
  expectInvalid(resize(input, twice, {attribute("keep_aspect_ratio_policy", "larger")}),
                "expects 'keep_aspect_ratio_policy' to be stretch, not_larger or not_smaller, got 'larger'");
  expectInvalid(one(node("Resize", {"a", "b", "scales"}, {"y"},
                         {attribute("coordinate_transformation_mode", "tf_crop_and_resize")}),
                    {input, f32({4})}, {floats("scales", {4}, twice)}),
                "expects 'roi' to be a list of 8 floats, got 'f32[4]'");
  expectUnsupported(resize(input, {1, 1, 1e-10f, 1}, {attribute("mode", "linear"), attribute("antialias", int64_t(1))}),
                    "expects 'scales' of at least 2^-31 where 'antialias' is set, got 0.000000");
  expectInvalid(resize(input, twice, {attribute("nearest_mode", "middle")}),
                "expects 'nearest_mode' to be round_prefer_floor, round_prefer_ceil, floor or ceil, got 'middle'");
  expectInvalid(resize(input, {2, 2}), "expects one entry of 'scales' for each of the 4 axes, got 2");
  expectInvalid(resize(input, {1, 1, 0, 2}), "expects 'scales' above 0, got 0.000000");
  expectInvalid(resize(input, {1, 1, 1e20f, 2}),
                "expects tensors of at most 281474976710656 elements, got 'scales' of 100000002004087734272.000000 for "
                "a size of 8");
  expectInvalid(one(node("Resize", {"a"}, {"y"}), {input}), "expects 'scales' or 'sizes', got neither");
  expectInvalid(one(node("Resize", {"a", "", "b"}, {"y"}), {input, i64({4})}),
                "expects f32 as input 2 in version 21, got 'i64[4]'");
  expectInvalid(one(node("Resize", {"a", "", "b"}, {"y"}), {input, f32({3})}),
                "expects one entry of 'scales' for each of the 4 axes, got 3");
  expectInvalid(one(node("Resize", {"a", "", "", "b"}, {"y"}), {input, i64({3})}),
                "expects one entry of 'sizes' for each of the 4 axes, got 3");
}

TEST(ImportWindows, ReasonsOfConv) {
  auto conv = [](const TypeProto &input, const TypeProto &filter, std::vector<AttributeProto> attributes = {}) {
    return one(node("Conv", {"a", "b"}, {"y"}, attributes), {input, filter});
  };
  TypeProto input = f32({1, 2, 8, 8}), filter = f32({4, 2, 3, 3});
  auto list = [](const char *name, std::vector<int64_t> values) { return attribute(name, values); };
  expectInvalid(conv(f32({1, 2}), filter), "expects an input and a filter of one rank, 3 or more, got 'f32[1,2]' "
                                           "and 'f32[4,2,3,3]'");
  expectInvalid(conv(input, f32({4, 2, 0, 3})),
                "expects a filter with at least one element in each dimension, got 'f32[4,2,0,3]'");
  expectInvalid(conv(input, filter, {list("kernel_shape", {5, 5})}),
                "expects 'kernel_shape' to be the filter's, which is 'f32[4,2,3,3]'");
  expectInvalid(conv(input, f32({4, 2, "k", 3}), {list("kernel_shape", {5})}),
                "expects 'kernel_shape' to be the filter's, which is 'f32[4,2,k,3]'");
  expectInvalid(conv(input, filter, {attribute("group", int64_t(0))}), "expects 'group' of at least 1, got 0");
  expectInvalid(conv(input, filter, {list("strides", {2})}), "expects 'strides' with 2 entries, got 1");
  expectInvalid(conv(input, filter, {list("strides", {2, 0})}), "expects 'strides' from 1 to 2147483648, got 0");
  expectInvalid(conv(input, filter, {attribute("auto_pad", "EVEN")}),
                "expects 'auto_pad' to be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got 'EVEN'");
  expectInvalid(one(node("Conv", {"a", "b", "c"}, {"y"}), {input, filter, f32({4, 1})}),
                "expects a bias of one value for each filter, got 'f32[4,1]'");
}

TEST(ImportWindows, ReasonsOfConvTranspose) {
  auto conv = [](const TypeProto &input, const TypeProto &filter, std::vector<AttributeProto> attributes = {}) {
    return one(node("ConvTranspose", {"a", "b"}, {"y"}, attributes), {input, filter});
  };
  TypeProto input = f32({1, 4, 8, 8}), filter = f32({4, 2, 3, 3});
  auto list = [](const char *name, std::vector<int64_t> values) { return attribute(name, values); };
  expectInvalid(conv(f32({1, 4}), filter),
                "expects an input and a filter of one rank, 3 or more, got 'f32[1,4]' and 'f32[4,2,3,3]'");
  expectInvalid(conv(input, filter, {list("kernel_shape", {5, 5})}),
                "expects 'kernel_shape' to be the filter's, which is 'f32[4,2,3,3]'");
  expectInvalid(conv(input, filter, {attribute("group", int64_t(3))}),
                "expects 'group' to divide the 4 channels of the filter, got 3");
  expectInvalid(conv(input, filter, {list("output_shape", {16})}), "expects 'output_shape' with 2 entries, got 1");
  expectInvalid(conv(input, filter, {attribute("auto_pad", "EVEN")}),
                "expects 'auto_pad' to be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got 'EVEN'");
  expectInvalid(one(node("ConvTranspose", {"a", "b", "c"}, {"y"}), {input, filter, f32({4, 1})}),
                "expects a bias of one value for each filter, got 'f32[4,1]'");
}

TEST(ImportWindows, ReasonsOfPooling) {
  AttributeProto kernel = attribute("kernel_shape", std::vector<int64_t>{2, 2});
  expectInvalid(one(node("MaxPool", {"a"}, {"y"}), {f32({1, 2, 8, 8})}), "expects attribute 'kernel_shape', got none");
  expectInvalid(one(node("MaxPool", {"a"}, {"y"}, {kernel}), {f32({1, 2})}),
                "expects an input of 3 or more dimensions, got 'f32[1,2]'");
  expectInvalid(one(node("AveragePool", {"a"}, {"y"}, {kernel}), {i64({1, 2, 8, 8})}),
                "expects f32, f16 or f64 as input 0 in version 21, got 'i64[1,2,8,8]'");
}

} // namespace
} // namespace vx::onnx_test
