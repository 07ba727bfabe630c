/* What libvx_image has for the runtime, which opens it when a module's first image is decoded. It is a library of its
 * own because the libraries that it needs are of no use to other modules.
 */
#ifndef VX_ABI_IMAGE_H
#define VX_ABI_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* The runtime takes a library with this number only: both come from one build. */
#define VX_IMAGE_VERSION 1

/* Width times height of the largest image that the runtime has decoded, which takes 768 MiB. */
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
  /* What went wrong, cut off where `message` ends; a zero byte is behind it. */
  uint32_t message_size;
  char *message;
  /* Called once, when the sizes are known and `max_pixels` holds: where the rows go, from the uppermost one on and
   * without gaps. NULL is answered by VX_IMAGE_NO_MEMORY. What is there means nothing unless the result is
   * VX_IMAGE_DECODED. */
  uint8_t *(*allocate)(void *context, uint32_t height, uint32_t width);
  void *context;
} vx_image_request;

/* What `vx_image_version` and `vx_image_decode` are: VX_IMAGE_VERSION, and one of the results above. Thread-safe. */
typedef uint32_t (*vx_image_version_fn)(void);
typedef int32_t (*vx_image_decode_fn)(const vx_image_request *request);

#endif
