// The results of a benchmark run: JSON, a page, and a table.
#ifndef VX_BENCH_BENCH_REPORT_H
#define VX_BENCH_BENCH_REPORT_H

#include "measurement.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// What a device can do at best: medians of the turns that its probes took.
struct Probe {
  std::string device; // "cpu:0"
  uint32_t threads = 0;
  // Nothing where this tool has no probe for the device.
  std::optional<double> fmaGflops;
  std::optional<double> readGbs;
  std::optional<double> copyGbs; // bytes read and written together
};

struct BenchReport {
  std::vector<Probe> probes;
  std::vector<Measurement> results;

  // The peak beside which a result is shown; a peer's is that of the CPU with as many threads. Null when it was not
  // measured.
  const Probe *probeOf(const Measurement &result) const;

  // {"version":1,"probes":[...],"results":[...]}; what is not known is null.
  nlohmann::ordered_json json() const;
  // A page that needs no other file: charts beside the measured peaks, and tables. See bench_page.cpp.
  std::string html() const;
  std::string text() const;
};

// "batch=8 sequence=16", or "-".
std::string dimsText(const SymbolValues &dims);

// Of a measurement that has rows.
double rowsPerSecond(const Measurement &result);

// Of a measurement that has tokens.
double tokensPerSecond(const Measurement &result);

// "vx on vulkan:0", "onnxruntime on cpu, 2 threads"
std::string contestantText(const Measurement &result);

} // namespace vx::tools

#endif
