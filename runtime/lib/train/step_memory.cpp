#include "step_memory.h"

#include "failure.h"

#include <algorithm>

namespace vx::train {

static uint64_t addBytes(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

// Of all functions that are there at once.
static vx_memory_estimate estimateOf(const Instance &instance, std::span<const vx_function_info *const> functions,
                                     const Feed &feed, int64_t batch) {
  vx_memory_estimate sum = {};
  for (const vx_function_info *function : functions) {
    const vx_memory_estimate one = instance.estimateMemory(function->name, feed.sizes(*function, batch));
    sum.constants = one.constants;
    sum.variables = std::max(sum.variables, one.variables);
    sum.arena = addBytes(sum.arena, one.arena);
    sum.inputs = addBytes(sum.inputs, one.inputs);
    sum.results = addBytes(sum.results, one.results);
    sum.largest = std::max(sum.largest, one.largest);
    sum.memory_limit = one.memory_limit;
    sum.device_memory = one.device_memory;
    sum.device_largest = one.device_largest;
    sum.is_least |= one.is_least;
    sum.open_size = sum.open_size ? sum.open_size : one.open_size;
  }
  const uint64_t counted = addBytes(addBytes(sum.variables, sum.arena), addBytes(sum.inputs, sum.results));
  sum.total = addBytes(counted, sum.constants);
  sum.fits = (sum.memory_limit == 0 || counted <= sum.memory_limit) &&
             (sum.device_memory == 0 || sum.total <= sum.device_memory) && sum.largest <= sum.device_largest;
  return sum;
}

// What there is less of than is wanted.
static std::string shortageOf(const vx_memory_estimate &estimate) {
  if (estimate.memory_limit != 0 && estimate.total - estimate.constants > estimate.memory_limit)
    return fmt::format("the memory limit is {} bytes", estimate.memory_limit);
  if (estimate.device_memory != 0 && estimate.total > estimate.device_memory)
    return fmt::format("the device has {} bytes", estimate.device_memory);
  return fmt::format("{} of them at one place, where the device has at most {}", estimate.largest,
                     estimate.device_largest);
}

std::string checkMemory(const Instance &instance, std::span<const vx_function_info *const> functions, const Feed &feed,
                        int64_t batch) {
  const vx_memory_estimate estimate = estimateOf(instance, functions, feed, batch);
  if (estimate.fits)
    return estimate.open_size == nullptr
               ? ""
               : fmt::format("the memory of a step is not known before it runs: size '{}' depends on the data; a range "
                             "for it (--dim of vx-compile) would tell",
                             estimate.open_size);
  // More rows never take less.
  int64_t good = 0, bad = batch;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    int64_t tried = middle;
    while (tried > good && !feed.takes(tried))
      --tried;
    if (tried == good)
      good = middle; // none that is taken lies between
    else if (estimateOf(instance, functions, feed, tried).fits)
      good = middle;
    else
      bad = tried;
  }
  int64_t largest = good;
  while (largest > 0 && !feed.takes(largest))
    --largest;
  throw argumentError("batch: a step of {} rows takes {} bytes of device memory ({} for variables, {} for what lives "
                      "while it runs), and {}; {}",
                      batch, estimate.total, estimate.variables, estimate.arena, shortageOf(estimate),
                      largest > 0 ? fmt::format("the largest batch that fits is {}", largest)
                                  : "no smaller batch that the module takes fits");
}

} // namespace vx::train
