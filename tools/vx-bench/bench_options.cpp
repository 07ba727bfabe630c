#include "bench_options.h"

#include "output_file.h"
#include "sibling_tool.h"

#include "vx/base/json_text.h"

#include <CLI/CLI.hpp>

namespace vx::tools {

void addTurnOptions(CLI::App &app, TurnOptions &options, const std::string &runs) {
  app.add_option("--warm-up", options.warmUp, "Seconds to run each before its time counts; a tenth of --min-time")
      ->check(numberAbove(0))
      ->group("Measurement");
  app.add_option("--min-time", options.minTime, "Seconds to measure each for; 1 by default")
      ->check(numberAbove(0))
      ->group("Measurement");
  app.add_option("--min-runs", options.minRuns, runs + " to measure at the least; 5 by default")
      ->check(wholeNumber(1, 1000000))
      ->group("Measurement");
  app.add_flag("--no-probes", options.noProbes, "Leave out what the machine can do at best")->group("Measurement");
}

std::string moduleOf(const std::string &model, const std::string &device, const std::filesystem::path &scratch) {
  std::error_code error;
  if (!std::filesystem::is_directory(model, error))
    return model;
  std::string path = (scratch / "model.vxm").string();
  const std::string target = device.substr(0, device.find(':'));
  showProgress(fmt::format("compiling {}", model));
  runSiblingTool("vx-compile", {model, "--target=" + (target == "auto" ? "cpu" : target), "-o", path});
  return path;
}

void ReportOptions::addTo(CLI::App &app) {
  app.add_option("--json", json, "Write the results to a file, or print them alone with '-'")->group("Report");
  app.add_option("--html", html, "Write a page with charts to a file")->group("Report");
}

void ReportOptions::check() const {
  if (html == "-")
    throw usageError("--html: expected a file, got '-'");
}

void ReportOptions::addFiles(CommandFiles &files) const {
  if (!json.empty() && !isStandardOutput(json))
    files.addOutput("--json", json, CommandFiles::Kind::RegularFileOrStream);
  if (!html.empty())
    files.addOutput("--html", html, CommandFiles::Kind::RegularFileOrStream);
  files.addStandardOutput();
}

void writeDocument(const std::string &document, const std::string &text, const std::string &json) {
  const bool jsonOnly = isStandardOutput(json);
  if (!json.empty() && !jsonOnly)
    writeFile(json, document);
  printText(jsonOnly ? document : text);
}

void writeReport(const BenchReport &report, const ReportOptions &options) {
  if (!options.html.empty())
    writeFile(options.html, report.html());
  writeDocument(vx::jsonText(report.json(), 2) + "\n", report.text(), options.json);
}

int reportServer(const std::vector<ServerResult> &results, const LoadOptions &options, const std::string &json) {
  writeDocument(serverDocument(results), serverText(results), json);
  bool holds = true;
  for (const JudgedGate &gate : judgeGates(results, options)) {
    holds &= gate.holds;
    printMessage("vx-bench: {}: {}\n", gate.holds ? "note" : "error", gate.text);
  }
  return holds ? 0 : 1;
}

} // namespace vx::tools
