#include "chat_prompt.h"

#include "errors.h"

#include "vx/base/utf8.h"

#include <nlohmann/json.hpp>

#include <charconv>

namespace vx::llm {

namespace {

// A character for private use on both sides of the number of a message. No tokenizer's special token has it.
constexpr std::string_view Mark = "\xee\x80\x80";

text::ChatTemplate parse(const std::string &source) {
  if (source.empty())
    throw unsupportedError("the model has no chat template, expected one of a model for conversations");
  return withErrors([&] { return text::ChatTemplate::parse(source); });
}

} // namespace

ChatPrompt::ChatPrompt(const ModelInfo &info, text::Tokenizer tokenizer)
    : tokenizer(std::move(tokenizer)), tokens(info.templateTokens), chat(parse(info.chatTemplate)) {}

std::string ChatPrompt::render(std::span<const Message> messages) const {
  nlohmann::ordered_json variables = {{"messages", nlohmann::ordered_json::array()}, {"add_generation_prompt", true}};
  for (const Message &message : messages)
    variables["messages"].push_back({{"role", message.role}, {"content", message.content}});
  for (const auto &[name, token] : tokens)
    variables[name] = token;
  return chat.render(variables.dump());
}

std::vector<int32_t> ChatPrompt::encode(std::span<const Message> messages) const {
  text::EncodeOptions withSpecial, plain;
  withSpecial.add_special_tokens = plain.add_special_tokens = false; // the template writes them
  withSpecial.offsets = plain.offsets = text::OffsetUnit::none;
  plain.match_special_tokens = false;

  std::vector<Message> marked(messages.begin(), messages.end());
  std::vector<size_t> hidden; // messages with the text of a special token
  for (size_t i = 0; i < marked.size(); ++i) {
    const std::string &content = marked[i].content;
    if (!isUtf8(content))
      throw argumentError("a message is no UTF-8");
    const bool isMarked = content.find(Mark) != std::string::npos;
    if (isMarked || tokenizer.encode(content, withSpecial).ids != tokenizer.encode(content, plain).ids)
      hidden.push_back(i);
  }
  for (size_t place = 0; place < hidden.size(); ++place)
    marked[hidden[place]].content = std::string(Mark) + std::to_string(place) + std::string(Mark);
  const std::string text = render(marked);
  if (hidden.empty())
    return tokenizer.encode(text, withSpecial).ids;

  std::vector<int32_t> ids;
  const auto append = [&](std::string_view part, const text::EncodeOptions &options) {
    if (part.empty())
      return;
    const std::vector<int32_t> more = tokenizer.encode(part, options).ids;
    ids.insert(ids.end(), more.begin(), more.end());
  };
  size_t done = 0;
  for (size_t begin = text.find(Mark); begin != std::string::npos; begin = text.find(Mark, done)) {
    append(std::string_view(text).substr(done, begin - done), withSpecial);
    const size_t number = begin + Mark.size(), end = std::min(text.find(Mark, number), text.size());
    size_t place = hidden.size();
    const auto [rest, code] = std::from_chars(text.data() + number, text.data() + end, place);
    if (code != std::errc() || rest != text.data() + end || place >= hidden.size() || end == text.size())
      throw argumentError("a message spells a special token, and the chat template does not write this "
                          "message as it is: expected a message without such a token");
    append(messages[hidden[place]].content, plain);
    done = end + Mark.size();
  }
  append(std::string_view(text).substr(done), withSpecial);
  return ids;
}

} // namespace vx::llm
