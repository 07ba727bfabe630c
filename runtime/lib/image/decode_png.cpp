#include "image/decoders.h"

#include <csetjmp>
#include <cstring>
#include <png.h>
#include <vector>

namespace vx::image {

namespace {

// libpng goes back to `run` by a jump when it fails, so what it works with lies here, and `run` has nothing to destroy.
class PngFile {
public:
  explicit PngFile(Bytes file) : rest(file), size(file.size()) {}
  ~PngFile() { png_destroy_read_struct(&png, &info, nullptr); }

  Outcome decode(Rows &rows);

private:
  static void read(png_structp png, png_bytep to, size_t size);
  [[noreturn]] static void fail(png_structp png, png_const_charp message);
  static void ignore(png_structp, png_const_charp) {}

  // False where libpng has jumped.
  template <typename Work>
  bool run(Work work) {
    if (setjmp(place))
      return false;
    work();
    return true;
  }
  Outcome failed() const { return failure(VX_IMAGE_DAMAGED, "{}", message); }
  void readHeader();
  // What the caller wants of samples, whatever they are.
  void convert();

  Bytes rest;
  const uint64_t size;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf place;
  char message[160] = "";
  int passes = 1;
  std::vector<uint8_t> pixels; // a row; of an interlaced image all
};

void PngFile::read(png_structp png, png_bytep to, size_t size) {
  auto &self = *static_cast<PngFile *>(png_get_io_ptr(png));
  if (size > self.rest.size())
    png_error(png, "it ends early");
  std::memcpy(to, self.rest.data(), size);
  self.rest = self.rest.subspan(size);
}

void PngFile::fail(png_structp png, png_const_charp message) {
  auto &self = *static_cast<PngFile *>(png_get_error_ptr(png));
  std::strncpy(self.message, message, sizeof(self.message) - 1);
  std::longjmp(self.place, 1);
}

void PngFile::readHeader() {
  png_set_read_fn(png, this, read);
  // Sizes are checked by the rows.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(png, info);
}

void PngFile::convert() {
  png_set_scale_16(png);
  if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE)
    png_set_palette_to_rgb(png);
  else
    png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_alpha(png);
  passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

Outcome PngFile::decode(Rows &rows) {
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, ignore);
  info = png ? png_create_info_struct(png) : nullptr;
  if (!info)
    return failure(VX_IMAGE_NO_MEMORY, "no memory for libpng");
  if (!run([&] { readHeader(); }))
    return failed();
  const uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  // What is deflated is at most so much smaller.
  if (const uint64_t bits = uint64_t(png_get_channels(png, info)) * png_get_bit_depth(png, info);
      bits * width / 8 > size * 1100 / height)
    return failure(VX_IMAGE_DAMAGED, "it has too few bytes for {} x {} pixels", width, height);
  VX_IMAGE_RETURN_IF_ERROR(rows.begin(width, height));
  if (!run([&] { convert(); }))
    return failed();
  const uint64_t stride = png_get_rowbytes(png, info);
  const unsigned channels = png_get_channels(png, info);
  const bool isInterlaced = passes > 1;
  pixels.resize(stride * (isInterlaced ? height : 1));
  const bool isRead = run([&] {
    for (int pass = 0; pass < passes; ++pass)
      for (uint32_t y = 0; y < height; ++y) {
        png_read_row(png, pixels.data() + (isInterlaced ? y * stride : 0), nullptr);
        if (!isInterlaced)
          rows.put(y, pixels.data(), channels);
      }
    png_read_end(png, nullptr);
  });
  if (!isRead)
    return failed();
  for (uint32_t y = 0; isInterlaced && y < height; ++y)
    rows.put(y, pixels.data() + y * stride, channels);
  return {};
}

} // namespace

Outcome decodePng(Bytes file, Rows &rows) { return PngFile(file).decode(rows); }

} // namespace vx::image
