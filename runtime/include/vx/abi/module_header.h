/* The first 64 bytes of a module file and of its weights file. All numbers are little-endian. See
 * docs/module-format.md. */
#ifndef VX_ABI_MODULE_HEADER_H
#define VX_ABI_MODULE_HEADER_H

#include <stddef.h>
#include <stdint.h>

#define VX_MODULE_MAGIC "VXMODULE"

/* Sections begin at multiples of this many bytes, so that they can be mapped. */
#define VX_SECTION_ALIGNMENT 4096

typedef struct vx_module_header {
  uint8_t magic[8];
  uint32_t abi_major;
  uint32_t abi_minor;
  uint64_t file_size;       /* of the whole file; a shorter file is truncated */
  uint64_t metadata_offset; /* of the FlatBuffers root (module.fbs) */
  uint64_t metadata_size;
  uint64_t metadata_hash; /* vx_hash64 of the metadata bytes */
  uint64_t reserved[2];   /* 0 */
} vx_module_header;

#define VX_WEIGHTS_MAGIC "VXWEIGHT"

/* The header of a weights file. It must agree with the module's own statement about its section of weights, so a module
 * is never run with the weights of another one. */
typedef struct vx_weights_header {
  uint8_t magic[8];
  uint32_t abi_major;
  uint32_t abi_minor;
  uint64_t file_size;   /* of the whole file; a shorter file is truncated */
  uint64_t data_offset; /* of the weights, a multiple of VX_SECTION_ALIGNMENT */
  uint64_t data_size;
  uint64_t data_hash;   /* vx_hash64 of the weights: the id of the file */
  uint64_t reserved[2]; /* 0 */
} vx_weights_header;

/* FNV-1a over 64-bit words (the last one padded with zeros), finished with a multiply-xorshift. It detects damage, not
 * malice: every offset is checked all the same.
 *
 * The steps are for bytes that come in pieces: begin with the size of all in bytes, add each word, end. */
static inline uint64_t vx_hash64_begin(uint64_t size) { return UINT64_C(0xcbf29ce484222325) ^ size; }

static inline uint64_t vx_hash64_add(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x100000001b3);
  return hash ^ (hash >> 32);
}

static inline uint64_t vx_hash64_end(uint64_t hash) {
  hash *= UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

static inline uint64_t vx_hash64(const void *data, size_t size) {
  const uint8_t *bytes = (const uint8_t *)data;
  uint64_t hash = vx_hash64_begin(size);
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    for (size_t j = 0; j < 8 && i + j < size; ++j)
      word |= (uint64_t)bytes[i + j] << (8 * j);
    hash = vx_hash64_add(hash, word);
  }
  return vx_hash64_end(hash);
}

/* Bytes of each constant that are hashed when a module refers to a file of its model: all of a file takes seconds, the
 * beginnings of its tensors take milliseconds. */
#define VX_SAMPLE_BYTES 65536

/* A constant in its file. */
typedef struct vx_file_range {
  uint64_t offset;
  uint64_t size;
} vx_file_range;

/* The hash by which a module knows a file that it refers to: that of a list of hashes. The first one is vx_hash64 of
 * all bytes before the first constant, which are the file's header. For each constant, in the order of the module's
 * table, that of its first VX_SAMPLE_BYTES bytes follows; a constant with several names is there once. All constants
 * lie in the file. */
static inline uint64_t vx_hash64_samples(const void *file, uint64_t size, const vx_file_range *constants,
                                         size_t count) {
  const uint8_t *bytes = (const uint8_t *)file;
  uint64_t header = size, hash = vx_hash64_begin((count + 1) * sizeof(uint64_t));
  for (size_t i = 0; i < count; i++)
    if (constants[i].offset < header)
      header = constants[i].offset;
  hash = vx_hash64_add(hash, vx_hash64(bytes, (size_t)header));
  for (size_t i = 0; i < count; i++) {
    uint64_t sampled = constants[i].size < VX_SAMPLE_BYTES ? constants[i].size : VX_SAMPLE_BYTES;
    hash = vx_hash64_add(hash, vx_hash64(bytes + constants[i].offset, (size_t)sampled));
  }
  return vx_hash64_end(hash);
}

#endif
