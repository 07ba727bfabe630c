// vx-bench: times modules on devices, beside what the machine can do and beside a peer.
#include "bench_options.h"
#include "call_inputs.h"
#include "compiled_model.h"
#include "embed_bench.h"
#include "infer_load.h"
#include "load_module.h"
#include "module_bench.h"
#include "peer.h"
#include "temporary_folder.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>

using namespace vx::tools;
namespace fs = std::filesystem;

static constexpr const char *Examples = R"(
Examples:
  Device:       vx-bench model.vxm --device=cpu,vulkan --threads 1,2
  Inputs:       vx-bench model.vxm --dim batch=1,8
                vx-bench model.vxm --input tokens=@tokens.npy
                vx-bench decoder.vxm --alias --input position=@position.npy
                vx-bench model.vxm --device=cuda --transfers
  Measurement:  vx-bench a.vxm b.vxm --warm-up 0.5 --min-time 3 --per-kernel
  Training:     vx-bench trains.vxm --train --batch-size=128
  Peer:         vx-bench model.vxm --peer=onnxruntime --peer-model model.onnx --threads 1,2
                vx-bench trains.vxm --train --peer=pytorch,pytorch-compile --peer-model model.onnx
  Report:       vx-bench model.vxm --json result.json --html result.html
  Embeddings:   vx-bench embed --help
  Servers:      vx-bench embed --url http://127.0.0.1:8080 --model minilm
                vx-bench infer --help
)";

namespace {

struct Options {
  std::vector<std::string> modules;
  std::string devices = "auto";
  std::string threads = "0";
  std::string function;
  std::vector<std::string> inputs;
  std::vector<std::string> dims;
  uint64_t seed = 0;
  TurnOptions turns;
  bool alias = false;
  bool resident = false;  // the default, which may be said
  bool transfers = false; // the other way
  bool train = false;
  int64_t batchSize = 0;
  bool perKernel = false;
  std::string peer;
  std::vector<std::string> peerModels;
  std::string peerScript;
  ReportOptions report;
};

} // namespace

static bool parseOptions(const char *name, int argc, char **argv, Options &options) {
  CLI::App app("Times functions of compiled modules.");
  app.add_option("modules", options.modules,
                 "Module files (.vxm), or models (.onnx, .mlir), which vx-compile compiles first");

  app.add_option("--device", options.devices, "Devices, e.g. cpu,vulkan; a refused one is an error")->group("Device");
  app.add_option("--threads", options.threads, "CPU thread counts, e.g. 1,2; 0: one per core")->group("Device");

  app.add_option("--function", options.function, "The function to run; the first one by default")->group("Inputs");
  app.add_option("--input", options.inputs,
                 "NAME=@x.npy, NAME=@x.pb or NAME=f32[2,3]:random|zeros|ones; random when not given")
      ->group("Inputs");
  app.add_option("--dim", options.dims, "NAME=N or NAME=N,N: sizes of a named dimension of random inputs")
      ->group("Inputs");
  app.add_option("--seed", options.seed, "Of random inputs; 0 by default")
      ->check(wholeNumber(0, UINT64_MAX))
      ->group("Inputs");

  app.add_flag("--alias", options.alias,
               "Let outputs take over the memory of the inputs that the function declares for it, from call to call")
      ->group("Inputs");

  app.add_flag("--resident", options.resident,
               "Keep inputs and results in the device's memory, as is the default; transfers are timed apart")
      ->group("Inputs");
  app.add_flag("--transfers", options.transfers,
               "Bring inputs to the device and results to the host in every call that is timed")
      ->group("Inputs");

  app.add_flag("--train", options.train, "Time a step of training modules, and their evaluation beside it")
      ->group("Training");
  app.add_option("--batch-size", options.batchSize, "Rows of a step")
      ->check(wholeNumber(1, INT64_MAX))
      ->group("Training");

  addTurnOptions(app, options.turns, "Calls");
  app.add_flag("--per-kernel", options.perKernel, "Time every kernel too, and name the nodes it came from")
      ->group("Measurement");
  app.add_option("--peer", options.peer,
                 "onnxruntime, pytorch, pytorch-compile: time them in turns with the CPU, same inputs and threads")
      ->group("Peer");
  app.add_option("--peer-model", options.peerModels,
                 "The peer's model, one for each module in order; the module's name with .onnx by default")
      ->group("Peer");
  app.add_option("--peer-script", options.peerScript, "The path of scripts/bench-peer, when it is not above this tool")
      ->group("Peer");

  options.report.addTo(app);
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return false;
  if (options.modules.empty())
    throw usageError("expected a module file; see --help");
  options.report.check();
  if (options.train && (!options.function.empty() || options.alias))
    throw usageError("--train: expected no {} beside it", !options.function.empty() ? "--function" : "--alias");
  if (options.resident && options.transfers)
    throw usageError("--resident: expected no --transfers beside it");
  if (options.batchSize && !options.train)
    throw usageError("--batch-size goes with --train");
  if (!options.peer.empty())
    for (const std::string &peer : parseNames("--peer", options.peer)) {
      if (const std::string problem = oneOf({"onnxruntime", "pytorch", "pytorch-compile"})(peer); !problem.empty())
        throw usageError("--peer: {}", problem);
      if (options.train && peer == "onnxruntime")
        throw usageError("--train: expected a --peer that trains, pytorch or pytorch-compile, got '{}'", peer);
    }
  if (options.peer.empty() && !(options.peerModels.empty() && options.peerScript.empty()))
    throw usageError("--peer-model and --peer-script go with --peer");
  if (!options.peerModels.empty() && options.peerModels.size() != options.modules.size())
    throw usageError("--peer-model: expected one for each of the {} modules, got {}", options.modules.size(),
                     options.peerModels.size());
  return true;
}

// Makes modules of models, which peers take as they are. The result is what the modules end with.
static std::vector<ModuleFile> compileModels(const char *tool, Options &options) {
  std::vector<ModuleFile> made;
  if (std::none_of(options.modules.begin(), options.modules.end(), isModelFile))
    return made;
  if (!options.peer.empty() && options.peerModels.empty())
    for (const std::string &module : options.modules)
      options.peerModels.push_back(fs::path(module).replace_extension(".onnx").string());
  if (options.train)
    throw usageError("--train: expected modules that were compiled with --train, got '{}'",
                     *std::find_if(options.modules.begin(), options.modules.end(), isModelFile));
  for (std::string &module : options.modules)
    if (isModelFile(module)) {
      made.push_back(compileModelFile(tool, module, targetsOf(splitList(options.devices), /*fallsBack=*/false)));
      module = made.back().path;
    }
  return made;
}

static std::string peerModel(const Options &options, size_t moduleIndex) {
  return options.peerModels.empty() ? fs::path(options.modules[moduleIndex]).replace_extension(".onnx").string()
                                    : options.peerModels[moduleIndex];
}

// Of one of the modules.
static ModuleBench benchOf(const Options &options, size_t moduleIndex) {
  ModuleBench bench;
  bench.module = options.modules[moduleIndex];
  bench.function = options.function;
  bench.devices = splitList(options.devices);
  bench.threads = threadCounts(options.threads);
  bench.inputs = options.inputs;
  bench.seed = options.seed;
  bench.alias = options.alias;
  bench.resident = !options.transfers;
  bench.perKernel = options.perKernel;
  bench.train = options.train;
  bench.batchSize = options.batchSize;
  if (!options.peer.empty()) {
    bench.peers = splitList(options.peer);
    bench.peerModel = peerModel(options, moduleIndex);
    bench.peerScript = options.peerScript;
  }
  return bench;
}

static int run(const char *name, int argc, char **argv) {
  benchRecord("vx-bench", argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "embed")
    return benchEmbeddings(name, argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "infer")
    return benchInference(name, argc - 1, argv + 1);
  Options options;
  if (!parseOptions(name, argc, argv, options))
    return 0;
  parseNames("--device", options.devices);
  threadCounts(options.threads);
  CommandFiles files;
  options.report.addFiles(files);
  addInputFiles(files, options.inputs);
  if (!options.peer.empty())
    for (size_t i = 0; i < options.modules.size(); ++i) {
      files.addInput("the peer's model", peerModel(options, i));
      // A report that is not there yet cannot be one of them: then nothing need be read.
      if (fs::exists(options.report.json) || fs::exists(options.report.html))
        for (const std::string &weights : peerWeightFiles(peerModel(options, i)))
          files.addInput("the weights of the peer's model", weights);
    }
  for (const std::string &module : options.modules)
    if (isModelFile(module))
      files.addInput("the model", module);
  checkFiles(files);
  const std::vector<ModuleFile> made = compileModels(name, options);
  for (const std::string &module : options.modules)
    (void)loadModule(module, files);
  std::optional<TemporaryFolder> scratch;
  if (!options.peer.empty())
    scratch.emplace("vx-bench");

  BenchReport report;
  std::vector<ProbeEntry> probes;
  for (size_t i = 0; i < options.modules.size(); ++i)
    for (const SymbolValues &dims : parseDimLists(options.dims)) {
      const ModuleBench bench = benchOf(options, i);
      std::vector<Entry> entries;
      addModules(entries, bench, dims);
      if (!options.peer.empty())
        addPeers(entries, bench, dims, scratch->path);
      takeTurns(entries, probes, options.turns, options.modules[i]);
      const size_t begin = report.results.size();
      addResults(report, entries);
      if (options.train)
        compareWithForward(report.results, begin);
    }
  addProbes(report, probes);
  showProgress("");
  std::vector<std::string> notes;
  for (const Measurement &result : report.results)
    if (!result.zeroInputs.empty())
      notes.push_back(fmt::format("{}: {}", result.module, zerosNote(result.zeroInputs)));
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  for (const std::string &note : notes)
    printMessage("vx-bench: note: {}\n", vx::printableLine(note));
  writeReport(report, options.report);
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-bench", argc, argv, run); }
