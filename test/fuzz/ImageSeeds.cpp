// Writes the seed corpus of ImageFuzzer into a folder, an image of each kind: `image_seeds FOLDER`.
#include "made_images.h"

#include <fstream>

using namespace vx::test;

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  bool isWritten = true;
  auto write = [&](const std::string &name, const File &bytes) {
    std::ofstream file(std::string(argv[1]) + "/" + name, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    isWritten = isWritten && file && !bytes.empty();
  };
  const Picture gray = makePicture(9, 7, 1), colors = makePicture(9, 7, 3), clear = makePicture(9, 7, 4),
                deep = makePicture(9, 7, 3, 65535);
  const Picture deepGray = makePicture(9, 7, 1, 65535), places = makePicture(9, 7, 1, 3),
                bits = makePicture(9, 7, 1, 1);
  const Picture smooth = makeSmoothPicture(20, 18, 3), large = makePicture(20, 18, 3);
  const Palette palette = {{1, 2, 3, 40, 50, 60, 200, 100, 0, 255, 254, 253}};

  write("colors.png", makePng(colors));
  write("clear.png", makePng(clear, {.isInterlaced = true}));
  write("palette.png", makePng(places, {.palette = palette, .hasClear = true}));
  write("deep.png", makePng(deep, {.hasClear = true}));
  write("bits.png", makePng(bits, {.isInterlaced = true}));

  write("colors.jpg", makeJpeg(smooth));
  write("progressive.jpg", makeJpeg(smooth, {.isProgressive = true, .hasSmallChroma = true}));
  write("scans.jpg", makeJpeg(smooth, {.hasScanEach = true}));
  write("gray.jpg", makeJpeg(gray));
  write("inks.jpg", makeJpeg(clear, {.hasInks = true}));

  write("colors.jp2", makeJpeg2000(colors));
  write("clear.jp2", makeJpeg2000(clear));
  write("lossy.j2k", makeJpeg2000(smooth, {.isLossy = true, .isStream = true}));
  write("tiles.j2k", makeJpeg2000(large, {.isStream = true, .tile = 16}));
  write("luma.jp2", makeJpeg2000(smooth, {.isLuma = true, .chromaStep = 2}));

  write("colors.tif", makeTiff(colors));
  write("clear.tif", makeTiff(clear, {.hasFreeAlpha = true}));
  write("inks.tif", makeTiff(clear, {.kind = TiffKind::Inks, .hasPlanes = true}));
  write("palette.tif", makeTiff(places, {.palette = palette, .isBigEndian = true}));
  write("tiles.tif", makeTiff(large, {.compression = 5, .orientation = 6, .isTiled = true}));
  write("deflated.tif", makeTiff(deep, {.compression = 8}));
  write("deep.tif", makeTiff(deepGray, {.kind = TiffKind::BlackIsMost, .compression = 32773}));
  write("deep-tiles.tif", makeTiff(deepGray, {.kind = TiffKind::Gray, .isTiled = true}));
  write("facsimile.tif", makeTiff(bits, {.kind = TiffKind::BlackIsMost, .compression = 4}));

  write("colors.webp", makeWebp(colors, false));
  write("clear.webp", makeWebp(clear, true));
  write("animation.webp", makeAnimatedWebp({colors, makePicture(9, 7, 4)}));

  write("colors.bmp", makeBmp(2, 1, {1, 2, 3, 4, 5, 6, 0, 0}));
  write("palette.bmp", makeBmp(3, 1, {3, 1, 2, 0}, {.bits = 8, .headerSize = 12, .palette = palette}));
  write("masks.bmp",
        makeBmp(2, 1, {0xe0, 0x07, 0x21, 0x08}, {.bits = 16, .compression = 3, .masks = {0xf800, 0x7e0, 0x1f}}));
  write("runs8.bmp", makeBmp(5, 2, {2, 3, 0, 3, 1, 2, 1, 0, 0, 0, 0, 2, 2, 0, 1, 2, 0, 1},
                             {.bits = 8, .compression = 1, .palette = palette}));
  write("runs4.bmp",
        makeBmp(6, 1, {3, 0x31, 0, 3, 0x21, 0x30, 0, 0, 0, 1}, {.bits = 4, .compression = 2, .palette = palette}));

  write("bits.pbm", makeFile("P1\n# bits\n3 1\n01 0"));
  write("packed.pbm", makeFile("P4 3 1\n", {0x5f}));
  write("text.ppm", makeFile("P3 2 1 255 1 2 3 40 50 60"));
  write("deep.pgm", makeFile("P5 3 1 65535\n", {0, 0, 0x66, 0x66, 0xff, 0xff}));
  write("clear.pam",
        makeFile("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n", {1, 2, 3, 4}));
  return isWritten ? 0 : 1;
}
