// Formats that libvx_image reads by itself: BMP and Netpbm's, of bytes that are written here.
#include "decoded_image.h"

#include <gtest/gtest.h>

namespace vx::test {

using Samples = std::vector<uint8_t>;

static const Palette fourColors = {{1, 2, 3, 40, 50, 60, 200, 100, 0, 255, 254, 253}};

static Samples colorsOfPlaces(const Palette &palette, const Samples &places) {
  Samples colors;
  for (uint8_t place : places)
    colors.insert(colors.end(), &palette.colors[place * 3U], &palette.colors[place * 3U] + 3);
  return colors;
}

TEST(WrittenImage, bmpOfColors) {
  // Rows from below, each a multiple of four bytes long.
  const Samples pixels = {1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0},
                colors = {9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4};
  const Samples fromTop = {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10};
  for (const uint32_t headerSize : {12, 40, 52, 56, 64, 108, 124})
    expectColors(makeBmp(2, 2, pixels, {.headerSize = headerSize}), 2, 2, colors);
  expectColors(makeBmp(2, 2, pixels, {.isTopDown = true}), 2, 2, fromTop);
  const Samples with4 = {1, 2, 3, 9, 4, 5, 6, 9, 7, 8, 9, 9, 10, 11, 12, 9};
  expectColors(makeBmp(2, 2, with4, {.bits = 32}), 2, 2, colors);
  expectColors(makeBmp(2, 2, with4, {.bits = 32, .compression = 3, .masks = {0xff0000, 0xff00, 0xff}}), 2, 2, colors);
  expectColors(
      makeBmp(2, 2, with4, {.bits = 32, .compression = 3, .headerSize = 124, .masks = {0xff0000, 0xff00, 0xff}}), 2, 2,
      colors);
  // 5 and 6 bits: 31 and 63 are 255, to nearest.
  expectColors(makeBmp(2, 1, {0x1f, 0x7c, 0x21, 0x04}, {.bits = 16}), 2, 1, {255, 0, 255, 8, 8, 8});
  expectColors(makeBmp(2, 1, {0xe0, 0x07, 0x21, 0x08}, {.bits = 16, .compression = 3, .masks = {0xf800, 0x7e0, 0x1f}}),
               2, 1, {0, 255, 0, 8, 4, 8});
  // Padding behind the last row may be missing, a pixel not.
  Samples cut(pixels.begin(), pixels.end() - 2);
  expectColors(makeBmp(2, 2, cut), 2, 2, colors);
  cut.pop_back();
  expectRefused(makeBmp(2, 2, cut), VX_IMAGE_DAMAGED, "the BMP image of 67 bytes: it ends within its pixels");
}

TEST(WrittenImage, bmpOfPalettes) {
  expectColors(makeBmp(3, 1, {3, 1, 2, 0}, {.bits = 8, .palette = fourColors}), 3, 1,
               colorsOfPlaces(fourColors, {3, 1, 2}));
  expectColors(makeBmp(3, 1, {3, 1, 2, 0}, {.bits = 8, .headerSize = 12, .palette = fourColors}), 3, 1,
               colorsOfPlaces(fourColors, {3, 1, 2}));
  expectColors(makeBmp(3, 1, {0x31, 0x20, 0, 0}, {.bits = 4, .palette = fourColors}), 3, 1,
               colorsOfPlaces(fourColors, {3, 1, 2}));
  expectColors(makeBmp(5, 1, {0xd8, 0x40, 0, 0}, {.bits = 2, .palette = fourColors}), 5, 1,
               colorsOfPlaces(fourColors, {3, 1, 2, 0, 1}));
  const Palette two = {{9, 8, 7, 250, 240, 230}};
  expectColors(makeBmp(9, 1, {0xa5, 0x80, 0, 0}, {.bits = 1, .palette = two}), 9, 1,
               colorsOfPlaces(two, {1, 0, 1, 0, 0, 1, 0, 1, 1}));
  expectRefused(makeBmp(1, 1, {4, 0, 0, 0}, {.bits = 8, .palette = fourColors}), VX_IMAGE_DAMAGED,
                "the BMP image of 74 bytes: a pixel has the color 4, there are 4");
}

TEST(WrittenImage, bmpOfRuns) {
  // A run, pixels by themselves, the end of the row; two to the right; the end. What is passed over has color 0.
  const Samples runs8 = {2, 3, 0, 3, 1, 2, 1, 0, 0, 0, 0, 2, 2, 0, 1, 2, 0, 1}, places = {0, 0, 2, 0, 0, 3, 3, 1, 2, 1};
  const BmpForm form8 = {.bits = 8, .compression = 1, .palette = fourColors};
  expectColors(makeBmp(5, 2, runs8, form8), 5, 2, colorsOfPlaces(fourColors, places));
  const Samples runs4 = {3, 0x31, 0, 3, 0x21, 0x30, 0, 0, 0, 1};
  expectColors(makeBmp(6, 1, runs4, {.bits = 4, .compression = 2, .palette = fourColors}), 6, 1,
               colorsOfPlaces(fourColors, {3, 1, 3, 2, 1, 3}));
  for (size_t size = 0; size < runs8.size(); ++size)
    expectRefused(makeBmp(5, 2, Samples(runs8.begin(), runs8.begin() + static_cast<std::ptrdiff_t>(size)), form8),
                  VX_IMAGE_DAMAGED,
                  "the BMP image of " + std::to_string(70 + size) + " bytes: it ends within its pixels");
  expectRefused(makeBmp(5, 2, {6, 1, 0, 1}, form8), VX_IMAGE_DAMAGED,
                "the BMP image of 74 bytes: a run of 6 pixels begins at 0 of row 0 of 5 x 2 pixels");
  expectRefused(makeBmp(5, 2, {0, 0, 0, 0, 1, 1}, form8), VX_IMAGE_DAMAGED,
                "the BMP image of 76 bytes: a run of 1 pixels begins at 0 of row 2 of 5 x 2 pixels");
  expectRefused(makeBmp(5, 2, {0, 2, 6, 0}, form8), VX_IMAGE_DAMAGED,
                "the BMP image of 74 bytes: it goes on at pixel 6 of row 0 of 5 x 2 pixels");
}

TEST(WrittenImage, bmpThatIsNotDecoded) {
  expectRefused(makeBmp(1, 1, {0, 0, 0, 0}, {.compression = 4}), VX_IMAGE_UNSUPPORTED,
                "the BMP image of 58 bytes: its compression has the number 4, decoded are 0, 1, 2, 3 and 6");
  expectRefused(makeBmp(1, 1, {0, 0, 0, 0}, {.headerSize = 44}), VX_IMAGE_UNSUPPORTED,
                "the BMP image of 62 bytes: its header has 44 bytes, decoded are 12, 40, 52, 56, 64, 108 and 124");
  expectRefused(makeBmp(1, 1, {0, 0, 0, 0}, {.bits = 32, .compression = 3, .masks = {5, 0xff00, 0xff0000}}),
                VX_IMAGE_UNSUPPORTED,
                "the BMP image of 70 bytes: a sample has the bits 0x5, which are not beside each other");
  expectRefused(makeBmp(1, 1, {0, 0, 0, 0}, {.bits = 7}), VX_IMAGE_DAMAGED,
                "the BMP image of 58 bytes: it has 7 bits a pixel");
  expectRefused(makeBmp(1, 1, {0, 0, 0, 0}, {.bits = 23}), VX_IMAGE_DAMAGED,
                "the BMP image of 58 bytes: it has 23 bits a pixel");
  expectRefused(makeBmp(0, 1, {}), VX_IMAGE_DAMAGED, "the BMP image of 54 bytes: it is 0 pixels wide and 1 high");
  expectRefused(makeBmp(1, 1, {0, 0, 0, 0}, {.compression = 1}), VX_IMAGE_DAMAGED,
                "the BMP image of 58 bytes: it has runs of 24 bits a pixel");
  expectRefused(makeBmp(1, 1, {0, 0, 0, 0}, {.compression = 3}), VX_IMAGE_DAMAGED,
                "the BMP image of 58 bytes: it has masks for 24 bits a pixel");
  expectRefused(makeBmp(1, 1, {}, {.bits = 8}), VX_IMAGE_DAMAGED,
                "the BMP image of 54 bytes: it ends within its palette");
  expectRefused(makeFile("BM"), VX_IMAGE_DAMAGED, "the BMP image of 2 bytes: it ends within its header");
}

TEST(WrittenImage, pnm) {
  const Samples gray = {0, 0, 0, 102, 102, 102, 255, 255, 255}, bits = {255, 255, 255, 0, 0, 0, 255, 255, 255};
  const Samples colors = {1, 2, 3, 40, 50, 60};
  expectColors(makeFile("P1\n# bits\n3 1\n01 0"), 3, 1, bits);
  expectColors(makeFile("P4 3 1\n", {0x5f}), 3, 1, bits);
  expectColors(makeFile("P2 3 1 5 0 2 # a comment\n5"), 3, 1, gray);
  expectColors(makeFile("P5#\n3 1 5\n", {0, 2, 5}), 3, 1, gray);
  expectColors(makeFile("P3\n2 1\n255\n1 2 3\n40 50 60"), 2, 1, colors);
  expectColors(makeFile("P6\r2\t1 255\n", colors), 2, 1, colors);
  // Two bytes of each sample, the higher one first, to nearest.
  expectColors(makeFile("P5 3 1 65535\n", {0, 0, 0x66, 0x66, 0xff, 0xff}), 3, 1, gray);
  expectColors(makeFile("P5 2 1 1000\n", {0x01, 0xf4, 0x03, 0xe8}), 2, 1, {128, 128, 128, 255, 255, 255});
  const std::string pam = "P7\nWIDTH 1\nHEIGHT 2\nDEPTH ", rest = "\nMAXVAL 255\nTUPLTYPE ANY\nENDHDR\n";
  expectColors(makeFile(pam + "1" + rest, {7, 8}), 1, 2, {7, 7, 7, 8, 8, 8});
  expectColors(makeFile(pam + "2" + rest, {7, 0, 8, 0}), 1, 2, {7, 7, 7, 8, 8, 8});
  expectColors(makeFile(pam + "3" + rest, {1, 2, 3, 40, 50, 60}), 1, 2, colors);
  expectColors(makeFile(pam + "4" + rest, {1, 2, 3, 0, 40, 50, 60, 0}), 1, 2, colors);
  expectWhole(makeFile("P6 2 1 255\n", colors));
  expectWhole(makeFile(pam + "4" + rest, {1, 2, 3, 0, 40, 50, 60, 0}));
}

TEST(WrittenImage, pnmThatIsNotDecoded) {
  auto refused = [](const std::string &text, int32_t result, const std::string &why) {
    expectRefused(makeFile(text), result, "the PNM image of " + std::to_string(text.size()) + " bytes: " + why);
  };
  refused("P5 ", VX_IMAGE_DAMAGED, "its header has no number where the width is expected");
  refused("P5 99999999999", VX_IMAGE_DAMAGED, "its header has no number where the width is expected");
  refused("P5 1 x", VX_IMAGE_DAMAGED, "its header has no number where the height is expected");
  refused("P5 1 1", VX_IMAGE_DAMAGED, "its header has no number where the largest sample is expected");
  refused("P5 1 1 0\na", VX_IMAGE_DAMAGED, "its largest sample is 0, allowed is [1, 65535]");
  refused("P5 1 1 65536\na", VX_IMAGE_DAMAGED, "its largest sample is 65536, allowed is [1, 65535]");
  refused("P5 1 1 255", VX_IMAGE_DAMAGED, "no space is between its header and its samples");
  refused("P5 0 1 255\n", VX_IMAGE_DAMAGED, "it is 0 pixels wide and 1 high");
  refused("P5 2 2 255\nabc", VX_IMAGE_DAMAGED, "it ends before its samples do: 3 bytes for 2 rows of 2");
  refused("P5 2 1 97\nab", VX_IMAGE_DAMAGED, "a sample is 98, the largest is 97");
  refused("P2 2 1 9\n1", VX_IMAGE_DAMAGED, "it ends before its samples do");
  refused("P2 2 1 9\n1 10", VX_IMAGE_DAMAGED, "a sample is 10, the largest is 9");
  refused("P2 2 1 9\n1 x", VX_IMAGE_DAMAGED, "a sample is no number, or it ends before its samples do");
  refused("P1 2 1\n12", VX_IMAGE_DAMAGED, "a sample is neither 0 nor 1, or it ends before its samples do");
  refused("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nENDHDR\nabcde", VX_IMAGE_UNSUPPORTED,
          "it has 5 samples a pixel, decoded are 1 to 4");
  refused("P7\nCOLOR 1\n", VX_IMAGE_DAMAGED, "its header has a line 'COLOR'");
  refused("P7\nWIDTH one\n", VX_IMAGE_DAMAGED, "WIDTH of its header is no number");
  refused("P7\nWIDTH 1\n", VX_IMAGE_DAMAGED, "it ends before its header does");
}

} // namespace vx::test
