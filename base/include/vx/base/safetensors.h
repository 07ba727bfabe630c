// The tensors of a safetensors file: 8 bytes with the size of a header, the header as JSON, the tensors' bytes.
//
//   {"__metadata__":{"key":"text"},"weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}
#ifndef VX_BASE_SAFETENSORS_H
#define VX_BASE_SAFETENSORS_H

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cstdint>

namespace vx {

struct SafeTensorType {
  const char *name;   // "F32"
  const char *vxName; // "f32", as vx_element_type_name has it
  uint32_t bits;
};

// By the name of vx; null for a type that the format has no name for.
const SafeTensorType *findSafeTensorType(std::string_view vxName);

struct SafeTensorEntry {
  std::string name;
  const SafeTensorType *type = nullptr; // never null in a result
  std::vector<int64_t> dims;            // each 0 or more
  std::span<const uint8_t> bytes;       // of the file
};

struct SafeTensorsFile {
  std::map<std::string, std::string> metadata;
  std::vector<SafeTensorEntry> tensors; // in the order of the header
};

// Takes nothing on trust: sizes, offsets and names are checked against the bytes that are there. False with a reason
// that follows the file's name: "truncated: the tensors need 24 bytes, got 7".
bool parseSafeTensors(std::span<const uint8_t> file, SafeTensorsFile &result, std::string &error);

} // namespace vx

#endif
