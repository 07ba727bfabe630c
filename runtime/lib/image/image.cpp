// The C interface: finds out the format.
#include "image/decoders.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

namespace vx::image {

namespace {

struct Format {
  const char *name;
  bool (*begins)(std::string_view file);
  Outcome (*decode)(Bytes file, Rows &rows);
};

bool beginsAny(std::string_view file, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return file.starts_with(start); });
}

bool beginsAsPnm(std::string_view file) {
  return file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '7' &&
         std::string_view(" \t\r\n\v\f#").find(file[2]) != std::string_view::npos;
}

using std::string_view_literals::operator""sv;

constexpr Format formats[] = {
    {"BMP", [](std::string_view file) { return file.starts_with("BM"); }, decodeBmp},
    {"JPEG", [](std::string_view file) { return file.starts_with("\xff\xd8\xff"); }, decodeJpeg},
    {"JPEG 2000",
     [](std::string_view file) { return beginsAny(file, {"\0\0\0\x0cjP  \r\n\x87\n"sv, "\xff\x4f\xff\x51"sv}); },
     decodeJpeg2000},
    {"PNG", [](std::string_view file) { return file.starts_with("\x89PNG\r\n\x1a\n"); }, decodePng},
    {"PNM", beginsAsPnm, decodePnm},
    {"TIFF", [](std::string_view file) { return beginsAny(file, {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}); },
     decodeTiff},
    {"WebP",
     [](std::string_view file) { return file.size() >= 12 && file.starts_with("RIFF") && file.substr(8, 4) == "WEBP"; },
     decodeWebp},
};

Outcome decode(const vx_image_request &request) {
  const std::string_view file(reinterpret_cast<const char *>(request.bytes), request.size);
  Rows rows(request);
  for (const Format &format : formats)
    if (format.begins(file)) {
      Outcome outcome = format.decode(Bytes(request.bytes, request.size), rows);
      if (!outcome.ok())
        outcome.message = fmt::format("the {} image of {} bytes: {}", format.name, request.size, outcome.message);
      return outcome;
    }
  std::string start;
  for (uint64_t i = 0; i < std::min<uint64_t>(request.size, 4); ++i)
    start += fmt::format(" {:02x}", request.bytes[i]);
  return failure(VX_IMAGE_DAMAGED, "expected a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image, got {} bytes{}{}",
                 request.size, start.empty() ? "" : " that begin with", start);
}

} // namespace

} // namespace vx::image

extern "C" {
__attribute__((visibility("default"))) uint32_t vx_image_version(void) { return VX_IMAGE_VERSION; }

__attribute__((visibility("default"))) int32_t vx_image_decode(const vx_image_request *request) {
  vx::image::Outcome outcome;
  try {
    outcome = vx::image::decode(*request);
  } catch (const std::bad_alloc &) {
    outcome = {VX_IMAGE_NO_MEMORY, "out of memory"}; // too short for memory of its own
  }
  if (request->message_size) {
    const size_t length = std::min<size_t>(outcome.message.size(), request->message_size - 1);
    std::memcpy(request->message, outcome.message.data(), length);
    request->message[length] = '\0';
  }
  return outcome.result;
}
}
