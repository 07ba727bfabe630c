// The rounds of a device's probe, and the peak rates that follow from them.
#ifndef VX_BENCH_PROBE_ROUNDS_H
#define VX_BENCH_PROBE_ROUNDS_H

#include "device_probe.h"
#include "vx/bench.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

using vx::bench::percentile;

// Values of several turns. `rounds` is not 0.
struct Spread {
  double median = 0;
  double least = 0;
  double greatest = 0;
  uint32_t rounds = 0;
};

// Of values that are not empty.
Spread spreadOf(std::vector<double> values);

// Peak rates of a device, by the turns that its probes took. Nothing if this tool has no probe for it.
struct Peaks {
  std::optional<Spread> fmaGflops;
  std::optional<Spread> readGbs;
  std::optional<Spread> copyGbs; // bytes read and written together

  // Adds each one's median under its name, and beside it the least and the greatest round.
  void addTo(nlohmann::ordered_json &object) const;
};

// "cpu:0 with 2 threads at best: f32 FMA 546.3 (536.5 to 549.2) GFLOP/s, ...", one line with its end. `threads` is 0 on
// other devices.
std::string peaksText(const std::string &device, uint32_t threads, const Peaks &peaks);

// The rounds that a probe took.
struct ProbeRounds {
  std::vector<double> fmaGflops, readGbs, copyGbs;

  void add(const ProbeRound &round);
  Peaks peaks() const;
};

} // namespace vx::tools

#endif
