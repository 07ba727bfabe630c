// The report of vx-run --compare: that of vx::compare, and the reference evaluator's part.
#ifndef VX_TOOLS_COMPARISON_REPORT_H
#define VX_TOOLS_COMPARISON_REPORT_H

#include "vx/compare.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

struct DeviceComparison : compare::Report {
  DeviceComparison() = default;
  explicit DeviceComparison(compare::Report report) : Report(std::move(report)) {}

  // Of the first kernel, where that was looked into: the first op that differs when the ops up to it are compiled, or
  // why there is none.
  std::optional<compare::Kernel> firstOp;
  std::string noOp;
  // Of two devices that differ, each beside the reference, where that was asked for.
  std::vector<DeviceComparison> againstReference;

  // The first difference, in one line.
  std::string message() const;
  nlohmann::ordered_json json() const;
};

// The tolerance of a --tolerance, which is relative to the largest magnitude; the types' defaults without one.
std::optional<compare::Tolerance> toleranceOf(std::optional<double> ofLargest);

} // namespace vx::tools

#endif
