#include "embed_load.h"

#include "embed_case.h"
#include "load_module.h"
#include "temporary_folder.h"

namespace vx::tools {

namespace serve = vx::serve;

int benchEmbeddingServer(const EmbedOptions &options) {
  const std::vector<uint32_t> threads = threadCounts(options.threads);
  if (threads.size() != 1)
    throw usageError("--threads: expected one number beside --url, got '{}'", options.threads);
  const EmbedRequest request = {options.model, options.encoding, options.load};
  CommandFiles files;
  options.report.addFiles(files);
  checkFiles(files);
  const TemporaryFolder scratch("vx-bench");
  std::optional<EmbeddingRequest> engine;
  std::vector<ServerResult> results;
  try {
    if (!options.load.engine.empty()) {
      engine.emplace();
      engine->name = options.load.engine;
      engine->path = moduleOf(options.load.engine, options.device, scratch.path);
      engine->instance.device = options.device;
      engine->instance.noFallback = true;
      engine->instance.threads = threads[0];
      engine->embedder = std::make_shared<const serve::Embedder>(loadModule(engine->path, files), engine->instance);
    }
    for (size_t length : parseSizes("--lengths", options.lengths))
      for (size_t batch : parseSizes("--batch-sizes", options.batchSizes))
        results.push_back(benchServer(options.load, options.turns.warmUp.value_or(1),
                                      makeEmbedCase(request, engine ? &*engine : nullptr, length, batch)));
  } catch (const serve::Error &failure) {
    throw fileError("{}: {}", options.load.engine, failure.what());
  }
  return reportServer(results, options.load, options.report.json);
}

} // namespace vx::tools
