#include "conformance_report.h"

#include "command_line.h"
#include "outcome_json.h"

#include <algorithm>
#include <tuple>

namespace vx::tools {

using Json = nlohmann::ordered_json;

Json toJson(const CaseResult &result) {
  Json json{{"name", result.name},
            {"op", result.op},
            {"mode", modeName(result.mode)},
            {"target", result.outcome.target},
            {"outcome", outcomeName(result.outcome.outcome)},
            {"message", result.outcome.message},
            {"seconds", result.outcome.seconds}};
  addSecondSizes(json, result.outcome.second);
  return json;
}

void ConformanceReport::add(CaseResult result) {
  ++counts[static_cast<size_t>(result.outcome.outcome)];
  const SecondSizesOutcome &second = result.outcome.second;
  ++secondCounts[static_cast<size_t>(second.result)];
  calls.compared += second.compared;
  calls.refused += second.refused;
  calls.refusedByModule += second.refusedByModule;
  calls.comparedOwn += second.comparedOwn;
  results.push_back(std::move(result));
}

// What no list excuses.
static bool alwaysFails(Outcome outcome) {
  return outcome != Outcome::Passed && outcome != Outcome::Compiled && outcome != Outcome::Unsupported &&
         outcome != Outcome::Skipped;
}

static std::string causeOf(const TargetOutcome &outcome) {
  return fmt::format("{}{}{}", outcomeName(outcome.outcome), outcome.message.empty() ? "" : ": ", outcome.message);
}

// What is not as the list says, or nothing.
static std::string againstList(const CaseResult &result, const ExpectedList &list) {
  const TargetOutcome &outcome = result.outcome;
  const bool isListed = list.has(result.name, result.mode, outcome.target);
  const bool isPassed = outcome.outcome == Outcome::Passed;
  if (isListed && !isPassed)
    return fmt::format("it is listed, but {}", causeOf(outcome));
  if (isPassed && !isListed)
    return "it passes and is not listed; --write-expected adds it";
  if (outcome.outcome == Outcome::Unsupported) {
    const std::string listed = list.refusal(result.name, result.mode, outcome.target);
    const std::string got = ExpectedList::reasonOf(outcome);
    if (listed.empty())
      return fmt::format("it is refused, which is not listed; --write-expected adds it: {}", got);
    if (listed != got)
      return fmt::format("expected the refusal '{}', got '{}'", listed, got);
  }
  // A packed case has the second sizes alone: the list does not say which of the calls that is.
  if (!isPassed || outcome.second.isPacked || outcome.second.result == SecondSizesResult::Untried)
    return "";
  const size_t calls = list.calls(result.name, result.mode, outcome.target), got = outcome.second.compared;
  if (got == calls)
    return "";
  const SecondSizesOutcome &second = outcome.second;
  return fmt::format(
      "expected {} calls at other sizes that give the reference evaluator's values, got {} (second sizes: "
      "{}{}{}; {} refused by the evaluator, {} by the module alone){}",
      calls, got, SecondSizesNames[static_cast<size_t>(second.result)], second.message.empty() ? "" : ", ",
      second.message, second.refused, second.refusedByModule, got > calls ? "; --write-expected lists them" : "");
}

void ConformanceReport::judge(const ExpectedList *list) {
  std::sort(results.begin(), results.end(), [](const CaseResult &a, const CaseResult &b) {
    return std::tie(a.name, a.mode, a.outcome.target) < std::tie(b.name, b.mode, b.outcome.target);
  });
  onlyFilesFail = failures.empty();
  for (const CaseResult &result : results) {
    const Outcome outcome = result.outcome.outcome;
    const std::string title = fmt::format("{}, {}, {}", result.name, modeName(result.mode), result.outcome.target);
    const std::string cause = causeOf(result.outcome);
    if (alwaysFails(outcome)) {
      failures.push_back(fmt::format("{}: {}", title, cause));
      onlyFilesFail &= outcome == Outcome::Unreadable;
    } else if (const std::string problem = list && !result.isLeftOut ? againstList(result, *list) : "";
               !problem.empty()) {
      failures.push_back(fmt::format("{}: {}", title, problem));
      onlyFilesFail = false;
    } else if (!list && outcome != Outcome::Passed && outcome != Outcome::Compiled) {
      refusals.push_back(fmt::format("{}: {}", title, cause));
    }
  }
}

ExitCode ConformanceReport::exitCode() const {
  if (failures.empty())
    return ExitCode::Done;
  return onlyFilesFail ? ExitCode::BadInput : ExitCode::Failed;
}

std::string ConformanceReport::countsText() const {
  static constexpr std::string_view titles[OutcomeCount] = {"passed",  "unsupported", "compile errors", "run failures",
                                                            "wrong",   "crashes",     "timeouts",       "unreadable",
                                                            "skipped", "compiled"};
  const Outcome good = count(Outcome::Compiled) ? Outcome::Compiled : Outcome::Passed; // a run has one of them
  std::string text = fmt::format("{} {}, {} failed", count(good), outcomeName(good), failures.size());
  for (size_t i = 1; i < static_cast<size_t>(Outcome::Compiled); ++i)
    text += fmt::format(", {} {}", counts[i], titles[i]);
  return text + " on " + joinWords(targets, "and");
}

std::string ConformanceReport::ownCountsText() const {
  if (calls.comparedOwn == 0)
    return "";
  return fmt::format("calls at the sizes of the files: {} compared with the reference evaluator too\n",
                     calls.comparedOwn);
}

// Nothing where none were looked for.
std::string ConformanceReport::secondCountsText() const {
  static constexpr std::pair<SecondSizesResult, std::string_view> titles[] = {
      {SecondSizesResult::Refused, "refused by the model"},
      {SecondSizesResult::NoSymbols, "without a symbol"},
      {SecondSizesResult::Random, "random"},
      {SecondSizesResult::Unknown, "not known to the reference evaluator"},
      {SecondSizesResult::TooLarge, "too large for it"}};
  if (count(SecondSizesResult::Untried) == results.size())
    return "";
  std::string text = fmt::format("second sizes: {} compared", count(SecondSizesResult::Compared));
  for (const auto &[result, title] : titles)
    text += fmt::format(", {} {}", count(result), title);
  return text + fmt::format("\ncalls at other sizes: {} compared, {} refused, {} refused by the module alone\n",
                            calls.compared, calls.refused, calls.refusedByModule);
}

std::string ConformanceReport::text() const {
  std::string text;
  for (const std::string &refusal : refusals)
    text += vx::printableLine(refusal) + "\n";
  for (const std::string &failure : failures)
    text += "FAILED " + vx::printableLine(failure) + "\n";
  return text + countsText() + "\n" + ownCountsText() + secondCountsText();
}

Json ConformanceReport::json() const {
  Json document{{"version", 1}, {"targets", targets}};
  Json &numbers = document["counts"] = Json::object();
  for (size_t i = 0; i < OutcomeCount; ++i)
    numbers[std::string(OutcomeNames[i])] = counts[i];
  document["compared_with_evaluator"] = calls.comparedOwn;
  if (count(SecondSizesResult::Untried) < results.size()) {
    Json &second = document["second_sizes"] = Json::object();
    for (size_t i = 1; i < secondCounts.size(); ++i)
      second[std::string(SecondSizesNames[i])] = secondCounts[i];
    document["calls_at_other_sizes"] = {
        {"compared", calls.compared}, {"refused", calls.refused}, {"refused_by_module", calls.refusedByModule}};
  }
  document["failures"] = failures;
  Json &cases = document["cases"] = Json::array();
  for (const CaseResult &result : results)
    cases.push_back(toJson(result));
  return document;
}

} // namespace vx::tools
