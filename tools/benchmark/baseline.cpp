#include "baseline.h"

#include "input_file.h"
#include "tool_error.h"

#include "vx/base/json_text.h"

#include <algorithm>

namespace vx::tools {

using nlohmann::json;

namespace {

// The value that is compared with a baseline: the one that depends least on the machine.
struct Rate {
  std::string what;
  double value = 0;
};

} // namespace

// Beside a peer, its time over ours; else vectors a second for each GFLOP/s that the device has; else vectors a second.
static Rate rateOf(const json &result, const json &probes) {
  if (result.contains("times_peer") && result["times_peer"].is_number())
    return {"times the peer", result["times_peer"].get<double>()};
  const double perSecond = result.value("rows_per_second", 0.0);
  for (const json &probe : probes)
    if (probe.value("device", "") == result.value("device", "") &&
        probe.value("threads", 0) == result.value("threads", 0) && probe["fma_gflops"].is_number())
      return {"vectors a second and GFLOP/s of the device", perSecond / probe["fma_gflops"].get<double>()};
  return {"vectors a second", perSecond};
}

std::vector<BaselineComparison> compareWithBaseline(const BenchReport &report, const json &baseline, double allowed) {
  const json now = json::parse(vx::jsonText(report.json()));
  std::vector<BaselineComparison> compared;
  for (const json &result : now["results"]) {
    if (result["runner"] != "vx")
      continue;
    for (const json &before : baseline["results"]) {
      const bool isSame =
          std::ranges::all_of(std::initializer_list<const char *>{"runner", "device", "threads", "dims", "function"},
                              [&](const char *key) { return before.contains(key) && before[key] == result[key]; });
      if (!isSame)
        continue;
      const Rate is = rateOf(result, now["probes"]), was = rateOf(before, baseline["probes"]);
      if (is.what != was.what || was.value <= 0)
        continue;
      compared.push_back(
          {is.value >= was.value * (1 - allowed),
           fmt::format("{} tokens, {} texts: {:.3g} {}, the baseline has {:.3g}", result["dims"].value("tokens", 0),
                       result["dims"].value("batch", 0), is.value, is.what, was.value)});
    }
  }
  return compared;
}

json readBaseline(const std::string &path) {
  const std::vector<uint8_t> bytes = readFile(path);
  const json baseline = json::parse(bytes.begin(), bytes.end(), nullptr, /*allow_exceptions=*/false);
  if (!baseline.is_object() || !baseline.contains("results") || !baseline["results"].is_array() ||
      !baseline.contains("probes") || !baseline["probes"].is_array())
    throw fileError("{}: expected a file that vx-bench --json has written", path);
  return baseline;
}

} // namespace vx::tools
