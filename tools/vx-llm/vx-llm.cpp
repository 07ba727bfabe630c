// vx-llm: what a language model's file holds, answers to prompts, and conversations.
#include "chat.h"
#include "command_line.h"
#include "run.h"
#include "show.h"

#include <CLI/CLI.hpp>

#include <algorithm>

using namespace vx::tools;

static constexpr const char *Examples = R"(
show FILE.gguf prints the architecture, the types of the tensors, the tokenizer, the memory of the weights and of the cache at 4,096
and 32,768 tokens, and a conversation as the file's template writes it. The first file of a split model stands for all.
run FILE prints an answer to a prompt. FILE is a module that vx-compile has made, or a GGUF file or a folder, which is compiled first.
chat FILE reads messages from standard input, a line each, and answers them. /help lists its commands.

Examples:
  Show:      vx-llm show SmolLM2-135M-Instruct.Q4_1.gguf
             vx-llm show model-00001-of-00003.gguf --json
  Run:       vx-llm run smol.vxm --prompt "Gravity is" --max-tokens 32 --temperature 0
             vx-llm run smollm2.f16.gguf --prompt "Gravity is" --context 8192 --json
  Chat:      vx-llm chat SmolLM2-135M-Instruct.Q4_1.gguf
             vx-llm chat smol.vxm --system "You answer in one sentence." --max-tokens 200
  Sampling:  vx-llm run smol.vxm --prompt "Once" --temperature 0.8 --top-p 0.95 --top-k 40 --min-p 0.05 --seed 7
             vx-llm run smol.vxm --prompt "1, 2," --stop ", 7" --max-tokens 50
  Device:    vx-llm run smol.vxm --prompt "Gravity is" --device=vulkan:0 --no-fallback
)";

static int run(const char *name, int argc, char **argv) {
  std::string command;
  RunOptions options;
  vx::text::SamplingOptions &sampling = options.generate.sampling;
  CLI::App app("Shows what a language model's GGUF file holds, and runs language models.");
  app.add_option("command", command, "show, run or chat");
  app.add_option("file", options.path, "show: a GGUF file; run and chat: a module (.vxm), a GGUF file or a folder");
  app.add_flag("--json", options.json, "One JSON document; of run also times and tokens")->group("Output");

  app.add_option("--prompt", options.prompt, "The text to go on with")->group("Run");
  app.add_option("--system", options.system, "chat: the message before the conversation")->group("Run");
  app.add_option("--max-tokens", options.generate.maxTokens,
                 "Tokens of the answer at the most; as many as the context has room for by default")
      ->check(wholeNumber(1, 1 << 24))
      ->group("Run");
  app.add_option("--stop", options.generate.stop, "A text that ends the answer; any number of times")
      ->allow_extra_args(false)
      ->group("Run");
  app.add_option("--context", options.context,
                 "Room for tokens of prompt and answer; 4096 or the model's own by default, whichever is less")
      ->check(wholeNumber(1, 1 << 24))
      ->group("Run");

  app.add_option("--temperature", sampling.temperature, "0: the most likely token; 1 by default")->group("Sampling");
  app.add_option("--top-k", sampling.top_k, "Only so many of the most likely tokens; 0: all")
      ->check(wholeNumber(0, 1 << 24))
      ->group("Sampling");
  app.add_option("--top-p", sampling.top_p, "Only the most likely tokens with this probability in all; 1: all")
      ->group("Sampling");
  app.add_option("--min-p", sampling.min_p, "Only tokens of at least this part of the largest probability; 0: all")
      ->group("Sampling");
  app.add_option("--seed", sampling.seed, "The same seed gives the same answer; 0 by default")->group("Sampling");

  app.add_option("--device", options.device, "auto, cpu, vulkan[:N], cuda[:N], rocm[:N] or null")->group("Device");
  app.add_flag("--no-fallback", options.noFallback, "A refused device is an error (exit 4)")->group("Device");
  app.add_option("--threads", options.threads, "CPU threads; 0: one per core")
      ->check(wholeNumber(0, 1024))
      ->group("Device");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  if (command.empty())
    throw usageError("expected show, run or chat; see --help");
  const std::vector<std::string> planned = {"bench", "perplexity"};
  if (std::find(planned.begin(), planned.end(), command) != planned.end())
    throw usageError("'{}' is not supported in this version, expected show, run or chat", command);
  if (command != "show" && command != "run" && command != "chat")
    throw usageError("expected show, run or chat, got '{}'", command);
  if (options.path.empty())
    throw usageError("{}: expected {}", command,
                     command == "show" ? "a GGUF file" : "a module (.vxm), a GGUF file or a folder");
  if (command == "run") {
    if (options.system)
      throw usageError("--system goes with chat");
    runModel(name, options);
    return 0;
  }
  if (command == "chat") {
    if (options.prompt || options.json)
      throw usageError("{} goes with run", options.prompt ? "--prompt" : "--json");
    chat(name, options);
    return 0;
  }
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0 && !option->get_name().empty() && option->get_name().front() == '-' &&
        option->get_name() != "--json")
      throw usageError("{} goes with {}", option->get_name(), option->get_name() == "--system" ? "chat" : "run");
  show(options.path, options.json);
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-llm", argc, argv, run); }
