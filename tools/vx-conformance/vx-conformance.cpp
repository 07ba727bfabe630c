// vx-conformance: runs ONNX's backend tests, and whatever is laid out as they are, by the compiler and the runtime.
#include "case_compiler.h"
#include "case_folder.h"
#include "command_line.h"
#include "conformance_report.h"
#include "coverage_page.h"
#include "expected_list.h"
#include "file_checks.h"
#include "input_file.h"
#include "journal.h"
#include "output_file.h"
#include "packed_cases.h"
#include "worker.h"
#include "worker_pool.h"

#include "vx/abi/module_header.h"
#include "vx/base/names.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <fnmatch.h>
#include <thread>
#include <tuple>
#include <unistd.h>

using namespace vx::tools;
using Clock = std::chrono::steady_clock;

static constexpr const char *Examples = R"(
Examples:
  Cases:    vx-conformance cases/node --target=cpu,vulkan --mode=static,dynamic,constant
            vx-conformance cases/node --target=cpu --filter 'reduce_*,argm*'
            vx-conformance cases/node --target=vulkan --part=0/8
            vx-conformance cases/light --target=cpu --filter '!*vgg19'
  Targets:  vx-conformance cases --target=cpu --cpu=x86-64-v3
  Work:     vx-conformance cases --target=cpu --jobs 4 --timeout=10
  Machines: vx-conformance cases --target=cuda --compile-only packed
            vx-conformance --run packed --target=cuda --journal done.jsonl
  Results:  vx-conformance cases --target=cpu --json results.json
            vx-conformance cases --target=cpu --expected=passing.txt
            vx-conformance cases --target=cpu --expected=passing.txt --write-expected
            vx-conformance cases --target=cpu --mode=static,dynamic --expected=passing.txt --coverage=coverage.md
)";

namespace {

struct Options {
  std::vector<std::string> folders;
  std::string filter, part = "0/1";
  size_t partNumber = 0, partCount = 1;
  bool turns = false;
  std::string targetList = "cpu", modeList = "static";
  std::vector<std::string> targets;
  std::vector<Mode> modes;
  std::map<std::string, std::string> variants; // target -> list
  size_t jobs = 0;
  double timeout = 120;
  std::string compileOnly, run, journal, coverage;
  std::string expected, origin, json;
  bool writeExpected = false;
};

struct Case {
  CaseFolder folder;
  std::string op;
  bool hasConstants = false;
};

// A line on a terminal, and none in a pipe.
class Progress {
public:
  ~Progress() {
    if (isShown)
      printMessage("\r\033[K");
  }
  void show(size_t done, size_t all, size_t passed) {
    if (!isTerminal || Clock::now() < next)
      return;
    next = Clock::now() + std::chrono::milliseconds(100);
    printMessage("\r\033[K{} of {}, {} passed", done, all, passed);
    isShown = true;
  }

private:
  const bool isTerminal = ::isatty(STDERR_FILENO);
  Clock::time_point next = Clock::now() + std::chrono::seconds(2);
  bool isShown = false;
};

} // namespace

static void parsePart(Options &options) {
  int end = 0;
  if (std::sscanf(options.part.c_str(), "%zu/%zu%n", &options.partNumber, &options.partCount, &end) != 2 ||
      static_cast<size_t>(end) != options.part.size() ||
      options.part.find_first_not_of("0123456789/") != std::string::npos || options.partNumber >= options.partCount)
    throw usageError("--part: expected K/N with K from 0 to N - 1, got '{}'", options.part);
}

static bool parseOptions(const char *name, int argc, char **argv, Options &options) {
  const std::vector<std::string> built = compilerTargets();
  CLI::App app(
      "Runs folders laid out as the backend tests of ONNX, model.onnx and test_data_set_N/{input,output}_K.pb.");
  app.add_option("folders", options.folders, "Folders of cases, at any depth");
  app.add_option("--filter", options.filter,
                 "Names between commas, with '*', '?' and '[a-z]', without 'test_'; '!' in front leaves them out")
      ->group("Cases");
  app.add_option("--part", options.part, "K/N: every N-th case, from the K-th on")->group("Cases");
  app.add_option(
         "--mode", options.modeList,
         "Of static, the model as it is; dynamic, sizes of inputs as symbols; constant, all tensors but the first "
         "input as constants, of cases that have such; symbolic, all sizes of inputs as symbols, 1 too")
      ->group("Cases");
  app.add_flag(
         "--turns", options.turns,
         "A case that is expected to pass in several modes runs in one of static, dynamic and, on the CPU, constant")
      ->group("Cases");
  app.add_option("--target", options.targetList, built.empty() ? "Targets" : "Targets, of " + joinWords(built, "and"))
      ->group("Targets");
  for (const std::string &target : built)
    app.add_option("--" + target, options.variants[target],
                   target == "cpu"
                       ? "Variants of target cpu: the modes take one each, in turn; those that run here by default"
                       : "Variants of target " + target + ", best first")
        ->group("Targets");
  app.add_option("--jobs", options.jobs, "Processes; 0, the default, is one for each processor")
      ->check(wholeNumber(0, 1024))
      ->group("Work");
  app.add_option("--timeout", options.timeout, "Seconds until a case is given up, 120 by default")
      ->check(numberAbove(0))
      ->group("Work");
  app.add_option("--compile-only", options.compileOnly,
                 "New folder for the modules of the cases, each with its model and data, in place of a run")
      ->group("Machines");
  app.add_option("--run", options.run, "Folder that --compile-only has filled: the compiler is not needed")
      ->group("Machines");
  app.add_option("--journal", options.journal,
                 "File that gets a line of JSON as soon as something is known of a case; what it has already, of the "
                 "same module, is not run again")
      ->group("Results");
  app.add_option(
         "--expected", options.expected,
         "File of what must pass, a line 'NAME MODE TARGET,TARGET' each, with ':COUNT' where calls at other sizes are "
         "compared: what is listed and does not pass fails, and what passes and is not listed")
      ->group("Results");
  app.add_flag("--write-expected", options.writeExpected, "Bring the file of --expected up to what passes")
      ->group("Results");
  app.add_option("--origin", options.origin, "Where and of what the run is, for the file of --write-expected")
      ->group("Results");
  app.add_option("--coverage", options.coverage,
                 "File for a page of how many cases of each op the file of --expected has, or '-'; nothing is run")
      ->group("Results");
  app.add_option("--json", options.json, "File to write the results of all cases to, or '-'")->group("Results");
  if (!parseCommandLine(app, name, Examples, argc, argv, compilerVersion()))
    return false;

  if (options.run.empty() && built.empty())
    throw usageError(
        "this {} was built without the compiler: expected --run and a folder that one with it has filled by "
        "--compile-only",
        name);
  if (options.run.empty() && options.folders.empty())
    throw usageError("expected a folder of cases; see --help");
  if (!options.run.empty() && !options.folders.empty())
    throw usageError("--run: expected no folder of cases beside that of --run");
  if (!options.run.empty() && !options.compileOnly.empty())
    throw usageError("--compile-only: expected one of --compile-only and --run, got both");
  if (!options.compileOnly.empty() && !options.expected.empty())
    throw usageError("--expected: nothing passes with --compile-only");
  options.targets = parseNames("--target", options.targetList);
  for (const std::string &target : options.targets)
    if (options.run.empty() && std::find(built.begin(), built.end(), target) == built.end())
      throw vx::leftOutTarget(target, built).empty()
          ? usageError("--target: expected one or more of {}, got '{}'", joinWords(built, "and"), target)
          : usageError("--target: this {} {}", name, vx::leftOutTarget(target, built));
  for (const std::string &mode : parseNames("--mode", options.modeList)) {
    const std::optional<Mode> known = valueOf<Mode>(ModeNames, mode);
    if (!known)
      throw usageError("--mode: expected one or more of static, dynamic, constant and symbolic, got '{}'", mode);
    options.modes.push_back(*known);
  }
  std::sort(options.modes.begin(), options.modes.end());
  for (const auto &[target, list] : options.variants)
    if (!list.empty() && std::find(options.targets.begin(), options.targets.end(), target) == options.targets.end())
      throw usageError("--{}: expected '{}' among the targets, got --target={}", target, target, options.targetList);
  if (options.writeExpected && options.expected.empty())
    throw usageError("--write-expected goes with --expected");
  if (!options.origin.empty() && !options.writeExpected)
    throw usageError("--origin goes with --write-expected");
  if (!options.coverage.empty() && options.expected.empty())
    throw usageError("--coverage goes with --expected");
  if (options.turns && options.expected.empty())
    throw usageError("--turns goes with --expected");
  parsePart(options);
  if (options.jobs == 0)
    options.jobs = std::max(1u, std::thread::hardware_concurrency());
  return true;
}

// Of the patterns with and without '!' in front the last one that the name fits says it; without one, the first.
static bool isChosen(const std::string &name, const std::vector<std::string> &patterns) {
  auto leavesOut = [](const std::string &pattern) { return pattern.starts_with('!'); };
  bool chosen = patterns.empty() || leavesOut(patterns.front());
  for (const std::string &pattern : patterns) {
    std::string_view text = std::string_view(pattern).substr(leavesOut(pattern));
    if (text.starts_with("test_"))
      text.remove_prefix(5);
    if (::fnmatch(std::string(text).c_str(), name.c_str(), 0) == 0)
      chosen = !leavesOut(pattern);
  }
  return chosen;
}

// The op that a case is about: the one in its graph beside constants, or that of the case that it is the body of as a
// function, "abs" of "abs_expanded"; else all of them.
static std::string opOf(const std::set<std::string> &ops, const std::string &name,
                        const std::map<std::string, std::string> &others) {
  if (const size_t expanded = name.find("_expanded"); expanded != std::string::npos)
    if (const auto found = others.find(name.substr(0, expanded)); found != others.end())
      return found->second;
  std::string text;
  for (const std::string &op : ops)
    if (op != "Constant" || ops.size() == 1)
      text += (text.empty() ? "" : ",") + op;
  return text;
}

// In the order of their names, which is that of "abs" before "abs_expanded".
static std::vector<Case> describe(const std::vector<CaseFolder> &folders) {
  std::vector<Case> cases;
  std::map<std::string, std::string> ops;
  for (const CaseFolder &folder : folders) {
    Case &one = cases.emplace_back();
    one.folder = folder;
    try {
      const CaseData data(folder);
      one.op = ops[folder.name] = opOf(data.ops(), folder.name, ops);
      one.hasConstants = !data.constants().empty();
    } catch (const ToolError &) {
      // Its run says what is wrong.
    }
  }
  return cases;
}

// Target -> why there is no device; nothing for those that have one. `features` gets the processor's.
static std::map<std::string, std::string> missingDevices(const nlohmann::ordered_json &list,
                                                         const std::vector<std::string> &targets,
                                                         std::set<std::string> &features) {
  std::map<std::string, std::string> missing;
  for (const std::string &target : targets) {
    missing[target] = "the runtime has no such backend";
    for (const nlohmann::ordered_json &backend : list.at("backends")) {
      if (backend.at("name") != target)
        continue;
      if (!backend.at("available").get<bool>())
        missing[target] = backend.value("reason", "");
      else
        missing.erase(target);
      if (target == "cpu" && backend.contains("devices"))
        for (const nlohmann::ordered_json &feature : backend.at("devices").at(0).at("features"))
          features.insert(feature.get<std::string>());
    }
  }
  return missing;
}

// Making code that does not run is most of the time: one variant for each mode, in turn.
static std::vector<std::string> cpuVariants(const Options &options, const std::set<std::string> &features) {
  if (const auto given = options.variants.find("cpu"); given != options.variants.end() && !given->second.empty())
    return parseNames("--cpu", given->second);
  if (features.contains("avx512vl"))
    return {features.contains("avx512vnni") ? "avx512+vnni" : "avx512", "x86-64-v3"};
  if (features.contains("avx2"))
    return {"x86-64-v3"};
  return {};
}

namespace {

class Run {
public:
  Run(const Options &options, std::vector<Case> cases, const ExpectedList &listed)
      : options(options), cases(std::move(cases)), listed(listed), pool(options.jobs, options.timeout) {
    report.targets = options.targets;
    if (!options.journal.empty())
      for (CaseResult &result : journal.open(options.journal))
        known.insert_or_assign(std::tuple(result.name, result.mode, result.outcome.target), std::move(result));
    std::set<std::string> features;
    missing = missingDevices(pool.devices(), options.targets, features);
    if (!options.compileOnly.empty())
      missing.clear();
    processorVariants = cpuVariants(options, features);
  }

  void runAll() {
    std::deque<WorkerPool::Job> jobs;
    for (Mode mode : options.modes)
      for (size_t i = 0; i < cases.size(); ++i)
        if (mode != Mode::Constant || cases[i].hasConstants)
          addJob(jobs, i, mode);
    pool.run(std::move(jobs), [&](size_t number, const TargetOutcome &outcome) {
      const size_t index = number / ModeCount;
      CaseResult result{cases[index].folder.name, cases[index].op, static_cast<Mode>(number % ModeCount), outcome};
      result.origin = origins[{number, outcome.target}];
      journal.add(result);
      report.add(std::move(result));
      progress.show(++done, all, report.count(Outcome::Passed) + report.count(Outcome::Compiled));
    });
    for (const std::string &ended : pool.endedBetween())
      report.addFailure(ended);
  }

  const std::map<std::string, std::string> &missingTargets() const { return missing; }

  ConformanceReport report;

private:
  // Whether a case that passes in several modes has its turn in another one: it runs in one of static, dynamic and, on
  // the CPU, constant. GPUs begin with dynamic where the CPU begins with static. The body that an op has as a function
  // is only run beside the op as static on the CPU.
  bool isOthersTurn(size_t index, Mode mode, const std::string &target) const {
    const std::string &name = cases[index].folder.name;
    if (!options.turns || !listed.has(name, mode, target))
      return false;
    const bool isCpu = target == "cpu";
    if (mode == Mode::Constant && !isCpu)
      return true;
    if (const size_t body = name.find("_expanded"); body != std::string::npos)
      if (listed.has(name.substr(0, body), mode, target))
        return !isCpu || mode != Mode::Static;
    std::vector<Mode> turns;
    for (Mode one : {Mode::Static, Mode::Dynamic, Mode::Constant})
      if ((isCpu || one != Mode::Constant) && listed.has(name, one, target))
        turns.push_back(one);
    return std::find(turns.begin(), turns.end(), mode) != turns.end() && mode != turns[(index + !isCpu) % turns.size()];
  }

  void skip(size_t index, Mode mode, const std::string &target, std::string why) {
    report.add({cases[index].folder.name, cases[index].op, mode, {target, Outcome::Skipped, std::move(why), 0}, true});
  }

  // What a result comes from, so that a journal's is not taken for that of another module: a hash of the packed module,
  // or of the model, the compiler and what the compiler is asked for.
  std::string originOf(const CaseRequest &request, const std::string &target) {
    if (request.isPacked)
      return fmt::format("{:016x}", packedHash(request.folder, request.mode, target));
    auto hashOf = [](const std::string &path) {
      const std::vector<uint8_t> bytes = readFile(path);
      return vx_hash64(bytes.data(), bytes.size());
    };
    if (!compilerHash)
      compilerHash = hashOf(compilerFile());
    const CaseFolder &folder = request.folder;
    return fmt::format("{:016x}-{:016x}-{}", *compilerHash,
                       hashOf(folder.isModel() ? folder.path : folder.path + "/model.onnx"),
                       fmt::join(request.variants, ","));
  }

  void addJob(std::deque<WorkerPool::Job> &jobs, size_t index, Mode mode) {
    WorkerPool::Job job;
    job.number = index * ModeCount + static_cast<size_t>(mode);
    job.request.folder = cases[index].folder;
    job.request.mode = mode;
    for (const auto &[target, list] : options.variants)
      if (target != "cpu" && !list.empty())
        job.request.variants.push_back(target + "=" + list);
    if (!processorVariants.empty())
      job.request.variants.push_back("cpu=" + processorVariants[static_cast<size_t>(mode) % processorVariants.size()]);
    job.request.packInto = options.compileOnly;
    job.request.isPacked = !options.run.empty();
    for (const std::string &target : options.targets) {
      if (const auto none = missing.find(target); none != missing.end())
        skip(index, mode, target, fmt::format("no device '{}': {}", target, none->second));
      else if (isOthersTurn(index, mode, target))
        skip(index, mode, target, "its turn is in the other mode");
      else if (!options.run.empty() && !isPacked(job.request.folder, mode, target))
        skip(index, mode, target, "the folder has no module of it");
      else if (!isKnown(job, target))
        job.request.targets.push_back(target);
    }
    if (job.request.targets.empty())
      return;
    all += job.request.targets.size();
    jobs.push_back(std::move(job));
  }

  // Whether the journal has the result, of the same origin. It is reported then.
  bool isKnown(const WorkerPool::Job &job, const std::string &target) {
    if (options.journal.empty())
      return false;
    const std::string &origin = origins[{job.number, target}] = originOf(job.request, target);
    const auto found = known.find({job.request.folder.name, job.request.mode, target});
    if (found == known.end() || found->second.origin != origin)
      return false;
    report.add(found->second);
    return true;
  }

  const Options &options;
  const std::vector<Case> cases;
  const ExpectedList &listed;
  WorkerPool pool;
  std::map<std::string, std::string> missing;
  std::vector<std::string> processorVariants;
  Journal journal;
  std::map<std::tuple<std::string, Mode, std::string>, CaseResult> known; // of the journal: name, mode, target
  std::map<std::pair<size_t, std::string>, std::string> origins; // by job and target; of none without a journal
  std::optional<uint64_t> compilerHash;
  size_t all = 0, done = 0;
  Progress progress;
};

} // namespace

// Entries of cases that are not there.
static void checkEntries(const Options &options, const std::vector<CaseFolder> &all, ConformanceReport &report,
                         ExpectedList &list) {
  std::set<std::string> names;
  for (const CaseFolder &folder : all)
    names.insert(folder.name);
  for (const ExpectedList::Key &key : list.keys()) {
    if (names.contains(key.first))
      continue;
    if (options.writeExpected)
      list.remove(key);
    else if (options.partNumber == 0)
      report.addFailure(
          fmt::format("{}, {}: it is listed, but there is no such case", key.first, modeName(key.second)));
  }
}

static std::vector<CoveredCase> coveredCases(const std::vector<Case> &cases) {
  std::vector<CoveredCase> covered;
  for (const Case &one : cases)
    covered.push_back({one.folder.name, one.op, one.folder.set, one.hasConstants});
  return covered;
}

static int run(const char *name, int argc, char **argv) {
  // How it starts itself, which is no flag for users.
  if (argc == 2 && std::string_view(argv[1]) == WorkerFlag)
    return runWorker();
  Options options;
  if (!parseOptions(name, argc, argv, options))
    return 0;

  const bool jsonOnly = isStandardOutput(options.json);
  CommandFiles files;
  if (!options.json.empty() && !jsonOnly)
    files.addOutput("--json", options.json, CommandFiles::Kind::RegularFileOrStream);
  if (!options.expected.empty()) {
    if (options.writeExpected)
      files.addOutput("--expected", options.expected);
    else
      files.addInput("--expected", options.expected);
  }
  files.addStandardOutput();
  checkFiles(files);
  ExpectedList list;
  // A list that is to be written need not be there.
  if (!options.expected.empty() && !(options.writeExpected && ::access(options.expected.c_str(), F_OK) != 0))
    list = ExpectedList(options.expected);

  const std::vector<CaseFolder> found = findCases(options.run.empty() ? options.folders : std::vector{options.run});
  const std::vector<std::string> patterns = splitList(options.filter);
  std::vector<CaseFolder> chosen;
  for (size_t i = options.partNumber; i < found.size(); i += options.partCount)
    if (isChosen(found[i].name, patterns))
      chosen.push_back(found[i]);
  if (chosen.empty())
    throw usageError("no case to run: --filter='{}' and --part={} leave none of {}", options.filter, options.part,
                     found.size());

  if (!options.coverage.empty()) {
    const std::string page = coveragePage(coveredCases(describe(chosen)), list, options.targets, options.modes);
    if (isStandardOutput(options.coverage))
      printText(page);
    else
      writeFile(options.coverage, page);
    flushStandardOutput();
    return 0;
  }
  if (!options.compileOnly.empty())
    packCases(chosen, options.compileOnly);
  Run cases(options, describe(chosen), list);
  cases.runAll();
  if (!options.expected.empty())
    checkEntries(options, found, cases.report, list);
  if (options.writeExpected) {
    for (const CaseResult &result : cases.report.all())
      if (!result.isLeftOut)
        list.set(result.name, result.mode, result.outcome);
    if (!options.origin.empty())
      list.setOrigin(options.targets, options.modes, options.origin);
    writeFile(options.expected, list.text());
  }
  cases.report.judge(options.expected.empty() ? nullptr : &list);

  const std::string json = cases.report.json().dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (!options.json.empty() && !jsonOnly)
    writeFile(options.json, json);
  printText(jsonOnly ? json : cases.report.text());
  flushStandardOutput();
  if (cases.report.exitCode() != ExitCode::Done)
    throw ToolError(cases.report.exitCode(), fmt::format("{} failed", cases.report.failureCount()));
  if (!cases.missingTargets().empty()) {
    std::string reasons;
    for (const auto &[target, reason] : cases.missingTargets())
      reasons += fmt::format("{}no device '{}': {}", reasons.empty() ? "" : "; ", target, reason);
    throw ToolError(ExitCode::NoDevice, reasons);
  }
  if (options.expected.empty() && cases.report.count(Outcome::Unsupported) > 0)
    throw fileError("{} unsupported", cases.report.count(Outcome::Unsupported));
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-conformance", argc, argv, run); }
