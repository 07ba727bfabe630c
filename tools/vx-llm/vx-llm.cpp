// vx-llm: what a language model's file holds.
#include "command_line.h"
#include "language_model.h"

#include "vx/base/json_text.h"
#include "vx/text/tokenizer.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

using namespace vx::tools;
using Json = nlohmann::ordered_json;

static constexpr const char *Examples = R"(
show FILE.gguf prints the architecture, the types of the tensors, the tokenizer, the memory of the weights and of the cache at 4,096
and 32,768 tokens, and a conversation as the file's template writes it. The first file of a split model stands for all.

Examples:
  Show:  vx-llm show SmolLM2-135M-Instruct.Q4_1.gguf
         vx-llm show model-00001-of-00003.gguf --json
)";

static std::string cacheText(const LanguageModelFacts &facts, uint64_t tokens) {
  std::string text = fmt::format("{} at {} tokens", vx::roundedByteCount(facts.cache->bytesAt(tokens)), tokens);
  if (facts.context && tokens > *facts.context)
    text += fmt::format(" (beyond the model's context of {})", *facts.context);
  return text;
}

// Prints a text of several lines, each with its begin marked.
static void printLines(std::string_view text) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    printOut("    | {}\n", text.substr(at, end - at));
    at = end + 1;
  }
}

static void print(const std::string &path, const vx::GgufModel &model, const LanguageModelFacts &facts,
                  const std::string &example, const std::string &noExample) {
  const auto number = [](const std::optional<uint64_t> &value) { return value ? std::to_string(*value) : "?"; };
  printOut("{}: {}{}\n", path, facts.architecture, facts.name.empty() ? "" : ", " + facts.name);
  printOut("  {:<10} {} layers, {} wide, {} heads on {}, context {}\n", "shape", number(facts.layers),
           number(facts.width), number(facts.heads), number(facts.keyValueHeads), number(facts.context));
  printOut("  {:<10} {} in {} tensor{} of {} file{}: {} parameters\n", "weights", vx::roundedByteCount(facts.bytes),
           model.tensors().size(), model.tensors().size() == 1 ? "" : "s", model.paths().size(),
           model.paths().size() == 1 ? "" : "s", facts.parameters);
  for (const TensorTypeCount &count : facts.types)
    printOut("  {:<10} {:<8} {:>5}  {:>10}\n", "", count.type->name, count.tensors, vx::roundedByteCount(count.bytes));
  if (facts.cache) {
    printOut("  {:<10} f16: {}, {}\n", "cache", cacheText(facts, 4096), cacheText(facts, 32768));
    if (facts.cache->window)
      printOut("  {:<10} some layers keep the last {} tokens only\n", "", facts.cache->window);
  } else {
    printOut("  {:<10} none: {}\n", "cache", facts.noCache);
  }
  if (facts.noTokenizer.empty())
    printOut("  {:<10} {}, {} tokens, begin {}, end {}\n", "tokenizer", facts.tokenizer, number(facts.tokens),
             number(facts.begin), number(facts.end));
  else
    printOut("  {:<10} refused: {}\n", "tokenizer", facts.noTokenizer);
  if (!facts.chatTemplate) {
    printOut("  {:<10} none\n", "template");
  } else if (!noExample.empty()) {
    printOut("  {:<10} refused: {}\n", "template", noExample);
  } else {
    printOut("  {:<10} for a system message and a question:\n", "template");
    printLines(example);
  }
  printOut("  {:<10} not yet: this version compiles no language model from a GGUF file\n", "runs");
}

static int run(const char *name, int argc, char **argv) {
  std::string command, path;
  bool json = false;
  CLI::App app("Shows what a language model's GGUF file holds.");
  app.add_option("command", command, "show");
  app.add_option("file", path, "A GGUF file; of a split model the first");
  app.add_flag("--json", json, "As one JSON document")->group("Show");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  if (command.empty())
    throw usageError("expected show; see --help");
  const std::vector<std::string> planned = {"chat", "run", "bench", "perplexity"};
  if (std::find(planned.begin(), planned.end(), command) != planned.end())
    throw usageError("'{}' is not supported in this version, expected show", command);
  if (command != "show")
    throw usageError("expected show, got '{}'", command);
  if (path.empty())
    throw usageError("show: expected a GGUF file");

  const vx::GgufModel model = openGguf(path);
  const LanguageModelFacts facts = readFacts(model, path);
  std::string example, noExample;
  if (facts.chatTemplate)
    try {
      example = renderExample(model, *facts.chatTemplate);
    } catch (const vx::text::Error &error) {
      noExample = error.what();
    }
  if (!json) {
    print(path, model, facts, example, noExample);
    return 0;
  }
  Json document = {{"version", 1}, {"path", path}, {"files", model.paths()}};
  document.update(describeFacts(facts));
  document["template"] = facts.chatTemplate ? Json(*facts.chatTemplate) : Json();
  document["template_example"] = example.empty() ? Json() : Json(example);
  document["template_refused"] = noExample.empty() ? Json() : Json(noExample);
  printText(vx::jsonText(document, 2) + "\n");
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-llm", argc, argv, run); }
