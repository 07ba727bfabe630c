#include "plan_run.h"

#include "tool_error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <set>
#include <sstream>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vx::tools {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

// The longest report of one process: a text of each wrong result of some hundred checks is far below it.
constexpr off_t MostReportBytes = off_t(1) << 28;

struct Running {
  const ChildWork *work = nullptr;
  int report = -1;
  pid_t process = 0;
  Clock::time_point begin;
};

} // namespace

static std::string readReport(int report) {
  const off_t size = std::min(lseek(report, 0, SEEK_END), MostReportBytes);
  std::string text(static_cast<size_t>(std::max<off_t>(size, 0)), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = pread(report, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  text.resize(done);
  close(report);
  return text;
}

static void writeReport(int report, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(report, text.data() + done, text.size() - done);
    if (count <= 0)
      return; // memory is full: the parent finds a check without a report
    done += static_cast<size_t>(count);
  }
}

static Running start(const ChildWork &work) {
  Running running{&work, memfd_create("vx-checks", MFD_CLOEXEC), 0, Clock::now()};
  if (running.report < 0)
    throw workError("no memory for the report of a process: {}", std::strerror(errno));
  std::fflush(nullptr);
  running.process = fork();
  if (running.process < 0) {
    const int reason = errno;
    close(running.report);
    throw workError("a process could not be started: {}", std::strerror(reason));
  }
  if (running.process == 0) {
    work.body(running.report);
    std::fflush(nullptr);
    // Without the ends of libraries: drivers wait for what is lost there.
    _exit(0);
  }
  return running;
}

void runProcesses(const std::vector<ChildWork> &works, uint64_t jobs, uint64_t limit,
                  const std::function<void(const ChildWork &, const ChildEnd &)> &ended) {
  std::deque<const ChildWork *> waiting;
  std::deque<Running> running;
  for (const ChildWork &work : works)
    waiting.push_back(&work);
  while (!waiting.empty() || !running.empty()) {
    while (!waiting.empty() && running.size() < jobs) {
      running.push_back(start(*waiting.front()));
      waiting.pop_front();
    }
    for (auto place = running.begin(); place != running.end();) {
      int status = 0;
      const bool isDone = waitpid(place->process, &status, WNOHANG) == place->process;
      const bool isLate = !isDone && Clock::now() - place->begin > std::chrono::seconds(limit);
      if (!isDone && !isLate) {
        ++place;
        continue;
      }
      ChildEnd end;
      end.hung = isLate;
      if (isLate) {
        kill(place->process, SIGKILL);
        waitpid(place->process, &status, 0);
        end.death = fmt::format("no end after {} s", limit);
      } else if (WIFSIGNALED(status)) {
        end.death = fmt::format("died by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
      } else if (WEXITSTATUS(status) != 0) {
        end.death = fmt::format("the process ended with exit code {}", WEXITSTATUS(status));
      }
      end.report = readReport(place->report);
      ended(*place->work, end);
      place = running.erase(place);
    }
    usleep(2000);
  }
}

static std::string lineOf(size_t index, const CheckResult &result) {
  Json problems = Json::array();
  for (const CheckProblem &problem : result.problems)
    problems.push_back({problem.text, problem.output, problem.element, problem.expected, problem.got});
  const Json line{index,
                  problems,
                  result.results,
                  result.elements,
                  result.worst > 1e300 ? 1e300 : result.worst,
                  result.firstMs,
                  result.times.medianMs,
                  result.times.minMs,
                  result.times.runs};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Nothing for a line that its process has not finished.
static std::optional<CheckReport> reportOf(const std::string &text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_array() || line.size() != 9)
    return std::nullopt;
  CheckReport report;
  report.index = line[0];
  CheckResult &result = report.result;
  for (const Json &problem : line[1])
    result.problems.push_back({problem[0], problem[1], problem[2], problem[3], problem[4]});
  result.results = line[2];
  result.elements = line[3];
  result.worst = line[4];
  result.firstMs = line[5];
  result.times.medianMs = line[6];
  result.times.minMs = line[7];
  result.times.runs = line[8];
  return report;
}

static CheckReport failed(size_t index, const std::string &reason) {
  CheckReport report;
  report.index = index;
  report.result.problems.push_back({reason, {}, {}, {}, {}});
  return report;
}

// Fills in the outcome and the text.
static CheckReport judged(CheckReport report) {
  report.outcome = report.result.problems.empty() ? CheckOutcome::Passed : CheckOutcome::Failed;
  report.text = fmt::format("{:.2g} of what is allowed", report.result.worst);
  if (!report.result.problems.empty()) {
    std::vector<std::string> texts;
    for (const CheckProblem &problem : report.result.problems)
      texts.push_back(problem.text);
    report.text = fmt::format("{}", fmt::join(texts, "; "));
  }
  std::replace(report.text.begin(), report.text.end(), '\n', ' ');
  return report;
}

void runPlan(const Json &checks, const std::vector<size_t> &chosen, CheckFiles &files, const PlanOptions &options,
             const std::function<void(const CheckReport &)> &report) {
  std::vector<std::vector<size_t>> groups;
  for (size_t index : chosen) {
    if (!hasCode(checks[index], options.device)) {
      CheckReport skipped;
      skipped.index = index;
      skipped.text = checks[index].value("no_code", "it has no code for " + options.device);
      report(skipped);
      continue;
    }
    if (groups.empty() || checks[groups.back().back()]["module"] != checks[index]["module"])
      groups.emplace_back();
    groups.back().push_back(index);
  }
  while (!groups.empty()) {
    std::vector<ChildWork> works;
    for (const std::vector<size_t> &group : groups)
      works.push_back(
          {group, [&checks, &files, &options, group](int file) {
             CheckRunner runner(options.device, files);
             for (size_t index : group)
               writeReport(
                   file, lineOf(index, runner.run(checks[index], options.timing ? options.timing(checks[index]) : 0)));
           }});
    groups.clear();
    runProcesses(works, options.jobs, options.limit, [&](const ChildWork &work, const ChildEnd &end) {
      std::set<size_t> left(work.checks.begin(), work.checks.end());
      std::istringstream lines(end.report);
      for (std::string line; std::getline(lines, line);)
        if (const std::optional<CheckReport> done = reportOf(line); done && left.erase(done->index))
          report(judged(*done));
      if (left.empty())
        return;
      const std::string death = end.death.empty() ? "the process ended before it" : end.death;
      std::vector<size_t> others;
      for (size_t index : work.checks)
        if (left.contains(index))
          others.push_back(index);
      report(judged(failed(others.front(), death)));
      others.erase(others.begin());
      if (end.hung)
        for (size_t index : others)
          report(judged(failed(index, "not run: " + death + " of the check before it")));
      else if (!others.empty())
        groups.push_back(others);
    });
  }
}

} // namespace vx::tools
