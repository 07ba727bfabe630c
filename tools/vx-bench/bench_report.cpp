#include "bench_report.h"

#include "vx/abi/version.h"

#include <fmt/format.h>

#include <algorithm>

namespace vx::tools {

using Json = nlohmann::ordered_json;

static Json orNull(const std::optional<double> &value) { return value ? Json(*value) : Json(nullptr); }

static std::string orDash(const std::optional<double> &value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

static std::string dimsText(const SymbolValues &dims) {
  std::string text;
  for (const auto &[name, size] : dims)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
  return text.empty() ? "-" : text;
}

Json BenchReport::json() const {
  Json document{{"version", 1}, {"producer", "vx " VX_VERSION_STRING}};
  document["probes"] = Json::array();
  for (const Probe &probe : probes)
    document["probes"].push_back({{"device", probe.device},
                                  {"threads", probe.threads},
                                  {"fma_gflops", orNull(probe.fmaGflops)},
                                  {"read_gbs", orNull(probe.readGbs)}});
  document["results"] = Json::array();
  for (const Measurement &result : results)
    document["results"].push_back({{"module", result.module},
                                   {"function", result.function},
                                   {"device", result.device},
                                   {"device_name", result.deviceName},
                                   {"variant", result.variant},
                                   {"threads", result.threads},
                                   {"dims", Json(result.dims)},
                                   {"runs", result.runs},
                                   {"median_ms", result.medianMs},
                                   {"p95_ms", result.p95Ms},
                                   {"min_ms", result.minMs},
                                   {"gflops", nullptr},
                                   {"bytes", result.bytes},
                                   {"gbs", result.gbs}});
  return document;
}

static std::string escape(std::string_view text) {
  std::string escaped;
  for (char letter : text) {
    switch (letter) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += letter;
    }
  }
  return escaped;
}

static constexpr const char *PageHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>vx-bench</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #1a1a1a; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { padding: .3em .9em; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.row { display: grid; grid-template-columns: 24em 1fr; gap: 1em; align-items: center; margin: .3em 0; }
.bar { background: #3b6ea8; color: #fff; padding: .15em .5em; white-space: nowrap; min-width: 5em; }
.vulkan { background: #a8433b; } .cuda { background: #4b8b3b; } .rocm { background: #8b6b3b; }
</style>
</head>
<body>
<h1>vx-bench</h1>
)";

std::string BenchReport::html() const {
  std::string page = PageHead;
  page += "<p>vx " VX_VERSION_STRING ". Median time of a call, shorter is better.</p>\n<section>\n";
  double longest = 0;
  for (const Measurement &result : results)
    longest = std::max(longest, result.medianMs);
  for (const Measurement &result : results)
    page += fmt::format("<div class=\"row\"><span>{} {} ({})</span><div><div class=\"bar {}\" style=\"width:{:.1f}%\">"
                        "{:.3f} ms</div></div></div>\n",
                        escape(result.module), escape(dimsText(result.dims)), escape(result.device),
                        escape(result.device.substr(0, result.device.find(':'))),
                        longest > 0 ? 100 * result.medianMs / longest : 0, result.medianMs);
  page += "</section>\n<table>\n<tr><th>module</th><th>device</th><th>threads</th><th>dims</th><th>runs</th>"
          "<th>median ms</th><th>p95 ms</th><th>GFLOP/s</th><th>GB/s</th></tr>\n";
  for (const Measurement &result : results)
    page += fmt::format("<tr><td>{}</td><td>{} {}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.4f}</td><td>{:.4f}</td>"
                        "<td>-</td><td>{:.2f}</td></tr>\n",
                        escape(result.module), escape(result.device), escape(result.deviceName), result.threads,
                        escape(dimsText(result.dims)), result.runs, result.medianMs, result.p95Ms, result.gbs);
  page +=
      "</table>\n<p>GB/s counts inputs, outputs and constants once each.</p>\n<h2>The machine in the same run</h2>\n"
      "<table>\n<tr><th>device</th><th>threads</th><th>f32 FMA GFLOP/s</th><th>read GB/s</th></tr>\n";
  for (const Probe &probe : probes)
    page += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape(probe.device), probe.threads,
                        orDash(probe.fmaGflops), orDash(probe.readGbs));
  page += "</table>\n</body>\n</html>\n";
  return page;
}

std::string BenchReport::text() const {
  std::string table = fmt::format("{:<32} {:<10} {:>7} {:<20} {:>8} {:>12} {:>12} {:>10} {:>9}\n", "module", "device",
                                  "threads", "dims", "runs", "median ms", "p95 ms", "GFLOP/s", "GB/s");
  for (const Measurement &result : results)
    table += fmt::format("{:<32} {:<10} {:>7} {:<20} {:>8} {:>12.4f} {:>12.4f} {:>10} {:>9.2f}\n", result.module,
                         result.device, result.threads, dimsText(result.dims), result.runs, result.medianMs,
                         result.p95Ms, "-", result.gbs);
  for (const Probe &probe : probes)
    table += fmt::format("{} with {} threads at best: f32 FMA {} GFLOP/s, read {} GB/s\n", probe.device, probe.threads,
                         orDash(probe.fmaGflops), orDash(probe.readGbs));
  return table;
}

} // namespace vx::tools
