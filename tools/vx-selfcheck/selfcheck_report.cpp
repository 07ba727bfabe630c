#include "selfcheck_report.h"

#include "bench_record.h"
#include "vx/abi/version.h"
#include "vx/base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace vx::tools {

using Json = nlohmann::ordered_json;

static constexpr int ReportVersion = 1;

static const char *outcomeName(CheckOutcome outcome) {
  return outcome == CheckOutcome::Passed ? "passed" : outcome == CheckOutcome::Failed ? "failed" : "skipped";
}

uint64_t SelfcheckReport::count(CheckOutcome outcome, const std::string &kind) const {
  return static_cast<uint64_t>(std::ranges::count_if(cases, [&](const Case &entry) {
    return entry.report.outcome == outcome && (kind.empty() || entry.kind == kind);
  }));
}

static Json textOrNull(const std::string &text) { return text.empty() ? Json(nullptr) : Json(text); }

static Json caseJson(const SelfcheckReport::Case &entry) {
  const CheckResult &result = entry.report.result;
  Json problems = Json::array();
  for (const CheckProblem &problem : result.problems)
    problems.push_back({{"text", problem.text},
                        {"output", textOrNull(problem.output)},
                        {"element", textOrNull(problem.element)},
                        {"expected", textOrNull(problem.expected)},
                        {"got", textOrNull(problem.got)}});
  if (entry.report.outcome == CheckOutcome::Skipped)
    problems.push_back({{"text", entry.report.text},
                        {"output", nullptr},
                        {"element", nullptr},
                        {"expected", nullptr},
                        {"got", nullptr}});
  const bool isTimed = result.times.runs > 0;
  return {{"name", entry.name},
          {"kind", entry.kind},
          {"outcome", outcomeName(entry.report.outcome)},
          {"elements", result.elements},
          {"share_of_allowed", result.worst},
          {"first_ms", isTimed ? Json(result.firstMs) : Json(nullptr)},
          {"median_ms", isTimed ? Json(result.times.medianMs) : Json(nullptr)},
          {"min_ms", isTimed ? Json(result.times.minMs) : Json(nullptr)},
          {"runs", result.times.runs},
          {"problems", std::move(problems)}};
}

Json SelfcheckReport::json() const {
  const BenchRecord &record = benchRecord();
  Json list = Json::array();
  for (const Case &entry : cases)
    list.push_back(caseJson(entry));
  auto counts = [this](const std::string &kind) {
    return Json{{"passed", count(CheckOutcome::Passed, kind)},
                {"failed", count(CheckOutcome::Failed, kind)},
                {"skipped", count(CheckOutcome::Skipped, kind)}};
  };
  return {{"version", ReportVersion},
          {"tool", "vx-selfcheck"},
          {"vx", VX_VERSION_STRING},
          {"right", isRight()},
          {"asked", device.asked},
          {"device", device.facts},
          {"record", record.json({{device.device, device.facts.value("name", ""), device.facts.value("details", "")}})},
          {"seconds", seconds},
          {"ops", counts("op")},
          {"networks", counts("network")},
          {"cases", std::move(list)}};
}

std::string SelfcheckReport::text() const {
  std::string text = fmt::format("{}: {} ({})\n", device.device, vx::printableLine(device.facts.value("name", "")),
                                 vx::printableLine(device.facts.value("details", "")));
  for (const Case &entry : cases)
    if (entry.report.outcome != CheckOutcome::Passed)
      text += fmt::format("{} {} on {}: {}\n", entry.report.outcome == CheckOutcome::Failed ? "FAILED " : "skipped",
                          entry.name, device.device, vx::printableLine(entry.report.text));
  for (const Case &entry : cases)
    if (const CheckResult &result = entry.report.result; entry.kind == "network" && result.times.runs > 0)
      text += fmt::format("{:<28} first call {:.3f} ms, median {:.3f} ms of {} calls\n", entry.name, result.firstMs,
                          result.times.medianMs, result.times.runs);
  return text + fmt::format("{} of {} cases passed, {} failed, {} skipped, in {:.1f} s\n{}\n",
                            count(CheckOutcome::Passed), cases.size(), count(CheckOutcome::Failed),
                            count(CheckOutcome::Skipped), seconds,
                            isRight() ? "everything is right" : "NOT right: see the lines above");
}

} // namespace vx::tools
