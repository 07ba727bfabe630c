#include "comparison_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vx::tools {

using Json = nlohmann::ordered_json;

std::optional<compare::Tolerance> toleranceOf(std::optional<double> ofLargest) {
  if (!ofLargest)
    return std::nullopt;
  compare::Tolerance tolerance;
  tolerance.ofLargest = *ofLargest;
  return tolerance;
}

std::string DeviceComparison::message() const {
  std::string text = Report::text();
  if (firstOp)
    text += fmt::format("; in it first '{}' of {}: {}", firstOp->name, fmt::join(firstOp->nodes, ", "),
                        firstOp->difference.text());
  else if (!noOp.empty())
    text += "; " + noOp;
  for (const DeviceComparison &other : againstReference)
    text += "; " + other.message();
  return text;
}

static Json differenceJson(const compare::Difference &difference) {
  Json json{{"type", difference.type},
            {"agrees", difference.agrees()},
            {"elements", difference.elements},
            {"differing", difference.differing},
            {"largest_difference", difference.largest},
            {"largest_relative_difference", difference.largestRelative},
            {"allowed", difference.allowed}};
  if (difference.earliest) {
    json["at"] = difference.worst->index;
    json["values"] = {difference.worst->first, difference.worst->second};
    json["first_at"] = difference.earliest->index;
    json["first_values"] = {difference.earliest->first, difference.earliest->second};
  }
  return json;
}

Json DeviceComparison::json() const {
  Json json{{"devices", devices}, {"agree", agrees()}, {"results", Json::array()}};
  for (const compare::Result &result : results) {
    Json entry{{"name", result.name}};
    entry.update(differenceJson(result.difference));
    json["results"].push_back(std::move(entry));
  }
  json["first_kernel"] = nullptr;
  if (firstKernel) {
    json["first_kernel"] = {{"kernel", firstKernel->name}, {"nodes", firstKernel->nodes}};
    json["first_kernel"].update(differenceJson(firstKernel->difference));
    if (firstOp) {
      json["first_kernel"]["first_op"] = {{"op", firstOp->name}, {"nodes", firstOp->nodes}};
      json["first_kernel"]["first_op"].update(differenceJson(firstOp->difference));
    } else if (!noOp.empty()) {
      json["first_kernel"]["first_op"] = nullptr;
      json["first_kernel"]["reason"] = noOp;
    }
  }
  json["kernels"] = kernels;
  json["kernels_compared"] = kernelsCompared;
  json["kernels_differing"] = kernelsDiffering;
  json["on_equal_inputs"] = onEqualInputs;
  for (const DeviceComparison &other : againstReference)
    json["against_reference"].push_back(other.json());
  return json;
}

} // namespace vx::tools
