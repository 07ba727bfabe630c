#include "image/byte_reader.h"
#include "image/decoders.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace vx::image {

namespace {

enum Compression : uint32_t { Plain = 0, Runs8 = 1, Runs4 = 2, Masks = 3, MasksWithAlpha = 6 };

// Where a sample lies in a pixel of 16 or 32 bits.
struct Field {
  uint32_t mask = 0;

  uint32_t max() const { return mask >> std::countr_zero(mask); }
  // Its bits are beside each other.
  bool isOne() const { return mask == 0 || (uint64_t(max()) & (uint64_t(max()) + 1)) == 0; }
  uint8_t of(uint32_t pixel) const {
    return mask == 0 ? 0 : scaleSample((pixel & mask) >> std::countr_zero(mask), max());
  }
};

class BmpFile {
public:
  explicit BmpFile(Bytes file) : file(file), size(file.size()) {}

  Outcome decode(Rows &rows);

private:
  Outcome readHeader();
  Outcome readOldHeader();
  Outcome readNewHeader(uint32_t headerSize);
  Outcome readFields(uint32_t headerSize);
  Outcome readPalette();
  Outcome decodePlain(Rows &rows);
  Outcome decodeRuns(Rows &rows);
  Outcome expandRuns(std::vector<uint8_t> &indices) const;
  Outcome color(uint32_t index, uint8_t *to) const;
  Outcome endsEarly(const char *what) const { return failure(VX_IMAGE_DAMAGED, "it ends within its {}", what); }

  ByteReader file;
  const uint64_t size;
  int64_t width = 0, height = 0;
  bool isTopDown = false;
  uint32_t bits = 0, compression = Plain;
  uint64_t pixels = 0;                              // where they begin
  uint64_t paletteOffset = 0, paletteEntrySize = 4; // of the file
  uint32_t paletteSize = 0;
  std::array<std::array<uint8_t, 3>, 256> palette = {};
  std::array<Field, 3> fields; // red, green, blue
};

Outcome BmpFile::readOldHeader() {
  width = file.u16(18);
  height = file.u16(20);
  bits = file.u16(24);
  paletteEntrySize = 3;
  paletteOffset = 14 + 12;
  paletteSize = bits <= 8 ? 1U << bits : 0;
  // Files of old programs have fewer colors than they might.
  if (pixels >= paletteOffset)
    paletteSize =
        std::min<uint32_t>(paletteSize, static_cast<uint32_t>(std::min<uint64_t>((pixels - paletteOffset) / 3, 256)));
  return {};
}

Outcome BmpFile::readFields(uint32_t headerSize) {
  if (compression == Plain) {
    fields = bits == 16 ? std::array<Field, 3>{Field{0x7c00}, Field{0x03e0}, Field{0x001f}}
                        : std::array<Field, 3>{Field{0xff0000}, Field{0xff00}, Field{0xff}};
    return {};
  }
  // In the header, or, where that is a small one, behind it.
  if (!file.has(54, 12))
    return endsEarly("header");
  for (uint64_t i = 0; i < 3; ++i) {
    fields[i] = {file.u32(54 + 4 * i)};
    if (!fields[i].isOne())
      return failure(VX_IMAGE_UNSUPPORTED, "a sample has the bits {:#x}, which are not beside each other",
                     fields[i].mask);
  }
  if (headerSize == 40)
    paletteOffset += compression == MasksWithAlpha ? 16 : 12;
  return {};
}

Outcome BmpFile::readNewHeader(uint32_t headerSize) {
  if (!file.has(14, headerSize))
    return endsEarly("header");
  width = static_cast<int32_t>(file.u32(18));
  height = static_cast<int32_t>(file.u32(22));
  isTopDown = height < 0;
  height = isTopDown ? -height : height;
  bits = file.u16(28);
  compression = file.u32(30);
  paletteOffset = 14 + headerSize;
  const uint32_t stated = file.u32(46);
  paletteSize = bits <= 8 ? (stated && stated < (1U << bits) ? stated : 1U << bits) : 0;
  const bool hasRuns = compression == Runs8 || compression == Runs4;
  const bool hasMasks = compression == Masks || compression == MasksWithAlpha;
  if ((compression != Plain && !hasRuns && !hasMasks) || (headerSize == 64 && hasMasks))
    return failure(VX_IMAGE_UNSUPPORTED, "its compression has the number {}, decoded are 0, 1, 2, 3 and 6",
                   compression);
  if (hasRuns && (bits != (compression == Runs8 ? 8 : 4) || isTopDown))
    return failure(VX_IMAGE_DAMAGED, "it has runs of {} bits a pixel{}", bits, isTopDown ? ", from the top" : "");
  if (hasMasks && bits != 16 && bits != 32)
    return failure(VX_IMAGE_DAMAGED, "it has masks for {} bits a pixel", bits);
  return bits == 16 || bits == 32 ? readFields(headerSize) : Outcome();
}

Outcome BmpFile::readHeader() {
  if (!file.has(0, 26))
    return endsEarly("header");
  pixels = file.u32(10);
  const uint32_t headerSize = file.u32(14);
  switch (headerSize) {
  case 12:
    VX_IMAGE_RETURN_IF_ERROR(readOldHeader());
    break;
  case 40:
  case 52:
  case 56:
  case 64:
  case 108:
  case 124:
    VX_IMAGE_RETURN_IF_ERROR(readNewHeader(headerSize));
    break;
  default:
    return failure(VX_IMAGE_UNSUPPORTED, "its header has {} bytes, decoded are 12, 40, 52, 56, 64, 108 and 124",
                   headerSize);
  }
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32)
    return failure(VX_IMAGE_DAMAGED, "it has {} bits a pixel", bits);
  if (width <= 0 || height <= 0)
    return failure(VX_IMAGE_DAMAGED, "it is {} pixels wide and {} high", width, height);
  return readPalette();
}

Outcome BmpFile::readPalette() {
  if (!file.has(paletteOffset, paletteSize * paletteEntrySize))
    return endsEarly("palette");
  for (uint32_t i = 0; i < paletteSize; ++i) {
    const uint8_t *entry = file.at(paletteOffset + i * paletteEntrySize);
    palette[i] = {entry[2], entry[1], entry[0]};
  }
  return {};
}

Outcome BmpFile::color(uint32_t index, uint8_t *to) const {
  if (index >= paletteSize)
    return failure(VX_IMAGE_DAMAGED, "a pixel has the color {}, there are {}", index, paletteSize);
  std::copy(palette[index].begin(), palette[index].end(), to);
  return {};
}

Outcome BmpFile::decodePlain(Rows &rows) {
  const uint64_t stride = (static_cast<uint64_t>(width) * bits + 31) / 32 * 4;
  const auto count = static_cast<uint64_t>(height), columns = static_cast<uint64_t>(width);
  if (!file.has(pixels, 0) || (size - pixels) / stride < count) {
    // The last row may end with its last pixel.
    const uint64_t last = (columns * bits + 7) / 8;
    if (!file.has(pixels, 0) || (size - pixels) / stride + 1 < count || (size - pixels) % stride < last)
      return endsEarly("pixels");
  }
  VX_IMAGE_RETURN_IF_ERROR(rows.begin(columns, count));
  std::vector<uint8_t> row(columns * 3);
  for (uint64_t line = 0; line < count; ++line) {
    const uint64_t from = pixels + line * stride;
    for (uint64_t x = 0; x < columns; ++x) {
      uint8_t *to = &row[x * 3];
      if (bits <= 8) {
        const uint64_t place = x * bits;
        const uint32_t index = file.at(from + place / 8)[0] >> (8 - bits - place % 8) & ((1U << bits) - 1);
        VX_IMAGE_RETURN_IF_ERROR(color(index, to));
      } else if (bits == 24) {
        const uint8_t *pixel = file.at(from + x * 3);
        to[0] = pixel[2], to[1] = pixel[1], to[2] = pixel[0];
      } else {
        const uint32_t pixel = bits == 16 ? file.u16(from + x * 2) : file.u32(from + x * 4);
        for (size_t i = 0; i < 3; ++i)
          to[i] = fields[i].of(pixel);
      }
    }
    rows.put(static_cast<uint32_t>(isTopDown ? line : count - 1 - line), row.data(), 3);
  }
  return {};
}

// Pixels that no run sets keep the index 0.
Outcome BmpFile::expandRuns(std::vector<uint8_t> &indices) const {
  const auto columns = static_cast<uint64_t>(width), count = static_cast<uint64_t>(height);
  uint64_t at = pixels, x = 0, line = 0;
  auto put = [&](uint64_t from, uint64_t length, bool isRun) -> Outcome {
    if (line >= count || length > columns - x)
      return failure(VX_IMAGE_DAMAGED, "a run of {} pixels begins at {} of row {} of {} x {} pixels", length, x, line,
                     columns, count);
    for (uint64_t i = 0; i < length; ++i) {
      const uint8_t byte = file.at(from + (isRun ? 0 : bits == 8 ? i : i / 2))[0];
      indices[line * columns + x + i] = bits == 8 ? byte : i % 2 ? byte & 15 : byte >> 4;
    }
    x += length;
    return {};
  };
  while (file.has(at, 2)) {
    const uint8_t count8 = file.at(at)[0], value = file.at(at)[1];
    at += 2;
    if (count8) {
      VX_IMAGE_RETURN_IF_ERROR(put(at - 1, count8, true));
    } else if (value == 0) {
      x = 0, ++line;
    } else if (value == 1) {
      return {};
    } else if (value == 2) {
      if (!file.has(at, 2))
        break;
      x += file.at(at)[0], line += file.at(at)[1], at += 2;
      if (x > columns || line > count)
        return failure(VX_IMAGE_DAMAGED, "it goes on at pixel {} of row {} of {} x {} pixels", x, line, columns, count);
    } else {
      const uint64_t bytes = bits == 8 ? value : (value + 1U) / 2;
      if (!file.has(at, bytes))
        break;
      VX_IMAGE_RETURN_IF_ERROR(put(at, value, false));
      at += bytes + bytes % 2;
    }
  }
  return endsEarly("pixels");
}

Outcome BmpFile::decodeRuns(Rows &rows) {
  VX_IMAGE_RETURN_IF_ERROR(rows.begin(static_cast<uint64_t>(width), static_cast<uint64_t>(height)));
  std::vector<uint8_t> indices(uint64_t(rows.width()) * rows.height());
  VX_IMAGE_RETURN_IF_ERROR(expandRuns(indices));
  std::vector<uint8_t> row(uint64_t(rows.width()) * 3);
  for (uint32_t y = 0; y < rows.height(); ++y) {
    for (uint64_t x = 0; x < rows.width(); ++x)
      VX_IMAGE_RETURN_IF_ERROR(color(indices[uint64_t(rows.height() - 1 - y) * rows.width() + x], &row[x * 3]));
    rows.put(y, row.data(), 3);
  }
  return {};
}

Outcome BmpFile::decode(Rows &rows) {
  VX_IMAGE_RETURN_IF_ERROR(readHeader());
  return compression == Runs8 || compression == Runs4 ? decodeRuns(rows) : decodePlain(rows);
}

} // namespace

Outcome decodeBmp(Bytes file, Rows &rows) { return BmpFile(file).decode(rows); }

} // namespace vx::image
