// Counts of what has happened, as Prometheus reads them.
#ifndef VX_SERVE_METRICS_H
#define VX_SERVE_METRICS_H

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::serve {

// How many values were at or below each of its bounds, and their sum.
class Histogram {
public:
  explicit Histogram(std::span<const double> bounds)
      : bounds(bounds.begin(), bounds.end()), counts(bounds.size() + 1) {}
  void add(double value);
  void write(std::string &text, std::string_view name, std::string_view labels) const;
  uint64_t count() const;
  double total() const { return sum; }

private:
  std::vector<double> bounds;
  std::vector<uint64_t> counts;
  double sum = 0;
};

// Thread-safe.
class Metrics {
public:
  // `model` is a name that the server has, or empty: what a client makes up must not become a label.
  void countRequest(std::string_view model, unsigned status, std::chrono::nanoseconds took);
  // `filled`: rows of nobody's, which make runs as large as all others are. `device` is the one that ran it.
  void countBatch(std::string_view model, std::string_view device, size_t rows, size_t filled, size_t tokens,
                  std::chrono::nanoseconds took);
  // How long a request was in the queue before it ran.
  void countWait(std::string_view model, std::chrono::nanoseconds time);
  void countEmbeddings(std::string_view model, size_t texts, size_t tokens);
  void countScores(std::string_view model, size_t pairs, size_t tokens);

  // Batches of a model, and the rows of them all.
  struct Batches {
    uint64_t count = 0, rows = 0;
  };
  Batches batchesOf(std::string_view model) const;

  // Of one moment, which whoever asks knows.
  struct Gauge {
    std::string_view name, help;
    double value;
    std::string labels = {}; // "{device=\"cpu:0\"}"
  };
  std::string text(std::span<const Gauge> gauges) const;

  // "{model=\"minilm\"}" with what a text may not have escaped.
  static std::string labels(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);

private:
  struct OfModel {
    Histogram seconds, queueSeconds, batchRows, batchTokens, batchSeconds;
    uint64_t embeddings = 0, scores = 0, tokens = 0, filledRows = 0;
  };
  OfModel &of(std::string_view model);

  mutable std::mutex lock;
  std::map<std::pair<std::string, unsigned>, uint64_t> requests;
  std::map<std::string, OfModel, std::less<>> models;
  std::map<std::string, double, std::less<>> busySeconds; // of devices
};

} // namespace vx::serve

#endif
