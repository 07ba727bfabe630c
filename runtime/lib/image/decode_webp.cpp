#include "image/decoders.h"

#include <memory>
#include <vector>
#include <webp/decode.h>
#include <webp/demux.h>

namespace vx::image {

static Outcome failedWith(VP8StatusCode status) {
  switch (status) {
  case VP8_STATUS_OUT_OF_MEMORY:
    return failure(VX_IMAGE_NO_MEMORY, "no memory for libwebp");
  case VP8_STATUS_UNSUPPORTED_FEATURE:
    return failure(VX_IMAGE_UNSUPPORTED, "libwebp does not know all of it");
  case VP8_STATUS_NOT_ENOUGH_DATA:
  case VP8_STATUS_SUSPENDED:
    return failure(VX_IMAGE_DAMAGED, "it ends early");
  default:
    return failure(VX_IMAGE_DAMAGED, "it contradicts itself");
  }
}

static Outcome decodeFirstPicture(Bytes file, Rows &rows) {
  const WebPData data = {file.data(), file.size()};
  WebPAnimDecoderOptions options;
  if (!WebPAnimDecoderOptionsInit(&options))
    return failure(VX_IMAGE_UNSUPPORTED, "libwebpdemux is of another version");
  options.color_mode = MODE_RGBA;
  const std::unique_ptr<WebPAnimDecoder, void (*)(WebPAnimDecoder *)> decoder(WebPAnimDecoderNew(&data, &options),
                                                                              WebPAnimDecoderDelete);
  if (!decoder)
    return failure(VX_IMAGE_DAMAGED, "its frames contradict each other, end early or need more memory than there is");
  uint8_t *pixels = nullptr; // the decoder's
  int time = 0;
  if (!WebPAnimDecoderGetNext(decoder.get(), &pixels, &time))
    return failure(VX_IMAGE_DAMAGED, "its first frame is none");
  for (uint32_t y = 0; y < rows.height(); ++y)
    rows.put(y, pixels + uint64_t(y) * rows.width() * 4, 4);
  return {};
}

Outcome decodeWebp(Bytes file, Rows &rows) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config))
    return failure(VX_IMAGE_UNSUPPORTED, "libwebp is of another version");
  if (const VP8StatusCode status = WebPGetFeatures(file.data(), file.size(), &config.input); status != VP8_STATUS_OK)
    return failedWith(status);
  VX_IMAGE_RETURN_IF_ERROR(
      rows.begin(static_cast<uint64_t>(config.input.width), static_cast<uint64_t>(config.input.height)));
  if (config.input.has_animation)
    return decodeFirstPicture(file, rows);
  const uint64_t stride = uint64_t(rows.width()) * 3;
  std::vector<uint8_t> pixels(stride * rows.height());
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {pixels.data(), static_cast<int>(stride), pixels.size()};
  if (const VP8StatusCode status = WebPDecode(file.data(), file.size(), &config); status != VP8_STATUS_OK)
    return failedWith(status);
  for (uint32_t y = 0; y < rows.height(); ++y)
    rows.put(y, pixels.data() + y * stride, 3);
  return {};
}

} // namespace vx::image
