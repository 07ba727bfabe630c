// Times of calls, as vx-bench measures them. Header only, over vx.hpp.
//
//   vx::Call call(instance, module.functions()[0]);
//   const vx::bench::Times times = vx::bench::measure(call, inputs);
//   std::printf("%.3f ms\n", times.medianMs);
//
// Threads: the functions keep no state, so each may run on several threads at once, if the measured work may. A call
// object runs on one thread at a time, as vx_call_run has it; runs on other threads make each other slower.
// Ownership: arguments are borrowed, and results are values.
// Errors: Error with VX_INVALID_ARGUMENT for options out of their range; what a run throws comes through, and the times
// until then are lost.
#ifndef VX_BENCH_HPP
#define VX_BENCH_HPP

#include "vx/runtime/vx.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vx::bench {

// How long something is measured. Runs end when `seconds` are over and `minRuns` are done, and at `maxRuns` in any
// case.
struct Options {
  double seconds = 1; // of the timed runs together; 0 or more
  uint64_t minRuns = 5;
  uint64_t maxRuns = 1000000; // not 0, and not below minRuns
  // Runs that are not timed come first: they record commands, touch pages and wake the processor up.
  double warmUpSeconds = 0.1; // 0 or more
  uint64_t warmUpRuns = 2;    // at least
};

// Times of runs, in milliseconds. A percentile is the time of a run: the nearest rank, with nothing between two runs.
struct Times {
  uint64_t runs = 0; // that were timed, not 0
  double medianMs = 0;
  double meanMs = 0;
  double minMs = 0;
  double p5Ms = 0;
  double p95Ms = 0;
  double p99Ms = 0;
  double maxMs = 0;
};

// The value that `part`, 0 to 1, of the sorted values do not exceed: the nearest rank. Throws Error,
// VX_INVALID_ARGUMENT, for no values.
inline double percentile(std::span<const double> sorted, double part) {
  if (sorted.empty())
    throw Error(VX_INVALID_ARGUMENT, "bench: expected one value or more, got none");
  const double rank = std::ceil(part * static_cast<double>(sorted.size()));
  const size_t index = rank >= 1 ? static_cast<size_t>(rank) - 1 : 0;
  return sorted[std::min(index, sorted.size() - 1)];
}

// Of the seconds of each run, in any order. Throws Error, VX_INVALID_ARGUMENT, for no run.
inline Times summarize(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  auto at = [&seconds](double part) { return percentile(seconds, part) * 1e3; };
  Times times;
  times.medianMs = at(0.5);
  times.runs = seconds.size();
  times.meanMs = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size()) * 1e3;
  times.minMs = at(0);
  times.p5Ms = at(0.05);
  times.p95Ms = at(0.95);
  times.p99Ms = at(0.99);
  times.maxMs = at(1);
  return times;
}

// Calls `once`, which returns the seconds that it took by its own clock, until `seconds` are over and `minRuns` are
// done; appends each to `times`. Never more than `maxRuns`, and none for 0 seconds and 0 runs.
template <typename Once>
void repeat(Once &&once, double seconds, uint64_t minRuns, uint64_t maxRuns, std::vector<double> &times) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (uint64_t i = 0; i < maxRuns; ++i) {
    if (i >= minRuns && std::chrono::duration<double>(Clock::now() - begin).count() >= seconds)
      return;
    times.push_back(once());
  }
}

// Measures `once`, any function without arguments.
template <typename Once>
Times measure(Once &&once, const Options &options = {}) {
  auto checkSeconds = [](const char *name, double seconds) {
    if (!(seconds >= 0) || !std::isfinite(seconds))
      throw Error(VX_INVALID_ARGUMENT, std::string("bench: ") + name + ": expected a finite number of 0 or more, got " +
                                           std::to_string(seconds));
  };
  checkSeconds("seconds", options.seconds);
  checkSeconds("warmUpSeconds", options.warmUpSeconds);
  if (options.maxRuns == 0 || options.minRuns > options.maxRuns)
    throw Error(VX_INVALID_ARGUMENT, "bench: maxRuns: expected 1 or more and minRuns (" +
                                         std::to_string(options.minRuns) + ") at the least, got " +
                                         std::to_string(options.maxRuns));
  auto timed = [&once] {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    once();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  std::vector<double> seconds;
  repeat(timed, options.warmUpSeconds, options.warmUpRuns, std::max(options.maxRuns, options.warmUpRuns), seconds);
  seconds.clear();
  repeat(timed, options.seconds, std::max<uint64_t>(options.minRuns, 1), options.maxRuns, seconds);
  return summarize(std::move(seconds));
}

// Brings the tensors of numbers among the results of a call to the host, as a program that reads them does.
inline void fetch(std::span<const Value> results) {
  for (const Value &result : results)
    if (const vx_value_info info = result.info(); info.kind == VX_TENSOR && info.element_type != VX_STRING)
      (void)result.bytes();
}

// Measures a call: each run brings `inputs` to the device, if they are not there, and its results to the host.
inline Times measure(Call &call, std::span<const Value> inputs, const Options &options = {}) {
  return measure([&] { fetch(call.run(inputs)); }, options);
}

} // namespace vx::bench

#endif
