// Processes of checks: what comes back of one that crashes, hangs or cannot write, and that the others go on.
#include "plan_run.h"

#include "tool_error.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <map>

#include <unistd.h>

using namespace vx::tools;
using Json = nlohmann::json;

namespace {

// Modules that end their process, or are not there.
class Ends final : public CheckFiles {
public:
  vx::Module module(const std::string &name) override {
    if (name == "crash")
      std::raise(SIGKILL);
    if (name == "exit")
      _exit(7);
    while (name == "hang")
      usleep(1000);
    throw fileError("no module '{}'", name);
  }
  std::vector<vx::Value> inputs(const vx_function_info &, const Json &) override { return {}; }
  OutputRule rule(const Json &) override { return {}; }
  Tensor expected(const Json &, const Json &, vx_element_type) override { return {}; }
};

std::map<size_t, CheckReport> runAll(const Json &checks, uint64_t jobs, uint64_t limit = 100) {
  Ends files;
  std::map<size_t, CheckReport> reports;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < checks.size(); ++i)
    chosen.push_back(i);
  runPlan(checks, chosen, files, {"cpu", jobs, limit, {}}, [&](const CheckReport &report) {
    EXPECT_TRUE(reports.emplace(report.index, report).second) << report.index << " is reported twice";
  });
  return reports;
}

Json checkOf(const char *module) { return {{"name", module}, {"module", module}, {"results", Json::array()}}; }

} // namespace

TEST(PlanRun, ReportsEachCheckOnce) {
  const auto reports = runAll({checkOf("a"), checkOf("a"), checkOf("b")}, 2);
  ASSERT_EQ(reports.size(), 3u);
  for (const auto &[index, report] : reports) {
    EXPECT_EQ(report.outcome, CheckOutcome::Failed);
    EXPECT_EQ(report.text, index < 2 ? "no module 'a'" : "no module 'b'");
  }
}

// All checks of one module are in one process: each of them kills it, and each is run.
TEST(PlanRun, GoesOnAfterACrash) {
  const auto reports = runAll({checkOf("crash"), checkOf("crash"), checkOf("crash"), checkOf("a")}, 1);
  ASSERT_EQ(reports.size(), 4u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(reports.at(i).text, "died by signal 9 (Killed)");
  EXPECT_EQ(reports.at(3).text, "no module 'a'");
}

TEST(PlanRun, TellsAnExitCode) {
  EXPECT_EQ(runAll(Json::array({checkOf("exit")}), 1).at(0).text, "the process ended with exit code 7");
}

TEST(PlanRun, EndsAHang) {
  const auto reports = runAll({checkOf("hang"), checkOf("hang"), checkOf("a")}, 1, 1);
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports.at(0).text, "no end after 1 s");
  EXPECT_EQ(reports.at(1).text, "not run: no end after 1 s of the check before it");
  EXPECT_EQ(reports.at(2).text, "no module 'a'");
}

TEST(PlanRun, SkipsWithoutCode) {
  Json check = checkOf("crash");
  check["targets"] = {"vulkan"};
  const auto reports = runAll(Json::array({check}), 1);
  EXPECT_EQ(reports.at(0).outcome, CheckOutcome::Skipped);
  EXPECT_EQ(reports.at(0).text, "it has no code for cpu");
  EXPECT_TRUE(hasCode(check, "null:0"));
  EXPECT_TRUE(hasCode(check, "vulkan:3"));
  EXPECT_FALSE(hasCode(check, "cuda"));
}

TEST(PlanRun, BringsLongReportsBack) {
  const std::string text(3 << 20, 'x');
  const std::vector<ChildWork> works{{{}, [&text](int report) {
                                        for (size_t done = 0; done < text.size();) {
                                          const ssize_t count = write(report, text.data() + done, text.size() - done);
                                          if (count <= 0)
                                            return;
                                          done += static_cast<size_t>(count);
                                        }
                                      }}};
  size_t ended = 0;
  runProcesses(works, 1, 100, [&](const ChildWork &, const ChildEnd &end) {
    ++ended;
    EXPECT_EQ(end.report, text);
    EXPECT_EQ(end.death, "");
    EXPECT_FALSE(end.hung);
  });
  EXPECT_EQ(ended, 1u);
}

// The first wrong element of a tensor, its place and both values.
TEST(OutputRule, NamesTheFirstWrongElement) {
  Tensor want{VX_I32, {2, 3}, std::vector<uint8_t>(24)}, got = want;
  setElement(got, 4, 7);
  setElement(got, 5, 8);
  const OutputVerdict verdict = judge(got, want, OutputRule::fromJson({{"rule", "exact"}}, ""));
  EXPECT_FALSE(verdict.right);
  EXPECT_EQ(verdict.element, "[1,1]");
  EXPECT_EQ(verdict.expected, "0");
  EXPECT_EQ(verdict.got, "7");
  EXPECT_EQ(verdict.text,
            "i32[2,3]: 2 of 6 elements differ, the first at [1,1]: expected 0, got 7; they must be equal");
  EXPECT_TRUE(judge(want, want, OutputRule::fromJson({{"rule", "exact"}}, "")).right);
  EXPECT_TRUE(judge(want, want, OutputRule::fromJson({{"rule", "exact"}}, "")).element.empty());
}
