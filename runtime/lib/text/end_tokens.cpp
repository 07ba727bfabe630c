// The tokens of a GGUF file that end an answer, by its keys and by the texts of its tokens.
#include "vx/text/tokenizer.hpp"

#include "vx/base/gguf.h"
#include "vx/base/printable.h"

#include <algorithm>

namespace vx::text {

namespace {

// Converters often write the key of one end only, and models of chats have several.
constexpr std::string_view endNames[] = {"<|eot_id|>",
                                         "<|eom_id|>",
                                         "<|im_end|>",
                                         "<|end|>",
                                         "<|return|>",
                                         "<|call|>",
                                         "<|flush|>",
                                         "<|calls|>",
                                         "<end_of_turn>",
                                         "<|endoftext|>",
                                         "<|end_of_text|>",
                                         "<EOT>",
                                         "_<EOT>",
                                         "[EOT]",
                                         "[EOS]",
                                         "<end_of_utterance>",
                                         "<eos>",
                                         "<turn|>",
                                         "<|tool_response>",
                                         "<｜end▁of▁sentence｜>",
                                         "[e~[",
                                         "</s>"};

constexpr int64_t controlKind = 3, userKind = 4; // in tokenizer.ggml.token_type

const GgufValue *findArray(const GgufFile &file, const char *key) {
  const GgufValue *value = file.find(key);
  return value && value->kind() == GgufKind::array ? value : nullptr;
}

/// The tokens of the names that are there, with their names.
std::vector<std::pair<int32_t, std::string_view>> findNamed(const GgufFile &file) {
  std::vector<std::pair<int32_t, std::string_view>> named;
  const GgufValue *tokens = findArray(file, "tokenizer.ggml.tokens"),
                  *kinds = findArray(file, "tokenizer.ggml.token_type");
  for (size_t i = 0; tokens && kinds && i < std::min({tokens->size(), kinds->size(), size_t(INT32_MAX)}); ++i) {
    const std::optional<int64_t> kind = kinds->signedAt(i);
    if (kind != controlKind && kind != userKind)
      continue;
    const std::string_view text = tokens->stringAt(i).value_or("");
    // As a token of the user it closes a tag of HTML.
    if (std::ranges::find(endNames, text) != std::end(endNames) && (text != "</s>" || kind == controlKind))
      named.emplace_back(static_cast<int32_t>(i), text);
  }
  return named;
}

} // namespace

std::vector<int32_t> end_tokens(const GgufFile &file) {
  std::vector<int32_t> ends;
  const auto add = [&](int32_t token) {
    if (std::ranges::find(ends, token) == ends.end())
      ends.push_back(token);
  };
  for (const char *key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    if (const GgufValue *end = file.find(key)) {
      const std::optional<int64_t> number = end->kind() == GgufKind::array ? std::nullopt : end->signedAt(0);
      if (!number || *number < 0 || *number > INT32_MAX)
        throw Error(Error::Kind::file, std::string("key '") + key + "': expected the number of a token, got " +
                                           printableLine(end->text()));
      add(static_cast<int32_t>(*number));
    }
  const auto named = findNamed(file);
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(named, [&](const auto &token) { return token.second == name; });
  };
  // In these formats a part of an answer ends with the token, and the answer goes on.
  const bool hasCall = has("<|call|>") || has("<|calls|>");
  const bool endIsPart = hasCall && (has("<|return|>") || has("<|flush|>"));
  for (const auto &[token, name] : named)
    if (!(name == "<|end|>" && endIsPart) && !(name == "</s>" && has("<|tool_response>")))
      add(token);
  return ends;
}

} // namespace vx::text
