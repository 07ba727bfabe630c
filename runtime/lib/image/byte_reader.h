// Numbers of a file, the least byte first, that is read at places which the file itself names.
#ifndef VX_RUNTIME_IMAGE_BYTE_READER_H
#define VX_RUNTIME_IMAGE_BYTE_READER_H

#include <cstdint>
#include <span>

namespace vx::image {

// Whoever reads has asked `has` before.
class ByteReader {
public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  bool has(uint64_t offset, uint64_t size) const { return offset <= bytes.size() && size <= bytes.size() - offset; }
  const uint8_t *at(uint64_t offset) const { return bytes.data() + offset; }
  uint16_t u16(uint64_t offset) const { return static_cast<uint16_t>(at(offset)[0] | at(offset)[1] << 8); }
  uint32_t u32(uint64_t offset) const { return u16(offset) | static_cast<uint32_t>(u16(offset + 2)) << 16; }

private:
  std::span<const uint8_t> bytes;
};

} // namespace vx::image

#endif
