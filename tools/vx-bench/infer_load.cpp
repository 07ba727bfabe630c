#include "infer_load.h"

#include "bench_options.h"
#include "infer_case.h"
#include "load_flags.h"
#include "load_module.h"

#include <CLI/CLI.hpp>

namespace vx::tools {

static constexpr const char *InferExamples = R"(
A server is asked for /v2/models/MODEL/infer by clients that keep their connections, with random numbers that differ; each answer is compared with
that to the same request by itself, and one that is wrong or none is exit code 1.

Examples:
  Sizes:    vx-bench infer --url http://127.0.0.1:8080 --model digits --batch-sizes 1,32
  Server:   vx-bench infer --url http://127.0.0.1:8080 --model digits --clients 64 --seconds 60 --format json
  Gates:    vx-bench infer --url http://127.0.0.1:8080 --model digits --engine digits.vxm --threads 1 --most-own-cpu 100
  Report:   vx-bench infer --url http://127.0.0.1:8080 --model digits --json result.json
)";

namespace {

struct InferOptions {
  std::string model, function, device = "cpu", threads = "0", batchSizes = "1", format = "binary";
  std::optional<double> warmUp;
  LoadOptions load;
  ReportOptions report;
};

} // namespace

static bool parseInferOptions(const char *name, int argc, char **argv, InferOptions &options) {
  CLI::App app("Times how a server answers for a function of tensors.");
  app.add_option("--model", options.model, "The server's name for a model")->group("Model");
  app.add_option("--function", options.function, "The function to ask for; the first one by default")->group("Model");
  app.add_option("--device", options.device, "The device of --engine, cpu by default")->group("Model");
  app.add_option("--threads", options.threads, "CPU threads of --engine; 0: one per core")->group("Model");
  app.add_option("--batch-sizes", options.batchSizes, "Rows of a request; 1 by default")->group("Sizes");
  app.add_option("--warm-up", options.warmUp, "Seconds to ask before it counts; 1 by default")
      ->check(numberAbove(0))
      ->group("Measurement");
  app.add_option("--format", options.format, "How tensors are sent: binary (by default) or json")
      ->check(oneOf({"binary", "json"}))
      ->group("Server");
  addLoadFlags(app, options.load);
  app.add_option("--json", options.report.json, "Write the results to a file, or print them alone with '-'")
      ->group("Report");
  if (!parseCommandLine(app, name, InferExamples, argc, argv))
    return false;
  if (options.load.url.empty() || options.model.empty())
    throw usageError("infer needs --url, where a server is, and --model, one of its names; see --help");
  checkLoadFlags(app, options.load);
  return true;
}

int benchInference(const char *name, int argc, char **argv) {
  InferOptions options;
  if (!parseInferOptions(name, argc, argv, options))
    return 0;
  const std::vector<uint32_t> threads = threadCounts(options.threads);
  if (threads.size() != 1)
    throw usageError("--threads: expected one number, got '{}'", options.threads);
  const InferRequest request = {options.model, options.function,           options.device,
                                threads[0],    options.format == "binary", options.load};
  CommandFiles files;
  options.report.addFiles(files);
  checkFiles(files);
  if (!options.load.engine.empty())
    (void)loadModule(options.load.engine, files);
  std::vector<ServerResult> results;
  for (size_t rows : parseSizes("--batch-sizes", options.batchSizes))
    results.push_back(benchServer(options.load, options.warmUp.value_or(1), makeInferCase(request, rows)));
  return reportServer(results, options.load, options.report.json);
}

} // namespace vx::tools
