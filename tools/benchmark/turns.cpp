#include "turns.h"

#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

namespace vx::tools {

// Turns that the contestants take, so that a slow moment of the machine meets all of them.
static constexpr int Turns = 5;

std::vector<uint32_t> threadCounts(const std::string &text) {
  std::vector<uint32_t> counts;
  for (const std::string &piece : splitList(text)) {
    uint32_t count = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), count);
    if (error != std::errc() || end != piece.data() + piece.size())
      throw usageError("--threads: expected a number of 0 or more, got '{}'", piece);
    if (std::find(counts.begin(), counts.end(), count) != counts.end())
      throw usageError("--threads: expected each number once, got {} again in '{}'", count, text);
    counts.push_back(count);
  }
  if (counts.empty())
    throw usageError("--threads: expected a number, got '{}'", text);
  return counts;
}

// Of the devices that were taken, each once for a number of threads.
static void startProbes(std::vector<ProbeEntry> &probes, std::vector<Entry> &entries) {
  for (Entry &entry : entries) {
    const Measurement taken = entry.contestant->describe();
    if (taken.runner != "vx")
      continue;
    const auto found = std::find_if(probes.begin(), probes.end(), [&taken](const ProbeEntry &other) {
      return other.device == taken.device && other.threads == taken.threads;
    });
    entry.probe = static_cast<size_t>(found - probes.begin());
    if (found != probes.end())
      continue;
    showProgress(fmt::format("probing {}", taken.device));
    ProbeEntry probe{taken.device, taken.threads, makeProbe(taken.device, taken.threads), {}};
    if (probe.probe)
      probe.probe->run(); // The first round records commands and wakes the processor up.
    probes.push_back(std::move(probe));
  }
}

// Threads of what ran before wait for more work with the processor in their hands, as those of ONNX Runtime do, which
// would be taken from the contestant that is measured next.
static void letThreadsRest() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

// Seconds since the first turn of all.
static double now() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point first = Clock::now();
  return std::chrono::duration<double>(Clock::now() - first).count();
}

void takeTurns(std::vector<Entry> &entries, std::vector<ProbeEntry> &probes, const TurnOptions &options,
               const std::string &title) {
  std::vector<double> ignored;
  // The first runs record commands, touch pages and wake the processor up.
  for (Entry &entry : entries)
    entry.contestant->run(options.warmUp.value_or(options.minTime / 10), 2, ignored);
  if (!options.noProbes)
    startProbes(probes, entries);
  const uint32_t runs = (options.minRuns + Turns - 1) / Turns;
  for (int turn = 0; turn < Turns; ++turn) {
    for (Entry &entry : entries) {
      showProgress(fmt::format("{}: turn {} of {}", title, turn + 1, Turns));
      letThreadsRest();
      entry.turnsAt.push_back(now());
      entry.contestant->run(options.minTime / Turns, runs, entry.times);
      entry.contestant->finishTurn();
      if (!entry.probe || !probes[*entry.probe].probe)
        continue;
      letThreadsRest();
      entry.probesAt.push_back(now());
      const ProbeRound round = probes[*entry.probe].probe->run();
      entry.rounds.add(round);
      probes[*entry.probe].rounds.add(round);
    }
  }
}

static void compareWithPeers(std::vector<Measurement> &results, size_t begin) {
  for (size_t i = begin; i < results.size(); ++i)
    for (size_t j = begin; j < results.size(); ++j) {
      if (results[i].runner != "vx" || results[j].runner == "vx" || !results[i].device.starts_with("cpu") ||
          results[i].function != results[j].function || results[i].threads != results[j].threads ||
          results[i].medianMs <= 0)
        continue;
      const double times = results[j].medianMs / results[i].medianMs;
      results[i].timesPeer = std::min(results[i].timesPeer.value_or(times), times);
    }
}

void addResults(BenchReport &report, std::vector<Entry> &entries) {
  const size_t begin = report.results.size();
  for (Entry &entry : entries) {
    Measurement &result = report.results.emplace_back(entry.contestant->describe());
    setTimes(result, std::move(entry.times));
    result.turnsAt = std::move(entry.turnsAt);
    result.probesAt = std::move(entry.probesAt);
    if (!result.probesAt.empty())
      result.peaks = entry.rounds.peaks();
  }
  compareWithPeers(report.results, begin);
}

void addProbes(BenchReport &report, const std::vector<ProbeEntry> &probes) {
  for (const ProbeEntry &probe : probes)
    report.probes.push_back({probe.device, probe.threads, probe.rounds.peaks()});
}

} // namespace vx::tools
