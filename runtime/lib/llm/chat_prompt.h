// The tokens of a conversation, by the chat template of a language model.
#ifndef VX_LIB_LLM_CHAT_PROMPT_H
#define VX_LIB_LLM_CHAT_PROMPT_H

#include "vx/llm/generator.hpp"
#include "vx/text/chat_template.hpp"
#include "vx/text/tokenizer.hpp"

namespace vx::llm {

// Immutable.
class ChatPrompt {
public:
  // Throws Error (VX_UNSUPPORTED) if the model has no template, and with the line for one that is not supported.
  ChatPrompt(const ModelInfo &info, text::Tokenizer tokenizer);

  // The tokens of the conversation and of the beginning of an answer. A special token that the text of a message
  // spells is plain text: nobody ends a message, or begins one of another role, from inside. Throws Error
  // (VX_INVALID_ARGUMENT) for text that is no UTF-8, and text::Error if the template refuses the conversation.
  std::vector<int32_t> encode(std::span<const Message> messages) const;

private:
  std::string render(std::span<const Message> messages) const;

  const text::Tokenizer tokenizer;
  const std::map<std::string, std::string> tokens;
  text::ChatTemplate chat;
};

} // namespace vx::llm

#endif
