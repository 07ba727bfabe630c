// What came of all cases, what of it is a failure, as text and as JSON.
#ifndef VX_TOOLS_CONFORMANCE_REPORT_H
#define VX_TOOLS_CONFORMANCE_REPORT_H

#include "expected_list.h"
#include "tool_error.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vx::tools {

// A case, a mode and a target.
struct CaseResult {
  std::string name, op;
  Mode mode;
  TargetOutcome outcome;
  // It says nothing about what must pass: the device is not there, or the case has its turn in another mode.
  bool isLeftOut = false;
  // What a journal tells a stale result by: a hash of the module, or of what it is compiled from. Empty in no journal.
  std::string origin = {};
};

nlohmann::ordered_json toJson(const CaseResult &result);

class ConformanceReport {
public:
  std::vector<std::string> targets;

  void add(CaseResult result);
  // A failure that no result is one of.
  void addFailure(std::string text) { failures.push_back(std::move(text)); }

  // Finds the failures. With a list they are what is not as it says, else what did not come out right. Some fail in any
  // case: what is wrong, ends the process, has no end, is refused without a reason.
  void judge(const ExpectedList *list);

  size_t count(Outcome outcome) const { return counts[static_cast<size_t>(outcome)]; }
  size_t count(SecondSizesResult result) const { return secondCounts[static_cast<size_t>(result)]; }
  const std::vector<CaseResult> &all() const { return results; }

  // Done where nothing failed, Failed, or BadInput where nothing but files did.
  ExitCode exitCode() const;

  // A line for each failure, and with no list for each refusal; the counts at the end, and those of calls that the
  // reference evaluator computes, where there are such.
  std::string text() const;
  nlohmann::ordered_json json() const;
  size_t failureCount() const { return failures.size(); }

private:
  std::string countsText() const;
  std::string ownCountsText() const;
  std::string secondCountsText() const;

  std::vector<CaseResult> results;
  std::array<size_t, OutcomeCount> counts{};
  std::array<size_t, std::size(SecondSizesNames)> secondCounts{};
  SecondSizesOutcome calls; // of all results
  std::vector<std::string> failures, refusals;
  bool onlyFilesFail = true;
};

} // namespace vx::tools

#endif
