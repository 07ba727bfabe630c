// A library for images of another build: it has what is asked for, and another number.
#include "vx/abi/image.h"

__attribute__((visibility("default"))) uint32_t vx_image_version(void) { return VX_IMAGE_VERSION + 1; }
__attribute__((visibility("default"))) int32_t vx_image_decode(const vx_image_request *request) {
  return VX_IMAGE_NO_MEMORY;
}
