#include "image/decoders.h"

#include <csetjmp>
#include <cstdio>
#include <jerror.h>
#include <jpeglib.h>
#include <vector>

namespace vx::image {

namespace {

// Each scan of a progressive image goes over all of it.
constexpr int maxScans = 500;

// libjpeg goes back to `run` by a jump when it fails, so what it works with lies here, and `run` has nothing to
// destroy.
class JpegFile {
public:
  explicit JpegFile(Bytes file) : file(file) {}
  ~JpegFile() { jpeg_destroy_decompress(&jpeg); }

  Outcome decode(Rows &rows);

private:
  static JpegFile &of(j_common_ptr common) { return *static_cast<JpegFile *>(common->client_data); }
  [[noreturn]] static void fail(j_common_ptr common);
  static void warn(j_common_ptr common, int level);
  static void countScans(j_common_ptr common);

  // False where libjpeg has jumped.
  template <typename Work>
  bool run(Work work) {
    if (setjmp(place))
      return false;
    work();
    return true;
  }
  Outcome failed() const;
  void readHeader();
  Outcome chooseColors();

  const Bytes file;
  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf place;
  bool hasTooManyScans = false;
  std::vector<uint8_t> row, colors;
};

void JpegFile::fail(j_common_ptr common) { std::longjmp(of(common).place, 1); }

// What libjpeg goes on from with a guess is damage, but for what says nothing about the pixels.
void JpegFile::warn(j_common_ptr common, int level) {
  const int code = common->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM &&
      code != JWRN_TOO_MUCH_DATA)
    fail(common);
}

void JpegFile::countScans(j_common_ptr common) {
  if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number > maxScans) {
    of(common).hasTooManyScans = true;
    fail(common);
  }
}

Outcome JpegFile::failed() const {
  if (hasTooManyScans)
    return failure(VX_IMAGE_DAMAGED, "it has more than {} scans", maxScans);
  char text[JMSG_LENGTH_MAX] = "";
  errors.format_message(reinterpret_cast<j_common_ptr>(const_cast<jpeg_decompress_struct *>(&jpeg)), text);
  switch (errors.msg_code) {
  case JERR_OUT_OF_MEMORY:
    return failure(VX_IMAGE_NO_MEMORY, "{}", text);
  case JERR_ARITH_NOTIMPL:
  case JERR_BAD_PRECISION:
  case JERR_CONVERSION_NOTIMPL:
  case JERR_NOT_COMPILED:
  case JERR_SOF_UNSUPPORTED:
    return failure(VX_IMAGE_UNSUPPORTED, "{}", text);
  default:
    return failure(VX_IMAGE_DAMAGED, "{}", text);
  }
}

void JpegFile::readHeader() {
  jpeg_create_decompress(&jpeg);
  jpeg.client_data = this;
  jpeg.progress = &progress;
  jpeg_mem_src(&jpeg, file.data(), file.size());
  jpeg_read_header(&jpeg, TRUE);
}

Outcome JpegFile::chooseColors() {
  switch (jpeg.jpeg_color_space) {
  case JCS_GRAYSCALE:
    jpeg.out_color_space = JCS_GRAYSCALE;
    break;
  case JCS_YCbCr:
  case JCS_RGB:
    jpeg.out_color_space = JCS_RGB;
    break;
  case JCS_CMYK:
  case JCS_YCCK:
    jpeg.out_color_space = JCS_CMYK;
    break;
  default:
    return failure(VX_IMAGE_UNSUPPORTED, "it has {} samples a pixel, decoded are 1, 3 and 4", jpeg.num_components);
  }
  if (jpeg.data_precision != 8)
    return failure(VX_IMAGE_UNSUPPORTED, "its samples have {} bits, decoded are 8", jpeg.data_precision);
  // A block of 8 x 8 samples takes at least a bit.
  if (uint64_t(jpeg.image_width) * jpeg.image_height / 512 > file.size() && !jpeg.arith_code)
    return failure(VX_IMAGE_DAMAGED, "it has too few bytes for {} x {} pixels", jpeg.image_width, jpeg.image_height);
  return {};
}

Outcome JpegFile::decode(Rows &rows) {
  jpeg.err = jpeg_std_error(&errors);
  jpeg.client_data = this;
  errors.error_exit = fail;
  errors.emit_message = warn;
  progress.progress_monitor = countScans;
  if (!run([&] { readHeader(); }))
    return failed();
  VX_IMAGE_RETURN_IF_ERROR(chooseColors());
  VX_IMAGE_RETURN_IF_ERROR(rows.begin(jpeg.image_width, jpeg.image_height));
  const unsigned channels = jpeg.out_color_space == JCS_GRAYSCALE ? 1 : jpeg.out_color_space == JCS_CMYK ? 4 : 3;
  row.resize(uint64_t(rows.width()) * channels);
  colors.resize(channels == 4 ? uint64_t(rows.width()) * 3 : 0);
  const bool isRead = run([&] {
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      const uint32_t y = jpeg.output_scanline;
      JSAMPROW line = row.data();
      jpeg_read_scanlines(&jpeg, &line, 1);
      if (channels != 4) {
        rows.put(y, row.data(), channels);
        continue;
      }
      // As Adobe's programs write them, and after these all: 255 is no ink.
      for (uint8_t &sample : row)
        sample = static_cast<uint8_t>(255 - sample);
      for (uint64_t x = 0; x < rows.width(); ++x)
        inksToColor(&row[x * 4], &colors[x * 3]);
      rows.put(y, colors.data(), 3);
    }
    jpeg_finish_decompress(&jpeg);
  });
  return isRead ? Outcome() : failed();
}

} // namespace

Outcome decodeJpeg(Bytes file, Rows &rows) { return JpegFile(file).decode(rows); }

} // namespace vx::image
