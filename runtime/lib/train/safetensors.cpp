#include "safetensors.h"

#include "failure.h"
#include "json_text.h"
#include "vx/base/safetensors.h"

#include <fmt/ranges.h>

#include <cstring>

namespace vx::train {

namespace {

constexpr char MetadataKey[] = "__metadata__";

vx_element_type typeOf(const SafeTensorType &type) {
  int number = VX_BOOL;
  while (number < VX_STRING &&
         std::strcmp(vx_element_type_name(static_cast<vx_element_type>(number)), type.vxName) != 0)
    ++number;
  return static_cast<vx_element_type>(number);
}

} // namespace

const char *safeTensorTypeName(vx_element_type type) {
  const SafeTensorType *known = findSafeTensorType(vx_element_type_name(type));
  return known ? known->name : nullptr;
}

bool parseSafeTensors(std::span<const uint8_t> file, SafeTensors &result, std::string &error) {
  result = {};
  SafeTensorsFile content;
  if (!vx::parseSafeTensors(file, content, error))
    return false;
  result.metadata = std::move(content.metadata);
  for (SafeTensorEntry &tensor : content.tensors)
    result.tensors.push_back({std::move(tensor.name), typeOf(*tensor.type), std::move(tensor.dims), tensor.bytes});
  return true;
}

std::vector<uint8_t> safeTensorsHeader(const SafeTensors &content) {
  std::string text = "{";
  auto member = [&](const std::string &name) { text += (text.back() == '{' ? "" : ",") + jsonString(name) + ":"; };
  if (!content.metadata.empty()) {
    member(MetadataKey);
    text += '{';
    for (const auto &[key, value] : content.metadata) {
      member(key);
      text += jsonString(value);
    }
    text += '}';
  }
  uint64_t next = 0;
  for (const SafeTensor &tensor : content.tensors) {
    member(tensor.name);
    text += fmt::format("{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", safeTensorTypeName(tensor.type),
                        fmt::join(tensor.dims, ","), next, next + tensor.bytes.size());
    next += tensor.bytes.size();
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::vector<uint8_t> bytes(8);
  for (size_t i = 0; i < 8; ++i)
    bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(text.size()) >> 8 * i);
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

} // namespace vx::train
