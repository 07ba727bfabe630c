#include "decoded_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace vx::test {

Decoded decode(const File &file, uint32_t layout, uint64_t maxPixels) {
  Decoded decoded;
  std::array<char, 512> message = {};
  vx_image_request request = {};
  request.bytes = file.data();
  request.size = file.size();
  request.max_pixels = maxPixels;
  request.layout = layout;
  request.message = message.data();
  request.message_size = message.size();
  request.context = &decoded;
  request.allocate = [](void *context, uint32_t height, uint32_t width) {
    auto &result = *static_cast<Decoded *>(context);
    result.height = height, result.width = width;
    // Exactly what is to be written, and something else before.
    result.samples.assign(uint64_t(height) * width * 3, 77);
    return result.samples.data();
  };
  decoded.result = vx_image_decode(&request);
  decoded.message = message.data();
  if (layout == VX_IMAGE_GRAYSCALE)
    decoded.samples.resize(decoded.samples.size() / 3);
  return decoded;
}

void expectColors(const File &file, uint32_t width, uint32_t height, const std::vector<uint8_t> &colors) {
  const Decoded rgb = decode(file);
  ASSERT_EQ(rgb.message, "");
  ASSERT_EQ(rgb.result, VX_IMAGE_DECODED);
  EXPECT_EQ(rgb.width, width);
  EXPECT_EQ(rgb.height, height);
  EXPECT_EQ(rgb.samples, colors);
  const std::vector<uint8_t> bgr = decode(file, VX_IMAGE_BGR).samples, gray = decode(file, VX_IMAGE_GRAYSCALE).samples;
  ASSERT_EQ(bgr.size(), colors.size());
  ASSERT_EQ(gray.size(), colors.size() / 3);
  for (size_t i = 0; i < gray.size(); ++i) {
    EXPECT_EQ(bgr[i * 3], colors[i * 3 + 2]);
    EXPECT_EQ(bgr[i * 3 + 1], colors[i * 3 + 1]);
    EXPECT_EQ(bgr[i * 3 + 2], colors[i * 3]);
    EXPECT_NEAR(gray[i], 0.299 * colors[i * 3] + 0.587 * colors[i * 3 + 1] + 0.114 * colors[i * 3 + 2], 0.502);
  }
}

void expectRefused(const File &file, int32_t result, std::string_view message) {
  const Decoded decoded = decode(file);
  EXPECT_EQ(decoded.result, result);
  EXPECT_EQ(decoded.message, message);
}

void expectWhole(const File &file) {
  ASSERT_EQ(decode(file).message, "");
  for (size_t size = 0; size < file.size(); size += 1 + file.size() / 400) {
    // By itself, so that a read behind it shows.
    const File part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(decode(part).result, VX_IMAGE_DAMAGED) << size << " of " << file.size() << " bytes";
  }
}

File replaced(File file, std::string_view what, std::string_view by) {
  const auto at = std::search(file.begin(), file.end(), what.begin(), what.end(),
                              [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
  EXPECT_NE(at, file.end());
  std::copy(by.begin(), by.end(), at);
  return file;
}

} // namespace vx::test
