#include "image/decoders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <openjpeg.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::image {

namespace {

// What OpenJPEG allocates before it has seen a pixel: some ten kilobytes for each tile.
constexpr uint64_t maxTiles = 16384;
constexpr uint32_t maxComponents = 4;

uint64_t bigEndian(Bytes bytes, size_t offset, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value = value << 8 | bytes[offset + i];
  return value;
}

// The codestream in the boxes of a JP2 file, or the file itself.
std::optional<Bytes> findCodestream(Bytes file) {
  if (file[0] == 0xff)
    return file;
  while (file.size() >= 8) {
    uint64_t length = bigEndian(file, 0, 4), header = 8;
    if (length == 1 && file.size() >= 16)
      length = bigEndian(file, 8, 8), header = 16;
    if (length == 0)
      length = file.size();
    if (length < header || length > file.size())
      return std::nullopt;
    if (std::memcmp(file.data() + 4, "jp2c", 4) == 0)
      return file.subspan(header, length - header);
    file = file.subspan(length);
  }
  return std::nullopt;
}

// Sizes are checked before OpenJPEG sees them.
Outcome readSizes(Bytes file, Rows &rows) {
  const std::optional<Bytes> stream = findCodestream(file);
  if (!stream)
    return failure(VX_IMAGE_DAMAGED, "its boxes end early or hold no codestream");
  if (stream->size() < 42)
    return failure(VX_IMAGE_DAMAGED, "it ends early");
  if (bigEndian(*stream, 0, 4) != 0xff4fff51)
    return failure(VX_IMAGE_DAMAGED, "its codestream does not begin with sizes");
  std::array<uint64_t, 8> sizes; // right, lower, left, upper; width, height, left, upper of tiles
  for (size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = bigEndian(*stream, 8 + 4 * i, 4);
  const auto [right, lower, left, upper, tileWidth, tileHeight, tileLeft, tileUpper] = sizes;
  if (right <= left || lower <= upper || !tileWidth || !tileHeight || tileLeft > left || tileUpper > upper)
    return failure(VX_IMAGE_DAMAGED, "it reaches from [{}, {}] to [{}, {}], with tiles of {} x {} from [{}, {}] on",
                   left, upper, right, lower, tileWidth, tileHeight, tileLeft, tileUpper);
  const uint64_t tiles =
      ((right - tileLeft + tileWidth - 1) / tileWidth) * ((lower - tileUpper + tileHeight - 1) / tileHeight);
  const uint64_t components = bigEndian(*stream, 40, 2);
  if (tiles > maxTiles || components > maxComponents)
    return failure(VX_IMAGE_UNSUPPORTED, "it has {} tiles of {} components, decoded are at most {} of {}", tiles,
                   components, maxTiles, maxComponents);
  return rows.begin(right - left, lower - upper);
}

// What OpenJPEG reads from.
struct Source {
  Bytes file;
  size_t place = 0;

  static OPJ_SIZE_T read(void *to, OPJ_SIZE_T size, void *user) {
    auto &self = *static_cast<Source *>(user);
    const size_t given = std::min<size_t>(size, self.file.size() - self.place);
    if (given == 0)
      return static_cast<OPJ_SIZE_T>(-1);
    std::memcpy(to, self.file.data() + self.place, given);
    self.place += given;
    return given;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T count, void *user) {
    auto &self = *static_cast<Source *>(user);
    if (count < 0 || static_cast<uint64_t>(count) > self.file.size() - self.place)
      return -1;
    self.place += static_cast<size_t>(count);
    return count;
  }
  static OPJ_BOOL seek(OPJ_OFF_T place, void *user) {
    auto &self = *static_cast<Source *>(user);
    if (place < 0 || static_cast<uint64_t>(place) > self.file.size())
      return OPJ_FALSE;
    self.place = static_cast<size_t>(place);
    return OPJ_TRUE;
  }
};

void keepMessage(const char *text, void *user) {
  auto &message = *static_cast<std::string *>(user);
  if (message.empty())
    message = text;
  while (!message.empty() && message.back() == '\n')
    message.pop_back();
}
void ignoreMessage(const char *, void *) {}

// One component, of which each sample may stand for several pixels.
class Component {
public:
  Component(const opj_image_t &image, const opj_image_comp_t &component)
      : data(component.data), width(component.w), height(component.h), dx(component.dx), dy(component.dy),
        left(image.x0), upper(image.y0), x0(component.x0), y0(component.y0),
        offset(component.sgnd ? int64_t(1) << (component.prec - 1) : 0), max((int64_t(1) << component.prec) - 1) {}

  uint8_t at(uint64_t x, uint64_t y) const {
    const uint64_t index = place(upper + y, dy, y0, height) * width + place(left + x, dx, x0, width);
    const int64_t value = std::clamp<int64_t>(data[index] + offset, 0, max);
    return scaleSample(static_cast<uint64_t>(value), static_cast<uint64_t>(max));
  }

private:
  static uint64_t place(uint64_t at, uint64_t step, uint64_t first, uint64_t count) {
    return std::clamp<int64_t>(static_cast<int64_t>(at / step) - static_cast<int64_t>(first), 0,
                               static_cast<int64_t>(count) - 1);
  }

  const int32_t *data;
  uint64_t width, height, dx, dy, left, upper, x0, y0;
  int64_t offset, max;
};

// Red, green and blue of luma and two differences of colors, of ITU-R BT.601.
void lumaToColor(uint8_t *color) {
  const double y = color[0], blue = color[1] - 128.0, red = color[2] - 128.0;
  const double values[] = {y + 1.402 * red, y - 0.344136 * blue - 0.714136 * red, y + 1.772 * blue};
  for (int i = 0; i < 3; ++i)
    color[i] = static_cast<uint8_t>(std::lround(std::clamp(values[i], 0.0, 255.0)));
}

Outcome putImage(const opj_image_t &image, Rows &rows) {
  if (image.numcomps < 1 || image.numcomps > maxComponents)
    return failure(VX_IMAGE_UNSUPPORTED, "it has {} components, decoded are 1 to {}", image.numcomps, maxComponents);
  if (image.color_space == OPJ_CLRSPC_EYCC)
    return failure(VX_IMAGE_UNSUPPORTED, "its colors are e-YCC");
  const bool hasInks = image.color_space == OPJ_CLRSPC_CMYK && image.numcomps == 4;
  const unsigned channels = image.numcomps < 3 ? 1 : hasInks ? 4 : 3;
  std::vector<Component> components;
  for (unsigned i = 0; i < channels; ++i) {
    const opj_image_comp_t &component = image.comps[i];
    if (!component.data || !component.w || !component.h || !component.dx || !component.dy)
      return failure(VX_IMAGE_DAMAGED, "component {} has no samples", i);
    if (component.prec < 1 || component.prec > 31)
      return failure(VX_IMAGE_UNSUPPORTED, "the samples of component {} have {} bits, decoded are 1 to 31", i,
                     component.prec);
    components.emplace_back(image, component);
  }
  std::vector<uint8_t> row(uint64_t(rows.width()) * channels);
  for (uint32_t y = 0; y < rows.height(); ++y) {
    for (uint64_t x = 0; x < rows.width(); ++x) {
      uint8_t *pixel = &row[x * channels];
      for (unsigned i = 0; i < channels; ++i)
        pixel[i] = components[i].at(x, y);
      if (image.color_space == OPJ_CLRSPC_SYCC && channels == 3)
        lumaToColor(pixel);
      if (hasInks) {
        std::array<uint8_t, 3> color;
        inksToColor(pixel, color.data());
        std::copy(color.begin(), color.end(), pixel);
      }
    }
    rows.put(y, row.data(), channels);
  }
  return {};
}

} // namespace

Outcome decodeJpeg2000(Bytes file, Rows &rows) {
  VX_IMAGE_RETURN_IF_ERROR(readSizes(file, rows));
  Source source = {file};
  std::string message;
  const std::unique_ptr<opj_stream_t, void (*)(opj_stream_t *)> stream(
      opj_stream_create(std::min<size_t>(file.size(), OPJ_J2K_STREAM_CHUNK_SIZE), OPJ_TRUE),
      [](opj_stream_t *made) { opj_stream_destroy(made); });
  const std::unique_ptr<opj_codec_t, void (*)(opj_codec_t *)> codec(
      opj_create_decompress(file[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2),
      [](opj_codec_t *made) { opj_destroy_codec(made); });
  if (!stream || !codec)
    return failure(VX_IMAGE_NO_MEMORY, "no memory for OpenJPEG");
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  opj_stream_set_read_function(stream.get(), Source::read);
  opj_stream_set_skip_function(stream.get(), Source::skip);
  opj_stream_set_seek_function(stream.get(), Source::seek);
  opj_set_error_handler(codec.get(), keepMessage, &message);
  opj_set_warning_handler(codec.get(), ignoreMessage, nullptr);
  opj_set_info_handler(codec.get(), ignoreMessage, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t *read = nullptr;
  bool isRead = opj_setup_decoder(codec.get(), &parameters) && opj_read_header(stream.get(), codec.get(), &read);
  const std::unique_ptr<opj_image_t, void (*)(opj_image_t *)> image(read, opj_image_destroy);
  // Sizes that it takes from elsewhere are none that were checked.
  if (isRead && (image->x1 - image->x0 != rows.width() || image->y1 - image->y0 != rows.height()))
    return failure(VX_IMAGE_DAMAGED, "its sizes are given twice");
  isRead =
      isRead && opj_decode(codec.get(), stream.get(), image.get()) && opj_end_decompress(codec.get(), stream.get());
  if (!isRead)
    return failure(VX_IMAGE_DAMAGED, "{}",
                   message.empty() ? "OpenJPEG does not say why it cannot be decoded" : message);
  return putImage(*image, rows);
}

} // namespace vx::image
