/* The call of a kernel by the runtime: one parameter block and a grid of workgroups, the same on every target.
 *
 * The block lies in memory that the device reads. It is an array of 64-bit little-endian words:
 *
 *     word 0                              address of the call's fault record (vx_fault_record)
 *     word 1                              address of the dispatch's workspace, 0 when it has none
 *     word 2                              number of workgroups W of this dispatch
 *     word 3                              index of the dispatch's first fault site; a kernel adds its own site number
 *     words 4 .. 4+B-1                    addresses of the B buffers, in the kernel's argument order
 *     words 4+B .. 4+B+S-1                the S scalars (signed 64-bit), in the kernel's argument order
 *
 * Workgroups are numbered linearly. A dispatch of W workgroups runs as the grid (x, y, 1) with x = min(W, 65535) and y
 * = ceil(W / 65535), which every device takes; a kernel's linear number is wx + 65535 * wy, and a kernel with a number
 * not below W returns at once. W = 0 is legal and runs nothing; W is below VX_MAX_WORKGROUPS, so that every number of
 * the padded grid fits 31 bits.
 *
 * A kernel never touches memory outside its buffers. An index in the data that is out of range is clamped, and the
 * first one is reported in the fault record: the kernel adds 1 to `count` atomically, and the workgroup that saw 0
 * writes the other fields. A kernel that writes a variable after one that may report a fault does nothing if `count` is
 * not 0. A barrier is between the two.
 */
#ifndef VX_ABI_KERNEL_H
#define VX_ABI_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define VX_BLOCK_FAULT 0
#define VX_BLOCK_WORKSPACE 1
#define VX_BLOCK_WORKGROUPS 2
#define VX_BLOCK_FAULT_SITE 3
#define VX_BLOCK_FIRST_BUFFER 4

#define VX_GRID_X 65535
#define VX_MAX_WORKGROUPS (INT64_C(0x7fffffff) - VX_GRID_X)

/* Every buffer that a kernel sees begins at a multiple of this many bytes. */
#define VX_BUFFER_ALIGNMENT 64

/* The number of indices of a position that a fault record has room for. */
#define VX_FAULT_PLACES 8

/* 104 bytes, zeroed before a call. */
typedef struct vx_fault_record {
  uint32_t count; /* faults so far; 0 means none */
  uint32_t site;  /* index into the module's fault_sites */
  int64_t value;  /* the value in the data */
  int64_t lower;  /* the least value allowed */
  int64_t upper;  /* the first value above that is not allowed */
  int64_t rank;   /* dimensions of the tensor that holds the value */
  int64_t
      place[VX_FAULT_PLACES]; /* the value's index in each of them; of more dimensions than these, in the first ones */
} vx_fault_record;

/* A CPU kernel. `block` is the parameter block; wx and wy are the workgroup's place in the grid. */
typedef void (*vx_cpu_kernel)(const uint64_t *block, uint32_t wx, uint32_t wy);

#endif
