// The results as one HTML page: no script, no other file, charts as SVG.
#include "bench_report.h"

#include "vx/base/names.h"

#include "vx/abi/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace vx::tools {

namespace {

// All charts are as wide; a page of another width scales them.
constexpr double ChartWidth = 960;
constexpr double LabelEnd = 300;  // labels are right-aligned to it
constexpr double BarsBegin = 310; // the charts' zero
constexpr double BarsEnd = 690;   // the longest bar
constexpr double RowHeight = 30;
constexpr double BarHeight = 16;
constexpr double AxisHeight = 26;
constexpr size_t LabelLetters = 36; // fit between 0 and LabelEnd
constexpr size_t ChartKernels = 24; // the longest ones; the table has all

constexpr const char *Style = R"(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #5b6570; --line: #d8dde3; --track: #e6eaef; --page: #fff;
  --cpu: #2f6db3; --vulkan: #b3452f; --cuda: #4a8f2c; --rocm: #8a5cb8; --peer: #8b929b; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --soft: #9aa4af; --line: #39414a; --track: #2b323a;
  --page: #171b20; --cpu: #6aa5e8; --vulkan: #e8836a; --cuda: #84c463; --rocm: #b995e0; --peer: #7d858f; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 64em; padding: 0 1em; color: var(--text);
  background: var(--page); }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin: 2em 0 .2em; } h3 { font-size: 1em; margin: 1.2em 0 .2em; }
p { color: var(--soft); margin: .2em 0 .6em; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 13px system-ui, sans-serif; fill: var(--text); }
svg .soft { fill: var(--soft); font-size: 12px; }
svg .axis { stroke: var(--line); stroke-width: 1; } svg .range { stroke: var(--text); stroke-width: 1.5; }
svg .track { fill: var(--track); }
.cpu { fill: var(--cpu); } .vulkan { fill: var(--vulkan); } .cuda { fill: var(--cuda); } .rocm { fill: var(--rocm); }
.peer { fill: var(--peer); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .6em 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25em .8em; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child, td.wide { text-align: left; }
td.wide { white-space: normal; min-width: 24em; }
summary { cursor: pointer; color: var(--soft); }
)";

std::string escape(std::string_view text) {
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
      // Control letters have no place in a page.
      escaped += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  }
  return escaped;
}

// At most `limit` letters; a letter of several bytes counts as one and stays whole.
std::string shortened(const std::string &text, size_t limit) {
  size_t letters = 0, cut = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80)
      continue;
    if (letters == limit - 1)
      cut = i;
    ++letters;
  }
  return letters <= limit ? text : text.substr(0, cut) + "…";
}

// 0.0123, 1.23, 12.3, 123: three digits that matter.
std::string number(double value) {
  if (value == 0 || !std::isfinite(value))
    return "0";
  const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(std::fabs(value)))), 0, 6);
  return fmt::format("{:.{}f}", value, digits);
}

std::string orDash(const std::optional<double> &value) { return value ? number(*value) : "-"; }

const char *classOf(const Measurement &result) {
  if (result.runner != "vx")
    return "peer";
  for (const char *known : {"vulkan", "cuda", "rocm"})
    if (result.device.starts_with(known))
      return known;
  return "cpu";
}

// Rows of a label, a bar and a value, below each other.
class Chart {
public:
  explicit Chart(std::string title) : title(std::move(title)) {}

  // `whole` is what the longest bar stands for.
  void setScale(double value) { whole = value > 0 ? value : 1; }

  void row(const std::string &label, const std::string &hint = "") {
    body += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\"><title>{}</title>{}</text>\n", LabelEnd,
                        top + 19, escape(hint.empty() ? label : hint), escape(shortened(label, LabelLetters)));
    current = top;
    top += RowHeight;
  }
  // Drawn below the bar: the best that is possible.
  void track() {
    body += fmt::format("<rect class=\"track\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                        BarsBegin, current + 6, BarsEnd - BarsBegin, BarHeight);
  }
  void bar(const char *kind, double value, const std::string &text) {
    body += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", kind,
                        BarsBegin, current + 6, place(value) - BarsBegin, BarHeight);
    body += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", BarsEnd + 12, current + 19,
                        escape(text));
  }
  void range(double low, double high) {
    const double middle = current + 6 + BarHeight / 2;
    body += fmt::format("<path class=\"range\" d=\"M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v6M{1:.1f} {3:.1f}v6\"/>\n",
                        place(low), place(high), middle, middle - 3);
  }

  // With a line and a number at each round part of the scale.
  std::string svg(const std::string &unit) const {
    std::string axis;
    const double step = roundStep(whole / 5);
    for (double value = 0; value <= whole * 1.0001; value += step)
      axis += fmt::format("<path class=\"axis\" d=\"M{0:.1f} 0V{1:.1f}\"/><text class=\"soft\" x=\"{0:.1f}\" "
                          "y=\"{2:.1f}\" text-anchor=\"middle\">{3}{4}</text>\n",
                          place(value), top, top + 16, fmt::format("{:.4g}", value), value == 0 ? "" : unit);
    const double height = top + AxisHeight;
    return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}{}</svg>\n", ChartWidth,
                       height, escape(title), axis, body);
  }

private:
  double place(double value) const { return BarsBegin + (BarsEnd - BarsBegin) * std::clamp(value / whole, 0.0, 1.0); }
  // 1, 2 or 5 times a power of ten, at least `least`.
  static double roundStep(double least) {
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (double factor : {1.0, 2.0, 5.0})
      if (factor * power >= least * 0.9999)
        return factor * power;
    return 10 * power;
  }

  const std::string title;
  std::string body;
  double top = 4;
  double current = 4;
  double whole = 1;
};

std::string timesChart(const std::vector<const Measurement *> &group) {
  Chart chart("median time of a call");
  double longest = 0;
  for (const Measurement *result : group)
    longest = std::max(longest, std::min(result->p95Ms, 3 * result->medianMs));
  chart.setScale(longest);
  const bool hasSeveral = std::any_of(group.begin(), group.end(), [&group](const Measurement *result) {
    return result->function != group.front()->function;
  });
  for (const Measurement *result : group) {
    chart.row((hasSeveral ? result->function + ", " : "") + contestantText(*result),
              fmt::format("{} {}, {}", result->runner, result->runnerVersion, result->deviceName));
    std::string text = number(result->medianMs) + " ms";
    if (result->timesPeer)
      text += fmt::format(", {:.2f} x peer", *result->timesPeer);
    chart.bar(classOf(*result), result->medianMs, text);
    chart.range(result->p5Ms, result->p95Ms);
  }
  return "<h3>Time of a call</h3>\n<p>Median; the line reaches from the 5th to the 95th percentile. Shorter is "
         "better.</p>\n" +
         chart.svg(" ms");
}

std::string ofPeak(double value, double peak, const char *unit) {
  return fmt::format("{} of {} {}, {:.0f} %", number(value), number(peak), unit, 100 * value / peak);
}

std::optional<double> medianOf(const std::optional<Spread> &spread) {
  return spread ? std::optional(spread->median) : std::nullopt;
}

std::string peaksChart(const std::vector<const Measurement *> &group) {
  Chart chart("share of the measured peaks");
  chart.setScale(100);
  bool isEmpty = true;
  auto share = [&](const Measurement &result, const char *what, std::optional<double> value, std::optional<double> peak,
                   const char *unit) {
    if (!value || !peak || *peak <= 0)
      return;
    chart.row(fmt::format("{} {}", what, contestantText(result)));
    chart.track();
    chart.bar(classOf(result), 100 * *value / *peak, ofPeak(*value, *peak, unit));
    isEmpty = false;
  };
  for (const Measurement *result : group)
    if (result->peaks) {
      share(*result, "compute,", result->gflops, medianOf(result->peaks->fmaGflops), "GFLOP/s");
      share(*result, "memory,", result->gbs, medianOf(result->peaks->readGbs), "GB/s");
    }
  if (isEmpty)
    return "";
  return "<h3>Beside the peaks of the machine in the same turns</h3>\n<p>Compute against f32 multiply-adds that do "
         "nothing "
         "else; memory counts inputs, outputs and constants once each, against reading from memory (what stays in "
         "caches can pass 100 %).</p>\n" +
         chart.svg(" %");
}

std::string kernelsPart(const Measurement &result) {
  const std::optional<double> fma = result.peaks ? medianOf(result.peaks->fmaGflops) : std::nullopt,
                              read = result.peaks ? medianOf(result.peaks->readGbs) : std::nullopt;
  double sum = 0;
  for (const KernelMeasurement &kernel : result.kernels)
    sum += kernel.medianMs.value_or(0);
  std::string part = fmt::format("<h3>Kernels, {}</h3>\n", escape(contestantText(result)));
  if (sum > 0) {
    Chart chart("time of the kernels");
    chart.setScale(result.kernels.front().medianMs.value_or(0));
    for (size_t i = 0; i < std::min(ChartKernels, result.kernels.size()); ++i) {
      const KernelMeasurement &kernel = result.kernels[i];
      if (!kernel.medianMs)
        continue;
      const std::string nodes = vx::firstNames(kernel.sources);
      chart.row(fmt::format("{}: {}", kernel.name, nodes), fmt::format("{}: {}", kernel.name, nodes));
      std::string text = fmt::format("{} ms, {:.0f} %", number(*kernel.medianMs), 100 * *kernel.medianMs / sum);
      // How close to the roof it is: the one of the two that it is closer to.
      if (kernel.gflops() && kernel.gbs() && fma && read) {
        const double compute = *kernel.gflops() / *fma, memory = *kernel.gbs() / *read;
        text += fmt::format("; {:.0f} % {}", 100 * std::max(compute, memory), compute > memory ? "compute" : "memory");
      }
      chart.bar(classOf(result), *kernel.medianMs, text);
    }
    part +=
        fmt::format("<p>Each one's time in a call, its share of {} ms in all kernels, and the share of the peak that "
                    "it is closer to (what is read from caches can pass 100 %).</p>\n",
                    number(sum)) +
        chart.svg(" ms");
  }
  part += fmt::format("<details><summary>All {} kernels</summary>\n<div class=\"scroll\"><table>\n<tr><th>kernel</th>"
                      "<th>ms</th><th>times</th><th>MFLOP</th><th>MB</th><th>GFLOP/s</th><th>GB/s</th><th>source "
                      "nodes</th></tr>\n",
                      result.kernels.size());
  for (const KernelMeasurement &kernel : result.kernels)
    part += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td "
                        "class=\"wide\">{}</td></tr>\n",
                        escape(kernel.name), orDash(kernel.medianMs), kernel.dispatches,
                        kernel.flops ? number(*kernel.flops * 1e-6) : "-",
                        kernel.bytes ? number(*kernel.bytes * 1e-6) : "-", orDash(kernel.gflops()),
                        orDash(kernel.gbs()), escape(vx::firstNames(kernel.sources)));
  return part + "</table></div></details>\n";
}

std::string resultsTable(const std::vector<Measurement> &results) {
  std::string table =
      "<h2>All results</h2>\n<div "
      "class=\"scroll\"><table>\n<tr><th>module</th><th>function</th><th>on</th><th>device</th>"
      "<th>variant</th><th>dims</th><th>runs</th><th>median ms</th><th>mean ms</th><th>min ms</th><th>p95 "
      "ms</th><th>p99 ms</th><th>GFLOP/s</th><th>GB/s</th><th>rows/s</th><th>x peer</th></tr>\n";
  for (const Measurement &result : results) {
    const bool isOurs = result.runner == "vx";
    table += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escape(result.module), escape(result.function), escape(contestantText(result)), escape(result.deviceName),
        escape(result.variant.empty() ? "-" : result.variant), escape(dimsText(result.dims)), result.runs,
        number(result.medianMs), number(result.meanMs), number(result.minMs), number(result.p95Ms),
        number(result.p99Ms), orDash(result.gflops), isOurs ? number(result.gbs) : "-",
        result.rows ? number(rowsPerSecond(result)) : "-", orDash(result.timesPeer));
  }
  return table + "</table></div>\n";
}

std::string withSpread(const std::optional<Spread> &spread) {
  return spread ? fmt::format("{} ({} to {})", number(spread->median), number(spread->least), number(spread->greatest))
                : "-";
}

std::string probesTable(const std::vector<Probe> &probes) {
  if (probes.empty())
    return "";
  std::string table = "<h2>The machine in the same run</h2>\n<div class=\"scroll\"><table>\n<tr><th>device</th>"
                      "<th>threads</th><th>f32 FMA GFLOP/s</th><th>read GB/s</th><th>copy GB/s</th></tr>\n";
  for (const Probe &probe : probes)
    table += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape(probe.device),
                         probe.threads ? fmt::format("{}", probe.threads) : "-", withSpread(probe.peaks.fmaGflops),
                         withSpread(probe.peaks.readGbs), withSpread(probe.peaks.copyGbs));
  return table + "</table></div>\n";
}

std::string recordLines(const std::string &text) {
  std::string lines;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines += (begin ? "<br>" : "") + escape(text.substr(begin, end - begin));
  return lines;
}

} // namespace

std::string BenchReport::html() const {
  std::string page = fmt::format("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
                                 "name=\"viewport\" content=\"width=device-width\">\n<title>vx-bench</title>\n<style>{}"
                                 "</style>\n</head>\n<body>\n<h1>vx-bench</h1>\n<p>vx {}<br>{}</p>\n",
                                 Style, VX_VERSION_STRING, recordLines(benchRecord().text(devices())));
  // One part for each module and sizes, in the order of the results.
  std::vector<std::vector<const Measurement *>> groups;
  for (const Measurement &result : results) {
    const auto same = [&result](const std::vector<const Measurement *> &group) {
      return group.front()->module == result.module && group.front()->dims == result.dims;
    };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end())
      found = groups.insert(groups.end(), std::vector<const Measurement *>());
    found->push_back(&result);
  }
  for (const std::vector<const Measurement *> &group : groups) {
    const std::string dims = dimsText(group.front()->dims);
    page += fmt::format("<section>\n<h2>{}{}</h2>\n", escape(group.front()->module),
                        dims == "-" ? "" : ", " + escape(dims));
    page += timesChart(group) + peaksChart(group);
    for (const Measurement *result : group)
      if (!result->kernels.empty())
        page += kernelsPart(*result);
    page += "</section>\n";
  }
  return page + resultsTable(results) + probesTable(probes) + "</body>\n</html>\n";
}

} // namespace vx::tools
