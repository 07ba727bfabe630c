// Images by libvx_image, which is opened when the first one is decoded.
#ifndef VX_RUNTIME_EXEC_IMAGE_LIBRARY_H
#define VX_RUNTIME_EXEC_IMAGE_LIBRARY_H

#include "exec/host_functions.h"
#include "hal/vendor_library.h"
#include "vx/abi/image.h"

#include <string>
#include <string_view>

namespace vx {

// Immutable once it is open.
class ImageLibrary {
public:
  // VX_UNSUPPORTED where no library of these names is there, or one that is no libvx_image of this runtime's version.
  static Status open(const hal::LibraryNames &names, ImageLibrary &library);

  // The one that the runtime opens: beside it or where the loader looks, or the file that the environment variable
  // VX_IMAGE_LIBRARY names.
  static Status get(const ImageLibrary *&library);

  // The image in a file, its samples in the order that `text` of a HostFunction names. Bytes that are none, or a
  // damaged one, give an image of 0 x 0 pixels, and `damage` says what is wrong with them. VX_FAULT for an image that
  // is too large or of a kind that is not decoded, VX_OUT_OF_MEMORY. `held` counts the image's bytes first.
  Status decode(std::span<const uint8_t> file, std::string_view order, HostBytes &held, HostTensor &image,
                std::string &damage) const;

private:
  vx_image_decode_fn decodeRequest = nullptr;
};

} // namespace vx

#endif
