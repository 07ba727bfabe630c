// The flags that all benchmarks have: how long is measured, and where the report goes.
#ifndef VX_BENCH_BENCH_OPTIONS_H
#define VX_BENCH_BENCH_OPTIONS_H

#include "command_line.h"
#include "file_checks.h"
#include "server_bench.h"
#include "turns.h"

#include <filesystem>
#include <string>
#include <vector>

namespace vx::tools {

// --warm-up, --min-time, --min-runs and --no-probes. `runs` is what is counted: "Calls", "Batches".
void addTurnOptions(CLI::App &app, TurnOptions &options, const std::string &runs);

// Of a folder with a model of embeddings, the module that vx-compile makes of it for a device, in `scratch`; else
// `model` itself.
std::string moduleOf(const std::string &model, const std::string &device, const std::filesystem::path &scratch);

// --json and --html.
struct ReportOptions {
  std::string json, html;

  void addTo(CLI::App &app);
  // Throws a usage error for what the flags cannot have.
  void check() const;
  // What would be overwritten by standard output is not named twice.
  void addFiles(CommandFiles &files) const;
};

// The report to the files of --json and --html, or its text or JSON to standard output.
void writeReport(const BenchReport &report, const ReportOptions &options);

// The same for results that have no page.
void writeDocument(const std::string &document, const std::string &text, const std::string &json);

// Writes the results of servers to the file of --json, or its text or JSON to standard output. Tells each gate on
// standard error. The exit code: 1 where a request has failed or a gate does not hold.
int reportServer(const std::vector<ServerResult> &results, const LoadOptions &options, const std::string &json);

} // namespace vx::tools

#endif
