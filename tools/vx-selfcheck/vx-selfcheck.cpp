// vx-selfcheck: whether vx computes the right values on a device of this machine.
#include "bench_record.h"
#include "check_pack.h"
#include "command_line.h"
#include "file_checks.h"
#include "output_file.h"
#include "plan_run.h"
#include "selfcheck_report.h"

#include "vx/base/json_text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include <fnmatch.h>
#include <unistd.h>

using namespace vx::tools;
using Json = nlohmann::ordered_json;

static constexpr const char *Examples = R"(
Runs a pack of compiled ops and networks on one device and compares every output with that of the
reference evaluator. Needs no compiler. The exit code is 0 only if every case ran and is right.

Examples:
  Device:   vx-selfcheck --device=vulkan:0
            vx-selfcheck --device=cuda --limit 120
  Cases:    vx-selfcheck --list
            vx-selfcheck --device=cpu --filter 'networks/*'
            vx-selfcheck --device=cpu --pack selfcheck.pack
  Report:   vx-selfcheck --device=cuda:0 -o report.json
)";

// How long calls are timed after the comparison.
static constexpr double OpSeconds = 0.01, NetworkSeconds = 0.5;

namespace {

struct Options {
  std::string device = "auto", filter, pack, output;
  uint64_t limit = 300;
  bool list = false;
};

} // namespace

// The pack that is installed with this tool: bin/vx-selfcheck has ../share/vx/selfcheck.pack.
static std::string installedPack() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path tool = fs::read_symlink("/proc/self/exe", error);
  const fs::path pack = (tool.parent_path().parent_path() / "share/vx/selfcheck.pack").lexically_normal();
  if (!fs::exists(pack, error))
    throw fileError("there is no pack of checks at '{}', where it is installed with this tool: install the package "
                    "vx-tools again, or give --pack",
                    pack.string());
  return pack.string();
}

static std::vector<size_t> chooseCases(const nlohmann::json &checks, const std::string &filter) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < checks.size(); ++i)
    if (filter.empty() || fnmatch(filter.c_str(), checks[i].value("name", "").c_str(), 0) == 0)
      chosen.push_back(i);
  if (chosen.empty())
    throw usageError("--filter: no case matches '{}'; --list prints the {} names", filter, checks.size());
  return chosen;
}

// In a process of its own, since this one may not have opened a driver when it starts others: what the device is.
static void findDevice(const std::string &asked, int report) {
  Json answer;
  try {
    vx_device_info info = {};
    vx::check(vx_device_find(asked.c_str(), &info));
    answer = {{"device", info.device},
              {"facts",
               {{"device", info.device},
                {"name", info.name},
                {"details", ""},
                {"total_memory", info.total_memory},
                {"software", info.software != 0},
                {"features", Json::array()}}}};
    const Json list = Json::parse(vx::listDevices());
    for (const Json &backend : list["backends"])
      for (const Json &device : backend.value("devices", Json::array()))
        if (device.value("device", "") == info.device)
          answer["facts"] = device;
  } catch (const vx::Error &error) {
    answer = {{"error", error.what()}, {"isUsage", error.code() == VX_INVALID_ARGUMENT}};
  } catch (const std::exception &error) {
    answer = {{"error", error.what()}, {"isUsage", false}};
  }
  dprintf(report, "%s", vx::jsonText(answer).c_str());
}

// Throws a ToolError, exit 4, with the reason where there is no such device.
static CheckedDevice takeDevice(const std::string &asked, uint64_t limit) {
  CheckedDevice device{asked, {}, {}};
  const std::vector<ChildWork> work{{{}, [&asked](int report) { findDevice(asked, report); }}};
  runProcesses(work, 1, limit, [&](const ChildWork &, const ChildEnd &end) {
    const Json answer = Json::parse(end.report, nullptr, false);
    if (!end.death.empty() || !answer.is_object())
      throw ToolError(ExitCode::NoDevice, fmt::format("device '{}': its driver was opened and the process {}", asked,
                                                      end.death.empty() ? "gave no answer" : end.death));
    if (answer.contains("error"))
      throw ToolError(answer.value("isUsage", false) ? ExitCode::Usage : ExitCode::NoDevice,
                      fmt::format("--device: {}", answer.value("error", "")));
    device.device = answer.value("device", "");
    device.facts = answer["facts"];
  });
  return device;
}

static int run(const char *name, int argc, char **argv) {
  Options options;
  benchRecord(name, argc, argv);
  CLI::App app("Checks that vx computes the right values on a device of this machine, and times it.");
  app.add_option("--device", options.device, "cpu, vulkan[:N], cuda[:N], rocm[:N] or null; the best one by default")
      ->group("Device");
  app.add_option("--limit", options.limit, "Seconds after which the cases of one module count as hung; 300 by default")
      ->check(wholeNumber(1, 3600))
      ->group("Device");
  app.add_flag("--list", options.list, "Print the names of the cases, and run none")->group("Cases");
  app.add_option("--filter", options.filter, "Only cases whose names match this pattern with '*' and '?'")
      ->group("Cases");
  app.add_option("--pack", options.pack, "The file of cases; the installed one by default")->group("Cases");
  app.add_option("-o,--output", options.output, "Write a report as JSON to this file, '-' in the place of the text")
      ->group("Report");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  const std::string path = options.pack.empty() ? installedPack() : options.pack;
  vx::CommandFiles commandFiles;
  commandFiles.addInput("the pack", path);
  commandFiles.addStandardOutput();
  if (!options.output.empty() && options.output != "-")
    commandFiles.addOutput("the report", options.output, vx::CommandFiles::Kind::RegularFileOrStream);
  checkFiles(commandFiles);
  CheckPack pack(path);
  const nlohmann::json &checks = pack.checks();
  const std::vector<size_t> chosen = chooseCases(checks, options.filter);
  if (options.list) {
    for (size_t index : chosen)
      printOut("{} ({})\n", checks[index].value("name", ""), checks[index].value("kind", ""));
    return 0;
  }

  const auto begin = std::chrono::steady_clock::now();
  SelfcheckReport report;
  report.device = takeDevice(options.device, options.limit);
  std::map<size_t, CheckReport> done;
  runPlan(checks, chosen, pack,
          {report.device.device, 1, options.limit,
           [](const nlohmann::json &check) { return check["kind"] == "network" ? NetworkSeconds : OpSeconds; }},
          [&](const CheckReport &each) {
            done[each.index] = each;
            showProgress(fmt::format("{}: {} of {} cases", report.device.device, done.size(), chosen.size()));
          });
  showProgress("");
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (auto &[index, each] : done)
    report.cases.push_back({checks[index].value("name", ""), checks[index].value("kind", ""), std::move(each)});
  const std::string document = vx::jsonText(report.json(), 2) + "\n";
  if (options.output == "-")
    printText(document);
  else
    printText(report.text());
  if (!options.output.empty() && options.output != "-")
    writeFile(options.output, document);
  return report.isRight() ? 0 : static_cast<int>(ExitCode::Failed);
}

int main(int argc, char **argv) { return runTool("vx-selfcheck", argc, argv, run); }
