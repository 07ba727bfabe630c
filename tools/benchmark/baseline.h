// Results of embeddings beside those of an earlier run.
#ifndef VX_BENCH_BASELINE_H
#define VX_BENCH_BASELINE_H

#include "bench_report.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace vx::tools {

// A file that vx-bench --json has written. Throws a ToolError.
nlohmann::json readBaseline(const std::string &path);

struct BaselineComparison {
  bool holds = false; // not slower than allowed
  std::string text;   // the sizes and both rates
};

// One for each result whose device, threads and sizes the baseline has too. `allowed` is the part that a rate may be
// lower by.
std::vector<BaselineComparison> compareWithBaseline(const BenchReport &report, const nlohmann::json &baseline,
                                                    double allowed);

} // namespace vx::tools

#endif
