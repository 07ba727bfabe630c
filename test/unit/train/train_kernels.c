/* A model that trains, as kernels of one workgroup: three scores, weight * x + bias, of four numbers; the loss is the
 * squared distance of the scores from 1 at the label and 0 elsewhere, its mean over rows and scores. The update has
 * momentum 0.9. In training each number of a row is left out with one chance in four, by the seed. */
#include "vx/abi/kernel.h"

#define EXPORT __attribute__((visibility("default")))

enum { Inputs = 4, Classes = 3 };

static void report(const uint64_t *block, int64_t value, int64_t row) {
  vx_fault_record *fault = (vx_fault_record *)block[VX_BLOCK_FAULT];
  fault->count = 1;
  fault->site = 0;
  fault->value = value;
  fault->lower = 0;
  fault->upper = Classes;
  fault->rank = 1;
  fault->place[0] = row;
}

static uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static void scores_of(const float *x, const float *weight, const float *bias, float *scores) {
  for (int c = 0; c < Classes; ++c) {
    scores[c] = bias[c];
    for (int i = 0; i < Inputs; ++i)
      scores[c] += weight[c * Inputs + i] * x[i];
  }
}

/* The gradients are added up where there are places for them. */
static void all_rows(int64_t n, const float *x, const int64_t *label, const float *weight, const float *bias, int drops,
                     uint64_t seed, float *dweight, float *dbias, float *loss, float *accuracy) {
  float sum = 0, right = 0;
  const float part = n > 0 ? 1.0f / (float)(n * Classes) : 0;
  for (int64_t row = 0; row < n; ++row) {
    float taken[Inputs], scores[Classes];
    for (int i = 0; i < Inputs; ++i) {
      const int dropped = drops && mixed(seed + (uint64_t)(row * Inputs + i)) % 4 == 0;
      taken[i] = dropped ? 0 : x[row * Inputs + i];
    }
    scores_of(taken, weight, bias, scores);
    int best = 0;
    for (int c = 0; c < Classes; ++c) {
      const float difference = scores[c] - (label[row] == c ? 1.0f : 0.0f);
      sum += difference * difference * part;
      best = scores[c] > scores[best] ? c : best;
      if (dweight) {
        for (int i = 0; i < Inputs; ++i)
          dweight[c * Inputs + i] += 2 * part * difference * taken[i];
        dbias[c] += 2 * part * difference;
      }
    }
    right += label[row] == best ? 1.0f : 0.0f;
  }
  loss[0] = sum;
  accuracy[0] = n > 0 ? right / (float)n : 0;
}

static int labels_are_good(const uint64_t *block, int64_t n, const int64_t *label) {
  for (int64_t row = 0; row < n; ++row)
    if (label[row] < 0 || label[row] >= Classes) {
      report(block, label[row], row);
      return 0;
    }
  return 1;
}

static void clear(float *numbers, int count) {
  for (volatile int i = 0; i < count; ++i)
    numbers[i] = 0;
}

static void update_all(float rate, const float *dweight, const float *dbias, float *weight, float *bias,
                       float *weight_momentum, float *bias_momentum, int64_t *step) {
  for (int i = 0; i < Classes * Inputs; ++i) {
    weight_momentum[i] = 0.9f * weight_momentum[i] + dweight[i];
    weight[i] -= rate * weight_momentum[i];
  }
  for (int c = 0; c < Classes; ++c) {
    bias_momentum[c] = 0.9f * bias_momentum[c] + dbias[c];
    bias[c] -= rate * bias_momentum[c];
  }
  *step += 1;
}

/* Buffers x, label, rate, seed, scale; weight, bias, their momenta, step; loss, accuracy. Scalar n. */
EXPORT void train_step(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const uint64_t *buffers = block + VX_BLOCK_FIRST_BUFFER;
  const int64_t n = (int64_t)buffers[12];
  const int64_t *label = (const int64_t *)buffers[1];
  float *weight = (float *)buffers[5], *bias = (float *)buffers[6];
  float *weight_momentum = (float *)buffers[7], *bias_momentum = (float *)buffers[8];
  if (wx || wy || !labels_are_good(block, n, label))
    return;
  float dweight[Classes * Inputs], dbias[Classes];
  clear(dweight, Classes * Inputs);
  clear(dbias, Classes);
  all_rows(n, (const float *)buffers[0], label, weight, bias, 1, *(const uint64_t *)buffers[3], dweight, dbias,
           (float *)buffers[10], (float *)buffers[11]);
  update_all(*(const float *)buffers[2], dweight, dbias, weight, bias, weight_momentum, bias_momentum,
             (int64_t *)buffers[9]);
}

static void mix(const float *own, float share, int keep, int count, float *kept) {
  for (int i = 0; i < count; ++i)
    kept[i] = keep ? kept[i] + (own[i] - kept[i]) * share : own[i];
}

/* Buffers x, label, seed, keep; weight, bias, their gradients, rows; loss, accuracy. Scalar n. */
EXPORT void backward(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const uint64_t *buffers = block + VX_BLOCK_FIRST_BUFFER;
  const int64_t n = (int64_t)buffers[11];
  const int64_t *label = (const int64_t *)buffers[1];
  if (wx || wy || !labels_are_good(block, n, label))
    return;
  float dweight[Classes * Inputs], dbias[Classes];
  clear(dweight, Classes * Inputs);
  clear(dbias, Classes);
  all_rows(n, (const float *)buffers[0], label, (const float *)buffers[4], (const float *)buffers[5], 1,
           *(const uint64_t *)buffers[2], dweight, dbias, (float *)buffers[9], (float *)buffers[10]);
  const int keep = *(const uint8_t *)buffers[3];
  float *rows = (float *)buffers[8];
  *rows = (float)n + (keep ? *rows : 0);
  const float share = *rows > 0 ? (float)n / *rows : 0;
  mix(dweight, share, keep, Classes * Inputs, (float *)buffers[6]);
  mix(dbias, share, keep, Classes, (float *)buffers[7]);
}

/* Buffers rate; weight, bias, their momenta, step, their gradients. Scalar n, which means nothing. */
EXPORT void update(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const uint64_t *buffers = block + VX_BLOCK_FIRST_BUFFER;
  if (wx || wy)
    return;
  update_all(*(const float *)buffers[0], (const float *)buffers[6], (const float *)buffers[7], (float *)buffers[1],
             (float *)buffers[2], (float *)buffers[3], (float *)buffers[4], (int64_t *)buffers[5]);
}

/* Buffers x, label; weight, bias; loss, accuracy. Scalar n. */
EXPORT void evaluate(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const uint64_t *buffers = block + VX_BLOCK_FIRST_BUFFER;
  const int64_t n = (int64_t)buffers[6];
  const int64_t *label = (const int64_t *)buffers[1];
  if (wx || wy || !labels_are_good(block, n, label))
    return;
  all_rows(n, (const float *)buffers[0], label, (const float *)buffers[2], (const float *)buffers[3], 0, 0, 0, 0,
           (float *)buffers[4], (float *)buffers[5]);
}

/* Buffers x; weight, bias; scores. Scalar n. */
EXPORT void predict(const uint64_t *block, uint32_t wx, uint32_t wy) {
  const uint64_t *buffers = block + VX_BLOCK_FIRST_BUFFER;
  const int64_t n = (int64_t)buffers[4];
  if (wx || wy)
    return;
  for (int64_t row = 0; row < n; ++row)
    scores_of((const float *)buffers[0] + row * Inputs, (const float *)buffers[1], (const float *)buffers[2],
              (float *)buffers[3] + row * Classes);
}
