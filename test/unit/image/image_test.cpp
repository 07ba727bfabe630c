// What files of each format become that its library writes, and what is refused. What is lossless is exact.
#include "decoded_image.h"

#include <gtest/gtest.h>

#include <array>

namespace vx::test {

namespace {

using std::string_view_literals::operator""sv;

// The colors of a picture: gray or colors, of 8 bits to nearest, without alpha.
std::vector<uint8_t> colorsOf(const Picture &picture) {
  std::vector<uint8_t> colors;
  for (uint32_t y = 0; y < picture.height; ++y)
    for (uint32_t x = 0; x < picture.width; ++x)
      for (uint32_t channel = 0; channel < 3; ++channel) {
        const double share = picture.at(x, y, picture.channels < 3 ? 0 : channel) / double(picture.max);
        colors.push_back(static_cast<uint8_t>(share * 255 + 0.5));
      }
  return colors;
}

std::vector<uint8_t> colorsOf(const Picture &picture, const Palette &palette) {
  std::vector<uint8_t> colors;
  for (uint32_t sample : picture.samples)
    colors.insert(colors.end(), &palette.colors[sample * 3], &palette.colors[sample * 3] + 3);
  return colors;
}

Palette makePalette(size_t colors) {
  Palette palette;
  for (size_t i = 0; i < colors * 3; ++i)
    palette.colors.push_back(static_cast<uint8_t>(i * 37 + i / 3 * 11 + 5));
  return palette;
}

void expectPicture(const File &file, const Picture &picture) {
  expectColors(file, picture.width, picture.height, colorsOf(picture));
}

// Each sample, and all of them in the mean.
void expectNear(const File &file, const Picture &picture, int most, double mean) {
  const Decoded decoded = decode(file);
  ASSERT_EQ(decoded.message, "");
  const std::vector<uint8_t> colors = colorsOf(picture);
  ASSERT_EQ(decoded.samples.size(), colors.size());
  double sum = 0;
  for (size_t i = 0; i < colors.size(); ++i) {
    EXPECT_NEAR(decoded.samples[i], colors[i], most);
    sum += std::abs(decoded.samples[i] - colors[i]);
  }
  EXPECT_LE(sum / static_cast<double>(colors.size()), mean);
}

} // namespace

TEST(Image, png) {
  for (const bool isInterlaced : {false, true}) {
    const PngForm form = {isInterlaced, {}, false}, clear = {isInterlaced, {}, true};
    for (const uint32_t channels : {1, 2, 3, 4})
      for (const uint32_t max : {255, 65535}) {
        const Picture picture = makePicture(11, 9, channels, max);
        expectPicture(makePng(picture, form), picture);
        if (channels % 2)
          expectPicture(makePng(picture, clear), picture);
      }
    for (const uint32_t max : {1, 3, 15}) {
      const Picture picture = makePicture(11, 9, 1, max);
      expectPicture(makePng(picture, form), picture);
      const Palette palette = makePalette(max + 1);
      expectColors(makePng(picture, {isInterlaced, palette, max > 1}), 11, 9, colorsOf(picture, palette));
    }
    expectWhole(makePng(makePicture(11, 9, 3), form));
  }
}

TEST(Image, jpeg) {
  for (const bool isProgressive : {false, true})
    for (const bool hasSmallChroma : {false, true}) {
      const Picture picture = makeSmoothPicture(37, 23, 3);
      expectNear(makeJpeg(picture, {100, isProgressive, hasSmallChroma}), picture, hasSmallChroma ? 6 : 2,
                 hasSmallChroma ? 2 : 0.6);
      expectWhole(makeJpeg(picture, {100, isProgressive, hasSmallChroma}));
    }
  const Picture gray = makeSmoothPicture(37, 23, 1);
  expectNear(makeJpeg(gray), gray, 1, 0.4);
  // Inks as Adobe's programs write them: 255 is none.
  for (const auto &[inks, color] :
       {std::pair<std::array<uint32_t, 4>, std::array<uint32_t, 3>>{{255, 255, 255, 255}, {255, 255, 255}},
        {{255, 255, 255, 0}, {0, 0, 0}},
        {{0, 255, 255, 255}, {0, 255, 255}},
        {{128, 64, 200, 128}, {64, 32, 100}}}) {
    Picture flat = {16, 16, 4, {}}, wanted = {16, 16, 3, {}};
    for (int i = 0; i < 256; ++i) {
      flat.samples.insert(flat.samples.end(), inks.begin(), inks.end());
      wanted.samples.insert(wanted.samples.end(), color.begin(), color.end());
    }
    expectNear(makeJpeg(flat, {.hasInks = true}), wanted, 2, 2);
  }
}

TEST(Image, jpegsThatAreNotDecoded) {
  const File file = makeJpeg(makeSmoothPicture(16, 16, 3));
  expectRefused(replaced(file, "\xff\xc0\0\x11\x08"sv, "\xff\xc0\0\x11\x0c"sv), VX_IMAGE_UNSUPPORTED,
                "the JPEG image of " + std::to_string(file.size()) + " bytes: Unsupported JPEG data precision 12");
  EXPECT_EQ(decode(replaced(file, "\xff\xc0\0\x11"sv, "\xff\xc3\0\x11"sv)).result, VX_IMAGE_UNSUPPORTED); // lossless
  // Claims more blocks than it can have.
  const File large = replaced(file, "\x08\0\x10\0\x10"sv, "\x08\x04\0\x04\0"sv);
  expectRefused(large, VX_IMAGE_DAMAGED,
                "the JPEG image of " + std::to_string(file.size()) +
                    " bytes: it has too few bytes for 1024 x 1024 pixels");
  // A scan that comes again and again.
  File scans = makeJpeg(makeSmoothPicture(16, 16, 3), {.hasScanEach = true});
  expectWhole(scans);
  auto scanBegin = [&](size_t from) {
    while (scans[from] != 0xff || scans[from + 1] != 0xda)
      ++from;
    return static_cast<std::ptrdiff_t>(from);
  };
  const std::ptrdiff_t first = scanBegin(0), second = scanBegin(static_cast<size_t>(first) + 2);
  const File scan(scans.begin() + first, scans.begin() + second);
  for (int i = 0; i < 500; ++i)
    scans.insert(scans.begin() + first, scan.begin(), scan.end());
  expectRefused(scans, VX_IMAGE_DAMAGED,
                "the JPEG image of " + std::to_string(scans.size()) + " bytes: it has more than 500 scans");
}

TEST(Image, webp) {
  for (const uint32_t channels : {3, 4}) {
    const Picture picture = makePicture(11, 9, channels);
    expectPicture(makeWebp(picture, false), picture);
    expectWhole(makeWebp(picture, false));
  }
  const Picture smooth = makeSmoothPicture(37, 23, 3);
  expectNear(makeWebp(smooth, true), smooth, 8, 3);
  expectWhole(makeWebp(smooth, true));
  const Picture first = makePicture(11, 9, 3);
  const File animation = makeAnimatedWebp({first, makeSmoothPicture(11, 9, 3)});
  expectPicture(animation, first);
  expectWhole(animation);
}

TEST(Image, jpeg2000) {
  for (const bool isStream : {false, true})
    for (const uint32_t channels : {1, 2, 3, 4})
      for (const uint32_t bits : {4, 8, 12, 16}) {
        const Picture picture = makePicture(21, 18, channels, (1U << bits) - 1);
        expectPicture(makeJpeg2000(picture, {.isStream = isStream, .bits = bits}), picture);
      }
  const Picture picture = makePicture(41, 37, 3), smooth = makeSmoothPicture(41, 37, 3);
  expectPicture(makeJpeg2000(picture, {.tile = 16}), picture);
  expectPicture(makeJpeg2000(picture, {.left = 5, .upper = 3}), picture);
  expectNear(makeJpeg2000(smooth, {.isLossy = true}), smooth, 4, 1);
  expectWhole(makeJpeg2000(smooth));
  expectWhole(makeJpeg2000(smooth, {.isStream = true}));
  // Luma and differences, of which one may stand for four pixels.
  Picture luma = {16, 16, 3, {}}, colors = luma;
  for (int i = 0; i < 256; ++i) {
    luma.samples.insert(luma.samples.end(), {100, 90, 200});
    colors.samples.insert(colors.samples.end(), {201, 62, 33});
  }
  for (const uint32_t step : {1, 2})
    expectPicture(makeJpeg2000(luma, {.isLuma = true, .chromaStep = step}), colors);
  const File five = makeJpeg2000(makePicture(16, 16, 5), {.isStream = true});
  expectRefused(five, VX_IMAGE_UNSUPPORTED,
                "the JPEG 2000 image of " + std::to_string(five.size()) +
                    " bytes: it has 1 tiles of 5 components, decoded are at most 16384 of 4");
}

TEST(Image, tiff) {
  for (const bool isTiled : {false, true})
    for (const bool hasPlanes : {false, true})
      for (const uint16_t compression : {1, 5, 8, 32773}) { // none, LZW, Deflate, PackBits
        TiffForm form;
        form.isTiled = isTiled, form.hasPlanes = hasPlanes, form.compression = compression;
        for (const uint32_t max : {255, 65535}) {
          const Picture picture = makePicture(19, 21, 3, max);
          expectPicture(makeTiff(picture, form), picture);
        }
        expectWhole(makeTiff(makePicture(19, 21, 3), form));
      }
  for (const bool isBigEndian : {false, true})
    for (const uint32_t max : {1, 3, 15, 255, 65535}) {
      const Picture picture = makePicture(19, 21, 1, max);
      TiffForm form = {.kind = TiffKind::Gray, .isBigEndian = isBigEndian};
      expectPicture(makeTiff(picture, form), picture);
      expectPicture(makeTiff(picture, {.kind = TiffKind::Gray, .isTiled = true, .isBigEndian = isBigEndian}), picture);
      Picture inverted = picture;
      for (uint32_t &sample : inverted.samples)
        sample = max - sample;
      form.kind = TiffKind::BlackIsMost;
      expectPicture(makeTiff(inverted, form), picture);
      if (max == 1) {
        form.compression = 4; // of facsimiles
        expectPicture(makeTiff(inverted, form), picture);
      }
      if (max > 255)
        continue;
      form = {.palette = makePalette(max + 1), .isBigEndian = isBigEndian};
      expectColors(makeTiff(picture, form), 19, 21, colorsOf(picture, form.palette));
    }
  // Alpha beside colors leaves them as they are.
  const Picture withAlpha = makePicture(19, 21, 4);
  expectPicture(makeTiff(withAlpha, {.hasFreeAlpha = true}), withAlpha);
  Picture inks = {2, 2, 4, {0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 255, 102, 0}};
  expectColors(makeTiff(inks, {.kind = TiffKind::Inks}), 2, 2, {255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 0, 153});
}

// What TIFF calls orientation: where the first row and the first column of the file are.
TEST(Image, tiffsThatAreTurned) {
  const Picture picture = makePicture(3, 2, 1);
  const auto place = [&](uint16_t orientation, uint32_t row, uint32_t column) -> std::pair<uint32_t, uint32_t> {
    switch (orientation) {
    case 1:
      return {row, column};
    case 2:
      return {row, 2 - column};
    case 3:
      return {1 - row, 2 - column};
    case 4:
      return {1 - row, column};
    case 5:
      return {column, row};
    case 6:
      return {column, 1 - row};
    case 7:
      return {2 - column, 1 - row};
    default:
      return {2 - column, row};
    }
  };
  for (uint16_t orientation = 1; orientation <= 8; ++orientation) {
    const uint32_t width = orientation > 4 ? 2 : 3;
    std::vector<uint8_t> colors(18);
    for (uint32_t row = 0; row < 2; ++row)
      for (uint32_t column = 0; column < 3; ++column) {
        const auto [y, x] = place(orientation, row, column);
        std::fill_n(&colors[(y * width + x) * 3], 3, static_cast<uint8_t>(picture.at(column, row, 0)));
      }
    expectColors(makeTiff(picture, {.kind = TiffKind::Gray, .orientation = orientation}), width, 6 / width, colors);
  }
}

TEST(Image, nothingElseIsAnImage) {
  expectRefused({}, VX_IMAGE_DAMAGED, "expected a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image, got 0 bytes");
  expectRefused(
      makeFile("GIF89a"), VX_IMAGE_DAMAGED,
      "expected a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image, got 6 bytes that begin with 47 49 46 38");
}

TEST(Image, isNotLargerThanAsked) {
  const Picture picture = makePicture(11, 9, 3);
  const std::vector<std::pair<const char *, File>> files = {
      {"BMP", makeBmp(11, 9, std::vector<uint8_t>(36 * 9))},
      {"JPEG", makeJpeg(picture)},
      {"JPEG 2000", makeJpeg2000(picture)},
      {"PNG", makePng(picture)},
      {"TIFF", makeTiff(picture)},
      {"WebP", makeWebp(picture, false)},
      {"PNM", makeFile("P5 11 9 255\n", std::vector<uint8_t>(99))}};
  for (const auto &[name, file] : files) {
    EXPECT_EQ(decode(file, VX_IMAGE_RGB, 99).result, VX_IMAGE_DECODED) << name;
    const Decoded decoded = decode(file, VX_IMAGE_RGB, 98);
    EXPECT_EQ(decoded.result, VX_IMAGE_TOO_LARGE);
    EXPECT_TRUE(decoded.samples.empty());
    EXPECT_EQ(decoded.message, std::string("the ") + name + " image of " + std::to_string(file.size()) +
                                   " bytes: it is 11 pixels wide and 9 high, decoded are images of at most 98 pixels");
  }
}

TEST(Image, memoryIsTheCallers) {
  const File file = makeFile("P5 2 1 255\nab");
  std::array<char, 24> message;
  vx_image_request request = {};
  request.bytes = file.data();
  request.size = file.size();
  request.max_pixels = 2;
  request.message = message.data();
  request.message_size = message.size();
  request.allocate = [](void *, uint32_t, uint32_t) -> uint8_t * { return nullptr; };
  EXPECT_EQ(vx_image_decode(&request), VX_IMAGE_NO_MEMORY);
  EXPECT_STREQ(message.data(), "the PNM image of 13 byt"); // cut off
  request.message_size = 0;
  EXPECT_EQ(vx_image_decode(&request), VX_IMAGE_NO_MEMORY);
  request.message_size = message.size();
  request.allocate = [](void *, uint32_t, uint32_t) -> uint8_t * { throw std::bad_alloc(); };
  EXPECT_EQ(vx_image_decode(&request), VX_IMAGE_NO_MEMORY);
  EXPECT_STREQ(message.data(), "out of memory");
  EXPECT_EQ(vx_image_version(), uint32_t(VX_IMAGE_VERSION));
}

} // namespace vx::test
