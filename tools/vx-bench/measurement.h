// One module on one device, timed.
#ifndef VX_BENCH_MEASUREMENT_H
#define VX_BENCH_MEASUREMENT_H

#include "signature.h"

#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

struct MeasurementRequest {
  std::string path;
  std::string device; // one of --device
  uint32_t threads = 0;
  std::string function;
  SymbolValues dims;
  std::vector<std::string> inputs;
  uint64_t seed = 0;
  double minSeconds = 1;
  uint32_t minRuns = 5;
};

struct Measurement {
  std::string module;
  std::string function;
  std::string device;     // that was taken, "vulkan:0"
  std::string deviceName; // "NVIDIA H100"
  std::string variant;
  uint32_t threads = 0; // of the CPU device; 0 on others
  SymbolValues dims;
  uint64_t runs = 0;
  double medianMs = 0;
  double p95Ms = 0;
  double minMs = 0;
  // Inputs, outputs and constants, each counted once: what a call moves at the least.
  uint64_t bytes = 0;
  double gbs = 0;
};

// Loads, warms up, and times calls until `minSeconds` have passed and there are `minRuns`. The time of a call is that
// of vx_call_run, which includes the transfer of its inputs. Throws ToolError.
Measurement measure(const MeasurementRequest &request);

// The value below which `part` (0 to 1) of the sorted values lie, the nearest one. `sorted` is not empty.
double percentile(const std::vector<double> &sorted, double part);

} // namespace vx::tools

#endif
