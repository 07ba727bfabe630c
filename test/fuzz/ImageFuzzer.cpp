// Feeds bytes to libvx_image: they become an image, each sample of which is written, or an error with a message.
#include "vx/abi/image.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
extern "C" int32_t vx_image_decode(const vx_image_request *request);

namespace vx::fuzz {

namespace {

// What a call gives to a caller whose memory holds `pattern`.
struct DecodedImage {
  int32_t result = 0;
  uint64_t samples = 0; // of a pixel
  uint8_t pattern = 0;
  std::vector<uint8_t> bytes;
};

void check(bool condition) {
  if (!condition)
    std::abort();
}

DecodedImage decode(const uint8_t *data, size_t size, uint32_t layout, uint8_t pattern) {
  DecodedImage image;
  image.samples = layout == VX_IMAGE_GRAYSCALE ? 1 : 3;
  image.pattern = pattern;
  std::array<char, 64> message;
  message.fill('x');
  vx_image_request request = {};
  request.bytes = data;
  request.size = size;
  request.max_pixels = 1 << 18;
  request.layout = layout;
  request.message = message.data();
  request.message_size = message.size();
  request.context = &image;
  request.allocate = [](void *context, uint32_t height, uint32_t width) {
    auto &made = *static_cast<DecodedImage *>(context);
    check(made.bytes.empty() && width && height && uint64_t(width) * height <= 1 << 18);
    made.bytes.assign(uint64_t(height) * width * made.samples, made.pattern);
    return made.bytes.data();
  };
  image.result = vx_image_decode(&request);
  check(image.result >= VX_IMAGE_DECODED && image.result <= VX_IMAGE_NO_MEMORY);
  check(std::memchr(message.data(), 0, message.size()));
  check((image.result == VX_IMAGE_DECODED) == (message[0] == '\0') || image.result == VX_IMAGE_NO_MEMORY);
  return image;
}

uint32_t bigEndian(const uint8_t *bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
}

// The sums of PNG's chunks are set right, or libpng would look at nothing that has changed.
void mendPng(uint8_t *data, size_t size) {
  for (size_t at = 8; size - at >= 12;) {
    const uint64_t length = bigEndian(data + at);
    if (length > size - at - 12)
      return;
    uint32_t sum = UINT32_MAX;
    for (uint64_t i = at + 4; i < at + 8 + length; ++i) {
      sum ^= data[i];
      for (int bit = 0; bit < 8; ++bit)
        sum = sum >> 1 ^ (sum & 1 ? 0xedb88320U : 0);
    }
    at += 8 + length;
    for (int i = 0; i < 4; ++i)
      data[at++] = static_cast<uint8_t>(~sum >> (24 - 8 * i));
  }
}

} // namespace

} // namespace vx::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  // The first bytes say which decoder it is for.
  const size_t kept = seed % 16 && size > 16 ? 3 : 0;
  const size_t made = kept + LLVMFuzzerMutate(data + kept, size - kept, maxSize - kept);
  if (made > 8 && std::memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0)
    vx::fuzz::mendPng(data, made);
  return made;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto layout = static_cast<uint32_t>(size % 3);
  const vx::fuzz::DecodedImage first = vx::fuzz::decode(data, size, layout, 0);
  if (first.result != VX_IMAGE_DECODED)
    return 0;
  const vx::fuzz::DecodedImage second = vx::fuzz::decode(data, size, layout, 255);
  vx::fuzz::check(second.result == VX_IMAGE_DECODED && first.bytes == second.bytes);
  return 0;
}
