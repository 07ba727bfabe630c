#include "embedding_contestant.h"

#include "load_module.h"
#include "tool_error.h"

#include "vx/abi/version.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <random>

namespace vx::tools {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

CountTokens countTokensOf(const vx::serve::Embedder &embedder, bool usePrompt) {
  return [&embedder, usePrompt](std::span<const std::string> texts) {
    vx::serve::TokenizeOptions options;
    options.usePrompt = usePrompt;
    size_t tokens = 0;
    for (const std::string &text : texts)
      tokens += embedder.tokenize(text, options).whole;
    return tokens;
  };
}

// Words whose text has `length` tokens. Towards the end single letters come, which are one token each as a rule.
static std::vector<std::string> wordsOf(const CountTokens &countTokens, std::mt19937 &random, size_t length) {
  static constexpr const char *known[] = {"the",  "of",    "and",   "house", "river", "music", "time",  "water",
                                          "day",  "night", "world", "light", "city",  "work",  "story", "road",
                                          "name", "hand",  "money", "green", "long",  "small", "old",   "new"};
  std::vector<std::string> words;
  size_t tokens = 0;
  while (tokens < length) {
    // A word may have several: what is missing is never made up for at once.
    const size_t missing = length - tokens;
    if (missing <= 4)
      words.emplace_back(1, static_cast<char>('a' + words.size() % 26));
    else
      for (size_t i = 0; i < missing / 4; ++i)
        words.emplace_back(known[random() % std::size(known)]);
    const std::string text = fmt::format("{}", fmt::join(words, " "));
    tokens = countTokens({&text, 1});
  }
  if (tokens != length)
    throw usageError("--lengths: the model's tokenizer makes no text of {} tokens of common words, but one of {}",
                     length, tokens);
  return words;
}

std::vector<std::string> makeTexts(const CountTokens &countTokens, size_t count, size_t length) {
  std::mt19937 random(7); // the same texts in each run
  std::vector<std::string> words = wordsOf(countTokens, random, length);
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    texts.push_back(fmt::format("{}", fmt::join(words, " ")));
    // The same words in another order; the first one has no space before it, which tokenizers may tell apart.
    std::shuffle(words.begin() + 1, words.end(), random);
  }
  static constexpr size_t most = 64; // that are counted at once
  for (size_t begin = 0; begin < count; begin += most) {
    const size_t part = std::min(most, count - begin);
    if (const size_t tokens = countTokens(std::span(texts).subspan(begin, part)); tokens != part * length)
      throw usageError("--lengths: expected {} texts of {} tokens, the model's tokenizer makes {} of them", part,
                       length, tokens);
  }
  return texts;
}

namespace {

class EmbeddingContestant final : public Contestant {
public:
  explicit EmbeddingContestant(const EmbeddingRequest &request) : request(request) {
    const json taken = json::parse(request.embedder->deviceReport(VX_REPORT_JSON))["taken"];
    const vx::serve::EmbedderInfo &info = request.embedder->info();
    facts.module = request.name;
    facts.function = fmt::format("embed_{}", vx::serve::poolingName(info.pooling));
    facts.runnerVersion = VX_VERSION_STRING;
    facts.device = taken.value("device", "");
    facts.deviceName = taken.value("name", "");
    facts.deviceDetails = taken.value("details", "");
    facts.variant = taken.value("variant", "");
    facts.threads = facts.device.starts_with("cpu") ? taken.value("threads", 0u) : 0;
    facts.dims = {{"batch", static_cast<int64_t>(request.texts.size())},
                  {"tokens", static_cast<int64_t>(request.length)}};
    facts.rows = static_cast<int64_t>(request.texts.size());
    facts.tokens = static_cast<int64_t>(request.texts.size() * request.length);
  }

  void run(double seconds, uint32_t minRuns, std::vector<double> &times) override {
    vx::serve::EmbedOptions options;
    options.batchTokens = request.texts.size() * request.length;
    options.tokenize.usePrompt = request.usePrompt;
    auto once = [&] {
      const Clock::time_point start = Clock::now();
      (void)request.embedder->embed(request.texts, options);
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    vx::bench::repeat(once, seconds, minRuns, UINT64_MAX, times);
  }

  // The operations are those of the module's function at these sizes.
  Measurement describe() override {
    const vx::Module module = loadModule(request.path);
    MeasurementRequest kernels;
    kernels.path = request.path;
    kernels.function = facts.function;
    kernels.device = facts.device;
    kernels.threads = facts.threads;
    const vx_argument_info &ids = findFunction(module, facts.function).inputs[0];
    kernels.dims = {{ids.dims[0].expression, static_cast<int64_t>(request.texts.size())},
                    {ids.dims[1].expression, static_cast<int64_t>(request.length)}};
    const std::unique_ptr<Contestant> contestant = makeModuleContestant(kernels);
    std::vector<double> unused;
    contestant->run(0, 1, unused);
    const Measurement counted = contestant->describe();
    Measurement result = facts;
    result.flops = counted.flops;
    result.kernelBytes = counted.kernelBytes;
    result.memoryBytes = counted.memoryBytes;
    result.bytes = counted.bytes;
    return result;
  }

private:
  const EmbeddingRequest request;
  Measurement facts;
};

} // namespace

std::unique_ptr<Contestant> makeEmbeddingContestant(const EmbeddingRequest &request) {
  return std::make_unique<EmbeddingContestant>(request);
}

} // namespace vx::tools
