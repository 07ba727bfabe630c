// The results of vx-selfcheck on a device, as JSON and as text.
#ifndef VX_SELFCHECK_REPORT_H
#define VX_SELFCHECK_REPORT_H

#include "plan_run.h"

namespace vx::tools {

// The device of a run and its driver's facts, as vx_list_devices states them.
struct CheckedDevice {
  std::string asked;            // as the command line has it
  std::string device;           // that was taken: "vulkan:0"
  nlohmann::ordered_json facts; // {"device", "name", "details", "total_memory", "software", "features"}
};

struct SelfcheckReport {
  CheckedDevice device;
  double seconds = 0; // of the whole run
  struct Case {
    std::string name, kind; // "op" or "network"
    CheckReport report;
  };
  std::vector<Case> cases; // in the order of the pack

  uint64_t count(CheckOutcome outcome, const std::string &kind = "") const;
  // Every case ran and passed, and there is one at the least.
  bool isRight() const { return !cases.empty() && count(CheckOutcome::Passed) == cases.size(); }

  // The document of docs/selfcheck.md.
  nlohmann::ordered_json json() const;
  // Lines: the problems, the times of the networks, and a count.
  std::string text() const;
};

} // namespace vx::tools

#endif
