// Runs requests of embeddings: texts of all requests of a batch, those of like length together.
#ifndef VX_SERVE_EMBED_RUNNER_H
#define VX_SERVE_EMBED_RUNNER_H

#include "batch_queue.h"
#include "metrics.h"
#include "row_counts.h"

#include "vx/serve/embedder.hpp"

#include <functional>
#include <map>

namespace vx::serve {

class EmbedJob final : public BatchJob {
public:
  using Done = std::function<void(Matrix)>;
  using Failed = std::function<void(const ServiceError &)>;
  // Texts are tokenised; `options` are checked by the one who asks.
  EmbedJob(std::vector<Tokens> texts, const RunOptions &options, Done done, Failed failed);

  void finish(Matrix matrix) {
    if (claim())
      done(std::move(matrix));
  }
  const std::vector<Tokens> texts;
  const RunOptions options;

private:
  void tellFailure(const ServiceError &error) override { failed(error); }
  const Done done;
  const Failed failed;
};

// Somebody who makes models on another device when one is lost.
class EmbedderSource {
public:
  virtual ~EmbedderSource() = default;
  virtual std::shared_ptr<Embedder> embedder() const = 0;
  // Of the device that it is on, "cpu:0".
  virtual std::string deviceName() const = 0;
  // `lost` is no use any more, for that reason. A new one, or null where no other device may be used.
  virtual std::shared_ptr<Embedder> replaceEmbedder(const Embedder &lost, const std::string &reason) = 0;
};

class EmbedRunner final : public BatchRunner {
public:
  // With `fixedRows` above 0 each run has so many texts, or fewer that give the same bits, and a length that follows
  // from its texts' own: the same numbers come out of a text whoever else is in its batch.
  EmbedRunner(EmbedderSource &source, size_t batchTokens, size_t fixedRows, Metrics &metrics, std::string model);
  void run(std::span<const std::shared_ptr<BatchJob>> jobs) override;
  void waited(Clock::duration time) override { metrics.countWait(model, time); }
  std::string device() const override { return source.deviceName(); }

private:
  Matrix call(std::span<const Tokens *const> texts, const RunOptions &options);
  // How many texts of that length run together, of which `count` are asked for.
  size_t rowsFor(size_t count, const RunOptions &options);

  EmbedderSource &source;
  const size_t batchTokens, fixedRows;
  Metrics &metrics;
  const std::string model;
  RowCounts rowCounts;
  std::weak_ptr<Embedder> tried;           // that `rowCounts` holds for
  std::map<std::string, Matrix> wholeRuns; // of texts that are made up, with `fixedRows` of them
};

} // namespace vx::serve

#endif
