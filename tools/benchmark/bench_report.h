// The results of a benchmark run: JSON, a page, and a table.
#ifndef VX_BENCH_BENCH_REPORT_H
#define VX_BENCH_BENCH_REPORT_H

#include "bench_record.h"
#include "measurement.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// The highest rates of a device, by all rounds that its probes took in a run.
struct Probe {
  std::string device; // "cpu:0"
  uint32_t threads = 0;
  Peaks peaks;
};

struct BenchReport {
  std::vector<Probe> probes;
  std::vector<Measurement> results;

  // The devices of the results, each once.
  std::vector<RecordedDevice> devices() const;

  // {"version":1,"record":{...},"probes":[...],"results":[...]}; values that are not known are null.
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
