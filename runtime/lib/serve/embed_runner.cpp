#include "embed_runner.h"

#include "batch_key.h"

#include <algorithm>
#include <cstring>

namespace vx::serve {
namespace {

// Texts of so many tokens more or less run together where who else is in the batch must change nothing.
constexpr size_t lengthStep = 32;

struct Place {
  size_t job;  // of the batch
  size_t text; // of the job
  const Tokens *tokens;
};

size_t steppedLength(size_t length, size_t most) {
  return std::min((length + lengthStep - 1) / lengthStep * lengthStep, std::max(most, length));
}

// Texts that are all different, of all lengths that a batch of this one has.
std::vector<Tokens> makeUpTexts(const Embedder &embedder, size_t count, size_t length) {
  TokenizeOptions options;
  options.usePrompt = false;
  const Tokens source =
      embedder.tokenize("The quick brown fox jumps over 13 lazy dogs, and a zebra eats 7 oranges!", options);
  std::vector<Tokens> texts(count);
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    texts[i].ids.resize(length - i % std::min(length, lengthStep));
    for (int32_t &id : texts[i].ids)
      id = source.ids[next++ * 7 % source.ids.size()];
    next += i;
    texts[i].typeIds.assign(texts[i].ids.size(), 0);
  }
  return texts;
}

} // namespace

EmbedJob::EmbedJob(std::vector<Tokens> given, const RunOptions &options, Done done, Failed failed)
    : texts(std::move(given)), options(options), done(std::move(done)), failed(std::move(failed)) {
  rows = texts.size();
  for (const Tokens &text : texts)
    tokens += text.ids.size();
  key = BatchKey()
            .add("pooling", options.pooling ? poolingName(*options.pooling) : "")
            .add("normalize", options.normalize ? std::to_string(*options.normalize) : "")
            .add("dimensions", std::to_string(options.dimensions))
            .take();
}

EmbedRunner::EmbedRunner(EmbedderSource &source, size_t batchTokens, size_t fixedRows, Metrics &metrics,
                         std::string model)
    : source(source), batchTokens(batchTokens), fixedRows(fixedRows), metrics(metrics), model(std::move(model)),
      rowCounts(fixedRows) {}

Matrix EmbedRunner::call(std::span<const Tokens *const> texts, const RunOptions &options) {
  std::shared_ptr<Embedder> embedder = source.embedder();
  for (;;) {
    try {
      return embedder->run(texts, options);
    } catch (const vx::Error &error) {
      if (error.code() != VX_DEVICE_LOST)
        throw;
      std::shared_ptr<Embedder> other = source.replaceEmbedder(*embedder, error.what());
      if (!other)
        throw;
      embedder = std::move(other);
    }
  }
}

size_t EmbedRunner::rowsFor(size_t count, const RunOptions &options) {
  const std::shared_ptr<Embedder> embedder = source.embedder();
  if (tried.lock() != embedder) {
    rowCounts.forget();
    wholeRuns.clear();
    tried = embedder;
  }
  RunOptions plain;
  plain.pooling = options.pooling;
  plain.padTo = options.padTo;
  const std::string key = fmt::format("{} {}", plain.pooling ? static_cast<int>(*plain.pooling) : -1, plain.padTo);
  return rowCounts.choose(key, count, [&](size_t rows) {
    try {
      const std::vector<Tokens> texts = makeUpTexts(*embedder, fixedRows, plain.padTo);
      std::vector<const Tokens *> pointers;
      for (const Tokens &text : texts)
        pointers.push_back(&text);
      auto whole = wholeRuns.find(key);
      if (whole == wholeRuns.end())
        whole = wholeRuns.emplace(key, embedder->run(pointers, plain)).first;
      const Matrix part = embedder->run(std::span(pointers).first(rows), plain);
      return std::memcmp(part.values.data(), whole->second.values.data(), part.values.size() * sizeof(float)) == 0;
    } catch (const vx::Error &) {
      return false; // as a lost device, which the run itself is to find
    }
  });
}

void EmbedRunner::run(std::span<const std::shared_ptr<BatchJob>> jobs) {
  const size_t most = source.embedder()->info().maxTokens;
  std::vector<Place> places;
  std::vector<Matrix> results(jobs.size());
  const auto jobOf = [&](size_t number) -> EmbedJob & { return static_cast<EmbedJob &>(*jobs[number]); };
  for (size_t number = 0; number < jobs.size(); ++number)
    for (size_t i = 0; i < jobs[number]->rows; ++i)
      places.push_back({number, i, &jobOf(number).texts[i]});
  std::sort(places.begin(), places.end(),
            [](const Place &a, const Place &b) { return a.tokens->ids.size() > b.tokens->ids.size(); });
  const RunOptions &options = jobOf(0).options;
  for (size_t begin = 0; begin < places.size();) {
    const Clock::time_point began = Clock::now();
    const size_t longest = places[begin].tokens->ids.size();
    RunOptions runOptions = options;
    if (fixedRows > 0)
      runOptions.padTo = steppedLength(longest, most);
    std::vector<const Tokens *> texts;
    size_t tokens = 0;
    while (begin + texts.size() < places.size()) {
      const Tokens &next = *places[begin + texts.size()].tokens;
      if (fixedRows > 0 ? texts.size() == fixedRows || steppedLength(next.ids.size(), most) != runOptions.padTo
                        : !texts.empty() && (texts.size() + 1) * longest > batchTokens)
        break;
      texts.push_back(&next);
      tokens += next.ids.size();
    }
    const size_t count = texts.size();
    // What is run by itself has the same bits in any company.
    if (fixedRows > 0 && source.embedder()->info().apart.empty())
      texts.resize(rowsFor(count, runOptions), texts[0]); // what fills up is any text
    const Matrix matrix = call(texts, runOptions);
    for (size_t i = 0; i < count; ++i) {
      const Place &place = places[begin + i];
      Matrix &result = results[place.job];
      if (result.values.empty()) {
        result.rows = jobs[place.job]->rows;
        result.columns = matrix.columns;
        result.values.resize(result.rows * result.columns);
      }
      std::copy_n(matrix.row(i).begin(), matrix.columns,
                  result.values.begin() + static_cast<ptrdiff_t>(place.text * matrix.columns));
    }
    begin += count;
    metrics.countBatch(model, source.deviceName(), count, texts.size() - count, tokens, Clock::now() - began);
  }
  for (size_t i = 0; i < jobs.size(); ++i)
    jobOf(i).finish(std::move(results[i]));
}

} // namespace vx::serve
