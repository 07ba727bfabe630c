// The header of a .npy file: what its elements are and where they lie.
#ifndef VX_BASE_NPY_HEADER_H
#define VX_BASE_NPY_HEADER_H

#include <span>
#include <string>
#include <vector>

#include <cstddef>
#include <cstdint>

namespace vx {

struct NpyHeader {
  char order = '|'; // '<', '>', '|' or '='
  char kind = 0;    // 'b', 'i', 'u', 'f', 'V' and others
  uint64_t itemSize = 0;
  bool fortranOrder = false;
  std::vector<int64_t> dims; // each 0 or more
  size_t dataOffset = 0;     // not behind the end of the bytes
};

// Reads the header of version 1, 2 or 3 at the beginning of a file's bytes, as much of Python's syntax as NumPy writes.
// False with a reason that follows the file's name: "truncated .npy header: expected 9 bytes, got 0".
bool parseNpyHeader(std::span<const uint8_t> bytes, NpyHeader &header, std::string &error);

} // namespace vx

#endif
