#include "made_images.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <jpeglib.h>
#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/encode.h>

namespace vx::test {

Picture makePicture(uint32_t width, uint32_t height, uint32_t channels, uint32_t max) {
  Picture picture = {width, height, channels, {}, max};
  uint64_t sample = 0;
  for (uint64_t i = 0; i < uint64_t(width) * height * channels; ++i)
    picture.samples.push_back(static_cast<uint32_t>(++sample * 40503 % (uint64_t(max) + 1)));
  return picture;
}

Picture makeSmoothPicture(uint32_t width, uint32_t height, uint32_t channels) {
  Picture picture = {width, height, channels, {}};
  for (uint32_t y = 0; y < height; ++y)
    for (uint32_t x = 0; x < width; ++x)
      for (uint32_t channel = 0; channel < channels; ++channel)
        picture.samples.push_back(std::min(255U, 30 + 60 * channel + 2 * x + 3 * y));
  return picture;
}

static void append(File &file, const void *bytes, size_t size) {
  file.insert(file.end(), static_cast<const uint8_t *>(bytes), static_cast<const uint8_t *>(bytes) + size);
}

// Rows of samples of `bits`, the first one in the highest bits; of 16 the order of bytes is that of PNG, or the
// machine's.
static std::vector<uint8_t> packRow(const Picture &picture, uint32_t y, unsigned bits, bool isMachines = false) {
  std::vector<uint8_t> row((uint64_t(picture.width) * picture.channels * bits + 7) / 8);
  for (uint32_t i = 0; i < picture.width * picture.channels; ++i) {
    const uint32_t sample = picture.samples[uint64_t(y) * picture.width * picture.channels + i];
    if (bits == 16) {
      const bool isHighFirst = !isMachines || std::endian::native == std::endian::big;
      row[i * 2 + (isHighFirst ? 0 : 1)] = static_cast<uint8_t>(sample >> 8);
      row[i * 2 + (isHighFirst ? 1 : 0)] = static_cast<uint8_t>(sample);
    } else {
      row[i * bits / 8] |= static_cast<uint8_t>(sample << (8 - bits - i * bits % 8));
    }
  }
  return row;
}

static unsigned bitsOf(const Picture &picture) { return static_cast<unsigned>(std::bit_width(picture.max)); }

File makePng(const Picture &picture, const PngForm &form) {
  File file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp to, png_bytep bytes, size_t size) {
        append(*static_cast<File *>(png_get_io_ptr(to)), bytes, size);
      },
      nullptr);
  static constexpr int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_RGBA};
  const bool hasPalette = !form.palette.colors.empty();
  png_set_IHDR(png, info, picture.width, picture.height, static_cast<int>(bitsOf(picture)),
               hasPalette ? PNG_COLOR_TYPE_PALETTE : types[picture.channels],
               form.isInterlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> colors;
  for (size_t i = 0; i + 2 < form.palette.colors.size(); i += 3)
    colors.push_back({form.palette.colors[i], form.palette.colors[i + 1], form.palette.colors[i + 2]});
  if (hasPalette)
    png_set_PLTE(png, info, colors.data(), static_cast<int>(colors.size()));
  const png_byte clear[] = {0, 128};
  png_color_16 clearColor = {};
  clearColor.gray = static_cast<png_uint_16>(picture.samples[0]);
  clearColor.red = clearColor.gray, clearColor.green = clearColor.gray, clearColor.blue = clearColor.gray;
  if (form.hasClear)
    png_set_tRNS(png, info, hasPalette ? clear : nullptr, hasPalette ? 2 : 1, hasPalette ? nullptr : &clearColor);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass)
    for (uint32_t y = 0; y < picture.height; ++y)
      png_write_row(png, packRow(picture, y, bitsOf(picture)).data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

File makeJpeg(const Picture &picture, const JpegForm &form) {
  jpeg_compress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char *bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = picture.width;
  jpeg.image_height = picture.height;
  jpeg.input_components = static_cast<int>(picture.channels);
  jpeg.in_color_space = form.hasInks ? JCS_CMYK : picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  if (form.hasInks)
    jpeg_set_colorspace(&jpeg, JCS_YCCK);
  jpeg_set_quality(&jpeg, form.quality, TRUE);
  jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = form.hasSmallChroma ? 2 : 1;
  if (form.hasInks && form.hasSmallChroma)
    jpeg.comp_info[3].h_samp_factor = jpeg.comp_info[3].v_samp_factor = 2;
  if (form.isProgressive)
    jpeg_simple_progression(&jpeg);
  static constexpr jpeg_scan_info scans[] = {{1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  if (form.hasScanEach)
    jpeg.scan_info = scans, jpeg.num_scans = 3;
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    std::vector<uint8_t> row = packRow(picture, jpeg.next_scanline, 8);
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  File file(bytes, bytes + size);
  std::free(bytes);
  return file;
}

namespace {

// A file in memory, for libtiff and OpenJPEG, which go back in it.
struct WrittenFile {
  File bytes;
  size_t place = 0;

  static WrittenFile &of(void *handle) { return *static_cast<WrittenFile *>(handle); }
  size_t write(const void *from, size_t size) {
    bytes.resize(std::max(bytes.size(), place + size));
    std::memcpy(bytes.data() + place, from, size);
    place += size;
    return size;
  }
};

} // namespace

File makeJpeg2000(const Picture &picture, const Jpeg2000Form &form) {
  std::vector<opj_image_cmptparm_t> components(picture.channels);
  for (uint32_t i = 0; i < picture.channels; ++i) {
    opj_image_cmptparm_t &component = components[i];
    component = {};
    const uint32_t step = i == 1 || i == 2 ? form.chromaStep : 1;
    component.dx = component.dy = step;
    component.x0 = form.left, component.y0 = form.upper;
    component.w = (picture.width + step - 1) / step;
    component.h = (picture.height + step - 1) / step;
    component.prec = form.bits;
  }
  opj_image_t *image = opj_image_create(picture.channels, components.data(),
                                        form.isLuma             ? OPJ_CLRSPC_SYCC
                                        : picture.channels >= 3 ? OPJ_CLRSPC_SRGB
                                                                : OPJ_CLRSPC_GRAY);
  image->x0 = form.left, image->y0 = form.upper;
  image->x1 = form.left + picture.width, image->y1 = form.upper + picture.height;
  for (uint32_t i = 0; i < picture.channels; ++i)
    for (uint32_t y = 0; y < components[i].h; ++y)
      for (uint32_t x = 0; x < components[i].w; ++x)
        image->comps[i].data[y * components[i].w + x] =
            static_cast<int32_t>(picture.at(x * components[i].dx, y * components[i].dy, i));
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.irreversible = form.isLossy;
  parameters.numresolution = 2;
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.tcp_rates[0] = form.isLossy ? 2 : 0;
  parameters.tcp_mct = picture.channels >= 3 && form.chromaStep == 1 && !form.isLuma;
  if (form.tile) {
    parameters.tile_size_on = OPJ_TRUE;
    parameters.cp_tdx = parameters.cp_tdy = static_cast<int>(form.tile);
  }
  WrittenFile written;
  opj_codec_t *codec = opj_create_compress(form.isStream ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  opj_stream_t *stream = opj_stream_create(1 << 16, OPJ_FALSE);
  opj_stream_set_user_data(stream, &written, nullptr);
  opj_stream_set_write_function(stream, [](void *from, OPJ_SIZE_T size, void *to) -> OPJ_SIZE_T {
    return WrittenFile::of(to).write(from, size);
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T place, void *in) -> OPJ_BOOL {
    WrittenFile::of(in).place = static_cast<size_t>(place);
    return OPJ_TRUE;
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T count, void *in) -> OPJ_OFF_T {
    WrittenFile::of(in).place += static_cast<size_t>(count);
    return count;
  });
  const bool isMade = opj_setup_encoder(codec, &parameters, image) && opj_start_compress(codec, image, stream) &&
                      opj_encode(codec, stream) && opj_end_compress(codec, stream);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return isMade ? written.bytes : File();
}

static void writeTiffSamples(TIFF *tiff, const Picture &picture, const TiffForm &form) {
  // A plane is a picture of one channel.
  for (uint32_t plane = 0; plane < (form.hasPlanes ? picture.channels : 1); ++plane) {
    Picture part = picture;
    if (form.hasPlanes) {
      part.channels = 1;
      part.samples.clear();
      for (uint64_t i = plane; i < picture.samples.size(); i += picture.channels)
        part.samples.push_back(picture.samples[i]);
    }
    if (!form.isTiled) {
      for (uint32_t y = 0; y < part.height; ++y)
        TIFFWriteScanline(tiff, packRow(part, y, bitsOf(picture), true).data(), y, static_cast<uint16_t>(plane));
      continue;
    }
    for (uint32_t top = 0; top < part.height; top += 16)
      for (uint32_t left = 0; left < part.width; left += 16) {
        Picture tile = {16, 16, part.channels, std::vector<uint32_t>(uint64_t(256) * part.channels), part.max};
        for (uint32_t y = top; y < std::min(part.height, top + 16); ++y)
          for (uint32_t x = left; x < std::min(part.width, left + 16); ++x)
            for (uint32_t channel = 0; channel < part.channels; ++channel)
              tile.samples[((y - top) * 16 + x - left) * part.channels + channel] = part.at(x, y, channel);
        std::vector<uint8_t> bytes;
        for (uint32_t y = 0; y < 16; ++y) {
          const std::vector<uint8_t> row = packRow(tile, y, bitsOf(picture), true);
          bytes.insert(bytes.end(), row.begin(), row.end());
        }
        TIFFWriteTile(tiff, bytes.data(), left, top, 0, static_cast<uint16_t>(plane));
      }
  }
}

File makeTiff(const Picture &picture, const TiffForm &form) {
  WrittenFile written;
  TIFF *tiff = TIFFClientOpen(
      "made", form.isBigEndian ? "wb" : "wl", &written,
      [](thandle_t handle, void *to, tmsize_t size) -> tmsize_t {
        WrittenFile &file = WrittenFile::of(handle);
        const size_t given =
            std::min(static_cast<size_t>(size), file.bytes.size() - std::min(file.place, file.bytes.size()));
        std::memcpy(to, file.bytes.data() + file.place, given);
        file.place += given;
        return static_cast<tmsize_t>(given);
      },
      [](thandle_t handle, void *from, tmsize_t size) -> tmsize_t {
        return static_cast<tmsize_t>(WrittenFile::of(handle).write(from, static_cast<size_t>(size)));
      },
      [](thandle_t handle, toff_t offset, int from) -> toff_t {
        WrittenFile &file = WrittenFile::of(handle);
        file.place = offset + (from == SEEK_CUR ? file.place : from == SEEK_END ? file.bytes.size() : 0);
        return file.place;
      },
      [](thandle_t) { return 0; }, [](thandle_t handle) -> toff_t { return WrittenFile::of(handle).bytes.size(); },
      nullptr, nullptr);
  static constexpr uint16_t kinds[] = {PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_RGB,
                                       PHOTOMETRIC_SEPARATED};
  const bool hasPalette = !form.palette.colors.empty();
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, picture.width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, picture.height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bitsOf(picture));
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, picture.channels);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, hasPalette ? PHOTOMETRIC_PALETTE : kinds[static_cast<size_t>(form.kind)]);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, form.hasPlanes ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, form.compression);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, form.orientation);
  if (form.isTiled) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, 16);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 4);
  }
  if (form.hasFreeAlpha) {
    const uint16_t kind = EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind);
  }
  std::vector<uint16_t> colors[3];
  for (size_t i = 0; i < 3; ++i)
    for (size_t color = 0; color < (size_t(1) << bitsOf(picture)); ++color)
      colors[i].push_back(
          color * 3 < form.palette.colors.size() ? static_cast<uint16_t>(form.palette.colors[color * 3 + i] * 257) : 0);
  if (hasPalette)
    TIFFSetField(tiff, TIFFTAG_COLORMAP, colors[0].data(), colors[1].data(), colors[2].data());
  writeTiffSamples(tiff, picture, form);
  TIFFClose(tiff);
  return written.bytes;
}

File makeWebp(const Picture &picture, bool isLossy) {
  WebPConfig config;
  WebPConfigInit(&config);
  config.lossless = !isLossy;
  config.exact = 1; // colors also where nothing is seen of them
  config.quality = 100;
  WebPPicture webp;
  WebPPictureInit(&webp);
  webp.use_argb = 1;
  webp.width = static_cast<int>(picture.width);
  webp.height = static_cast<int>(picture.height);
  std::vector<uint8_t> bytes(picture.samples.begin(), picture.samples.end());
  if (picture.channels == 4)
    WebPPictureImportRGBA(&webp, bytes.data(), static_cast<int>(picture.width * 4));
  else
    WebPPictureImportRGB(&webp, bytes.data(), static_cast<int>(picture.width * 3));
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  webp.writer = WebPMemoryWrite;
  webp.custom_ptr = &writer;
  const bool isMade = WebPEncode(&config, &webp);
  File file(writer.mem, writer.mem + (isMade ? writer.size : 0));
  WebPPictureFree(&webp);
  WebPMemoryWriterClear(&writer);
  return file;
}

static void appendNumber(File &file, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    file.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

static void appendChunk(File &file, const char *name, const File &bytes) {
  append(file, name, 4);
  appendNumber(file, bytes.size(), 4);
  append(file, bytes.data(), bytes.size());
  if (bytes.size() % 2)
    file.push_back(0);
}

File makeAnimatedWebp(const std::vector<Picture> &pictures) {
  const uint32_t width = pictures[0].width, height = pictures[0].height;
  File chunks, header = {2, 0, 0, 0}, animation(6);
  appendNumber(header, width - 1, 3);
  appendNumber(header, height - 1, 3);
  appendChunk(chunks, "VP8X", header);
  appendChunk(chunks, "ANIM", animation);
  for (const Picture &picture : pictures) {
    const File still = makeWebp(picture, false);
    File frame(6);
    appendNumber(frame, width - 1, 3);
    appendNumber(frame, height - 1, 3);
    appendNumber(frame, 100, 3);
    frame.push_back(2);
    append(frame, still.data() + 12, still.size() - 12); // its chunk, behind the header of a file
    appendChunk(chunks, "ANMF", frame);
  }
  File file = makeFile("RIFF");
  appendNumber(file, chunks.size() + 4, 4);
  append(file, "WEBP", 4);
  append(file, chunks.data(), chunks.size());
  return file;
}

File makeBmp(uint32_t width, uint32_t height, const std::vector<uint8_t> &pixels, const BmpForm &form) {
  const bool isOld = form.headerSize == 12;
  const size_t entrySize = isOld ? 3 : 4;
  const size_t behind =
      form.palette.colors.size() / 3 * entrySize + (form.headerSize == 40 ? form.masks.size() * 4 : 0);
  File file = makeFile("BM");
  appendNumber(file, 14 + form.headerSize + behind + pixels.size(), 4);
  appendNumber(file, 0, 4);
  appendNumber(file, 14 + form.headerSize + behind, 4);
  appendNumber(file, form.headerSize, 4);
  appendNumber(file, width, isOld ? 2 : 4);
  appendNumber(file, form.isTopDown ? -uint64_t(height) : height, isOld ? 2 : 4);
  appendNumber(file, 1, 2);
  appendNumber(file, form.bits, 2);
  if (!isOld) {
    appendNumber(file, form.compression, 4);
    appendNumber(file, pixels.size(), 4);
    appendNumber(file, 0, 8);
    appendNumber(file, form.palette.colors.size() / 3, 4);
    appendNumber(file, 0, 4);
  }
  for (uint32_t mask : form.masks)
    appendNumber(file, mask, 4);
  if (form.headerSize > 40)
    file.resize(14 + form.headerSize);
  for (size_t i = 0; i + 2 < form.palette.colors.size(); i += 3) {
    for (size_t channel = 3; channel-- > 0;)
      file.push_back(form.palette.colors[i + channel]);
    if (!isOld)
      file.push_back(0);
  }
  append(file, pixels.data(), pixels.size());
  return file;
}

File makeFile(const std::string &text, const std::vector<uint8_t> &bytes) {
  File file(text.begin(), text.end());
  append(file, bytes.data(), bytes.size());
  return file;
}

} // namespace vx::test
