#include "embed_bench.h"

#include "baseline.h"
#include "embed_load.h"
#include "embed_options.h"
#include "embedding_contestant.h"
#include "embedding_peer.h"
#include "load_module.h"
#include "temporary_folder.h"

namespace vx::tools {

namespace serve = vx::serve;

// False where a result is slower than that of the baseline with the same device, threads and sizes.
static bool holdsBaseline(const BenchReport &report, const nlohmann::json &baseline, const EmbedOptions &options) {
  const std::vector<BaselineComparison> compared = compareWithBaseline(report, baseline, options.allowed);
  if (compared.empty())
    throw usageError("--baseline: '{}' has no result of the same device, threads and sizes, measured in the same way",
                     options.baseline);
  bool holds = true;
  for (const BaselineComparison &comparison : compared) {
    holds &= comparison.holds;
    printMessage("vx-bench: {}: {}\n", comparison.holds ? "note" : "error", comparison.text);
  }
  return holds;
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
  const nlohmann::json baseline = options.baseline.empty() ? nlohmann::json() : readBaseline(options.baseline);
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
            PeerRequest named;
            named.name = options.compare;
            named.script = options.peerScript;
            named.module = options.model;
            named.model = options.peerModel;
            PeerRequest peer = makeEmbeddingPeer(named, *request.embedder, module, count, scratch.path);
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
