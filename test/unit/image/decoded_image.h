// Decodes files by libvx_image and compares what comes of them.
#ifndef VX_TEST_UNIT_IMAGE_DECODED_IMAGE_H
#define VX_TEST_UNIT_IMAGE_DECODED_IMAGE_H

#include "made_images.h"
#include "vx/abi/image.h"

#include <string>
#include <string_view>
#include <vector>

extern "C" int32_t vx_image_decode(const vx_image_request *request);
extern "C" uint32_t vx_image_version(void);

namespace vx::test {

// What comes of a file.
struct Decoded {
  int32_t result = 0;
  std::string message;
  uint32_t width = 0, height = 0;
  std::vector<uint8_t> samples;
};

Decoded decode(const File &file, uint32_t layout = VX_IMAGE_RGB, uint64_t maxPixels = 1 << 20);

// In all orders of samples.
void expectColors(const File &file, uint32_t width, uint32_t height, const std::vector<uint8_t> &colors);

void expectRefused(const File &file, int32_t result, std::string_view message);

// A file that ends before its last bytes is damaged, wherever it ends.
void expectWhole(const File &file);

// The first place of `what` in a file holds `by`.
File replaced(File file, std::string_view what, std::string_view by);

} // namespace vx::test

#endif
