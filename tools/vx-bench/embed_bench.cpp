#include "embed_bench.h"

#include "embed_load.h"
#include "embed_options.h"
#include "embedding_contestant.h"
#include "input_file.h"
#include "load_module.h"
#include "output_file.h"
#include "peer.h"
#include "temporary_folder.h"

#include "vx/base/json_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <thread>

namespace vx::tools {

namespace fs = std::filesystem;
namespace serve = vx::serve;
using nlohmann::json;

namespace {

// What is compared with a baseline: what says least of the machine.
struct Rate {
  std::string what;
  double value = 0;
};

} // namespace

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
  // The folder of the peer's model, which may lie in one for the format.
  fs::path folder = fs::path(options.peerModel).parent_path();
  std::error_code error;
  if (folder.filename() == "onnx")
    folder = folder.parent_path();
  if (fs::exists(folder / "modules.json", error))
    embedding.folder = fs::absolute(folder).string();
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
  const json now = json::parse(vx::jsonText(report.json()));
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
      printMessage("vx-bench: {}: {} tokens, {} texts: {:.3g} {}, the baseline has {:.3g}\n", isGood ? "note" : "error",
                   result["dims"].value("tokens", 0), result["dims"].value("batch", 0), is.value, is.what, was.value);
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
    throw fileError("{}: expected a file that vx-bench --json has written", path);
  return baseline;
}

int benchEmbeddings(const char *name, int argc, char **argv) {
  EmbedOptions options;
  if (!parseEmbedOptions(name, argc, argv, options))
    return 0;
  if (!options.load.url.empty())
    return benchEmbeddingServer(options);
  const std::vector<uint32_t> threads = threadCounts(options.threads);
  const std::vector<size_t> lengths = parseSizes("--lengths", options.lengths),
                            batches = parseSizes("--batch-sizes", options.batchSizes);
  CommandFiles files;
  options.report.addFiles(files);
  if (!options.peerModel.empty())
    files.addInput("the peer's model", options.peerModel);
  checkFiles(files);
  const json baseline = options.baseline.empty() ? json() : readBaseline(options.baseline);
  const TemporaryFolder scratch("vx-bench");
  const std::string path = moduleOf(options.model, options.device, scratch.path);
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
          throw usageError("--lengths: expected at most {}, which the model takes, got {}",
                           request.embedder->info().maxTokens, length);
        for (size_t batch : batches) {
          request.length = length;
          request.texts = makeTexts(countTokensOf(*request.embedder, request.usePrompt), batch, length);
          std::vector<Entry> entries;
          entries.push_back({makeEmbeddingContestant(request), {}});
          if (!options.compare.empty()) {
            PeerRequest peer = makePeer(options, *request.embedder, module, count, scratch.path);
            peer.embedding->texts = request.texts;
            serve::EmbedOptions plain;
            plain.tokenize.usePrompt = request.usePrompt;
            peer.embedding->expected = request.embedder->embed(std::span(request.texts).first(1), plain).values;
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
  writeReport(report, options.report);
  return options.baseline.empty() || holdsBaseline(report, baseline, options) ? 0 : 1;
}

} // namespace vx::tools
