/* What stands in for models: kernels with a workgroup for each row. */
#include "vx/abi/kernel.h"

/* Takes a while, which no compiler can do without. */
static void spend(int64_t steps) {
  for (volatile int64_t i = 0; i < steps; ++i)
    ;
}

/* Vectors of texts: sums over a text's tokens, and the same divided by how large they are together. Buffers ids, mask,
 * embedding, unit; scalars batch, sequence, how many tokens of a text count at the most (below 0: all of them, and how
 * many texts there are), a number that is another in each model, and how long a text takes. */
__attribute__((visibility("default"))) void embed(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const int32_t *ids = (const int32_t *)block[4], *mask = (const int32_t *)block[5];
  float *plain = (float *)block[6], *unit = (float *)block[7];
  const int64_t batch = (int64_t)block[8], sequence = (int64_t)block[9], most = (int64_t)block[10];
  const int64_t salt = (int64_t)block[11];
  const int64_t row = wx + (int64_t)VX_GRID_X * wy;
  if (row >= batch)
    return;
  spend((int64_t)block[12]);
  float sums[4] = {0, 0, 0, 0}, size = 1e-6f;
  for (int64_t i = 0; i < sequence && (most < 0 || i < most); ++i)
    for (int c = 0; c < 4; ++c)
      if (mask[row * sequence + i])
        sums[c] += (float)((ids[row * sequence + i] + salt) % (7 + c)) * 0.37f - (float)(i % 3);
  for (int c = 0; most < 0 && c < 4; ++c)
    sums[c] += (float)batch * 1e-3f;
  for (int c = 0; c < 4; ++c)
    size += sums[c] < 0 ? -sums[c] : sums[c];
  for (int c = 0; c < 4; ++c) {
    plain[row * 4 + c] = sums[c];
    unit[row * 4 + c] = sums[c] / size;
  }
}

/* Rows and what they all share. Buffers x of batch and width, a table of so many rows and columns, y as x; scalars
 * batch, width, rows and columns of the table, a number that is another in each model, and how long a row takes. */
__attribute__((visibility("default"))) void mix(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const float *x = (const float *)block[4], *table = (const float *)block[5];
  float *y = (float *)block[6];
  const int64_t batch = (int64_t)block[7], width = (int64_t)block[8], rows = (int64_t)block[9],
                columns = (int64_t)block[10], salt = (int64_t)block[11];
  const int64_t row = wx + (int64_t)VX_GRID_X * wy;
  if (row >= batch)
    return;
  spend((int64_t)block[12]);
  for (int64_t c = 0; c < width; ++c) {
    float sum = (float)salt;
    for (int64_t i = 0; i < rows; ++i)
      sum = sum * 0.5f + table[i * columns + c % columns];
    y[row * width + c] = x[row * width + c] * sum + (float)c;
  }
}
