#include "run.h"

#include "command_line.h"
#include "compiled_model.h"
#include "device_fallback.h"
#include "load_module.h"

#include "vx/base/json_text.h"

namespace vx::tools {

using Json = nlohmann::ordered_json;

static double perSecond(size_t count, double seconds) { return seconds > 0 ? double(count) / seconds : 0; }

static Json describeAnswer(const llm::Generator &generator, const llm::Answer &answer) {
  const size_t steps = answer.tokens.empty() ? 0 : answer.tokens.size() - 1;
  return {{"version", 1},
          {"family", generator.info().family},
          {"context", generator.context()},
          {"device", Json::parse(generator.instance().report(VX_REPORT_JSON))},
          {"text", answer.text},
          {"tokens", answer.tokens},
          {"finish_reason", llm::finishReasonName(answer.finish)},
          {"prompt_tokens", answer.promptTokens},
          {"completion_tokens", answer.tokens.size()},
          {"prompt_ms", answer.promptSeconds * 1e3},
          {"completion_ms", answer.answerSeconds * 1e3},
          {"prompt_tokens_per_second", perSecond(answer.promptTokens, answer.promptSeconds)},
          {"completion_tokens_per_second", perSecond(steps, answer.answerSeconds)}};
}

vx::Module loadModel(const char *tool, const RunOptions &options) {
  ModuleFile file{options.path, nullptr};
  if (!options.path.ends_with(".vxm"))
    file = compileModelFile(tool, options.path, targetsOf({options.device}, !options.noFallback), "vx-compile",
                            WeightsOfModule::referred);
  return loadModule(file.path);
}

llm::Generator makeGenerator(const vx::Module &module, const RunOptions &options, uint64_t context) {
  InstanceOptions instance;
  instance.device = options.device;
  instance.noFallback = options.noFallback;
  instance.threads = options.threads;
  return llm::Generator(module, instance, context);
}

void withModelErrors(const RunOptions &options, const std::function<void()> &body) {
  try {
    body();
  } catch (const llm::Error &error) {
    if (error.code() == VX_INVALID_ARGUMENT)
      throw usageError("{}", error.what());
    throw fileError("{}: {}", printableLine(options.path), error.what());
  }
}

void runModel(const char *tool, RunOptions options) {
  if (!options.prompt)
    throw usageError("run: expected --prompt");
  withModelErrors(options, [&] {
    llm::Generator generator = makeGenerator(loadModel(tool, options), options, options.context);
    if (options.device != "auto")
      tellFallback(tool, options.device, generator.instance());
    if (!options.json)
      options.generate.onText = [](std::string_view piece) {
        printText(piece);
        std::fflush(stdout);
      };
    const llm::Answer answer = generator.generate(*options.prompt, options.generate);
    printText(options.json ? jsonText(describeAnswer(generator, answer), 2) + "\n" : "\n");
  });
}

} // namespace vx::tools
