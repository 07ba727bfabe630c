#include "perplexity_command.h"

#include "command_line.h"
#include "device_fallback.h"
#include "input_file.h"
#include "perplexity.h"

#include "vx/base/json_text.h"

#include <algorithm>
#include <chrono>

namespace vx::tools {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

static constexpr uint64_t DefaultWindow = 512;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The window's own tokens count, those that are only read too.
static double rateOf(const llm::Perplexity &result, size_t window, double seconds) {
  return seconds > 0 ? static_cast<double>(result.windows * window) / seconds : 0;
}

static void printResult(const llm::Perplexity &result, size_t window, double seconds) {
  printOut("{:<10} {}: {} window{} of {}, {} left out at the end\n", "tokens", result.textTokens, result.windows,
           result.windows == 1 ? "" : "s", window, result.leftOutTokens);
  printOut("{:<10} {} tokens, of the second half of each window\n", "scored", result.scoredTokens);
  printOut("{:<10} {:.5f} +/- {:.5f} a token\n", "loss", result.loss, result.lossError);
  printOut("{:<10} {:.4f} +/- {:.4f}\n", "perplexity", result.value(), result.valueError());
  printOut("{:<10} {:.2f} s, {:.1f} tokens a second\n", "time", seconds, rateOf(result, window, seconds));
}

void printPerplexity(const char *tool, const RunOptions &options) {
  if (options.file.empty())
    throw usageError("perplexity: expected --file");
  const std::vector<uint8_t> text = readFile(options.file);
  withModelErrors(options, [&] {
    const vx::Module module = loadModel(tool, options);
    const uint64_t most = llm::Generator::infoOf(module).context;
    const uint64_t window = options.context ? options.context : std::min(DefaultWindow, most);
    if (window < llm::LeastWindow || window > most)
      throw usageError("--context: expected a window of {} to {} tokens, got {}", llm::LeastWindow, most, window);
    llm::Generator generator = makeGenerator(module, options, window);
    if (options.device != "auto")
      tellFallback(tool, options.device, generator.instance());
    llm::Perplexity result;
    Clock::time_point start;
    try {
      const llm::TextTokens tokens =
          llm::encodeText(generator, {reinterpret_cast<const char *>(text.data()), text.size()});
      start = Clock::now();
      result = llm::measurePerplexity(generator, tokens, window, [](const llm::Perplexity &soFar, size_t all) {
        showProgress(fmt::format("window {} of {}: {:.4f}", soFar.windows, all, soFar.value()));
      });
    } catch (const llm::Error &error) {
      if (error.code() == VX_INVALID_ARGUMENT)
        throw fileError("{}: {}", options.file, error.what());
      throw;
    }
    const double seconds = secondsSince(start);
    showProgress("");
    if (!options.json)
      return printResult(result, window, seconds);
    printText(jsonText(Json{{"version", 1},
                            {"family", generator.info().family},
                            {"device", Json::parse(generator.instance().report(VX_REPORT_JSON))},
                            {"file", options.file},
                            {"window", window},
                            {"windows", result.windows},
                            {"text_tokens", result.textTokens},
                            {"scored_tokens", result.scoredTokens},
                            {"left_out_tokens", result.leftOutTokens},
                            {"loss", result.loss},
                            {"loss_error", result.lossError},
                            {"perplexity", result.value()},
                            {"perplexity_error", result.valueError()},
                            {"seconds", seconds},
                            {"tokens_per_second", rateOf(result, window, seconds)}},
                       2) +
              "\n");
  });
}

} // namespace vx::tools
