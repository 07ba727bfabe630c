#include "image/rows.h"

namespace vx::image {

// Of two numbers of 8 bits as shares of 255, to nearest; there are no ties.
static uint8_t multiplyShares(unsigned a, unsigned b) { return scaleSample(a * b, 255 * 255); }

void inksToColor(const uint8_t *inks, uint8_t *color) {
  for (int i = 0; i < 3; ++i)
    color[i] = multiplyShares(255U - inks[i], 255U - inks[3]);
}

Outcome Rows::begin(uint64_t width, uint64_t height) {
  if (width == 0 || height == 0 || width > UINT32_MAX || height > UINT32_MAX)
    return failure(VX_IMAGE_DAMAGED, "it is {} pixels wide and {} high", width, height);
  if (width > request.max_pixels / height)
    return failure(VX_IMAGE_TOO_LARGE, "it is {} pixels wide and {} high, decoded are images of at most {} pixels",
                   width, height, request.max_pixels);
  columns = static_cast<uint32_t>(width);
  lines = static_cast<uint32_t>(height);
  memory = request.allocate(request.context, lines, columns);
  if (!memory)
    return failure(VX_IMAGE_NO_MEMORY, "no memory for {} x {} pixels", width, height);
  return {};
}

template <typename Write>
void Rows::write(uint32_t y, const uint8_t *samples, unsigned channels, unsigned written, Write pixel) {
  uint8_t *to = memory + uint64_t(y) * columns * written;
  const unsigned green = channels == 1 ? 0 : 1, blue = channels == 1 ? 0 : 2;
  for (uint32_t x = 0; x < columns; ++x, samples += channels, to += written)
    pixel(to, samples[0], samples[green], samples[blue]);
}

void Rows::put(uint32_t y, const uint8_t *samples, unsigned channels) {
  switch (request.layout) {
  case VX_IMAGE_RGB:
    return write(y, samples, channels, 3, [](uint8_t *to, uint8_t red, uint8_t green, uint8_t blue) {
      to[0] = red, to[1] = green, to[2] = blue;
    });
  case VX_IMAGE_BGR:
    return write(y, samples, channels, 3, [](uint8_t *to, uint8_t red, uint8_t green, uint8_t blue) {
      to[0] = blue, to[1] = green, to[2] = red;
    });
  default: // grayscale: 0.299, 0.587 and 0.114 in 65536ths, which add up to one
    return write(y, samples, channels, 1, [](uint8_t *to, unsigned red, unsigned green, unsigned blue) {
      to[0] = static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
    });
  }
}

} // namespace vx::image
