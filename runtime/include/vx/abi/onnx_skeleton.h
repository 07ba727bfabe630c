/* The asset that an export to ONNX completes (Training.skeleton in module.fbs): files in pieces. All numbers are
 * little-endian. See docs/module-format.md. */
#ifndef VX_ABI_ONNX_SKELETON_H
#define VX_ABI_ONNX_SKELETON_H

#include <stdint.h>

#define VX_SKELETON_MAGIC "VXONNX\0\0"
#define VX_SKELETON_FORM 1
#define VX_SKELETON_KIND "application/vnd.vx.onnx-skeleton"

/* After it come the pieces of the model's file, those of the file of weights beside it, and the bytes of the pieces of
 * kind Bytes, in sequence. */
typedef struct vx_skeleton_header {
  uint8_t magic[8];
  uint32_t form;
  uint32_t model_pieces;
  uint32_t weights_pieces; /* 0: there is no second file */
  uint32_t reserved;       /* 0 */
} vx_skeleton_header;

typedef enum vx_skeleton_piece_kind {
  VX_PIECE_BYTES = 0,    /* the next `size` bytes of the skeleton */
  VX_PIECE_VARIABLE = 1, /* the elements of variable `number`, `size` bytes */
  VX_PIECE_CONSTANT = 2, /* the elements of constant `number`, `size` bytes */
  VX_PIECE_LOCATION = 3, /* the plain name of the file of weights; `size` is 0 */
  VX_PIECE_LENGTH = 4,   /* how many bytes the next `number` pieces are, as a varint of protobuf; `size` is 0 */
  VX_PIECE_ZEROS = 5     /* `size` bytes of 0 */
} vx_skeleton_piece_kind;

typedef struct vx_skeleton_piece {
  uint32_t kind;
  uint32_t number; /* 0 where the kind has none */
  uint64_t size;
} vx_skeleton_piece;

#endif
