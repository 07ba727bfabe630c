#include "embed_bench.h"

#include "command_line.h"
#include "embedding_contestant.h"
#include "file_checks.h"
#include "input_file.h"
#include "load_module.h"
#include "output_file.h"
#include "peer.h"
#include "sibling_tool.h"
#include "temporary_folder.h"
#include "turns.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <thread>

namespace vx::tools {

namespace fs = std::filesystem;
namespace serve = vx::serve;
using nlohmann::json;

static constexpr const char *EmbedExamples = R"(
Texts of so many tokens, in batches of so many, are tokenised and run. MODEL is a module that vx-compile has made of a folder with a model of
embeddings, or such a folder, which vx-compile beside this tool compiles first. Dense layers are no part of what the peer does.

Examples:
  Sizes:    vx-bench embed --model minilm.vxm --lengths 16,128 --batch-sizes 1,32 --threads 2
  Peer:     vx-bench embed --model all-MiniLM-L6-v2 --compare onnxruntime --threads 2
            vx-bench embed --model minilm.vxm --compare onnxruntime --peer-model all-MiniLM-L6-v2/model.onnx
  Report:   vx-bench embed --model minilm.vxm --json result.json --html result.html
  Gate:     vx-bench embed --model minilm.vxm --compare onnxruntime --peer-model model.onnx --baseline result.json --allow 0.15
)";

namespace {

struct EmbedOptions {
  std::string model, device = "cpu", threads = "0", lengths = "16,128", batchSizes = "1,32";
  TurnOptions turns;
  std::string compare, peerModel, peerScript;
  std::string json, html, baseline;
  double allowed = 0.15;
};

// What is compared with a baseline: what says least of the machine.
struct Rate {
  std::string what;
  double value = 0;
};

} // namespace

static std::vector<size_t> readSizes(const char *flag, const std::string &text) {
  std::vector<size_t> sizes;
  for (const std::string &piece : splitList(text)) {
    size_t size = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), size);
    if (error != std::errc() || end != piece.data() + piece.size() || size == 0 || size > (1 << 20))
      throw usageError("{}: want numbers from 1 to 1048576 between commas, got '{}'", flag, piece);
    sizes.push_back(size);
  }
  return sizes;
}

static bool parseEmbedOptions(const char *name, int argc, char **argv, EmbedOptions &options) {
  CLI::App app("Times how texts become vectors.");
  app.add_option("--model", options.model, "A module (.vxm), or a folder with a model")->group("Model");
  app.add_option("--device", options.device, "A device, cpu by default; a refused one is an error")->group("Model");
  app.add_option("--threads", options.threads, "CPU thread counts, e.g. 1,2; 0: one per core")->group("Model");
  app.add_option("--lengths", options.lengths, "Tokens of a text; 16,128 by default")->group("Sizes");
  app.add_option("--batch-sizes", options.batchSizes, "Texts of a batch; 1,32 by default")->group("Sizes");
  app.add_option("--warm-up", options.turns.warmUp, "Seconds to run each before its time counts; a tenth of --min-time")
      ->check(numberAbove(0))
      ->group("Measurement");
  app.add_option("--min-time", options.turns.minTime, "Seconds to measure each for; 1 by default")
      ->check(numberAbove(0))
      ->group("Measurement");
  app.add_option("--min-runs", options.turns.minRuns, "Batches to measure at the least; 5 by default")
      ->check(wholeNumber(1, 1000000))
      ->group("Measurement");
  app.add_flag("--no-probes", options.turns.noProbes, "Leave out what the machine can do at best")
      ->group("Measurement");
  app.add_option("--compare", options.compare, "onnxruntime: the same model behind PyPI's tokenizers, in turns")
      ->check(oneOf({"onnxruntime"}))
      ->group("Peer");
  app.add_option("--peer-model", options.peerModel, "The peer's model; that of the folder by default")->group("Peer");
  app.add_option("--peer-script", options.peerScript, "The path of scripts/bench-peer, when it is not above this tool")
      ->group("Peer");
  app.add_option("--json", options.json, "Write the results to a file, or print them alone with '-'")->group("Report");
  app.add_option("--html", options.html, "Write a page with charts to a file")->group("Report");
  app.add_option("--baseline", options.baseline, "A file that --json has written: a slower result is exit code 1")
      ->group("Report");
  app.add_option("--allow", options.allowed, "How much slower than the baseline is taken, 0.15 by default")
      ->check(numberAbove(0))
      ->group("Report");
  if (!parseCommandLine(app, name, EmbedExamples, argc, argv))
    return false;
  if (options.model.empty())
    throw usageError("embed wants --model, a module or a folder; see --help");
  if (options.html == "-")
    throw usageError("--html: want a file, got '-'");
  if (options.compare.empty() && !(options.peerModel.empty() && options.peerScript.empty()))
    throw usageError("--peer-model and --peer-script go with --compare");
  std::error_code error;
  const bool isFolder = fs::is_directory(options.model, error);
  if (!options.compare.empty() && options.peerModel.empty() && !isFolder)
    throw usageError("--compare: want --peer-model, the ONNX model that '{}' was made of", options.model);
  if (options.peerModel.empty() && isFolder)
    for (const char *place : {"onnx/model.onnx", "model.onnx"})
      if (fs::exists(fs::path(options.model) / place, error))
        options.peerModel = (fs::path(options.model) / place).string();
  return true;
}

static PeerRequest makePeer(const EmbedOptions &options, const serve::Embedder &embedder, const vx::Module &module,
                            uint32_t threads, const fs::path &scratch) {
  PeerRequest request;
  request.name = options.compare;
  request.script = options.peerScript;
  request.module = options.model;
  request.model = options.peerModel;
  request.function = fmt::format("embed_{}", serve::poolingName(embedder.info().pooling));
  request.threads = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  PeerEmbedding &embedding = request.embedding.emplace();
  embedding.pooling = serve::poolingName(embedder.info().pooling);
  embedding.normalize = embedder.info().normalizes;
  embedding.maxTokens = embedder.info().maxTokens;
  const std::vector<vx_asset_info> assets(module.assets().begin(), module.assets().end());
  for (const vx_asset_info &asset : assets) {
    const std::string name = asset.name;
    const std::string_view bytes(static_cast<const char *>(asset.bytes), asset.size);
    if (name == "embedding.json") {
      embedding.padding = json::parse(bytes).value("padding", 0);
      continue;
    }
    embedding.tokenizer = (scratch / fs::path(name).filename()).string();
    writeFile(embedding.tokenizer, bytes);
  }
  return request;
}

// Beside a peer, its time over ours; else vectors a second for each GFLOP/s that the device has; else vectors a second.
static Rate rateOf(const json &result, const json &probes) {
  if (result.contains("times_peer") && result["times_peer"].is_number())
    return {"times the peer", result["times_peer"].get<double>()};
  const double perSecond = result.value("rows_per_second", 0.0);
  for (const json &probe : probes)
    if (probe.value("device", "") == result.value("device", "") &&
        probe.value("threads", 0) == result.value("threads", 0) && probe["fma_gflops"].is_number())
      return {"vectors a second and GFLOP/s of the device", perSecond / probe["fma_gflops"].get<double>()};
  return {"vectors a second", perSecond};
}

// False where a result is slower than that of the baseline with the same device, threads and sizes.
static bool holdsBaseline(const BenchReport &report, const json &baseline, const EmbedOptions &options) {
  const json now = json::parse(report.json().dump());
  bool holds = true, found = false;
  for (const json &result : now["results"]) {
    if (result["runner"] != "vx")
      continue;
    for (const json &before : baseline["results"]) {
      const bool isSame =
          std::ranges::all_of(std::initializer_list<const char *>{"runner", "device", "threads", "dims", "function"},
                              [&](const char *key) { return before.contains(key) && before[key] == result[key]; });
      if (!isSame)
        continue;
      const Rate is = rateOf(result, now["probes"]), was = rateOf(before, baseline["probes"]);
      if (is.what != was.what || was.value <= 0)
        continue;
      found = true;
      const bool isGood = is.value >= was.value * (1 - options.allowed);
      holds &= isGood;
      fmt::print(stderr, "vx-bench: {}: {} tokens, {} texts: {:.3g} {}, the baseline has {:.3g}\n",
                 isGood ? "note" : "error", result["dims"].value("tokens", 0), result["dims"].value("batch", 0),
                 is.value, is.what, was.value);
    }
  }
  if (!found)
    throw usageError("--baseline: '{}' has no result of the same device, threads and sizes, measured in the same way",
                     options.baseline);
  return holds;
}

static json readBaseline(const std::string &path) {
  const std::vector<uint8_t> bytes = readFile(path);
  const json baseline = json::parse(bytes.begin(), bytes.end(), nullptr, /*allow_exceptions=*/false);
  if (!baseline.is_object() || !baseline.contains("results") || !baseline["results"].is_array() ||
      !baseline.contains("probes") || !baseline["probes"].is_array())
    throw fileError("{}: want a file that vx-bench --json has written", path);
  return baseline;
}

int benchEmbeddings(const char *name, int argc, char **argv) {
  EmbedOptions options;
  if (!parseEmbedOptions(name, argc, argv, options))
    return 0;
  const std::vector<uint32_t> threads = threadCounts(options.threads);
  const std::vector<size_t> lengths = readSizes("--lengths", options.lengths),
                            batches = readSizes("--batch-sizes", options.batchSizes);
  CommandFiles files;
  if (!options.json.empty() && !isStandardOutput(options.json))
    files.addOutput("--json", options.json, CommandFiles::Kind::RegularFileOrStream);
  if (!options.html.empty())
    files.addOutput("--html", options.html, CommandFiles::Kind::RegularFileOrStream);
  if (!options.peerModel.empty())
    files.addInput("the peer's model", options.peerModel);
  files.addStandardOutput();
  checkFiles(files);
  const json baseline = options.baseline.empty() ? json() : readBaseline(options.baseline);
  std::error_code error;
  const TemporaryFolder scratch("vx-bench");
  std::string path = options.model;
  if (fs::is_directory(options.model, error)) {
    path = (scratch.path / "model.vxm").string();
    const std::string target = options.device.substr(0, options.device.find(':'));
    showProgress(fmt::format("compiling {}", options.model));
    runSiblingTool("vx-compile", {options.model, "--target=" + (target == "auto" ? "cpu" : target), "-o", path});
  }
  const vx::Module module = loadModule(path, files);
  BenchReport report;
  std::vector<ProbeEntry> probes;
  try {
    for (uint32_t count : threads) {
      EmbeddingRequest request;
      request.name = options.model;
      request.path = path;
      request.instance.device = options.device;
      request.instance.noFallback = true;
      request.instance.threads = count;
      request.embedder = std::make_shared<const serve::Embedder>(module, request.instance);
      for (size_t length : lengths) {
        if (length > request.embedder->info().maxTokens)
          throw usageError("--lengths: want at most {}, which the model takes, got {}",
                           request.embedder->info().maxTokens, length);
        for (size_t batch : batches) {
          request.length = length;
          request.texts = makeTexts(*request.embedder, batch, length);
          std::vector<Entry> entries;
          entries.push_back({makeEmbeddingContestant(request), {}});
          if (!options.compare.empty()) {
            PeerRequest peer = makePeer(options, *request.embedder, module, count, scratch.path);
            peer.embedding->texts = request.texts;
            peer.dims = {{"batch", static_cast<int64_t>(batch)}, {"tokens", static_cast<int64_t>(length)}};
            entries.push_back({makePeerContestant(peer), {}});
          }
          takeTurns(entries, probes, options.turns, fmt::format("{} texts of {} tokens", batch, length));
          addResults(report, entries);
        }
      }
    }
  } catch (const serve::Error &failure) {
    throw fileError("{}: {}", path, failure.what());
  }
  addProbes(report, probes);
  showProgress("");
  writeReport(report, options.json, options.html);
  return options.baseline.empty() || holdsBaseline(report, baseline, options) ? 0 : 1;
}

} // namespace vx::tools
