#include "bench_report.h"

#include "vx/abi/version.h"

#include "vx/base/names.h"
#include "vx/base/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace vx::tools {

using Json = nlohmann::ordered_json;

static Json orNull(const std::optional<double> &value) { return value ? Json(*value) : Json(nullptr); }

static std::string withOneDigit(const std::optional<double> &value) {
  return value ? fmt::format("{:.1f}", *value) : "-";
}

std::string dimsText(const SymbolValues &dims) {
  std::string text;
  for (const auto &[name, size] : dims)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
  return text.empty() ? "-" : text;
}

std::string contestantText(const Measurement &result) {
  std::string text = fmt::format("{} on {}", result.runner, result.device);
  if (result.threads)
    text += fmt::format(", {} thread{}", result.threads, result.threads == 1 ? "" : "s");
  return text;
}

std::vector<RecordedDevice> BenchReport::devices() const {
  std::vector<RecordedDevice> list;
  for (const Measurement &result : results) {
    const RecordedDevice device{result.device, result.deviceName, result.deviceDetails};
    if (result.runner == "vx" && std::find(list.begin(), list.end(), device) == list.end())
      list.push_back(device);
  }
  return list;
}

double rowsPerSecond(const Measurement &result) {
  return result.medianMs > 0 ? static_cast<double>(result.rows.value_or(0)) / result.medianMs * 1e3 : 0;
}

double tokensPerSecond(const Measurement &result) {
  return result.medianMs > 0 ? static_cast<double>(result.tokens.value_or(0)) / result.medianMs * 1e3 : 0;
}

static Json kernelJson(const KernelMeasurement &kernel) {
  return {{"kernel", kernel.name},
          {"key", kernel.key},
          {"nodes", kernel.sources},
          {"dispatches", kernel.dispatches},
          {"median_ms", orNull(kernel.medianMs)},
          {"flops", orNull(kernel.flops)},
          {"bytes", orNull(kernel.bytes)},
          {"gflops", orNull(kernel.gflops())},
          {"gbs", orNull(kernel.gbs())}};
}

Json BenchReport::json() const {
  Json document{{"version", 1}, {"producer", "vx " VX_VERSION_STRING}, {"record", benchRecord().json(devices())}};
  document["probes"] = Json::array();
  for (const Probe &probe : probes) {
    Json &entry = document["probes"].emplace_back(Json{{"device", probe.device}, {"threads", probe.threads}});
    probe.peaks.addTo(entry);
  }
  document["results"] = Json::array();
  for (const Measurement &result : results) {
    Json &entry = document["results"].emplace_back();
    entry = {{"module", result.module},
             {"function", result.function},
             {"runner", result.runner},
             {"runner_version", result.runnerVersion},
             {"device", result.device},
             {"device_name", result.deviceName},
             {"variant", result.variant},
             {"threads", result.threads},
             {"dims", Json(result.dims)},
             {"zero_inputs", result.zeroInputs},
             {"runs", result.runs},
             {"median_ms", result.medianMs},
             {"mean_ms", result.meanMs},
             {"min_ms", result.minMs},
             {"p5_ms", result.p5Ms},
             {"p95_ms", result.p95Ms},
             {"p99_ms", result.p99Ms},
             {"max_ms", result.maxMs},
             {"flops", orNull(result.flops)},
             {"gflops", orNull(result.gflops)},
             {"bytes", result.bytes},
             {"gbs", result.gbs},
             {"kernel_bytes", orNull(result.kernelBytes)},
             {"memory_bytes", result.memoryBytes ? Json(*result.memoryBytes) : Json(nullptr)},
             {"times_peer", orNull(result.timesPeer)},
             {"resident", result.isResident},
             {"upload_ms", orNull(result.uploadMs)},
             {"download_ms", orNull(result.downloadMs)},
             {"turns_at_s", result.turnsAt},
             {"probe", nullptr}};
    if (result.peaks) {
      entry["probe"] = {{"at_s", result.probesAt}};
      result.peaks->addTo(entry["probe"]);
    }
    if (result.rows) {
      entry["rows"] = *result.rows;
      entry["rows_per_second"] = rowsPerSecond(result);
      entry["first_loss"] = orNull(result.firstLoss);
      entry["times_forward"] = orNull(result.timesForward);
    }
    if (result.tokens) {
      entry["tokens"] = *result.tokens;
      entry["tokens_per_second"] = tokensPerSecond(result);
    }
    if (result.kernels.empty())
      continue;
    entry["kernels"] = Json::array();
    for (const KernelMeasurement &kernel : result.kernels)
      entry["kernels"].push_back(kernelJson(kernel));
  }
  return document;
}

std::string BenchReport::text() const {
  std::string table = benchRecord().text(devices());
  table += fmt::format("{:<28} {:<32} {:<20} {:>7} {:>11} {:>11} {:>9} {:>8} {:>7}\n", "module", "on", "dims", "runs",
                       "median ms", "p95 ms", "GFLOP/s", "GB/s", "x peer");
  for (const Measurement &result : results)
    table += fmt::format("{:<28} {:<32} {:<20} {:>7} {:>11.4f} {:>11.4f} {:>9} {:>8} {:>7}\n",
                         vx::printableLine(result.module), contestantText(result),
                         vx::printableLine(dimsText(result.dims)), result.runs, result.medianMs, result.p95Ms,
                         withOneDigit(result.gflops), result.runner == "vx" ? fmt::format("{:.2f}", result.gbs) : "-",
                         result.timesPeer ? fmt::format("{:.2f}", *result.timesPeer) : "-");
  for (const Measurement &result : results)
    if (result.uploadMs && result.downloadMs)
      table += fmt::format("transfers of {}, {}, {}: inputs {:.4f} ms, results {:.4f} ms, which are in no other time\n",
                           vx::printableLine(result.module), contestantText(result),
                           vx::printableLine(dimsText(result.dims)), *result.uploadMs, *result.downloadMs);
  for (const Measurement &result : results) {
    if (!result.rows)
      continue;
    std::string more;
    if (result.tokens)
      more += fmt::format(", {:.0f} tokens/s", tokensPerSecond(result));
    if (result.memoryBytes)
      more += fmt::format(", {:.1f} MB of memory", static_cast<double>(*result.memoryBytes) / 1e6);
    if (result.firstLoss)
      more += fmt::format(", first loss {:.5g}", *result.firstLoss);
    if (result.timesForward)
      more += fmt::format(", {:.2f} times its forward", *result.timesForward);
    table += fmt::format("{} of {}, {}: {:.4f} ms for {} rows, {:.0f} rows/s{}\n", vx::printableLine(result.function),
                         vx::printableLine(result.module), contestantText(result), result.medianMs, *result.rows,
                         rowsPerSecond(result), more);
  }
  for (const Measurement &result : results) {
    if (result.kernels.empty())
      continue;
    table += fmt::format("\nkernels of {}, {}, {}\n", vx::printableLine(result.module), contestantText(result),
                         vx::printableLine(dimsText(result.dims)));
    table += fmt::format("{:>11} {:>6} {:>9} {:>8}  {}\n", "ms", "times", "GFLOP/s", "GB/s", "kernel: source nodes");
    for (const KernelMeasurement &kernel : result.kernels)
      table += fmt::format("{:>11} {:>6} {:>9} {:>8}  {}: {}\n",
                           kernel.medianMs ? fmt::format("{:.4f}", *kernel.medianMs) : "-", kernel.dispatches,
                           withOneDigit(kernel.gflops()), withOneDigit(kernel.gbs()), vx::printableLine(kernel.name),
                           vx::printableLine(vx::firstNames(kernel.sources)));
  }
  if (!probes.empty())
    table += "\n";
  for (const Probe &probe : probes)
    table += peaksText(probe.device, probe.threads, probe.peaks);
  return table;
}

} // namespace vx::tools
