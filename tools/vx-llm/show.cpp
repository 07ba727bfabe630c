#include "show.h"

#include "command_line.h"
#include "language_model.h"

#include "vx/base/json_text.h"
#include "vx/text/tokenizer.hpp"

#include <algorithm>

namespace vx::tools {

using Json = nlohmann::ordered_json;

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

static void printFacts(const std::string &path, const vx::GgufModel &model, const LanguageModelFacts &facts,
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
             number(facts.begin), facts.ends.empty() ? "?" : fmt::format("{}", fmt::join(facts.ends, ", ")));
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
  printOut("  {:<10} {}\n", "runs", facts.noRun.empty() ? "vx-llm run" : "not yet: " + facts.noRun);
  if (facts.noRun.empty()) {
    printOut("  {:<10} weights {}", "memory", vx::roundedByteCount(facts.deviceBytes));
    if (facts.cache)
      printOut("; with the cache in f32 {} at 4096 tokens, {} at 32768",
               vx::roundedByteCount(facts.deviceBytes + 2 * facts.cache->bytesAt(4096)),
               vx::roundedByteCount(facts.deviceBytes + 2 * facts.cache->bytesAt(32768)));
    printOut("\n");
  }
  for (const PartFacts &part : facts.parts)
    printOut("    {:<18} {:<7} {:>3}  {:>10}  {}\n", printable(part.name), part.type->name, part.tensors,
             vx::roundedByteCount(part.deviceBytes), part.form);
}

void show(const std::string &path, bool json) {
  const GgufModel model = openGguf(path);
  const LanguageModelFacts facts = readFacts(model, path);
  std::string example, noExample;
  if (facts.chatTemplate)
    try {
      example = renderExample(model, *facts.chatTemplate);
    } catch (const text::Error &error) {
      noExample = error.what();
    }
  if (!json)
    return printFacts(path, model, facts, example, noExample);
  Json document = {{"version", 1}, {"path", path}, {"files", model.paths()}};
  document.update(describeFacts(facts));
  document["template"] = facts.chatTemplate ? Json(*facts.chatTemplate) : Json();
  document["template_example"] = example.empty() ? Json() : Json(example);
  document["template_refused"] = noExample.empty() ? Json() : Json(noExample);
  printText(jsonText(document, 2) + "\n");
}

} // namespace vx::tools
