// Which images lose something, as their files say.
#ifndef VX_TOOLS_LOSSY_IMAGE_H
#define VX_TOOLS_LOSSY_IMAGE_H

#include <cstdint>
#include <span>

namespace vx::tools {

// True for JPEG, for JPEG 2000 with the wavelet of 9 and 7 taps, and for WebP of the kind of VP8: their decoders may
// differ by a unit. False for all else, also where it is no image.
bool isLossyImage(std::span<const uint8_t> file);

} // namespace vx::tools

#endif
