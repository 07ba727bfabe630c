/* Vectors of texts as one kernel with a workgroup for each text: sums over its tokens, and the same divided by how
 * large they are together. */
#include "vx/abi/kernel.h"

/* Buffers ids, mask, embedding, unit; scalars batch, sequence, and how many tokens of a text count at the most: below 0
 * all of them, and how many texts there are. */
__attribute__((visibility("default"))) void embed(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const int32_t *ids = (const int32_t *)block[4], *mask = (const int32_t *)block[5];
  float *plain = (float *)block[6], *unit = (float *)block[7];
  const int64_t batch = (int64_t)block[8], sequence = (int64_t)block[9], most = (int64_t)block[10];
  const int64_t row = wx + (int64_t)VX_GRID_X * wy;
  if (row >= batch)
    return;
  float sums[4] = {0, 0, 0, 0}, size = 1e-6f;
  for (int64_t i = 0; i < sequence && (most < 0 || i < most); ++i)
    for (int c = 0; c < 4; ++c)
      if (mask[row * sequence + i])
        sums[c] += (float)(ids[row * sequence + i] % (7 + c)) * 0.37f - (float)(i % 3);
  for (int c = 0; most < 0 && c < 4; ++c)
    sums[c] += (float)batch * 1e-3f;
  for (int c = 0; c < 4; ++c)
    size += sums[c] < 0 ? -sums[c] : sums[c];
  for (int c = 0; c < 4; ++c) {
    plain[row * 4 + c] = sums[c];
    unit[row * 4 + c] = sums[c] / size;
  }
}
