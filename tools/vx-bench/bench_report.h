// The results of a benchmark run: JSON, a page, and a table.
#ifndef VX_BENCH_BENCH_REPORT_H
#define VX_BENCH_BENCH_REPORT_H

#include "measurement.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

struct Probe {
  std::string device; // "cpu:0"
  uint32_t threads = 0;
  // Nothing where this tool has no probe for the device.
  std::optional<double> fmaGflops;
  std::optional<double> readGbs;
};

struct BenchReport {
  std::vector<Probe> probes;
  std::vector<Measurement> results;

  // {"version":1,"probes":[...],"results":[...]}; what is not known is null.
  nlohmann::ordered_json json() const;
  // A page that needs no other file: a bar per result, and both tables.
  std::string html() const;
  std::string text() const;
};

} // namespace vx::tools

#endif
