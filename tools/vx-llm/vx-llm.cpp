// vx-llm: what a language model's file holds, answers to prompts, conversations, how well a text is predicted, and
// tokens a second.
#include "bench_command.h"
#include "bench_record.h"
#include "chat.h"
#include "command_line.h"
#include "perplexity_command.h"
#include "run.h"
#include "show.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

using namespace vx::tools;

static constexpr const char *Examples = R"(
show FILE.gguf prints the architecture, the types of the tensors, the tokenizer, the memory of the weights and of the cache at 4,096
and 32,768 tokens, and a conversation as the file's template writes it. The first file of a split model stands for all.
run FILE prints an answer to a prompt. FILE is a module that vx-compile has made, or a GGUF file or a folder, which is compiled first.
chat FILE reads messages from standard input, a line each, and answers them. /help lists its commands.
perplexity FILE prints how well the model predicts a text: as llama.cpp does, in windows of --context tokens, of which the second half
is scored. A window is computed in one call, with 4 bytes of memory for each of its tokens and each word of the vocabulary.
bench FILE prints tokens a second: of prompts of --prompt-tokens (pp512), and of --tokens in sequence (tg128), each over an empty
cache. The mean and the deviation are over --runs runs; a run before them does not count. "bytes a token" are those of the weights that
a token reads, as the module has them, and "of read" is their rate beside what the device can read, which is probed after each run.

Examples:
  Show:        vx-llm show SmolLM2-135M-Instruct.Q4_1.gguf
               vx-llm show model-00001-of-00003.gguf --json
  Run:         vx-llm run smol.vxm --prompt "Gravity is" --max-tokens 32 --temperature 0
               vx-llm run smollm2.f16.gguf --prompt "Gravity is" --context 8192 --json
  Chat:        vx-llm chat SmolLM2-135M-Instruct.Q4_1.gguf
               vx-llm chat smol.vxm --system "You answer in one sentence." --max-tokens 200
  Perplexity:  vx-llm perplexity smol.vxm --file wiki.test.raw
               vx-llm perplexity smol.vxm --file wiki.test.raw --context 2048 --json
  Bench:       vx-llm bench SmolLM2-135M-Instruct.Q4_1.gguf
               vx-llm bench smol.vxm --prompt-tokens 128,512 --tokens 0 --runs 10 --threads 4 --json
  Sampling:    vx-llm run smol.vxm --prompt "Once" --temperature 0.8 --top-p 0.95 --top-k 40 --min-p 0.05 --seed 7
               vx-llm run smol.vxm --prompt "1, 2," --stop ", 7" --max-tokens 50
  Device:      vx-llm run smol.vxm --prompt "Gravity is" --device=vulkan:0 --no-fallback
)";

static const std::vector<std::string> Verbs = {"show", "run", "chat", "perplexity", "bench"};

// The commands that a flag goes with.
static const std::map<std::string_view, std::vector<std::string>> VerbsOf = {
    {"--json", {"show", "run", "perplexity", "bench"}},
    {"--prompt", {"run"}},
    {"--system", {"chat"}},
    {"--max-tokens", {"run", "chat"}},
    {"--stop", {"run", "chat"}},
    {"--context", {"run", "chat", "perplexity"}},
    {"--file", {"perplexity"}},
    {"--prompt-tokens", {"bench"}},
    {"--tokens", {"bench"}},
    {"--runs", {"bench"}},
    {"--no-probes", {"bench"}},
    {"--temperature", {"run", "chat"}},
    {"--top-k", {"run", "chat"}},
    {"--top-p", {"run", "chat"}},
    {"--min-p", {"run", "chat"}},
    {"--seed", {"run", "chat"}},
    {"--device", {"run", "chat", "perplexity", "bench"}},
    {"--no-fallback", {"run", "chat", "perplexity", "bench"}},
    {"--threads", {"run", "chat", "perplexity", "bench"}},
};

static void checkFlags(const CLI::App &app, std::string_view command) {
  for (const CLI::Option *option : app.get_options()) {
    const auto found = VerbsOf.find(option->get_name());
    if (option->count() == 0 || found == VerbsOf.end() || std::ranges::count(found->second, command))
      continue;
    throw usageError("{} goes with {}", option->get_name(), joinWords(found->second, "and"));
  }
}

static int run(const char *name, int argc, char **argv) {
  std::string command;
  RunOptions options;
  vx::text::SamplingOptions &sampling = options.generate.sampling;
  CLI::App app("Shows what a language model's GGUF file holds, and runs language models.");
  app.add_option("command", command, joinWords(Verbs, "or"));
  app.add_option("file", options.path, "show: a GGUF file; the others: a module (.vxm), a GGUF file or a folder");
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
  app.add_option(
         "--context", options.context,
         "Room for tokens of prompt and answer, 4096 by default; perplexity: tokens of a window, 512 by default; "
         "no more than the model's own")
      ->check(wholeNumber(1, 1 << 24))
      ->group("Run");
  app.add_option("--prompt-tokens", options.promptTokens, "Sizes of prompts between commas; 512 by default, 0: none")
      ->group("Bench");
  app.add_option("--tokens", options.tokens, "Sizes of answers between commas; 128 by default, 0: none")
      ->group("Bench");
  app.add_option("--runs", options.runs, "Runs of each size; 5 by default")
      ->check(wholeNumber(1, 1000000))
      ->group("Bench");
  app.add_flag("--no-probes", options.noProbes, "Leave out what the device can do at best")->group("Bench");
  app.add_option("--file", options.file, "The text to predict, UTF-8")->group("Perplexity");

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
  benchRecord(name, argc, argv);
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  if (command.empty())
    throw usageError("expected {}; see --help", joinWords(Verbs, "or"));
  if (!std::ranges::count(Verbs, command))
    throw usageError("expected {}, got '{}'", joinWords(Verbs, "or"), command);
  checkFlags(app, command);
  if (options.path.empty())
    throw usageError("{}: expected {}", command,
                     command == "show" ? "a GGUF file" : "a module (.vxm), a GGUF file or a folder");
  if (command == "show")
    show(options.path, options.json);
  else if (command == "run")
    runModel(name, options);
  else if (command == "chat")
    chat(name, options);
  else if (command == "perplexity")
    printPerplexity(name, options);
  else
    benchModel(name, options);
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-llm", argc, argv, run); }
