#include "exec/image_library.h"

#include <array>
#include <dlfcn.h>
#include <mutex>
#include <new>

namespace vx {

Status ImageLibrary::open(const hal::LibraryNames &names, ImageLibrary &library) {
  hal::OpenLibrary opened;
  if (hal::Refusal refusal = hal::openLibrary(names, opened); !opened.handle)
    return failure(VX_UNSUPPORTED, "images need libvx_image: {}", refusal.reason);
  const auto version = reinterpret_cast<vx_image_version_fn>(dlsym(opened.handle, "vx_image_version"));
  library.decodeRequest = reinterpret_cast<vx_image_decode_fn>(dlsym(opened.handle, "vx_image_decode"));
  if (!version || !library.decodeRequest)
    return failure(VX_UNSUPPORTED, "images need libvx_image, '{}' has no {}", opened.name,
                   version ? "vx_image_decode" : "vx_image_version");
  if (const uint32_t number = version(); number != VX_IMAGE_VERSION)
    return failure(VX_UNSUPPORTED, "images need libvx_image of version {}, '{}' is of version {}", VX_IMAGE_VERSION,
                   opened.name, number);
  return okStatus();
}

// Tried anew until it is there.
Status ImageLibrary::get(const ImageLibrary *&library) {
  static std::mutex mutex;
  static ImageLibrary opened;
  static bool isOpen = false;
  std::lock_guard lock(mutex);
  if (!isOpen)
    VX_RETURN_IF_ERROR(open(hal::LibraryNames{{"libvx_image.so.0"}, "VX_IMAGE_LIBRARY"}.fromEnvironment(), opened));
  isOpen = true;
  library = &opened;
  return okStatus();
}

namespace {
struct ImagePlace {
  HostTensor &image;
  HostBytes &held;
  Status status = okStatus(); // of the last that was asked for
};
} // namespace

// No exception passes the library.
static uint8_t *allocateImage(void *context, uint32_t height, uint32_t width) {
  auto &[image, held, status] = *static_cast<ImagePlace *>(context);
  image.dims[0] = height;
  image.dims[1] = width;
  const uint64_t size = uint64_t(height) * width * static_cast<uint64_t>(image.dims[2]);
  status = held.add(size);
  if (!status.ok())
    return nullptr;
  try {
    image.bytes.resize(size);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
  return image.bytes.data();
}

Status ImageLibrary::decode(std::span<const uint8_t> file, std::string_view order, HostBytes &held, HostTensor &image,
                            std::string &damage) const {
  const uint32_t layout = order == "BGR" ? VX_IMAGE_BGR : order == "Grayscale" ? VX_IMAGE_GRAYSCALE : VX_IMAGE_RGB;
  image = {VX_U8, {0, 0, layout == VX_IMAGE_GRAYSCALE ? 1 : 3}, {}};
  std::array<char, 512> message = {};
  vx_image_request request = {};
  request.bytes = file.data();
  request.size = file.size();
  request.max_pixels = VX_IMAGE_MAX_PIXELS;
  request.layout = layout;
  request.message = message.data();
  request.message_size = message.size();
  request.allocate = allocateImage;
  ImagePlace place{image, held};
  request.context = &place;
  switch (decodeRequest(&request)) {
  case VX_IMAGE_DECODED:
    return okStatus();
  case VX_IMAGE_DAMAGED:
    damage = message.data();
    image = {VX_U8, {0, 0, image.dims[2]}, {}};
    return okStatus();
  case VX_IMAGE_NO_MEMORY:
    VX_RETURN_IF_ERROR(std::move(place.status).addContext("image"));
    return failure(VX_OUT_OF_MEMORY, "{}", message.data());
  default: // too large, or of another kind
    return failure(VX_FAULT, "{}", message.data());
  }
}

} // namespace vx
