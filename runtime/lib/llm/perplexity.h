// The perplexity of a text: how well a language model predicts it.
#ifndef VX_LIB_LLM_PERPLEXITY_H
#define VX_LIB_LLM_PERPLEXITY_H

#include "vx/llm/generator.hpp"

namespace vx::llm {

inline constexpr size_t LeastWindow = 4; // tokens: one of them is scored

struct Perplexity {
  size_t textTokens = 0; // with the tokens that the tokenizer puts at the beginning
  size_t windows = 0;
  size_t scoredTokens = 0;
  size_t leftOutTokens = 0; // at the end, fewer than a window
  // The mean negative logarithm of a token's probability, and its standard error; 0 for less than 2 scored tokens.
  double loss = 0, lossError = 0;

  double value() const;                                     // e^loss
  double valueError() const { return lossError * value(); } // by the first derivative
};

// The tokens of a text, of which `prefix` are the tokenizer's own, as the one that begins a text.
struct TextTokens {
  std::vector<int32_t> ids;
  size_t prefix = 0;
};

// A special token that the text spells is plain text. Throws Error (VX_INVALID_ARGUMENT) for text that is no UTF-8,
// with the offset.
TextTokens encodeText(const Generator &generator, std::string_view text);

// Computes it as llama.cpp does. The tokens are cut into windows of `window` tokens, and the rest is left out. Each
// window begins with the tokens of the prefix, in place of its own. The tokens of its second half are scored, each
// given all tokens of the window before it. `progress` may be empty; it is called after each window with the windows so
// far. Throws Error (VX_INVALID_ARGUMENT) for a window of less than LeastWindow tokens, or of more than the context,
// and for a text with fewer tokens than a window, with both numbers; and as Generator::score.
Perplexity measurePerplexity(Generator &generator, const TextTokens &tokens, size_t window,
                             const std::function<void(const Perplexity &soFar, size_t allWindows)> &progress = {});

} // namespace vx::llm

#endif
