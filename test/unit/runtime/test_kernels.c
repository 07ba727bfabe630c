/* CPU kernels of the runtime's tests: linked into an image without imports, as the compiler's are. They work as the
 * kernels of the same names in vulkan/ do: 64 elements of i32 per workgroup. */
#include "vx/abi/kernel.h"

#define EXPORT __attribute__((visibility("default")))

static int64_t first_of(const uint64_t *block, uint32_t wx, uint32_t wy) {
  uint64_t linear = wx + (uint64_t)VX_GRID_X * wy;
  return linear < block[VX_BLOCK_WORKGROUPS] ? (int64_t)linear * 64 : -1;
}

/* y[i] = x[i] * scale + y[i]; buffers x, y; scalars n, scale. */
EXPORT void scale_add(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const int32_t *x = (const int32_t *)block[4];
  int32_t *y = (int32_t *)block[5];
  int64_t n = (int64_t)block[6], first = first_of(block, wx, wy);
  uint32_t scale = (uint32_t)block[7];
  if (first < 0)
    return;
  for (int64_t i = first; i < first + 64 && i < n; ++i)
    y[i] = (int32_t)((uint32_t)x[i] * scale + (uint32_t)y[i]);
}

/* y[i] = x[indices[i]]; buffers x, indices, y; scalars n, size of x. An index out of range is clamped and reported as
 * fault site 3. */
EXPORT void gather(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const int32_t *x = (const int32_t *)block[4];
  const int32_t *indices = (const int32_t *)block[5];
  int32_t *y = (int32_t *)block[6];
  int64_t n = (int64_t)block[7], size = (int64_t)block[8], first = first_of(block, wx, wy);
  if (first < 0)
    return;
  for (int64_t i = first; i < first + 64 && i < n; ++i) {
    int64_t index = indices[i];
    if (index < 0 || index >= size) {
      vx_fault_record *fault = (vx_fault_record *)block[VX_BLOCK_FAULT];
      if (__atomic_fetch_add(&fault->count, 1, __ATOMIC_RELAXED) == 0) {
        fault->site = 3;
        fault->value = index;
        fault->lower = 0;
        fault->upper = size;
        fault->rank = 1;
        fault->place[0] = i;
      }
      index = index < 0 ? 0 : size - 1;
    }
    y[i] = size > 0 ? x[index] : 0;
  }
}

/* The processor's parameters as a kernel sees them, only on the CPU: y[0..2] = workspace, number of workgroups, fault
 * record (low halves of the words), so that a test sees the block. Buffer y. */
EXPORT void dump_block(const uint64_t *block, uint32_t wx, uint32_t wy) {
  if (first_of(block, wx, wy) != 0)
    return;
  int32_t *y = (int32_t *)block[4];
  y[0] = block[VX_BLOCK_WORKSPACE] != 0;
  y[1] = (int32_t)block[VX_BLOCK_WORKGROUPS];
  y[2] = block[VX_BLOCK_FAULT] != 0;
  y[3] = (int32_t)block[3];
}

/* y[0] = x[at] and y[at] = 5, for tests of what lies outside of buffers; buffers x, y; scalars n, at. */
EXPORT void read_at(const uint64_t *block, uint32_t wx, uint32_t wy) {
  if (first_of(block, wx, wy) == 0)
    ((int32_t *)block[5])[0] = ((const volatile int32_t *)block[4])[(int64_t)block[7]];
}
EXPORT void write_at(const uint64_t *block, uint32_t wx, uint32_t wy) {
  if (first_of(block, wx, wy) == 0)
    ((volatile int32_t *)block[5])[(int64_t)block[7]] = 5;
}

/* A table of addresses: it needs relocations, and a writable segment that is not executable. */
typedef int32_t (*step)(int32_t);
static int32_t add_one(int32_t v) { return v + 1; }
static int32_t twice(int32_t v) { return v * 2; }
static step steps[2] = {add_one, twice};

/* y[0] = 2 * (y[0] + 1), through the table. Buffer y. */
EXPORT void call_table(const uint64_t *block, uint32_t wx, uint32_t wy) {
  (void)wx;
  (void)wy;
  int32_t *y = (int32_t *)block[4];
  step volatile *table = steps;
  y[0] = table[1](table[0](y[0]));
}
