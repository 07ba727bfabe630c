#include "image/decoders.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tiffio.h>
#include <vector>

namespace vx::image {

namespace {

class TiffFile {
public:
  explicit TiffFile(Bytes file) : file(file) {}
  ~TiffFile() {
    if (isBegun)
      TIFFRGBAImageEnd(&image);
    if (tiff)
      TIFFClose(tiff);
  }

  Outcome decode(Rows &rows);

private:
  static TiffFile &of(thandle_t handle) { return *static_cast<TiffFile *>(handle); }
  static tmsize_t read(thandle_t handle, void *to, tmsize_t size);
  static tmsize_t write(thandle_t, void *, tmsize_t) { return -1; }
  static toff_t seek(thandle_t handle, toff_t offset, int from);
  static int close(thandle_t) { return 0; }
  static toff_t fileSize(thandle_t handle) { return of(handle).file.size(); }
  // libtiff only reads there. Some of its versions refuse tiles that are not compressed of a file that they have to
  // read from.
  static int map(thandle_t handle, void **bytes, toff_t *size) {
    *bytes = const_cast<uint8_t *>(of(handle).file.data());
    *size = of(handle).file.size();
    return 1;
  }
  static void unmap(thandle_t, void *, toff_t) {}
  static int keepMessage(TIFF *, void *user, const char *module, const char *format, va_list values);
  static int ignoreMessage(TIFF *, void *, const char *, const char *, va_list) { return 1; }

  Outcome failed(int32_t result = VX_IMAGE_DAMAGED) const {
    return failure(result, "{}", *message ? message : "libtiff does not say why it cannot be decoded");
  }
  bool open();
  void leaveColorsAsTheyAre();
  bool readRows(uint32_t row, uint32_t count);
  // Gray samples of 16 bits, whose lower eight libtiff would drop. Raster lines go to `readRows`.
  bool readDeepRows(uint32_t row, uint32_t count);
  void takeDeepSamples(const uint16_t *from, uint32_t count, uint32_t *to) const;
  // Whether rows of the file are columns of the picture.
  bool isTurned() const { return orientation >= ORIENTATION_LEFTTOP; }
  void takeRow(uint32_t row, const uint32_t *from, Rows &rows);
  uint64_t mostBytes() const { return 8 * maxPixels + (1 << 20); }

  const Bytes file;
  uint64_t offset = 0, maxPixels = 0;
  TIFF *tiff = nullptr;
  TIFFRGBAImage image = {};
  bool isBegun = false;
  uint16_t orientation = ORIENTATION_TOPLEFT;
  char message[1024] = "";      // as libtiff wants it
  std::vector<uint32_t> raster; // what is compressed together, as libtiff gives it
  std::vector<uint16_t> deep;
  std::vector<uint8_t> line, turned;
};

tmsize_t TiffFile::read(thandle_t handle, void *to, tmsize_t size) {
  TiffFile &self = of(handle);
  if (size < 0 || self.offset > self.file.size())
    return -1;
  const uint64_t given = std::min<uint64_t>(static_cast<uint64_t>(size), self.file.size() - self.offset);
  if (given)
    std::memcpy(to, self.file.data() + self.offset, given);
  self.offset += given;
  return static_cast<tmsize_t>(given);
}

toff_t TiffFile::seek(thandle_t handle, toff_t offset, int from) {
  TiffFile &self = of(handle);
  self.offset = offset + (from == SEEK_CUR ? self.offset : from == SEEK_END ? self.file.size() : 0);
  return self.offset;
}

int TiffFile::keepMessage(TIFF *, void *user, const char *module, const char *format, va_list values) {
  char *message = static_cast<TiffFile *>(user)->message;
  if (!*message)
    std::vsnprintf(message, sizeof(TiffFile::message), format, values);
  return 1; // and nobody else
}

bool TiffFile::open() {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions *)> options(TIFFOpenOptionsAlloc(),
                                                                              TIFFOpenOptionsFree);
  if (!options)
    return false;
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keepMessage, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignoreMessage, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(mostBytes()));
  tiff = TIFFClientOpenExt("image", "r", this, read, write, seek, close, fileSize, map, unmap, options.get());
  return tiff;
}

// libtiff multiplies colors by alpha that is stored beside them, unless it takes them for multiplied already.
void TiffFile::leaveColorsAsTheyAre() {
  uint16_t count = 0;
  uint16_t *kinds = nullptr;
  if (!TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) || count == 0 || kinds[0] != EXTRASAMPLE_UNASSALPHA)
    return;
  std::vector<uint16_t> others(kinds, kinds + count);
  others[0] = EXTRASAMPLE_ASSOCALPHA;
  TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, count, others.data());
}

void TiffFile::takeDeepSamples(const uint16_t *from, uint32_t count, uint32_t *to) const {
  const uint32_t step = image.isContig ? image.samplesperpixel : 1;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t sample = from[uint64_t(i) * step];
    to[i] = scaleSample(image.photometric == PHOTOMETRIC_MINISWHITE ? 65535 - sample : sample, 65535) * 0x10101U;
  }
}

bool TiffFile::readDeepRows(uint32_t row, uint32_t count) {
  const bool isTiled = TIFFIsTiled(tiff);
  const tmsize_t size = isTiled ? TIFFTileSize(tiff) : TIFFScanlineSize(tiff);
  if (size <= 0 || static_cast<uint64_t>(size) > mostBytes())
    return false;
  deep.resize(static_cast<uint64_t>(size) / 2 + 1);
  if (!isTiled) {
    for (uint32_t i = 0; i < count; ++i) {
      if (TIFFReadScanline(tiff, deep.data(), row + i, 0) != 1)
        return false;
      takeDeepSamples(deep.data(), image.width, &raster[uint64_t(i) * image.width]);
    }
    return true;
  }
  uint32_t tileWidth = 0;
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &tileWidth);
  const uint64_t stride = static_cast<uint64_t>(TIFFTileRowSize(tiff)) / 2;
  for (uint32_t left = 0; left < image.width; left += tileWidth) {
    if (TIFFReadTile(tiff, deep.data(), left, row, 0, 0) < 0)
      return false;
    for (uint32_t i = 0; i < count; ++i)
      takeDeepSamples(&deep[i * stride], std::min(tileWidth, image.width - left),
                      &raster[uint64_t(i) * image.width + left]);
  }
  return true;
}

bool TiffFile::readRows(uint32_t row, uint32_t count) {
  if (image.bitspersample == 16 &&
      (image.photometric == PHOTOMETRIC_MINISBLACK || image.photometric == PHOTOMETRIC_MINISWHITE))
    return readDeepRows(row, count);
  image.row_offset = static_cast<int>(row);
  return TIFFRGBAImageGet(&image, raster.data(), image.width, count);
}

void TiffFile::takeRow(uint32_t row, const uint32_t *from, Rows &rows) {
  const uint32_t width = image.width, height = image.height;
  const bool fromBelow = orientation == ORIENTATION_BOTLEFT || orientation == ORIENTATION_BOTRIGHT ||
                         orientation == ORIENTATION_RIGHTTOP || orientation == ORIENTATION_RIGHTBOT;
  const bool fromRight = orientation == ORIENTATION_TOPRIGHT || orientation == ORIENTATION_BOTRIGHT ||
                         orientation == ORIENTATION_LEFTBOT || orientation == ORIENTATION_RIGHTBOT;
  const uint64_t y = fromBelow ? height - 1 - row : row;
  for (uint32_t column = 0; column < width; ++column) {
    const uint64_t x = fromRight ? width - 1 - column : column;
    uint8_t *to = isTurned() ? &turned[(x * height + y) * 3] : &line[x * 3];
    to[0] = TIFFGetR(from[column]), to[1] = TIFFGetG(from[column]), to[2] = TIFFGetB(from[column]);
  }
  if (!isTurned())
    rows.put(static_cast<uint32_t>(y), line.data(), 3);
}

Outcome TiffFile::decode(Rows &rows) {
  maxPixels = rows.maxPixels();
  if (!open())
    return failed();
  leaveColorsAsTheyAre();
  char why[1024] = "";
  if (!TIFFRGBAImageOK(tiff, why) || !TIFFRGBAImageBegin(&image, tiff, /*stop=*/1, why))
    return failure(*message ? VX_IMAGE_DAMAGED : VX_IMAGE_UNSUPPORTED, "{}", *message ? message : why);
  isBegun = true;
  orientation = image.orientation >= 1 && image.orientation <= 8 ? image.orientation : ORIENTATION_TOPLEFT;
  image.req_orientation = image.orientation; // rows come as they are stored
  const uint32_t width = image.width, height = image.height;
  VX_IMAGE_RETURN_IF_ERROR(isTurned() ? rows.begin(height, width) : rows.begin(width, height));
  // As many rows at once as are compressed together.
  uint32_t together = height;
  TIFFGetField(tiff, TIFFIsTiled(tiff) ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, &together);
  together = std::clamp<uint32_t>(together, 1, height);
  raster.resize(uint64_t(width) * together);
  (isTurned() ? turned : line).resize(uint64_t(width) * 3 * (isTurned() ? height : 1));
  for (uint32_t row = 0; row < height; row += together) {
    const uint32_t count = std::min(together, height - row);
    if (!readRows(row, count) || *message)
      return failed();
    for (uint32_t i = 0; i < count; ++i)
      takeRow(row + i, raster.data() + uint64_t(i) * width, rows);
  }
  for (uint32_t y = 0; isTurned() && y < width; ++y)
    rows.put(y, turned.data() + uint64_t(y) * height * 3, 3);
  return {};
}

} // namespace

Outcome decodeTiff(Bytes file, Rows &rows) { return TiffFile(file).decode(rows); }

} // namespace vx::image
