#include "host_values.h"

#include <algorithm>

namespace vx::tools {

using reference::ElementType;
using reference::HostOptionalSequence;
using reference::HostSequence;
using reference::HostTensor;
using reference::HostValue;

static constexpr std::pair<vx_element_type, ElementType> types[] = {
    {VX_BOOL, ElementType::Bool},
    {VX_I2, ElementType::I2},
    {VX_I4, ElementType::I4},
    {VX_I8, ElementType::I8},
    {VX_I16, ElementType::I16},
    {VX_I32, ElementType::I32},
    {VX_I64, ElementType::I64},
    {VX_U2, ElementType::U2},
    {VX_U4, ElementType::U4},
    {VX_U8, ElementType::U8},
    {VX_U16, ElementType::U16},
    {VX_U32, ElementType::U32},
    {VX_U64, ElementType::U64},
    {VX_F16, ElementType::F16},
    {VX_BF16, ElementType::BF16},
    {VX_F32, ElementType::F32},
    {VX_F64, ElementType::F64},
    {VX_F8E4M3FN, ElementType::F8E4M3FN},
    {VX_F8E4M3FNUZ, ElementType::F8E4M3FNUZ},
    {VX_F8E5M2, ElementType::F8E5M2},
    {VX_F8E5M2FNUZ, ElementType::F8E5M2FNUZ},
    {VX_F8E8M0, ElementType::F8E8M0FNU},
    {VX_F4E2M1, ElementType::F4E2M1FN},
};

vx_element_type toRuntimeType(ElementType type) {
  return std::find_if(std::begin(types), std::end(types), [&](auto &pair) { return pair.second == type; })->first;
}

static ElementType toHostType(vx_element_type type) {
  return std::find_if(std::begin(types), std::end(types), [&](auto &pair) { return pair.first == type; })->second;
}

Tensor toTensor(const HostTensor &tensor) {
  return {toRuntimeType(tensor.getElementType()), tensor.getShape().vec(), tensor.getBytes().vec()};
}

Value toValue(const HostValue &value) {
  Value result;
  if (const auto *tensor = std::get_if<HostTensor>(&value)) {
    result.tensors.push_back(toTensor(*tensor));
  } else {
    const auto *optional = std::get_if<HostOptionalSequence>(&value);
    result.kind = optional ? VX_OPTIONAL_SEQUENCE : VX_SEQUENCE;
    result.isNone = optional && !*optional;
    if (!result.isNone)
      for (const HostTensor &tensor : optional ? **optional : std::get<HostSequence>(value))
        result.tensors.push_back(toTensor(tensor));
  }
  if (!result.tensors.empty())
    result.type = result.tensors.front().type;
  return result;
}

HostTensor toHostTensor(const Tensor &tensor) {
  HostTensor result(toHostType(tensor.type), tensor.dims);
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), result.getMutableBytes().begin());
  return result;
}

HostValue toHostValue(const Value &value) {
  if (value.kind == VX_TENSOR)
    return toHostTensor(value.tensors.front());
  HostSequence sequence;
  for (const Tensor &tensor : value.tensors)
    sequence.push_back(toHostTensor(tensor));
  if (value.kind == VX_OPTIONAL_SEQUENCE)
    return value.isNone ? HostOptionalSequence() : HostOptionalSequence(std::move(sequence));
  return sequence;
}

} // namespace vx::tools
