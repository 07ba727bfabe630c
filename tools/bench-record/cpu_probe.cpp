#include "device_probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace vx::tools {

using Clock = std::chrono::steady_clock;

// All slices together are long enough that the clock is the one that the processor keeps under this load. A slice is as
// short as a call: one that another process cuts into does not count, as it does not in the median of calls.
static constexpr size_t Slices = 32;
static constexpr uint64_t FmaSteps = 10000000 / Slices;
static constexpr uint64_t ReadBytes = uint64_t(256) << 20;
// Enough independent chains to hide the latency of two units. Each is named, since a compiler keeps an array that it
// walks through by a loop in memory.
#define VX_EACH_CHAIN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
static constexpr int Chains = 12;

// Makes the compiler believe that somebody reads the value, so that it has to be computed.
template <typename T>
static void keep(const T &value) {
  asm volatile("" : : "r"(&value) : "memory");
}

// One loop per vector width; the compiler makes fused multiply-adds where the target has them.
#define VX_BEGIN_CHAIN(I) Vector sum##I = Vector{} + static_cast<float>(I + 2); // 1 stays as it is, which compilers see
#define VX_STEP_CHAIN(I) sum##I = sum##I * factor + term;
#define VX_END_CHAIN(I) all += sum##I;
#define VX_FMA_LOOP(NAME, TARGET, BYTES)                                                                               \
  TARGET static uint64_t NAME(uint64_t steps) {                                                                        \
    using Vector [[gnu::vector_size(BYTES)]] = float;                                                                  \
    const Vector factor = Vector{} + 0.999f;                                                                           \
    const Vector term = Vector{} + 0.001f;                                                                             \
    VX_EACH_CHAIN(VX_BEGIN_CHAIN)                                                                                      \
    for (uint64_t step = 0; step < steps; ++step) {                                                                    \
      VX_EACH_CHAIN(VX_STEP_CHAIN)                                                                                     \
    }                                                                                                                  \
    Vector all = {};                                                                                                   \
    VX_EACH_CHAIN(VX_END_CHAIN)                                                                                        \
    keep(all);                                                                                                         \
    return steps * Chains * (BYTES / sizeof(float)) * 2;                                                               \
  }

#if defined(__x86_64__)
VX_FMA_LOOP(fmaLoop64, [[gnu::target("avx512f")]], 64)
VX_FMA_LOOP(fmaLoop32, [[gnu::target("avx2,fma")]], 32)
#endif
VX_FMA_LOOP(fmaLoop16, , 16)
#undef VX_FMA_LOOP
#undef VX_END_CHAIN
#undef VX_STEP_CHAIN
#undef VX_BEGIN_CHAIN
#undef VX_EACH_CHAIN

static uint64_t fmaLoop(uint64_t steps) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return fmaLoop64(steps);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return fmaLoop32(steps);
#endif
  return fmaLoop16(steps);
}

// Runs `work(thread, slice)`, which says how much it did, for all slices on all threads at once. The sum of what each
// thread does in a second, by its median slice.
template <typename Work>
static double rateOf(uint32_t threads, const Work &work) {
  std::atomic<uint32_t> ready{0};
  std::atomic<bool> go{false};
  std::vector<double> rates(threads);
  const auto run = [&](uint32_t thread) {
    double ofSlices[Slices];
    for (size_t slice = 0; slice < Slices; ++slice) {
      const Clock::time_point begin = Clock::now();
      const uint64_t amount = work(thread, slice);
      ofSlices[slice] = static_cast<double>(amount) / std::chrono::duration<double>(Clock::now() - begin).count();
    }
    std::sort(std::begin(ofSlices), std::end(ofSlices));
    rates[thread] = ofSlices[Slices / 2];
  };
  std::vector<std::thread> workers;
  for (uint32_t thread = 1; thread < threads; ++thread)
    workers.emplace_back([&, thread] {
      ++ready;
      while (!go.load(std::memory_order_acquire))
        std::this_thread::yield();
      run(thread);
    });
  while (ready.load() + 1 < threads)
    std::this_thread::yield();
  go.store(true, std::memory_order_release);
  run(0);
  for (std::thread &worker : workers)
    worker.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

namespace {

class CpuProbe final : public DeviceProbe {
public:
  explicit CpuProbe(uint32_t threads) : threads(threads), memory(ReadBytes / sizeof(Words)) {
    // Written once, so that every page is there.
    for (size_t i = 0; i < memory.size(); ++i)
      memory[i] = Words{i, i, i, i};
  }

  ProbeRound run() override { return {fmaGflops(), readGbs(), std::nullopt}; }

private:
  using Words [[gnu::vector_size(32)]] = uint64_t;

  double fmaGflops() const {
    return rateOf(threads, [](uint32_t, size_t) { return fmaLoop(FmaSteps); }) / 1e9;
  }

  double readGbs() const {
    const size_t share = memory.size() / threads / Slices;
    return rateOf(threads,
                  [&](uint32_t thread, size_t slice) {
                    const Words *from = memory.data() + (thread * Slices + slice) * share;
                    Words sums[8] = {};
                    for (size_t i = 0; i + 8 <= share; i += 8)
                      for (size_t j = 0; j < 8; ++j)
                        sums[j] += from[i + j];
                    Words all = sums[0];
                    for (int j = 1; j < 8; ++j)
                      all += sums[j];
                    keep(all);
                    return uint64_t(share * sizeof(Words));
                  }) /
           1e9;
  }

  const uint32_t threads;
  std::vector<Words> memory;
};

} // namespace

std::unique_ptr<DeviceProbe> makeCpuProbe(uint32_t threads) { return std::make_unique<CpuProbe>(threads); }

std::unique_ptr<DeviceProbe> makeProbe(const std::string &device, uint32_t threads) {
  return device.starts_with("cpu") ? makeCpuProbe(std::max(threads, 1u)) : makeGpuProbe(device);
}

} // namespace vx::tools
