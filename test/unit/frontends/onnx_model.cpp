#include "onnx_model.h"

namespace vx::onnx_test {

static void fill(TypeProto::Tensor &tensor, int elementType, const Dims &dims) {
  tensor.set_elem_type(elementType);
  onnx::TensorShapeProto &shape = *tensor.mutable_shape();
  for (const Dim &dim : dims) {
    if (const auto *size = std::get_if<int64_t>(&dim))
      shape.add_dim()->set_dim_value(*size);
    else
      shape.add_dim()->set_dim_param(std::get<std::string>(dim));
  }
}

TypeProto tensorType(int elementType, const Dims &dims) {
  TypeProto type;
  fill(*type.mutable_tensor_type(), elementType, dims);
  return type;
}

TypeProto sequenceType(int elementType, const Dims &dims) {
  TypeProto type;
  fill(*type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type(), elementType, dims);
  return type;
}

ValueInfoProto value(const std::string &name) {
  ValueInfoProto info;
  info.set_name(name);
  return info;
}

ValueInfoProto value(const std::string &name, const TypeProto &type) {
  ValueInfoProto info = value(name);
  *info.mutable_type() = type;
  return info;
}

static TensorProto tensor(const std::string &name, int dataType, const std::vector<int64_t> &dims) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(dataType);
  for (int64_t dim : dims)
    proto.add_dims(dim);
  return proto;
}

TensorProto integers(const std::string &name, const std::vector<int64_t> &dims, const std::vector<int64_t> &elements) {
  TensorProto proto = tensor(name, I64, dims);
  for (int64_t element : elements)
    proto.add_int64_data(element);
  return proto;
}

TensorProto floats(const std::string &name, const std::vector<int64_t> &dims, const std::vector<float> &elements) {
  TensorProto proto = tensor(name, F32, dims);
  for (float element : elements)
    proto.add_float_data(element);
  return proto;
}

TensorProto bools(const std::string &name, const std::vector<int64_t> &dims, const std::vector<int> &elements) {
  TensorProto proto = tensor(name, BOOL, dims);
  for (int element : elements)
    proto.add_int32_data(element);
  return proto;
}

static AttributeProto attribute(const std::string &name, AttributeProto::AttributeType type) {
  AttributeProto proto;
  proto.set_name(name);
  proto.set_type(type);
  return proto;
}

AttributeProto attribute(const std::string &name, int64_t number) {
  AttributeProto proto = attribute(name, AttributeProto::INT);
  proto.set_i(number);
  return proto;
}

AttributeProto attribute(const std::string &name, float number) {
  AttributeProto proto = attribute(name, AttributeProto::FLOAT);
  proto.set_f(number);
  return proto;
}

AttributeProto attribute(const std::string &name, const char *text) {
  AttributeProto proto = attribute(name, AttributeProto::STRING);
  proto.set_s(text);
  return proto;
}

AttributeProto attribute(const std::string &name, const std::vector<int64_t> &numbers) {
  AttributeProto proto = attribute(name, AttributeProto::INTS);
  for (int64_t number : numbers)
    proto.add_ints(number);
  return proto;
}

AttributeProto attribute(const std::string &name, const Names &texts) {
  AttributeProto proto = attribute(name, AttributeProto::STRINGS);
  for (const std::string &text : texts)
    proto.add_strings(text);
  return proto;
}

AttributeProto attribute(const std::string &name, const TensorProto &tensor) {
  AttributeProto proto = attribute(name, AttributeProto::TENSOR);
  *proto.mutable_t() = tensor;
  return proto;
}

AttributeProto attribute(const std::string &name, const GraphProto &graph) {
  AttributeProto proto = attribute(name, AttributeProto::GRAPH);
  *proto.mutable_g() = graph;
  return proto;
}

NodeProto node(const std::string &opType, const Names &inputs, const Names &outputs,
               const std::vector<AttributeProto> &attributes) {
  NodeProto proto;
  proto.set_name("n");
  proto.set_op_type(opType);
  for (const std::string &input : inputs)
    proto.add_input(input);
  for (const std::string &output : outputs)
    proto.add_output(output);
  for (const AttributeProto &one : attributes)
    *proto.add_attribute() = one;
  return proto;
}

GraphProto graph(const std::vector<ValueInfoProto> &inputs, const std::vector<Part> &parts,
                 const std::vector<ValueInfoProto> &outputs) {
  GraphProto proto;
  proto.set_name("g");
  for (const ValueInfoProto &input : inputs)
    *proto.add_input() = input;
  for (const Part &part : parts) {
    if (const auto *one = std::get_if<NodeProto>(&part))
      *proto.add_node() = *one;
    else
      *proto.add_initializer() = std::get<TensorProto>(part);
  }
  for (const ValueInfoProto &output : outputs)
    *proto.add_output() = output;
  return proto;
}

ModelProto model(const GraphProto &graph, int64_t opset) {
  ModelProto proto;
  proto.set_ir_version(10);
  *proto.mutable_graph() = graph;
  proto.add_opset_import()->set_version(opset);
  return proto;
}

} // namespace vx::onnx_test
