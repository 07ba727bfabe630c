// Runs the checks of a plan in processes of their own, so that one that crashes or hangs costs that check only.
#ifndef VX_TOOLS_PLAN_RUN_H
#define VX_TOOLS_PLAN_RUN_H

#include "plan_check.h"

#include <functional>

namespace vx::tools {

// Work of one process, which sends the bytes that it writes to `report`.
struct ChildWork {
  std::vector<size_t> checks;
  std::function<void(int report)> body;
};

// The report of a process, and the reason if it ended early; else that is empty.
struct ChildEnd {
  std::string report, death;
  bool hung = false; // it was ended after the limit
};

// Runs all works, `jobs` at a time, each for at most `limit` seconds; `ended` is called in this process. Bodies may
// open drivers, which this process must not have done. Throws a ToolError where no process can be started.
void runProcesses(const std::vector<ChildWork> &works, uint64_t jobs, uint64_t limit,
                  const std::function<void(const ChildWork &, const ChildEnd &)> &ended);

enum class CheckOutcome { Passed, Failed, Skipped };

struct CheckReport {
  size_t index = 0; // in the plan
  CheckOutcome outcome = CheckOutcome::Skipped;
  CheckResult result;
  std::string text; // for a line: the worst element, the problems, or why it was skipped
};

struct PlanOptions {
  std::string device;
  uint64_t jobs = 1;
  uint64_t limit = 300; // seconds for the checks of one module
  // How long calls of a check are timed, in seconds; nothing: not at all.
  std::function<double(const nlohmann::json &check)> timing;
};

// Runs the checks of these numbers, those of one module that follow each other in one process. Each is reported once,
// in no certain order between modules. The check during which a process dies has failed; those after it go on in
// another one. Where a process hangs, all that it has not done have failed.
void runPlan(const nlohmann::json &checks, const std::vector<size_t> &chosen, CheckFiles &files,
             const PlanOptions &options, const std::function<void(const CheckReport &)> &report);

} // namespace vx::tools

#endif
