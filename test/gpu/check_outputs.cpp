// vx-check-outputs: runs what a plan lists on one device and compares whole outputs with what is wanted
// (scripts/gpu-check).
#include "call_inputs.h"
#include "command_line.h"
#include "load_module.h"
#include "npy.h"
#include "output_file.h"
#include "output_rule.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace vx::tools;
using Json = nlohmann::json;

static constexpr const char *Examples = R"(
A plan is {"checks": [CHECK...]}; its files are relative to its folder. A CHECK:
  "name"        what it is called in the report
  "module"      the file, "function" (the first one by default), "targets" that it has code for
  "dims", "seed", "inputs": {NAME: FILE.npy}; other inputs are random
  "results"     [{"output": NAME, "rule": ... (test/gpu/output_rule.h), "want": FILE.npy}...]; without "want" the wanted
                value is that of "reference": {"module", "function"}, run on the CPU with the same inputs
  "fault"       the text of the error that the call must fail with
  "moves"       {"seed", "inputs", "times": T}: with other inputs the reference moves by T times what the rule "close"
                allows, else a wrong output could not be told from a right one
Examples:
  vx-check-outputs digits.checks.json --device=cuda
)";

namespace {

struct Options {
  std::string plan, device, work;
  uint64_t jobs = 1, limit = 300;
  bool quiet = false;
};

// One report of a child: a line for each check, or the end of the wanted outputs.
enum class Outcome : char { Passed = '+', Failed = '-', Skipped = '0' };

struct Counts {
  uint64_t passed = 0, failed = 0, skipped = 0, results = 0, elements = 0;
};

// What a child process is given to do, and where its report goes.
struct Work {
  std::vector<size_t> checks;
  std::string report;
  pid_t process = 0;
  std::chrono::steady_clock::time_point begin;
};

} // namespace

static std::string folderOf(const std::string &path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

static std::vector<vx::Value> inputsOf(const vx_function_info &function, const Json &given, const std::string &folder) {
  std::vector<std::string> specifications;
  const Json files = given.value("inputs", Json::object());
  for (const auto &[name, file] : files.items())
    specifications.push_back(fmt::format("{}=@{}/{}", name, folder, file.get<std::string>()));
  SymbolValues symbols;
  const Json dims = given.value("dims", Json::object());
  for (const auto &[name, size] : dims.items())
    symbols[name] = size.get<int64_t>();
  checkDims({}, function, symbols);
  std::vector<vx::Value> values;
  for (const Value &value : makeInputs(function, specifications, given.value("seed", uint64_t(0)), symbols))
    values.push_back(toRuntime(value));
  return values;
}

// The tensors of a run by the names of the outputs.
static std::map<std::string, Tensor> runOn(const vx::Module &module, const std::string &functionName,
                                           const std::string &device, const Json &given, const std::string &folder) {
  const vx_function_info &function = findFunction(module, functionName);
  const std::vector<vx::Value> inputs = inputsOf(function, given, folder);
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = true;
  const vx::Instance instance(module, options);
  vx::Call call(instance, function);
  const std::vector<vx::Value> outputs = call.run(inputs);
  std::map<std::string, Tensor> tensors;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (Value value = fromRuntime(outputs[i]); value.kind == VX_TENSOR)
      tensors.emplace(function.outputs[i].name, std::move(value.tensors.front()));
  return tensors;
}

// The inputs of a check with those that "moves" changes.
static Json movedInputs(const Json &check) {
  Json moved = check;
  for (const char *key : {"seed", "inputs"})
    if (check["moves"].contains(key))
      moved[key] = check["moves"][key];
  return moved;
}

// The file of a wanted output that the CPU computes: one for each module, function and inputs.
static std::string referenceFile(const Options &options, const Json &check, const std::string &output) {
  const std::string key =
      Json{check["reference"], check.value("dims", Json()), check.value("seed", Json()), check.value("inputs", Json())}
          .dump();
  return fmt::format("{}/{:016x}.{}.npy", options.work, std::hash<std::string>()(key), output);
}

static void makeReference(const Options &options, const Json &check, const std::string &folder) {
  std::vector<Json> all{check};
  if (check.contains("moves"))
    all.push_back(movedInputs(check));
  for (const Json &each : all) {
    if (std::filesystem::exists(referenceFile(options, each, "done")))
      continue;
    const Json &reference = each["reference"];
    const vx::Module module = loadModule(folder + "/" + reference["module"].get<std::string>());
    for (const auto &[name, tensor] : runOn(module, reference.value("function", ""), "cpu", each, folder))
      writeFile(referenceFile(options, each, name), formatNpy(tensor));
    writeFile(referenceFile(options, each, "done"), std::string_view());
  }
}

static Tensor wantedTensor(const Options &options, const Json &check, const Json &result, const std::string &folder,
                           vx_element_type type) {
  const std::string output = result["output"];
  return readNpy(result.contains("want") ? folder + "/" + result["want"].get<std::string>()
                                         : referenceFile(options, check, output),
                 type);
}

// What is wrong, one text each.
static std::vector<std::string> problemsOf(const Options &options, const Json &check, const std::string &folder,
                                           Counts &counts, double &worst) {
  std::vector<std::string> problems;
  const vx::Module module = loadModule(folder + "/" + check["module"].get<std::string>());
  const std::string fault = check.value("fault", "");
  std::map<std::string, Tensor> got;
  try {
    got = runOn(module, check.value("function", ""), options.device, check, folder);
    if (!fault.empty())
      return {fmt::format("expected the error '{}', got none", fault)};
  } catch (const vx::Error &error) {
    if (fault.empty() || !std::strstr(error.what(), fault.c_str()))
      return {fault.empty() ? fmt::format("{}", error.what())
                            : fmt::format("expected the error '{}', got '{}'", fault, error.what())};
    ++counts.results;
    return {};
  }
  for (const Json &result : check["results"]) {
    const std::string output = result["output"];
    const std::string title = result.value("title", "output '" + output + "'");
    const auto found = got.find(output);
    if (found == got.end()) {
      problems.push_back(fmt::format("{}: there is no such output", title));
      continue;
    }
    const OutputRule rule = OutputRule::fromJson(result, folder);
    const Tensor want = wantedTensor(options, check, result, folder, found->second.type);
    const OutputVerdict verdict = judge(found->second, want, rule);
    ++counts.results;
    counts.elements += elementCount(want.type, want.dims).value_or(0);
    worst = std::max(worst, verdict.worst);
    if (!verdict.right)
      problems.push_back(fmt::format("{}: {}", title, verdict.text));
    if (check.contains("moves") && rule.kind == OutputRule::Kind::Close) {
      const Tensor other = readNpy(referenceFile(options, movedInputs(check), output), want.type);
      const double times = check["moves"]["times"];
      if (const double moved = relativeDistance(want, other); !(moved >= times * rule.rms))
        problems.push_back(
            fmt::format("{}: other inputs move it by {:.3g} of its root mean square, expected {} times the {:.3g} "
                        "that are allowed",
                        title, moved, times, rule.rms));
    }
  }
  if (check["results"].empty())
    problems.push_back("the plan has no result to compare");
  return problems;
}

static bool hasCode(const Json &check, const std::string &device) {
  const std::string backend = device.substr(0, device.find(':'));
  if (backend == "null" || !check.contains("targets"))
    return true;
  for (const Json &target : check["targets"])
    if (target == backend)
      return true;
  return false;
}

// In a process of its own: checks may take the process along.
static void runChecks(const Options &options, const Json &plan, const Work &work, const std::string &folder) {
  std::ofstream report(work.report);
  for (size_t index : work.checks) {
    const Json &check = plan["checks"][index];
    Counts counts;
    double worst = 0;
    std::vector<std::string> problems;
    if (hasCode(check, options.device)) {
      try {
        problems = problemsOf(options, check, folder, counts, worst);
      } catch (const std::exception &error) {
        problems = {error.what()};
      }
    }
    const Outcome outcome = !hasCode(check, options.device) ? Outcome::Skipped
                            : problems.empty()              ? Outcome::Passed
                                                            : Outcome::Failed;
    std::string text = outcome == Outcome::Skipped ? check.value("no_code", "it has no code for " + options.device)
                                                   : fmt::format("{:.2g} of what is allowed", worst);
    if (!problems.empty())
      text = fmt::format("{}", fmt::join(problems, "; "));
    std::replace(text.begin(), text.end(), '\n', ' ');
    report << index << ' ' << static_cast<char>(outcome) << ' ' << counts.results << ' ' << counts.elements << ' '
           << text << std::endl;
  }
}

// Runs all works, `jobs` at a time, each in a process of its own. What a child leaves is in its report.
static void runProcesses(std::vector<Work> &works, uint64_t jobs, uint64_t limit,
                         const std::function<void(const Work &)> &body,
                         const std::function<void(const Work &, const std::string &)> &ended) {
  using Clock = std::chrono::steady_clock;
  std::deque<Work *> waiting, running;
  for (Work &work : works)
    waiting.push_back(&work);
  while (!waiting.empty() || !running.empty()) {
    while (!waiting.empty() && running.size() < jobs) {
      Work &work = *waiting.front();
      waiting.pop_front();
      std::fflush(nullptr);
      work.begin = Clock::now();
      work.process = fork();
      if (work.process < 0)
        throw workError("a process could not be started: {}", std::strerror(errno));
      if (work.process == 0) {
        body(work);
        std::fflush(nullptr);
        // Without the ends of libraries: drivers wait for what is lost there.
        _exit(0);
      }
      running.push_back(&work);
    }
    for (auto place = running.begin(); place != running.end();) {
      Work &work = **place;
      int status = 0;
      if (waitpid(work.process, &status, WNOHANG) == work.process) {
        ended(work, WIFSIGNALED(status)
                        ? fmt::format("died by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                        : "");
        place = running.erase(place);
      } else if (Clock::now() - work.begin > std::chrono::seconds(limit)) {
        kill(work.process, SIGKILL);
        waitpid(work.process, &status, 0);
        ended(work, fmt::format("no end after {} s", limit));
        place = running.erase(place);
      } else {
        ++place;
      }
    }
    usleep(2000);
  }
}

static int run(const char *name, int argc, char **argv) {
  Options options;
  CLI::App app("Runs the checks of a plan on one device and compares whole outputs.");
  app.add_option("plan", options.plan, "The plan (.json)")->required();
  app.add_option("--device", options.device, "cpu, vulkan[:N], cuda[:N], rocm[:N] or null")->required();
  app.add_option("--work", options.work, "A folder for wanted outputs that the CPU computes; kept for the next device")
      ->required();
  app.add_option("--jobs", options.jobs, "Processes at a time")->check(wholeNumber(1, 64));
  app.add_option("--limit", options.limit, "Seconds for the checks of one module")->check(wholeNumber(1, 3600));
  app.add_flag("--quiet", options.quiet, "No line for what passed");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  std::ifstream file(options.plan);
  if (!file)
    throw fileError("'{}' cannot be read", options.plan);
  const Json plan = Json::parse(file, nullptr, false);
  if (plan.is_discarded() || !plan.contains("checks"))
    throw fileError("'{}' is no plan", options.plan);
  const std::string folder = folderOf(options.plan);
  std::filesystem::create_directories(options.work);
  const Json &checks = plan["checks"];

  // A reference takes all of the CPU's cores.
  std::map<size_t, std::string> withoutReference;
  std::vector<Work> references, works;
  for (size_t i = 0; i < checks.size(); ++i)
    if (checks[i].contains("reference") && hasCode(checks[i], options.device))
      references.push_back({{i}, fmt::format("{}/reference{}", options.work, i), 0, {}});
  runProcesses(
      references, 1, options.limit,
      [&](const Work &work) {
        try {
          makeReference(options, checks[work.checks.front()], folder);
          std::filesystem::remove(work.report);
        } catch (const std::exception &error) {
          std::ofstream(work.report) << error.what();
        }
      },
      [&](const Work &work, const std::string &death) {
        std::ifstream report(work.report);
        const std::string text{std::istreambuf_iterator<char>(report), {}};
        if (!death.empty() || !text.empty())
          withoutReference[work.checks.front()] = fmt::format("reference on the CPU: {}{}", text, death);
        std::filesystem::remove(work.report);
      });

  // Checks of one module that follow each other share a process.
  for (size_t i = 0; i < checks.size(); ++i) {
    if (withoutReference.contains(i))
      continue;
    if (works.empty() || checks[works.back().checks.back()]["module"] != checks[i]["module"])
      works.push_back({{}, fmt::format("{}/report{}", options.work, i), 0, {}});
    works.back().checks.push_back(i);
  }
  Counts counts;
  auto line = [&](Outcome outcome, size_t index, const std::string &text) {
    const std::string title = checks[index].value("name", "");
    ++(outcome == Outcome::Passed ? counts.passed : outcome == Outcome::Failed ? counts.failed : counts.skipped);
    if (outcome != Outcome::Passed || !options.quiet)
      fmt::print("{} {}, {}: {}\n",
                 outcome == Outcome::Passed   ? "ok     "
                 : outcome == Outcome::Failed ? "FAILED "
                                              : "skipped",
                 title, options.device, text);
    std::fflush(stdout);
  };
  for (const auto &[index, text] : withoutReference)
    line(Outcome::Failed, index, text);
  runProcesses(
      works, options.jobs, options.limit, [&](const Work &work) { runChecks(options, plan, work, folder); },
      [&](const Work &work, const std::string &death) {
        std::ifstream report(work.report);
        std::set<size_t> left(work.checks.begin(), work.checks.end());
        size_t index = 0;
        char outcome = 0;
        uint64_t results = 0, elements = 0;
        std::string text;
        while (report >> index >> outcome >> results >> elements && std::getline(report, text)) {
          left.erase(index);
          counts.results += results;
          counts.elements += elements;
          line(static_cast<Outcome>(outcome), index, text.substr(1));
        }
        for (size_t rest : left)
          line(Outcome::Failed, rest, death.empty() ? "the process ended before it" : death);
        report.close();
        std::filesystem::remove(work.report);
      });
  fmt::print("{}: {} passed, {} failed, {} skipped; {} results of {} elements compared\n", options.device,
             counts.passed, counts.failed, counts.skipped, counts.results, counts.elements);
  return counts.failed ? 1 : 0;
}

int main(int argc, char **argv) { return runTool("vx-check-outputs", argc, argv, run); }
