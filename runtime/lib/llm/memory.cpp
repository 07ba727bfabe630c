#include "memory.h"

#include "errors.h"

#include "vx/base/byte_count.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace vx::llm {

namespace {

// From so many bytes on a cache is compared with the device's memory before it is made: the device is opened once more
// for this, and a host that gives out more memory than it has ends programs later.
constexpr uint64_t LargeCache = uint64_t(1) << 30;

// The bytes of a page of each variable of the cache.
std::vector<uint64_t> pageBytes(const Module &module) {
  std::vector<uint64_t> all;
  for (const vx_variable_info &variable : module.variables()) {
    if (variable.role != VX_ROLE_CACHE)
      continue;
    uint64_t bytes = sizeof(float);
    for (uint32_t i = 1; i < variable.rank; ++i)
      bytes *= static_cast<uint64_t>(std::max<int64_t>(variable.dims[i], 0));
    all.push_back(std::max<uint64_t>(bytes, 1));
  }
  return all;
}

uint64_t minus(uint64_t a, uint64_t b) { return a - std::min(a, b); }

// The memory of a call of `extend` with a part of a prompt.
vx_memory_estimate estimateOf(const Module &module, const InstanceOptions &options, const CacheRoom &room) {
  const std::array<std::pair<std::string, int64_t>, 4> sizes = {
      {{"tokens", static_cast<int64_t>(std::min(room.tokens, room.callTokens))},
       {"sequences", 1},
       {"most_pages", static_cast<int64_t>(room.pages)},
       {"rows", 1}}};
  return estimateMemory(module, "extend", sizes, options);
}

[[noreturn]] void refuse(const vx_memory_estimate &estimate, const CacheRoom &room, std::span<const uint64_t> pages) {
  const uint64_t call = estimate.arena + estimate.inputs + estimate.results,
                 page = std::accumulate(pages.begin(), pages.end(), uint64_t(0));
  std::string needs =
      fmt::format("the weights need {}, the cache of {} tokens {} and a call {}", roundedByteCount(estimate.constants),
                  room.tokens, roundedByteCount(estimate.variables), roundedByteCount(call));
  if (estimate.fits)
    throw memoryError("the device has no more memory: {} of its {}, a part of which other programs may have; a context "
                      "of fewer tokens needs {} less for each {} of them",
                      needs, roundedByteCount(estimate.device_memory), roundedByteCount(page), room.placesOfPage);
  uint64_t most = UINT64_MAX; // pages that fit
  std::string has;
  const auto bound = [&](uint64_t count, const char *what, uint64_t bytes) {
    if (count >= most)
      return;
    most = count;
    has = std::string(what) + roundedByteCount(bytes);
  };
  if (estimate.device_memory)
    bound(minus(estimate.device_memory, estimate.constants + call) / page, "the device has ", estimate.device_memory);
  if (estimate.memory_limit)
    bound(minus(estimate.memory_limit, call) / page, "the memory limit, which does not count the weights, is ",
          estimate.memory_limit);
  if (estimate.device_largest)
    bound(estimate.device_largest / *std::ranges::max_element(pages), "the device's largest allocation is ",
          estimate.device_largest);
  throw memoryError("the memory does not suffice: {}, but {}: {}", needs, has,
                    most ? fmt::format("a context of up to {} tokens fits", most * room.placesOfPage)
                         : "no context fits");
}

} // namespace

Instance placeModel(const Module &module, const InstanceOptions &options, const CacheRoom &room) {
  const std::vector<uint64_t> pages = pageBytes(module);
  if (options.memoryLimit || std::accumulate(pages.begin(), pages.end(), uint64_t(0)) * room.pages >= LargeCache)
    if (const vx_memory_estimate estimate = estimateOf(module, options, room); !estimate.fits)
      refuse(estimate, room, pages);
  try {
    return Instance(module, options);
  } catch (const vx::Error &error) {
    if (error.code() != VX_OUT_OF_MEMORY)
      throw;
    vx_memory_estimate estimate = {};
    try {
      estimate = estimateOf(module, options, room);
    } catch (const vx::Error &) { // the first error says more
    }
    if (!estimate.struct_size)
      throw;
    refuse(estimate, room, pages);
  }
}

} // namespace vx::llm
