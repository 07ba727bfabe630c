// Contestants that take turns, so that a slow moment of the machine meets all of them.
#ifndef VX_BENCH_TURNS_H
#define VX_BENCH_TURNS_H

#include "bench_report.h"

namespace vx::tools {

// Takes its turns with the others of the same module and sizes. After each turn of one of ours the probe of its device
// and number of threads has a round.
struct Entry {
  std::unique_ptr<Contestant> contestant;
  std::vector<double> times;
  std::vector<double> turnsAt = {}, probesAt = {}; // seconds since the first turn of all
  std::optional<size_t> probe = {};                // its place among the probes
  ProbeRounds rounds = {};
};

// The probe of a device and a number of threads.
struct ProbeEntry {
  std::string device;
  uint32_t threads = 0;
  std::unique_ptr<DeviceProbe> probe;
  ProbeRounds rounds = {}; // of all entries
};

struct TurnOptions {
  std::optional<double> warmUp; // seconds; a tenth of minTime by default
  double minTime = 1;           // seconds, of all turns
  uint32_t minRuns = 5;         // of all turns
  bool noProbes = false;
};

// Of --threads: numbers between commas, each once. Throws a usage error.
std::vector<uint32_t> threadCounts(const std::string &text);

// Warms all up, and lets them take turns, each with the probe of the device that it has taken. `title` is for the
// progress.
void takeTurns(std::vector<Entry> &entries, std::vector<ProbeEntry> &probes, const TurnOptions &options,
               const std::string &title);

// Adds what came out of the turns to a report; results of ours beside a peer on as many threads get their ratio.
void addResults(BenchReport &report, std::vector<Entry> &entries);
void addProbes(BenchReport &report, const std::vector<ProbeEntry> &probes);

} // namespace vx::tools

#endif
