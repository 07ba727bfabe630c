// The safetensors format: 8 bytes with the size of a header, the header as JSON, the tensors' bytes.
//
//   {"__metadata__":{"key":"text"},"weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}
#ifndef VX_TRAIN_SAFETENSORS_H
#define VX_TRAIN_SAFETENSORS_H

#include "vx/runtime/vx.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vx::train {

struct SafeTensor {
  std::string name;
  vx_element_type type = VX_ELEMENT_NONE;
  std::vector<int64_t> dims;
  std::span<const uint8_t> bytes;
};

struct SafeTensors {
  std::map<std::string, std::string> metadata;
  std::vector<SafeTensor> tensors; // in the order of the header; their bytes are those of the file
};

// Takes nothing on trust: sizes, offsets and names are checked against the bytes that are there. False with a reason
// that follows the file's name: "truncated: the tensors need 24 bytes, got 7".
bool parseSafeTensors(std::span<const uint8_t> file, SafeTensors &result, std::string &error);

// What stands before the bytes of the tensors, which follow in their order, one behind the other. Each begins at a
// multiple of its element's size when larger elements come first.
std::vector<uint8_t> safeTensorsHeader(const SafeTensors &content);

// "F32"; null for a type that the format has no name for.
const char *safeTensorTypeName(vx_element_type type);

} // namespace vx::train

#endif
