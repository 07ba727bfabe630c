// Files of images for tests, by the encoders of the libraries whose decoders are tested, and bytes of those formats
// that need none.
#ifndef VX_TEST_UNIT_IMAGE_MADE_IMAGES_H
#define VX_TEST_UNIT_IMAGE_MADE_IMAGES_H

#include <cstdint>
#include <string>
#include <vector>

namespace vx::test {

using File = std::vector<uint8_t>;

// Samples of one row behind the other: 1 channel of gray, 2 with alpha, 3 of colors, 4 with alpha or of inks.
struct Picture {
  uint32_t width = 0, height = 0, channels = 0;
  std::vector<uint32_t> samples;
  uint32_t max = 255;

  uint32_t at(uint32_t x, uint32_t y, uint32_t channel) const {
    return samples[(uint64_t(y) * width + x) * channels + channel];
  }
};

// Samples that are all different, as far as may be.
Picture makePicture(uint32_t width, uint32_t height, uint32_t channels, uint32_t max = 255);
// Each sample near its neighbours', which is what lossy formats keep.
Picture makeSmoothPicture(uint32_t width, uint32_t height, uint32_t channels);
// Samples that number colors: with `colors`, of red, green and blue.
struct Palette {
  std::vector<uint8_t> colors;
};

struct PngForm {
  bool isInterlaced = false;
  Palette palette = {};  // the samples are its numbers
  bool hasClear = false; // one color, or one of the palette's, is transparent
};
File makePng(const Picture &picture, const PngForm &form = {});

struct JpegForm {
  int quality = 100;
  bool isProgressive = false, hasSmallChroma = false, hasInks = false, hasScanEach = false;
};
File makeJpeg(const Picture &picture, const JpegForm &form = {});

struct Jpeg2000Form {
  bool isLossy = false, isStream = false, isLuma = false;
  uint32_t bits = 8, tile = 0, chromaStep = 1;
  uint32_t left = 0, upper = 0;
};
File makeJpeg2000(const Picture &picture, const Jpeg2000Form &form = {});

enum class TiffKind { Gray, BlackIsMost, Color, Inks };
struct TiffForm {
  TiffKind kind = TiffKind::Color;
  uint16_t compression = 1, orientation = 1;
  Palette palette = {};
  bool isTiled = false, hasPlanes = false, isBigEndian = false, hasFreeAlpha = false;
};
File makeTiff(const Picture &picture, const TiffForm &form = {});

File makeWebp(const Picture &picture, bool isLossy);
// A picture at a place of a larger one.
File makeAnimatedWebp(const std::vector<Picture> &pictures);

struct BmpForm {
  uint32_t bits = 24, compression = 0, headerSize = 40;
  bool isTopDown = false;
  std::vector<uint32_t> masks = {};
  Palette palette = {};
};
// `pixels` are what the file has of them.
File makeBmp(uint32_t width, uint32_t height, const std::vector<uint8_t> &pixels, const BmpForm &form = {});

File makeFile(const std::string &text, const std::vector<uint8_t> &bytes = {});

} // namespace vx::test

#endif
