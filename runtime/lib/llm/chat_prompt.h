// The tokens of a conversation, by the chat template of a language model.
#ifndef VX_LIB_LLM_CHAT_PROMPT_H
#define VX_LIB_LLM_CHAT_PROMPT_H

#include "generator.h"

#include "vx/text/chat_template.hpp"

namespace vx::llm {

struct Message {
  std::string role; // "system", "user" or "assistant"
  std::string content;
};

// Immutable.
class ChatPrompt {
public:
  // Throws Error::data if the model has no template, and text::Error with the line for one that is not supported.
  explicit ChatPrompt(const Generator &generator);

  // The tokens of the conversation and of the beginning of an answer. A special token that the text of a message
  // spells is plain text: nobody ends a message, or begins one of another role, from inside. Throws Error::argument for
  // text that is no UTF-8, and text::Error if the template refuses the conversation.
  std::vector<int32_t> encode(std::span<const Message> messages) const;

private:
  std::string render(std::span<const Message> messages) const;

  const text::Tokenizer tokenizer;
  const std::map<std::string, std::string> tokens;
  text::ChatTemplate chat;
};

} // namespace vx::llm

#endif
