// Where a decoder's pixels go: the caller's memory, in the order of samples that it wants.
#ifndef VX_RUNTIME_IMAGE_ROWS_H
#define VX_RUNTIME_IMAGE_ROWS_H

#include "vx/abi/image.h"

#include <fmt/format.h>

#include <string>

namespace vx::image {

struct [[nodiscard]] Outcome {
  int32_t result = VX_IMAGE_DECODED;
  std::string message;

  bool ok() const { return result == VX_IMAGE_DECODED; }
};

template <typename... Args>
Outcome failure(int32_t result, fmt::format_string<Args...> format, Args &&...args) {
  return {result, fmt::format(format, std::forward<Args>(args)...)};
}

// A sample of [0, max] as one of [0, 255], to nearest.
inline uint8_t scaleSample(uint64_t value, uint64_t max) { return static_cast<uint8_t>((value * 255 + max / 2) / max); }

// Red, green and blue of inks, none where a sample is 0: (1 - C)(1 - K) and so on, to nearest.
void inksToColor(const uint8_t *inks, uint8_t *color);

class Rows {
public:
  explicit Rows(const vx_image_request &request) : request(request) {}

  // Has the caller give memory. Once, before any row.
  Outcome begin(uint64_t width, uint64_t height);
  uint32_t width() const { return columns; }
  uint32_t height() const { return lines; }
  uint64_t maxPixels() const { return request.max_pixels; }

  // Row `y` of gray samples (1 channel) or of red, green and blue ones (3), or these with one that is left out (4).
  void put(uint32_t y, const uint8_t *samples, unsigned channels);

private:
  template <typename Write>
  void write(uint32_t y, const uint8_t *samples, unsigned channels, unsigned written, Write pixel);

  const vx_image_request &request;
  uint8_t *memory = nullptr;
  uint32_t columns = 0, lines = 0;
};

} // namespace vx::image

#define VX_IMAGE_RETURN_IF_ERROR(expression)                                                                           \
  do {                                                                                                                 \
    if (::vx::image::Outcome vxOutcome = (expression); !vxOutcome.ok())                                                \
      return vxOutcome;                                                                                                \
  } while (false)

#endif
