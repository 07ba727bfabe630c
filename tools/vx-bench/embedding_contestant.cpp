#include "embedding_contestant.h"

#include "load_module.h"
#include "tool_error.h"

#include "vx/abi/version.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <random>

namespace vx::tools {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

std::vector<std::string> makeTexts(const vx::serve::Embedder &embedder, size_t count, size_t length) {
  static constexpr const char *words[] = {"the",  "of",    "and",   "house", "river", "music", "time",  "water",
                                          "day",  "night", "world", "light", "city",  "work",  "story", "road",
                                          "name", "hand",  "money", "green", "long",  "small", "old",   "new"};
  vx::serve::TokenizeOptions options;
  options.usePrompt = false;
  std::mt19937 random(7); // the same texts in each run
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    std::string text;
    for (size_t tokens = 0; tokens < length;) {
      const std::string longer = text + (text.empty() ? "" : " ") + words[random() % std::size(words)];
      tokens = embedder.tokenize(longer, options).whole;
      if (tokens > length) {
        tokens = embedder.tokenize(text, options).whole;
        break;
      }
      text = longer;
    }
    // Single letters, where the last word had too many tokens.
    while (embedder.tokenize(text, options).whole < length)
      text += " a";
    if (const size_t tokens = embedder.tokenize(text, options).whole; tokens != length)
      throw usageError("--lengths: the model's tokenizer makes no text of {} tokens of common words, but one of {}",
                       length, tokens);
    texts.push_back(std::move(text));
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
    options.tokenize.usePrompt = false;
    const Clock::time_point begin = Clock::now();
    for (uint32_t runs = 0; runs < minRuns || std::chrono::duration<double>(Clock::now() - begin).count() < seconds;
         ++runs) {
      const Clock::time_point start = Clock::now();
      (void)request.embedder->embed(request.texts, options);
      times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
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
