/* The interface of libvx_image. The runtime opens the library when a module decodes its first image. It is a library of
 * its own because other modules have no use for the libraries that it needs.
 */
#ifndef VX_ABI_IMAGE_H
#define VX_ABI_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* The runtime accepts a library with this number only: both come from one build. */
#define VX_IMAGE_VERSION 1

/* Width times height of the largest image that the runtime decodes: 768 MiB. */
#define VX_IMAGE_MAX_PIXELS 268435456

enum {
  VX_IMAGE_DECODED = 0,
  VX_IMAGE_DAMAGED = 1, /* the bytes are an image of no format that is known, or end early, or contradict themselves */
  VX_IMAGE_UNSUPPORTED = 2, /* they are an image of a kind that is not decoded */
  VX_IMAGE_TOO_LARGE = 3,   /* of more than max_pixels */
  VX_IMAGE_NO_MEMORY = 4
};

/* The samples of a pixel, of 8 bits each. */
enum {
  VX_IMAGE_RGB = 0,
  VX_IMAGE_BGR = 1,
  VX_IMAGE_GRAYSCALE = 2 /* the luma of ITU-R BT.601 of red, green and blue, to nearest */
};

typedef struct vx_image_request {
  const uint8_t
      *bytes; /* a file: BMP, JPEG, JPEG 2000, PNG, a portable any map, TIFF or WebP; their first bytes say which */
  uint64_t size;
  uint64_t max_pixels;
  uint32_t layout;
  /* On failure the reason, cut off after `message_size` bytes; it ends with a zero byte. */
  uint32_t message_size;
  char *message;
  /* Called once, when the sizes are known and within `max_pixels`. Returns the memory for the rows, from the uppermost
   * one on and without gaps; NULL gives VX_IMAGE_NO_MEMORY. The memory has a meaning only if the result is
   * VX_IMAGE_DECODED. */
  uint8_t *(*allocate)(void *context, uint32_t height, uint32_t width);
  void *context;
} vx_image_request;

/* The types of `vx_image_version`, which returns VX_IMAGE_VERSION, and of `vx_image_decode`, which returns one of the
 * results above. Thread-safe. */
typedef uint32_t (*vx_image_version_fn)(void);
typedef int32_t (*vx_image_decode_fn)(const vx_image_request *request);

#endif
