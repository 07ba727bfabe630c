#include "metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace vx::serve {
namespace {

constexpr std::array secondsBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                      0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};
// One for each size that batches mostly have: what a batch takes goes with its rows.
constexpr std::array countBounds = {1.0,  2.0,  3.0,  4.0,  5.0,  6.0,  7.0,  8.0,  9.0,  10.0,  11.0,  12.0, 13.0,
                                    14.0, 15.0, 16.0, 20.0, 24.0, 28.0, 32.0, 48.0, 64.0, 128.0, 256.0, 512.0};
constexpr std::array tokenBounds = {16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0};

double secondsOf(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

void writeHead(std::string &text, std::string_view name, std::string_view help, std::string_view type) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

} // namespace

void Histogram::add(double value) {
  ++counts[static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin())];
  sum += value;
}

uint64_t Histogram::count() const { return std::accumulate(counts.begin(), counts.end(), uint64_t(0)); }

void Histogram::write(std::string &text, std::string_view name, std::string_view labels) const {
  const std::string_view inner = labels.substr(1, labels.size() - 2);
  uint64_t below = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, inner,
                        i < bounds.size() ? fmt::format("{}", bounds[i]) : "+Inf", below);
  }
  text += fmt::format("{}_sum{} {}\n{}_count{} {}\n", name, labels, sum, name, labels, below);
}

std::string Metrics::labels(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  std::string text;
  for (const auto &[name, value] : pairs) {
    text += fmt::format("{}{}=\"", text.empty() ? "{" : ",", name);
    for (char c : value) {
      if (c == '\\' || c == '"')
        text += '\\';
      text += c == '\n' ? "\\n" : std::string(1, c);
    }
    text += '"';
  }
  return text.empty() ? text : text + "}";
}

Metrics::OfModel &Metrics::of(std::string_view model) {
  const auto place = models.find(model);
  if (place != models.end())
    return place->second;
  return models
      .emplace(model, OfModel{Histogram(secondsBounds), Histogram(secondsBounds), Histogram(countBounds),
                              Histogram(tokenBounds), Histogram(secondsBounds)})
      .first->second;
}

void Metrics::countRequest(std::string_view model, unsigned status, std::chrono::nanoseconds took) {
  std::lock_guard guard(lock);
  ++requests[{std::string(model), status}];
  of(model).seconds.add(secondsOf(took));
}

void Metrics::countBatch(std::string_view model, std::string_view device, size_t rows, size_t filled, size_t tokens,
                         std::chrono::nanoseconds took) {
  std::lock_guard guard(lock);
  OfModel &entry = of(model);
  entry.filledRows += filled;
  entry.batchRows.add(static_cast<double>(rows));
  entry.batchTokens.add(static_cast<double>(tokens));
  entry.batchSeconds.add(secondsOf(took));
  busySeconds.emplace(device, 0).first->second += secondsOf(took);
}

Metrics::Batches Metrics::batchesOf(std::string_view model) const {
  std::lock_guard guard(lock);
  const auto place = models.find(model);
  if (place == models.end())
    return {};
  return {place->second.batchRows.count(), static_cast<uint64_t>(place->second.batchRows.total())};
}

void Metrics::countWait(std::string_view model, std::chrono::nanoseconds time) {
  std::lock_guard guard(lock);
  of(model).queueSeconds.add(secondsOf(time));
}

void Metrics::countEmbeddings(std::string_view model, size_t texts, size_t tokens) {
  std::lock_guard guard(lock);
  OfModel &entry = of(model);
  entry.embeddings += texts;
  entry.tokens += tokens;
}

void Metrics::countScores(std::string_view model, size_t pairs, size_t tokens) {
  std::lock_guard guard(lock);
  OfModel &entry = of(model);
  entry.scores += pairs;
  entry.tokens += tokens;
}

std::string Metrics::text(std::span<const Gauge> gauges) const {
  std::string text;
  std::string_view before;
  for (const Gauge &gauge : gauges) {
    if (gauge.name != before)
      writeHead(text, gauge.name, gauge.help, gauge.name.ends_with("_total") ? "counter" : "gauge");
    before = gauge.name;
    text += fmt::format("{}{} {}\n", gauge.name, gauge.labels, gauge.value);
  }
  std::lock_guard guard(lock);
  writeHead(text, "vx_requests_total",
            "Requests that are over, by the model that they asked for and the status they got.", "counter");
  for (const auto &[key, count] : requests)
    text += fmt::format("vx_requests_total{} {}\n",
                        labels({{"model", key.first}, {"code", std::to_string(key.second)}}), count);
  const auto writeCounter = [&](std::string_view name, std::string_view help, uint64_t OfModel::*member) {
    writeHead(text, name, help, "counter");
    for (const auto &[model, entry] : models)
      if (!model.empty())
        text += fmt::format("{}{} {}\n", name, labels({{"model", model}}), entry.*member);
  };
  writeCounter("vx_embeddings_total", "Texts that were embedded.", &OfModel::embeddings);
  writeCounter("vx_scores_total", "Pairs of a query and a text that were scored.", &OfModel::scores);
  writeCounter("vx_tokens_total", "Tokens of texts that were embedded or scored, without padding.", &OfModel::tokens);
  writeCounter("vx_filled_rows_total", "Rows of nobody's, which runs of deterministic models were filled up with.",
               &OfModel::filledRows);
  writeHead(text, "vx_device_busy_seconds_total", "Time of batches on a device, of all its models together.",
            "counter");
  for (const auto &[device, seconds] : busySeconds)
    text += fmt::format("vx_device_busy_seconds_total{} {}\n", labels({{"device", device}}), seconds);
  const auto writeHistogram = [&](std::string_view name, std::string_view help, Histogram OfModel::*member, bool all) {
    writeHead(text, name, help, "histogram");
    for (const auto &[model, entry] : models)
      if (all || !model.empty())
        (entry.*member).write(text, name, labels({{"model", model}}));
  };
  writeHistogram("vx_request_seconds", "From the first byte of a request to the last one of its answer.",
                 &OfModel::seconds, true);
  writeHistogram("vx_queue_seconds", "Time of a request in its model's queue, before it ran.", &OfModel::queueSeconds,
                 false);
  writeHistogram("vx_batch_rows", "Rows of a batch.", &OfModel::batchRows, false);
  writeHistogram("vx_batch_tokens", "Tokens of a batch, without padding.", &OfModel::batchTokens, false);
  writeHistogram("vx_batch_seconds", "What a batch took on its device.", &OfModel::batchSeconds, false);
  return text;
}

} // namespace vx::serve
