// vx/bench.hpp: numbers of runs, percentiles by known times, and options that are refused.
#include "vx/bench.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace {

using vx::bench::Options;
using vx::bench::Times;

Options exactly(uint64_t runs) {
  return {.seconds = 0, .minRuns = runs, .maxRuns = runs, .warmUpSeconds = 0, .warmUpRuns = 0};
}

std::string refusal(const Options &options) {
  try {
    vx::bench::measure([] { FAIL() << "it was run"; }, options);
  } catch (const vx::Error &error) {
    EXPECT_EQ(error.code(), VX_INVALID_ARGUMENT);
    return error.what();
  }
  return "no error";
}

} // namespace

// 1 to 100 seconds, shuffled: nearest ranks, as NumPy's percentile has them by method='inverted_cdf'.
TEST(Bench, SummarizesByNearestRanks) {
  std::vector<double> seconds;
  for (int i = 0; i < 100; ++i)
    seconds.push_back((i * 37) % 100 + 1);
  const Times times = vx::bench::summarize(seconds);
  EXPECT_EQ(times.runs, 100u);
  EXPECT_DOUBLE_EQ(times.medianMs, 50e3);
  EXPECT_DOUBLE_EQ(times.meanMs, 50.5e3);
  EXPECT_DOUBLE_EQ(times.minMs, 1e3);
  EXPECT_DOUBLE_EQ(times.p5Ms, 5e3);
  EXPECT_DOUBLE_EQ(times.p95Ms, 95e3);
  EXPECT_DOUBLE_EQ(times.p99Ms, 99e3);
  EXPECT_DOUBLE_EQ(times.maxMs, 100e3);
}

TEST(Bench, SummarizesOneRun) {
  const Times times = vx::bench::summarize({0.25});
  for (double each : {times.medianMs, times.meanMs, times.minMs, times.p5Ms, times.p95Ms, times.p99Ms, times.maxMs})
    EXPECT_DOUBLE_EQ(each, 250);
  EXPECT_THROW(vx::bench::summarize({}), vx::Error);
}

// Of an odd number of values the middle one, of an even number the lower of the two.
TEST(Bench, TakesTheMedian) {
  EXPECT_DOUBLE_EQ(vx::bench::summarize({3, 1, 2}).medianMs, 2e3);
  EXPECT_DOUBLE_EQ(vx::bench::summarize({4, 3, 1, 2}).medianMs, 2e3);
}

TEST(Bench, RunsAsOftenAsAsked) {
  for (uint64_t runs : {1, 7}) {
    uint64_t count = 0;
    EXPECT_EQ(vx::bench::measure([&] { ++count; }, exactly(runs)).runs, runs);
    EXPECT_EQ(count, runs);
  }
  // Runs that are not timed come on top.
  uint64_t count = 0;
  Options options = exactly(3);
  options.warmUpRuns = 4;
  EXPECT_EQ(vx::bench::measure([&] { ++count; }, options).runs, 3u);
  EXPECT_EQ(count, 7u);
  // One run at the least.
  options = exactly(0);
  options.maxRuns = 9;
  EXPECT_EQ(vx::bench::measure([] {}, options).runs, 1u);
}

TEST(Bench, RunsAsLongAsAsked) {
  Options options = exactly(1);
  options.seconds = 0.05;
  options.maxRuns = 1000;
  const auto begin = std::chrono::steady_clock::now();
  const Times times = vx::bench::measure([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }, options);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50));
  EXPECT_GT(times.runs, 1u);
  EXPECT_LT(times.runs, 26u);
  EXPECT_GE(times.minMs, 2);
  // The most runs end it, whatever the seconds.
  options.seconds = 1000;
  options.maxRuns = 3;
  EXPECT_EQ(vx::bench::measure([] {}, options).runs, 3u);
}

TEST(Bench, LetsErrorsThrough) {
  uint64_t count = 0;
  auto failing = [&] {
    if (++count == 3)
      throw vx::Error(VX_DEVICE_LOST, "lost");
  };
  EXPECT_THROW(vx::bench::measure(failing, exactly(10)), vx::Error);
  EXPECT_EQ(count, 3u);
}

TEST(Bench, RefusesOptions) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal({.seconds = -1}), "bench: seconds: expected a finite number of 0 or more, got -1.000000");
  EXPECT_EQ(refusal({.seconds = inf}), "bench: seconds: expected a finite number of 0 or more, got inf");
  EXPECT_EQ(refusal({.warmUpSeconds = std::numeric_limits<double>::quiet_NaN()}).substr(0, 21),
            "bench: warmUpSeconds:");
  EXPECT_EQ(refusal({.minRuns = 5, .maxRuns = 4}),
            "bench: maxRuns: expected 1 or more and minRuns (5) at the least, got 4");
  EXPECT_EQ(refusal({.minRuns = 0, .maxRuns = 0}),
            "bench: maxRuns: expected 1 or more and minRuns (0) at the least, got 0");
}
