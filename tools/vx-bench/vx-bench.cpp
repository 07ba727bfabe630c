// vx-bench: times modules on devices, beside what the machine can do.
#include "bench_report.h"
#include "command_line.h"
#include "cpu_probes.h"
#include "measurement.h"
#include "output_file.h"
#include "vulkan_probes.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <unistd.h>

using namespace vx::tools;

static constexpr const char *Examples = R"(
Examples:
  Device:       vx-bench model.vxm --device=cpu,vulkan --threads 1,2
  Inputs:       vx-bench model.vxm --dim batch=8
                vx-bench model.vxm --input tokens=@tokens.npy
  Measurement:  vx-bench a.vxm b.vxm --min-time 3
  Report:       vx-bench model.vxm --json result.json --html result.html
)";

namespace {

struct Options {
  std::vector<std::string> modules;
  std::string devices = "auto";
  std::string threads = "0";
  std::string function;
  std::vector<std::string> inputs;
  std::vector<std::string> dims;
  uint64_t seed = 0;
  double minTime = 1;
  uint32_t minRuns = 5;
  bool noProbes = false;
  std::string json;
  std::string html;
};

} // namespace

static bool parseOptions(const char *name, int argc, char **argv, Options &options) {
  CLI::App app("Times functions of compiled modules.");
  app.add_option("modules", options.modules, "Module files (.vxm)")->required();

  app.add_option("--device", options.devices, "Devices, e.g. cpu,vulkan; a refused one is an error")->group("Device");
  app.add_option("--threads", options.threads, "CPU thread counts, e.g. 1,2; 0: one per core")->group("Device");

  app.add_option("--function", options.function, "The function to run; the first one by default")->group("Inputs");
  app.add_option("--input", options.inputs,
                 "NAME=@x.npy, NAME=@x.pb or NAME=f32[2,3]:random|zeros|ones; random when not given")
      ->allow_extra_args(false)
      ->group("Inputs");
  app.add_option("--dim", options.dims, "NAME=N: size of a named dimension of random inputs")
      ->allow_extra_args(false)
      ->group("Inputs");
  app.add_option("--seed", options.seed, "Of random inputs; 0 by default")->group("Inputs");

  app.add_option("--min-time", options.minTime, "Seconds to measure each module for; 1 by default")
      ->check(CLI::NonNegativeNumber)
      ->group("Measurement");
  app.add_option("--min-runs", options.minRuns, "Calls to measure at the least; 5 by default")
      ->check(CLI::PositiveNumber)
      ->group("Measurement");
  app.add_flag("--no-probes", options.noProbes, "Leave out what the machine can do at best")->group("Measurement");

  app.add_option("--json", options.json, "Write the results to a file")->group("Report");
  app.add_option("--html", options.html, "Write a page with a chart to a file")->group("Report");
  return parseCommandLine(app, name, Examples, argc, argv);
}

static std::vector<uint32_t> threadCounts(const std::string &text) {
  std::vector<uint32_t> counts;
  for (const std::string &piece : splitList(text)) {
    uint32_t count = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), count);
    if (error != std::errc() || end != piece.data() + piece.size())
      throw usageError("--threads: want a number of 0 or more, got '{}'", piece);
    counts.push_back(count);
  }
  if (counts.empty())
    throw usageError("--threads: want a number, got '{}'", text);
  return counts;
}

static void progress(const std::string &text) {
  if (::isatty(STDERR_FILENO))
    fmt::print(stderr, "\r\033[K{}", text);
}

static void addProbe(BenchReport &report, const Measurement &result) {
  const auto same = [&result](const Probe &probe) {
    return probe.device == result.device && probe.threads == result.threads;
  };
  if (std::any_of(report.probes.begin(), report.probes.end(), same))
    return;
  Probe probe;
  probe.device = result.device;
  probe.threads = result.threads;
  progress(fmt::format("probing {}", result.device));
  if (result.device.starts_with("cpu")) {
    probe.fmaGflops = probeFmaGflops(std::max(result.threads, 1u));
    probe.readGbs = probeReadGbs(std::max(result.threads, 1u));
  } else if (result.device.starts_with("vulkan")) {
    if (const std::optional<VulkanProbes> best = probeVulkan(result.device)) {
      probe.fmaGflops = best->fmaGflops;
      probe.readGbs = best->readGbs;
    }
  }
  report.probes.push_back(probe);
}

static int run(const char *name, int argc, char **argv) {
  Options options;
  if (!parseOptions(name, argc, argv, options))
    return 0;
  const std::vector<std::string> devices = splitList(options.devices);
  if (devices.empty())
    throw usageError("--device: want a device, got '{}'", options.devices);
  const std::vector<uint32_t> threads = threadCounts(options.threads);

  BenchReport report;
  for (const std::string &module : options.modules)
    for (const std::string &device : devices)
      for (uint32_t count : threads) {
        // Threads are the CPU's: another device is measured once.
        if (count != threads.front() && device != "auto" && !device.starts_with("cpu"))
          continue;
        progress(fmt::format("{} on {}", module, device));
        MeasurementRequest request;
        request.path = module;
        request.device = device;
        request.threads = count;
        request.function = options.function;
        request.dims = parseDims(options.dims);
        request.inputs = options.inputs;
        request.seed = options.seed;
        request.minSeconds = options.minTime;
        request.minRuns = options.minRuns;
        report.results.push_back(measure(request));
        if (!options.noProbes)
          addProbe(report, report.results.back());
      }
  progress("");
  if (!options.json.empty())
    writeFile(options.json, report.json().dump(2) + "\n");
  if (!options.html.empty())
    writeFile(options.html, report.html());
  fmt::print("{}", report.text());
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-bench", argc, argv, run); }
