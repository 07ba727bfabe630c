#include "bench_command.h"

#include "bench_record.h"
#include "command_line.h"
#include "device_fallback.h"
#include "probe_rounds.h"

#include "vx/abi/version.h"
#include "vx/base/json_text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace vx::tools {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

// So many tokens over an empty cache: as a prompt, or one at a time.
struct Test {
  bool isPrompt = false;
  size_t tokens = 0;
  std::vector<double> seconds = {}; // of each run

  std::string name() const { return (isPrompt ? "pp" : "tg") + std::to_string(tokens); }
  std::vector<double> rates() const {
    std::vector<double> rates;
    for (const double time : seconds)
      rates.push_back(static_cast<double>(tokens) / std::max(time, 1e-9));
    return rates;
  }
};

struct Rate {
  double mean = 0, deviation = 0; // tokens a second; of one run the deviation is 0
};

Rate rateOf(const Test &test) {
  const std::vector<double> rates = test.rates();
  const auto count = static_cast<double>(rates.size());
  const double mean = std::accumulate(rates.begin(), rates.end(), 0.0) / count;
  double squares = 0;
  for (const double rate : rates)
    squares += (rate - mean) * (rate - mean);
  return {mean, rates.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

constexpr std::string_view Folded = "folded from ";

// Whether a constant is one of these tensors of the model, or was folded from it.
bool isOneOf(std::string_view name, std::initializer_list<std::string_view> tensors) {
  return std::ranges::any_of(tensors, [&](std::string_view tensor) {
    if (!name.ends_with(tensor))
      return false;
    const size_t rest = name.size() - tensor.size();
    return rest == 0 || name[rest - 1] == '.' || name[rest - 1] == ' ';
  });
}

// Bytes of the weights that a token reads, as the module has them: of a table of words that is not the head too, and of
// one of positions, a row.
uint64_t weightBytes(const vx::Module &module) {
  const std::span<const vx_constant_info> constants = module.constants();
  const bool hasHead = std::ranges::any_of(constants, [](const vx_constant_info &constant) {
    return isOneOf(constant.name, {"output.weight", "lm_head.weight"});
  });
  std::set<std::string_view> names;
  for (const vx_constant_info &constant : constants)
    names.insert(constant.name);
  uint64_t bytes = 0;
  for (const vx_constant_info &constant : constants) {
    const std::string_view name = constant.name;
    if (name.starts_with(Folded) && names.contains(name.substr(Folded.size())))
      continue; // another form of a tensor that counts
    const bool isWords = isOneOf(name, {"token_embd.weight", "embed_tokens.weight", "wte.weight"});
    const bool isPositions =
        isOneOf(name, {"position_embd.weight", "wpe.weight"}) || name.find("rotary.") != std::string_view::npos;
    const bool isTable = (isWords && hasHead) || isPositions;
    bytes += isTable && constant.rank > 0 && constant.dims[0] > 0
                 ? constant.size / static_cast<uint64_t>(constant.dims[0])
                 : constant.size;
  }
  return bytes;
}

std::vector<size_t> sizesOf(const char *flag, const std::string &text) {
  return text == "0" ? std::vector<size_t>() : parseSizes(flag, text);
}

class Bench {
public:
  Bench(const char *tool, const RunOptions &options)
      : options(options), tests(testsOf(options)), module(loadModel(tool, options)),
        generator(makeGenerator(module, options, contextOf(module, tests))), weights(weightBytes(module)) {
    if (options.device != "auto")
      tellFallback(tool, options.device, generator.instance());
    const nlohmann::json taken = nlohmann::json::parse(generator.instance().report(VX_REPORT_JSON))["taken"];
    device = {taken.value("device", ""), taken.value("name", ""), taken.value("details", "")};
    variant = taken.value("variant", "");
    threads = taken.value("threads", 0u);
    std::minstd_rand random(1);
    for (size_t i = 0; i < generator.context(); ++i)
      ids.push_back(static_cast<int32_t>(random() % generator.info().vocabulary));
  }

  void run() {
    std::unique_ptr<DeviceProbe> probe;
    if (!options.noProbes && (probe = makeProbe(device.device, threads)))
      probe->run(); // the first round wakes the processor up
    for (Test &test : tests) {
      showProgress(fmt::format("{}: first run", test.name()));
      // It makes the derived forms of weights and the memory of the sizes, and does not count.
      runOnce({test.isPrompt, test.isPrompt ? test.tokens : std::min<size_t>(test.tokens, 4)});
      for (uint32_t number = 0; number < options.runs; ++number) {
        showProgress(fmt::format("{}: run {} of {}", test.name(), number + 1, options.runs));
        test.seconds.push_back(runOnce(test));
        if (probe)
          rounds.add(probe->run());
      }
    }
    showProgress("");
  }

  Json json() const {
    Json document{{"version", 1}, {"producer", "vx " VX_VERSION_STRING}, {"record", benchRecord().json({device})}};
    document["probes"] = Json::array();
    if (const Peaks peaks = rounds.peaks(); peaks.readGbs)
      peaks.addTo(document["probes"].emplace_back(Json{{"device", device.device}, {"threads", threads}}));
    document["results"] = Json::array();
    for (const Test &test : tests) {
      const Rate rate = rateOf(test);
      const std::vector<double> rates = test.rates();
      const auto [least, greatest] = std::ranges::minmax(rates);
      Json &entry = document["results"].emplace_back();
      entry = {{"test", test.name()},
               {"module", options.path},
               {"family", generator.info().family},
               {"device", device.device},
               {"device_name", device.name},
               {"variant", variant},
               {"threads", threads},
               {"prompt_tokens", test.isPrompt ? test.tokens : 0},
               {"tokens", test.isPrompt ? 0 : test.tokens},
               {"runs", test.seconds.size()},
               {"seconds", test.seconds},
               {"tokens_per_second", rate.mean},
               {"tokens_per_second_deviation", rate.deviation},
               {"tokens_per_second_least", least},
               {"tokens_per_second_greatest", greatest},
               {"weight_bytes_per_token", nullptr},
               {"weight_gbs", nullptr},
               {"read_share", nullptr}};
      if (test.isPrompt)
        continue;
      entry["weight_bytes_per_token"] = weights;
      entry["weight_gbs"] = weightGbs(rate);
      if (const std::optional<double> share = readShare(rate))
        entry["read_share"] = *share;
    }
    return document;
  }

  std::string text() const {
    std::string table = benchRecord().text({device});
    table += fmt::format("{}: {} on {}{}{}\n", vx::printableLine(options.path), generator.info().family, device.device,
                         threads ? fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s") : std::string(),
                         variant.empty() ? std::string() : ", " + variant);
    table += fmt::format("{:<10} {:>5} {:>12} {:>12} {:>16} {:>8} {:>10}\n", "test", "runs", "tokens/s", "deviation",
                         "bytes a token", "GB/s", "of read");
    for (const Test &test : tests) {
      const Rate rate = rateOf(test);
      table +=
          fmt::format("{:<10} {:>5} {:>12.2f} {:>12.2f}", test.name(), test.seconds.size(), rate.mean, rate.deviation);
      if (test.isPrompt) {
        table += fmt::format(" {:>16} {:>8} {:>10}\n", "-", "-", "-");
        continue;
      }
      const std::optional<double> share = readShare(rate);
      table += fmt::format(" {:>16} {:>8.2f} {:>10}\n", weights, weightGbs(rate),
                           share ? fmt::format("{:.1f} %", 100 * *share) : "-");
    }
    if (const Peaks peaks = rounds.peaks(); peaks.readGbs)
      table += peaksText(device.device, threads, peaks);
    return table;
  }

private:
  static std::vector<Test> testsOf(const RunOptions &options) {
    std::vector<Test> tests;
    for (const size_t tokens : sizesOf("--prompt-tokens", options.promptTokens))
      tests.push_back({true, tokens});
    for (const size_t tokens : sizesOf("--tokens", options.tokens))
      tests.push_back({false, tokens});
    if (tests.empty())
      throw usageError("bench: expected a number in --prompt-tokens or --tokens, got 0 in both");
    return tests;
  }

  static uint64_t contextOf(const vx::Module &module, const std::vector<Test> &tests) {
    const uint64_t most = llm::Generator::infoOf(module).context;
    uint64_t context = 1;
    for (const Test &test : tests) {
      if (test.tokens > most)
        throw usageError("{}: expected at most {} tokens, the model's context, got {}",
                         test.isPrompt ? "--prompt-tokens" : "--tokens", most, test.tokens);
      context = std::max<uint64_t>(context, test.tokens);
    }
    return context;
  }

  // The seconds that it takes.
  double runOnce(const Test &test) {
    const std::span<const int32_t> tokens = std::span(ids).first(test.tokens);
    generator.clear();
    const Clock::time_point start = Clock::now();
    if (test.isPrompt)
      generator.append(tokens);
    else
      for (size_t i = 0; i < tokens.size(); ++i)
        generator.append(tokens.subspan(i, 1));
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  double weightGbs(const Rate &rate) const { return static_cast<double>(weights) * rate.mean / 1e9; }
  // Of the median round of the probe; nothing where there is no probe.
  std::optional<double> readShare(const Rate &rate) const {
    const Peaks peaks = rounds.peaks();
    return peaks.readGbs ? std::optional(weightGbs(rate) / peaks.readGbs->median) : std::nullopt;
  }

  const RunOptions &options;
  std::vector<Test> tests;
  const vx::Module module;
  llm::Generator generator;
  const uint64_t weights;
  RecordedDevice device;
  std::string variant;
  uint32_t threads = 0;
  std::vector<int32_t> ids; // random, the same in each run
  ProbeRounds rounds;
};

} // namespace

void benchModel(const char *tool, const RunOptions &options) {
  withModelErrors(options, [&] {
    Bench bench(tool, options);
    bench.run();
    printText(options.json ? jsonText(bench.json(), 2) + "\n" : bench.text());
  });
}

} // namespace vx::tools
