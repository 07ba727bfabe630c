#include "tensor_file.h"

#include "input_file.h"
#include "onnx_wire.pb.h"
#include "tool_error.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace vx::tools {

namespace pb = vx::onnx;

// ONNX's number of an element type.
static constexpr struct {
  int number;
  vx_element_type type;
} Types[] = {{1, VX_F32},  {2, VX_U8},     {3, VX_I8},        {4, VX_U16},         {5, VX_I16},     {6, VX_I32},
             {7, VX_I64},  {8, VX_STRING}, {9, VX_BOOL},      {10, VX_F16},        {11, VX_F64},    {12, VX_U32},
             {13, VX_U64}, {16, VX_BF16},  {17, VX_F8E4M3FN}, {18, VX_F8E4M3FNUZ}, {19, VX_F8E5M2}, {20, VX_F8E5M2FNUZ},
             {21, VX_U4},  {22, VX_I4},    {23, VX_F4E2M1},   {24, VX_F8E8M0},     {25, VX_U2},     {26, VX_I2}};

// What SequenceProto and OptionalProto say of their elements.
static constexpr int ElementIsTensor = 1, ElementIsSequence = 3;

static void appendBytes(std::vector<uint8_t> &bytes, const void *data, size_t size) {
  const auto *from = static_cast<const uint8_t *>(data);
  bytes.insert(bytes.end(), from, from + size);
}

static Tensor toTensor(const std::string &path, const pb::TensorProto &proto) {
  Tensor tensor;
  for (const auto &known : Types)
    if (known.number == proto.data_type())
      tensor.type = known.type;
  if (tensor.type == VX_ELEMENT_NONE)
    throw fileError("{}: tensor '{}' has the element type {}, which is not supported", path, proto.name(),
                    proto.data_type());
  if (proto.data_location() == pb::TensorProto::EXTERNAL)
    throw fileError("{}: tensor '{}' has its data in another file, which is not supported here", path, proto.name());
  if (proto.has_segment())
    throw fileError("{}: tensor '{}' is a segment, which is not supported", path, proto.name());
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  const std::optional<uint64_t> count = elementCount(tensor.type, tensor.dims);
  if (!count)
    throw fileError("{}: tensor '{}' of {} has a negative or too large size", path, proto.name(),
                    typeText(tensor.type, tensor.dims));

  if (tensor.type == VX_STRING) {
    tensor.strings.assign(proto.string_data().begin(), proto.string_data().end());
    if (tensor.strings.size() != *count)
      throw fileError("{}: expected {} strings for tensor '{}' of {}, got {}", path, *count, proto.name(),
                      typeText(tensor.type, tensor.dims), tensor.strings.size());
    return tensor;
  }
  const uint64_t wanted = byteCount(tensor.type, *count);
  const uint32_t bits = vx_element_type_bits(tensor.type);
  if (proto.has_raw_data()) {
    appendBytes(tensor.bytes, proto.raw_data().data(), proto.raw_data().size());
  } else if (tensor.type == VX_F32) {
    appendBytes(tensor.bytes, proto.float_data().data(), sizeof(float) * static_cast<size_t>(proto.float_data_size()));
  } else if (tensor.type == VX_F64) {
    appendBytes(tensor.bytes, proto.double_data().data(),
                sizeof(double) * static_cast<size_t>(proto.double_data_size()));
  } else if (tensor.type == VX_I64) {
    appendBytes(tensor.bytes, proto.int64_data().data(),
                sizeof(int64_t) * static_cast<size_t>(proto.int64_data_size()));
  } else if (tensor.type == VX_U32 || tensor.type == VX_U64) {
    for (uint64_t value : proto.uint64_data())
      appendBytes(tensor.bytes, &value, bits / 8);
  } else {
    // Everything narrower lies in the low bits of an int32; 4- and 2-bit elements are packed into bytes first.
    for (int32_t value : proto.int32_data())
      appendBytes(tensor.bytes, &value, std::max(bits / 8, 1u));
  }
  if (tensor.bytes.size() != wanted)
    throw fileError("{}: expected {} bytes of data for tensor '{}' of {}, got {}", path, wanted, proto.name(),
                    typeText(tensor.type, tensor.dims), tensor.bytes.size());
  return tensor;
}

template <typename Message>
static Message parse(const std::string &path, std::span<const uint8_t> bytes, const char *what) {
  Message message;
  if (bytes.size() > INT_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw fileError("{}: not a {} of ONNX", path, what);
  return message;
}

static void addTensors(const std::string &path, const pb::SequenceProto &proto, std::vector<Tensor> &tensors) {
  if (proto.elem_type() > ElementIsTensor)
    throw fileError("{}: sequence '{}' has elements of kind {}, supported are tensors", path, proto.name(),
                    proto.elem_type());
  for (const pb::TensorProto &tensor : proto.tensor_values())
    tensors.push_back(toTensor(path, tensor));
}

Value parseTensorFile(const std::string &path, std::span<const uint8_t> bytes, vx_value_kind kind) {
  Value value;
  value.kind = kind;
  if (kind == VX_TENSOR) {
    value.tensors.push_back(toTensor(path, parse<pb::TensorProto>(path, bytes, "TensorProto")));
  } else if (kind == VX_SEQUENCE) {
    addTensors(path, parse<pb::SequenceProto>(path, bytes, "SequenceProto"), value.tensors);
  } else {
    const auto proto = parse<pb::OptionalProto>(path, bytes, "OptionalProto");
    const int wanted = kind == VX_OPTIONAL ? ElementIsTensor : ElementIsSequence;
    if (proto.elem_type() != 0 && proto.elem_type() != wanted) // 0: it holds none
      throw fileError("{}: optional '{}' has an element of kind {}, expected a {}", path, proto.name(),
                      proto.elem_type(), kind == VX_OPTIONAL ? "tensor" : "sequence");
    value.isNone = kind == VX_OPTIONAL_SEQUENCE && !proto.has_sequence_value();
    if (kind == VX_OPTIONAL_SEQUENCE)
      addTensors(path, proto.sequence_value(), value.tensors);
    else if (proto.has_tensor_value())
      value.tensors.push_back(toTensor(path, proto.tensor_value()));
  }
  if (!value.tensors.empty())
    value.type = value.tensors.front().type;
  return value;
}

Value readTensorFile(const std::string &path, vx_value_kind kind) {
  return parseTensorFile(path, readFile(path), kind);
}

static void fromTensor(const Tensor &tensor, pb::TensorProto &proto) {
  for (int64_t dim : tensor.dims)
    proto.add_dims(dim);
  for (const auto &known : Types)
    if (known.type == tensor.type)
      proto.set_data_type(known.number);
  if (tensor.type == VX_STRING)
    proto.mutable_string_data()->Assign(tensor.strings.begin(), tensor.strings.end());
  else
    proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

static void fromTensors(const std::vector<Tensor> &tensors, pb::SequenceProto &proto) {
  proto.set_elem_type(ElementIsTensor);
  for (const Tensor &tensor : tensors)
    fromTensor(tensor, *proto.add_tensor_values());
}

std::vector<uint8_t> formatTensorFile(const std::string &name, const Value &value) {
  std::string text;
  if (value.kind == VX_TENSOR) {
    pb::TensorProto proto;
    fromTensor(value.tensors.front(), proto);
    proto.set_name(name);
    text = proto.SerializeAsString();
  } else if (value.kind == VX_SEQUENCE) {
    pb::SequenceProto proto;
    proto.set_name(name);
    fromTensors(value.tensors, proto);
    text = proto.SerializeAsString();
  } else {
    pb::OptionalProto proto;
    proto.set_name(name);
    proto.set_elem_type(value.kind == VX_OPTIONAL ? ElementIsTensor : ElementIsSequence);
    if (value.kind == VX_OPTIONAL_SEQUENCE && !value.isNone)
      fromTensors(value.tensors, *proto.mutable_sequence_value());
    else if (!value.tensors.empty())
      fromTensor(value.tensors.front(), *proto.mutable_tensor_value());
    text = proto.SerializeAsString();
  }
  return std::vector<uint8_t>(text.begin(), text.end());
}

} // namespace vx::tools
