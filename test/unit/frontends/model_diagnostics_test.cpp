// One test for each reason that a model as a whole, its tensors and its sizes may be refused for.
#include "expect_issue.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

namespace vx::onnx_test {
namespace {

ModelProto passing(const TypeProto &type) {
  return model(graph({value("x", type)}, {node("Identity", {"x"}, {"y"})}, {value("y")}));
}

TEST(DimMath, Reasons) {
  // As many names as no expression may hold.
  std::vector<ValueInfoProto> inputs;
  Names names;
  for (int i = 0; i < 260; ++i) {
    names.push_back("x" + std::to_string(i));
    inputs.push_back(value(names.back(), f32({"n" + std::to_string(i)})));
  }
  expectUnsupported(
      model(graph(inputs, {node("Concat", names, {"y"}, {attribute("axis", int64_t(0))})}, {value("y")})),
      "expects sizes whose expressions have at most 256 names, numbers and operations together, got 261 in dimension "
      "0, which is made of 'n0', 'n1', 'n10' and 257 more");
  // Each size is short, but their product is not.
  expectUnsupported(model(graph({value("s", f32({"a", "b"})), value("x", f32(Dims(11, "a + b")))}, {}, {value("x")})),
                    "expects tensors whose sizes have a product of at most 1024 terms, got 2048 with dimension 10");
  expectInvalid(passing(f32({int64_t(1) << 40, int64_t(1) << 40})),
                "expects tensors of at most 281474976710656 elements, got more in dimension 1");
  expectInvalid(one(node("ConstantOfShape", {"shape"}, {"y"}), {}, {integers("shape", {1}, {-1})}),
                "expects sizes of at least 0, got -1 as dimension 0");
  expectUnsupported(one(node("Gather", {"a", "b"}, {"y"}), {f32(Dims(32, int64_t(1))), i64({1, 1})}),
                    "expects tensors of at most 32 dimensions, got 33");
  // Each may be a size for some n, but their sum is always -3.
  expectInvalid(model(graph({value("n", f32({"n"})), value("x", f32({"n - 5"})), value("y", f32({"2 - n"}))},
                            {node("Concat", {"x", "y"}, {"z"}, {attribute("axis", int64_t(0))})}, {value("z")})),
                "expects sizes of at least 0, got a negative dimension 0");
}

TEST(ModelImporter, ReasonsOfTypes) {
  TypeProto type = f32({4});
  type.mutable_tensor_type()->clear_shape();
  expectUnsupported(passing(type), "'x' has no shape, expected a known number of dimensions");
  expectUnsupported(passing(f32(Dims(33, int64_t(1)))), "'x': expects at most 32 dimensions, got 33");
  type.Clear();
  *type.mutable_sequence_type()->mutable_elem_type() = sequenceType(F32, {4});
  expectUnsupported(passing(type), "'x' is a sequence of what is not a tensor");
  type.mutable_map_type();
  expectUnsupported(passing(type), "'x' is a map, expected a tensor or a sequence");
  type.mutable_sparse_tensor_type();
  expectUnsupported(passing(type), "'x' is a sparse tensor, expected a tensor or a sequence");
  type.mutable_optional_type();
  expectUnsupported(passing(type), "'x' is an optional of what is neither a tensor nor a sequence");
  expectInvalid(passing(TypeProto()), "'x' has no type");
  expectUnsupported(passing(tensorType(TensorProto::COMPLEX64, {4})),
                    "'x' has complex64 elements, expected numbers, bools or strings");
  for (auto [type, name] :
       {std::pair(TensorProto::FLOAT6E2M3, "float6e2m3"), {TensorProto::FLOAT6E3M2, "float6e3m2"}}) {
    const std::string why = " elements, of which vx has constants that Cast and DequantizeLinear read, and no other "
                            "values";
    expectUnsupported(passing(tensorType(type, {4})), std::string("'x' has ") + name + why);
    expectUnsupported(one(node("Cast", {"a"}, {"y"}, {attribute("to", int64_t(type))}), {f32({4})}, {}, 28),
                      std::string("the result has ") + name + why);
    expectUnsupported(one(node("QuantizeLinear", {"a", "b"}, {"y"}, {attribute("output_dtype", int64_t(type))}),
                          {f32({4}), f32({})}, {}, 28),
                      std::string("the result has ") + name + why);
    auto bytesOf = [](const std::string &tensor, TensorProto::DataType of, const std::string &raw) {
      TensorProto made = integers(tensor, {4}, {});
      made.set_data_type(of);
      made.set_raw_data(raw);
      return made;
    };
    const TensorProto weights = bytesOf("w", type, "abc");
    const std::string named = std::string("tensor 'w' has ") + name + why;
    expectUnsupported(one(node("CastLike", {"a", "w"}, {"y"}), {f32({4})}, {weights}, 28), named);
    expectUnsupported(one(node("QuantizeLinear", {"a", "b", "w"}, {"y"}), {f32({4}), f32({})}, {weights}, 28), named);
    expectUnsupported(one(node("Transpose", {"w"}, {"y"}), {}, {weights}, 28), named);
    expectInvalid(one(node("DequantizeLinear", {"w", "s", "z"}, {"y"}), {},
                      {weights, floats("s", {4}, {1, 1, 1, 1}), bytesOf("z", TensorProto::FLOAT8E4M3FN, "abcd")}, 28),
                  "expects inputs 0 and 2 of one type, got one of 6 bits and another");
    expectUnsupported(
        model(graph({value("x", f32({4}))}, {node("Relu", {"x"}, {"y"}), weights}, {value("y"), value("w")})), named);
  }
  expectInvalid(passing(tensorType(99, {4})), "'x' has an unknown element type: expected 1 to 28, got 99");
}

TEST(ModelImporter, ReasonsOfGraphs) {
  expectInvalid(model(graph({value("x", f32({4}))}, {floats("", {1}, {1})}, {value("x")})),
                "expects each initializer to have a name");
  expectInvalid(model(graph({value("", f32({4})), value("x", f32({4}))}, {}, {value("x")})),
                "expects each input to have a name");
  expectInvalid(model(graph({value("x", f32({4}))}, {}, {value("x"), value("x")})),
                "expects each output once, but 'x' is listed twice");
  expectInvalid(model(graph({value("x", f32({4}))}, {}, {value("y")})),
                "expects a value for output 'y', but no node makes it");
  expectInvalid(model(graph({value("x", f32({4}))}, {}, {})), "expects a graph with at least 1 output, got 0");
  expectInvalid(model(graph({value("x", sequenceType(F32, {4}))}, {}, {value("x", f32({4}))})),
                "output 'x': expects the tensor that the graph states, got 'sequence of f32[4]'");
  expectInvalid(model(graph({value("x", f32({4}))}, {}, {value("x", i64({4}))})),
                "output 'x': expects the element type that the graph states: 'i64', got 'f32[4]'");
  ModelProto sparse = passing(f32({4}));
  sparse.mutable_graph()->add_sparse_initializer()->mutable_values()->set_name("w");
  expectUnsupported(sparse, "tensor 'w' is sparse, expected dense initializers");
}

TEST(ModelImporter, ReasonsOfVersions) {
  ModelProto proto = passing(f32({4}));
  proto.set_ir_version(99);
  expectUnsupported(proto, "expects IR version 1 to 14, got 99");
  proto = passing(f32({4}));
  proto.mutable_opset_import(0)->set_version(0);
  expectInvalid(proto, "expects versions of domain 'ai.onnx' from 1 on, got 0");
  proto.mutable_opset_import(0)->set_version(99);
  expectUnsupported(proto, "expects version 1 to 28 of domain 'ai.onnx', got 99");
  proto = passing(f32({4}));
  proto.clear_opset_import();
  expectInvalid(proto, "the model imports no version of domain 'ai.onnx'");
  proto = passing(f32({4}));
  proto.mutable_graph()->mutable_node(0)->set_domain("own");
  auto *domain = proto.add_opset_import();
  domain->set_domain("own");
  domain->set_version(1);
  expectUnsupported(proto, "domain 'own' is not known, expected 'ai.onnx', 'ai.onnx.ml', 'ai.onnx.preview.training', "
                           "'com.microsoft' or a function of the "
                           "model");
  expectUnsupported(one(node("Cast", {"a"}, {"y"}, {attribute("to", "FLOAT")}), {i64({4})}, {}, 5),
                    "version 5 of the op is not imported, expected 6 to 28");
}

/// A model that calls its function "f" of domain "own", which has one input "p" and one output "q".
ModelProto calling(const std::vector<NodeProto> &body, const Names &inputs = {"x"}) {
  NodeProto call = node("f", inputs, {"y"});
  call.set_domain("own");
  ModelProto proto = model(graph({value("x", f32({4}))}, {call}, {value("y")}));
  auto *domain = proto.add_opset_import();
  domain->set_domain("own");
  domain->set_version(1);
  onnx::FunctionProto &function = *proto.add_functions();
  function.set_name("f");
  function.set_domain("own");
  function.add_input("p");
  function.add_output("q");
  function.add_opset_import()->set_version(21);
  for (const NodeProto &one : body)
    *function.add_node() = one;
  return proto;
}

TEST(ModelImporter, ReasonsOfFunctions) {
  expectInvalid(calling({node("Relu", {"p"}, {"r"})}), "function 'f' makes no value for output 'y'");
  expectInvalid(calling({node("Relu", {"p"}, {"q"})}, {"x", "x"}), "function 'f' has 1 input, got 2");
  ModelProto proto = calling({node("Relu", {"p"}, {"q"})});
  proto.mutable_functions(0)->mutable_opset_import(0)->set_version(99);
  proto.mutable_graph()->mutable_node(0)->set_op_type("Relu"); // nothing calls it
  proto.mutable_graph()->mutable_node(0)->clear_domain();
  expectUnsupported(proto, "function 'f': expects version 1 to 28 of domain 'ai.onnx', got 99");
}

TEST(ModelImporter, RefusesEndlessNestingAndGrowth) {
  // Functions that call the next one twice: 2^20 nodes from 20 functions, but first too deep.
  ModelProto proto = calling({node("Relu", {"p"}, {"q"})});
  proto.mutable_functions(0)->clear_node();
  auto call = [](const std::string &name, const std::string &input, const std::string &output) {
    NodeProto one = node(name, {input}, {output});
    one.set_domain("own");
    return one;
  };
  const onnx::FunctionProto pattern = proto.functions(0);
  proto.clear_functions();
  auto chain = [&](int depth, int calls) {
    ModelProto result = proto;
    for (int i = 0; i <= depth; ++i) {
      onnx::FunctionProto function = pattern;
      function.set_name(i == 0 ? "f" : "f" + std::to_string(i));
      auto *own = function.add_opset_import();
      own->set_domain("own");
      own->set_version(1);
      std::string at = "p";
      for (int k = 0; k < calls; ++k) {
        std::string next = k + 1 == calls ? "q" : "t" + std::to_string(k);
        *function.add_node() =
            i == depth ? node("Identity", {at}, {next}) : call("f" + std::to_string(i + 1), at, next);
        at = next;
      }
      *result.add_functions() = function;
    }
    return result;
  };
  expectUnsupported(chain(20, 1), "expects at most 16 subgraphs, functions and gradients inside of one another");
  expectUnsupported(chain(3, 40), "expects at most 1000000 nodes, with those of functions at each call");
}

TEST(NodeImporter, Reasons) {
  expectInvalid(one(node("Reshape", {"a", "b"}, {"y"}), {f32({4}), f32({1})}),
                "expects i64 as input 1 in version 21, got 'f32[1]'");
  expectUnsupported(one(node("Reshape", {"a", "b"}, {"y"}), {f32({4}), i64({"n"})}),
                    "expects input 1 ('b') to be a list of known length, got 'i64[n]'");
  expectUnsupported(one(node("Reshape", {"a", "b"}, {"y"}), {f32({4}), i64({33})}),
                    "expects at most 32 values that are known at run time only in input 1, got 33");
  expectInvalid(one(node("Cast", {"a"}, {"y"}), {f32({4})}), "expects attribute 'to', got none");
  expectInvalid(one(node("Softmax", {"a"}, {"y"}, {attribute("axis", 1.0f)}), {f32({4})}),
                "expects attribute 'axis' to be an int, got a float");
  expectInvalid(one(node("Softmax", {"a"}, {"y"}, {attribute("axis", int64_t(1))}), {f32({4})}),
                "expects 'axis' from -1 to 0, got 1");
  expectInvalid(one(node("Add", {"a"}, {"y"}), {f32({4})}), "expects at least 2 inputs, got 1");
  expectInvalid(one(node("Relu", {"nothing"}, {"y"}), {f32({4})}),
                "expects a value 'nothing', but nothing before the node makes it");
}

class ExternalData : public ::testing::Test {
protected:
  ExternalData() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("vx-external-data-test", folder));
    llvm::SmallString<128> file = folder;
    llvm::sys::path::append(file, "w.bin");
    std::error_code error;
    llvm::raw_fd_ostream(file, error) << "0123456789abcdef";
    llvm::sys::path::remove_filename(file);
    llvm::sys::path::append(file, "sub");
    EXPECT_FALSE(llvm::sys::fs::create_directory(file));
  }
  ~ExternalData() override { llvm::sys::fs::remove_directories(folder); }

  using Entries = std::vector<std::pair<const char *, const char *>>;
  void expect(const Entries &entries, const std::string &reason, llvm::StringRef where) {
    TensorProto weights = floats("w", {4}, {});
    weights.set_data_location(TensorProto::EXTERNAL);
    for (auto [key, text] : entries) {
      auto *entry = weights.add_external_data();
      entry->set_key(key);
      entry->set_value(text);
    }
    expectInvalid(one(node("Add", {"a", "w"}, {"y"}), {f32({4})}, {weights}), reason, where.str());
  }
  void expect(const Entries &entries, const std::string &reason) { expect(entries, reason, folder); }

  llvm::SmallString<128> folder;
};

TEST_F(ExternalData, Reasons) {
  expect({{"location", "w.bin"}}, "tensor 'w': its data is in 'w.bin', but the model has no folder", "");
  expect({{"location", "../w.bin"}},
         "tensor 'w': expects external data at a plain path inside of the model's folder, got '../w.bin'");
  expect({{"location", "w.bin"}}, "tensor 'w': cannot open the model's folder '/no/such': No such file or directory",
         "/no/such");
  expect({{"location", "none.bin"}}, "tensor 'w': cannot open external data 'none.bin': No such file or directory");
  expect({{"location", "sub"}}, "tensor 'w': expects external data 'sub' to be a regular file");
  expect({{"location", "w.bin"}, {"offset", "far"}},
         "tensor 'w': expects 'offset' of its external data to be a number, got 'far'");
  expect({{"location", "w.bin"}, {"offset", "17"}},
         "tensor 'w': expects its external data at offset 17, but 'w.bin' has 16 bytes");
  expect({{"location", "w.bin"}, {"length", "12"}}, "tensor 'w': expects 16 bytes of external data, got 12");
  expect({{"location", "w.bin"}, {"offset", "4"}, {"length", "16"}},
         "tensor 'w': expects 16 bytes at offset 4 of 'w.bin', but the file has 16 bytes");
}

TEST(TensorReader, Reasons) {
  auto adding = [](const TensorProto &weights) { return one(node("Add", {"a", "w"}, {"y"}), {f32({4})}, {weights}); };
  TensorProto weights = floats("w", {4}, {1, 2, 3, 4});
  weights.mutable_segment();
  expectUnsupported(adding(weights), "tensor 'w' is stored in segments, expected whole tensors");
  expectUnsupported(adding(floats("w", std::vector<int64_t>(33, 1), {1})),
                    "tensor 'w': expects at most 32 dimensions, got 33");
  expectInvalid(adding(floats("w", {-1}, {1})), "tensor 'w': expects dimensions of at least 0, got -1");
  expectInvalid(adding(floats("w", {int64_t(1) << 40, int64_t(1) << 40}, {1})),
                "tensor 'w': expects at most 281474976710656 elements, got more");
  expectInvalid(adding(floats("w", {4}, {1, 2})), "tensor 'w': expects 4 values, got 2");
  weights = floats("w", {4}, {});
  weights.set_raw_data("123");
  expectInvalid(adding(weights), "tensor 'w': expects 16 bytes of raw data, got 3");
  weights.set_data_type(TensorProto::FLOAT6E2M3); // 4 elements in 3 bytes
  weights.set_raw_data("1234");
  expectInvalid(adding(weights), "tensor 'w': expects 3 bytes of raw data, got 4");
  weights.clear_raw_data();
  for (int code : {0, 63, 64, 1})
    weights.add_int32_data(code);
  expectInvalid(adding(weights), "tensor 'w': expects values of 6 bits without a sign, got 64");
  weights.set_int32_data(2, -1);
  expectInvalid(adding(weights), "tensor 'w': expects values of 6 bits without a sign, got -1");
  weights.add_int32_data(0);
  expectInvalid(adding(weights), "tensor 'w': expects 4 values, got 5");
  weights.set_raw_data("123");
  expectInvalid(adding(weights), "tensor 'w': expects its values in one field, got some in raw_data and in int32_data");
  weights.clear_raw_data();
  weights.set_data_type(99);
  expectInvalid(adding(weights), "tensor 'w' has an unknown element type: expected 1 to 28, got 99");
}

} // namespace
} // namespace vx::onnx_test
