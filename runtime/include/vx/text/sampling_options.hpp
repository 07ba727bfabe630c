// How the next token is chosen from a model's logits.
#ifndef VX_TEXT_SAMPLING_OPTIONS_HPP
#define VX_TEXT_SAMPLING_OPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vx::text {

enum class SamplingOrder : uint8_t {
  openai,   // as OpenAI, transformers and vLLM: the temperature comes first
  llama_cpp // as llama.cpp: the temperature comes last, and penalties count the last tokens of prompt and answer
};

// Applied in this order: bias, penalties, mask, then temperature, top-k, top-p, min-p (openai), or top-k, top-p, min-p,
// temperature (llama_cpp). Each default changes nothing.
struct SamplingOptions {
  std::vector<std::pair<int32_t, double>> logit_bias = {}; // added to the logits of tokens
  // Of tokens in the prompt and the answer: a positive logit is divided by it, another one multiplied. Above 0.
  double repetition_penalty = 1;
  double presence_penalty = 0;  // subtracted from tokens of the answer
  double frequency_penalty = 0; // subtracted for each time that a token is in the answer
  size_t penalty_window = 64;   // llama_cpp: how many of the last tokens penalties look at; 0: all
  double temperature = 1;       // 0: the most likely token; of several, the lowest number
  uint64_t top_k = 0; // only the k most likely tokens, and with openai those equal to the last of them; 0: all
  double top_p = 1;   // only the fewest most likely tokens with this probability in all; at least one
  double min_p = 0;   // only tokens of at least this part of the largest probability
  SamplingOrder order = SamplingOrder::openai;
  uint64_t seed = 0;
};

} // namespace vx::text

#endif
