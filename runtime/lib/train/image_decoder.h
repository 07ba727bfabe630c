// Decoding of image files by libvx_image, and their sizes.
#ifndef VX_TRAIN_IMAGE_DECODER_H
#define VX_TRAIN_IMAGE_DECODER_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vx::train {

// Samples of 8 bits, row by row and pixel by pixel.
struct Pixels {
  uint32_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> samples;
};

// Opens libvx_image: the one beside the runtime, or that of the environment variable VX_IMAGE_LIBRARY. Throws
// Error::data where there is none.
void openImageLibrary();

// The image in a file, with 1 channel (luma) or 3 (red, green, blue). Throws Error::data that begins with `name`.
// Thread-safe.
Pixels decodeImage(std::span<const uint8_t> file, uint32_t channels, const std::string &name);

// The image with other sizes, of 1 pixel or more, by linear interpolation over all pixels that a new one covers: as
// Pillow's BILINEAR, which torchvision uses. Samples are rounded after each of the two directions.
Pixels resizeImage(const Pixels &image, uint32_t height, uint32_t width);

} // namespace vx::train

#endif
