// vx-check-outputs: runs what a plan lists on one device and compares whole outputs with what is wanted
// (scripts/gpu-check).
#include "call_inputs.h"
#include "command_line.h"
#include "load_module.h"
#include "npy.h"
#include "output_file.h"
#include "plan_run.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

using namespace vx::tools;
using Json = nlohmann::json;

static constexpr const char *Examples = R"(
A plan is {"checks": [CHECK...]}; its files are relative to its folder. A CHECK:
  "name"        what it is called in the report
  "module"      the file, "function" (the first one by default), "targets" that it has code for
  "dims", "seed", "inputs": {NAME: FILE.npy}; other inputs are random
  "results"     [{"output": NAME, "rule": ... (tools/check-plan/output_rule.h), "want": FILE.npy}...]; without "want" the wanted
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

} // namespace

static std::string folderOf(const std::string &path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The inputs of a check with those that "moves" changes.
static Json movedInputs(const Json &check) {
  Json moved = check;
  for (const char *key : {"seed", "inputs"})
    if (check["moves"].contains(key))
      moved[key] = check["moves"][key];
  return moved;
}

namespace {

// The files of a plan, and the references that the CPU computes of it.
class PlanFolder final : public CheckFiles {
public:
  PlanFolder(std::string folder, std::string work) : folder(std::move(folder)), work(std::move(work)) {}

  vx::Module module(const std::string &name) override { return loadModule(folder + "/" + name); }

  std::vector<vx::Value> inputs(const vx_function_info &function, const Json &check) override {
    std::vector<std::string> specifications;
    const Json files = check.value("inputs", Json::object());
    for (const auto &[name, file] : files.items())
      specifications.push_back(fmt::format("{}=@{}/{}", name, folder, file.get<std::string>()));
    SymbolValues symbols;
    const Json dims = check.value("dims", Json::object());
    for (const auto &[name, size] : dims.items())
      symbols[name] = size.get<int64_t>();
    checkDims({}, function, symbols);
    std::vector<vx::Value> values;
    for (const Value &value : makeInputs(function, specifications, check.value("seed", uint64_t(0)), symbols))
      values.push_back(toRuntime(value));
    return values;
  }

  OutputRule rule(const Json &result) override { return OutputRule::fromJson(result, folder); }

  Tensor expected(const Json &check, const Json &result, vx_element_type type) override {
    return readNpy(result.contains("want") ? folder + "/" + result["want"].get<std::string>()
                                           : referenceFile(check, result["output"]),
                   type);
  }

  std::string furtherProblem(const Json &check, const Json &result, const Tensor &expected) override {
    const OutputRule given = rule(result);
    if (!check.contains("moves") || given.kind != OutputRule::Kind::Close)
      return "";
    const Tensor other = readNpy(referenceFile(movedInputs(check), result["output"]), expected.type);
    const double times = check["moves"]["times"];
    const double moved = relativeDistance(expected, other);
    return moved >= times * given.rms
               ? ""
               : fmt::format("other inputs move it by {:.3g} of its root mean square, expected {} times the {:.3g} "
                             "that are allowed",
                             moved, times, given.rms);
  }

  void makeReference(const Json &check) {
    std::vector<Json> all{check};
    if (check.contains("moves"))
      all.push_back(movedInputs(check));
    for (const Json &each : all) {
      if (std::filesystem::exists(referenceFile(each, "done")))
        continue;
      const Json &reference = each["reference"];
      const vx::Module loaded = module(reference["module"]);
      const vx_function_info &function = findFunction(loaded, reference.value("function", ""));
      vx::InstanceOptions options;
      options.device = "cpu";
      options.noFallback = true;
      vx::Call call(vx::Instance(loaded, options), function);
      for (const auto &[name, tensor] : tensorsOf(function, call.run(inputs(function, each))))
        writeFile(referenceFile(each, name), formatNpy(tensor));
      writeFile(referenceFile(each, "done"), std::string_view());
    }
  }

private:
  // The file of an expected output that the CPU computes: one for each module, function and inputs.
  std::string referenceFile(const Json &check, const std::string &output) const {
    const std::string key = Json{check["reference"], check.value("dims", Json()), check.value("seed", Json()),
                                 check.value("inputs", Json())}
                                .dump();
    return fmt::format("{}/{:016x}.{}.npy", work, std::hash<std::string>()(key), output);
  }

  const std::string folder, work;
};

struct Counts {
  uint64_t passed = 0, failed = 0, skipped = 0, results = 0, elements = 0;
};

} // namespace

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
  PlanFolder files(folderOf(options.plan), options.work);
  std::filesystem::create_directories(options.work);
  const Json &checks = plan["checks"];

  // A reference takes all of the CPU's cores.
  std::map<size_t, std::string> withoutReference;
  std::vector<ChildWork> references;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < checks.size(); ++i)
    if (checks[i].contains("reference") && hasCode(checks[i], options.device))
      references.push_back({{i}, [&files, &checks, i](int report) {
                              try {
                                files.makeReference(checks[i]);
                              } catch (const std::exception &error) {
                                dprintf(report, "%s", error.what());
                              }
                            }});
  runProcesses(references, 1, options.limit, [&](const ChildWork &work, const ChildEnd &end) {
    if (!end.death.empty() || !end.report.empty())
      withoutReference[work.checks.front()] = fmt::format("reference on the CPU: {}{}", end.report, end.death);
  });
  for (size_t i = 0; i < checks.size(); ++i)
    if (!withoutReference.contains(i))
      chosen.push_back(i);

  Counts counts;
  auto line = [&](CheckOutcome outcome, size_t index, const std::string &text) {
    const std::string title = checks[index].value("name", "");
    ++(outcome == CheckOutcome::Passed   ? counts.passed
       : outcome == CheckOutcome::Failed ? counts.failed
                                         : counts.skipped);
    if (outcome != CheckOutcome::Passed || !options.quiet)
      fmt::print("{} {}, {}: {}\n",
                 outcome == CheckOutcome::Passed   ? "ok     "
                 : outcome == CheckOutcome::Failed ? "FAILED "
                                                   : "skipped",
                 title, options.device, text);
    std::fflush(stdout);
  };
  for (const auto &[index, text] : withoutReference)
    line(CheckOutcome::Failed, index, text);
  runPlan(checks, chosen, files, {options.device, options.jobs, options.limit, {}}, [&](const CheckReport &report) {
    counts.results += report.result.results;
    counts.elements += report.result.elements;
    line(report.outcome, report.index, report.text);
  });
  fmt::print("{}: {} passed, {} failed, {} skipped; {} results of {} elements compared\n", options.device,
             counts.passed, counts.failed, counts.skipped, counts.results, counts.elements);
  return counts.failed ? 1 : 0;
}

int main(int argc, char **argv) { return runTool("vx-check-outputs", argc, argv, run); }
