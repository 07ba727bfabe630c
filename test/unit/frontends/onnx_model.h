// ONNX models for tests, made field by field, so that a test can also make wrong ones.
#ifndef VX_TEST_UNIT_FRONTENDS_ONNX_MODEL_H
#define VX_TEST_UNIT_FRONTENDS_ONNX_MODEL_H

#include "onnx_wire.pb.h"

#include <string>
#include <variant>
#include <vector>

namespace vx::onnx_test {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;
using onnx::TypeProto;
using onnx::ValueInfoProto;

constexpr int F32 = TensorProto::FLOAT, F64 = TensorProto::DOUBLE, I32 = TensorProto::INT32, I64 = TensorProto::INT64,
              BOOL = TensorProto::BOOL;

/// A size, or the text of a symbolic one.
using Dim = std::variant<int64_t, std::string>;
using Dims = std::vector<Dim>;
using Names = std::vector<std::string>;

TypeProto tensorType(int elementType, const Dims &dims);
TypeProto sequenceType(int elementType, const Dims &dims);
ValueInfoProto value(const std::string &name, const TypeProto &type);
/// A value without a type, as outputs may be.
ValueInfoProto value(const std::string &name);

TensorProto integers(const std::string &name, const std::vector<int64_t> &dims, const std::vector<int64_t> &elements);
TensorProto floats(const std::string &name, const std::vector<int64_t> &dims, const std::vector<float> &elements);
TensorProto bools(const std::string &name, const std::vector<int64_t> &dims, const std::vector<int> &elements);

AttributeProto attribute(const std::string &name, int64_t number);
AttributeProto attribute(const std::string &name, float number);
AttributeProto attribute(const std::string &name, const char *text);
AttributeProto attribute(const std::string &name, const std::vector<int64_t> &numbers);
AttributeProto attribute(const std::string &name, const Names &texts);
AttributeProto attribute(const std::string &name, const TensorProto &tensor);
AttributeProto attribute(const std::string &name, const GraphProto &graph);

NodeProto node(const std::string &opType, const Names &inputs, const Names &outputs,
               const std::vector<AttributeProto> &attributes = {});

/// What a graph is made of, in any order.
using Part = std::variant<NodeProto, TensorProto>;
GraphProto graph(const std::vector<ValueInfoProto> &inputs, const std::vector<Part> &parts,
                 const std::vector<ValueInfoProto> &outputs);

/// A model of one graph over the default domain.
ModelProto model(const GraphProto &graph, int64_t opset = 21);

} // namespace vx::onnx_test

#endif
