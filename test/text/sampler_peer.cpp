// Samples for a comparison, over pipes: sampler_peer < REQUESTS > ANSWERS.
//
// A request begins with 15 doubles. Ten are options: the order, the penalties for repetition, presence and frequency,
// the window, the temperature, top-k, top-p, min-p and the seed. Five are counts: of biases, tokens of the prompt,
// tokens of the answer, words of the mask and logits. Then come these as doubles, a bias as its token and its value. An
// answer is the count of tokens that may be chosen and the token that was chosen, 4 bytes each, and per token its
// number in 4 bytes and its probability in 8.
#include "vx/text/sampler.hpp"

#include <cstdio>

namespace {

bool readNumbers(std::vector<double> &numbers, size_t count) {
  numbers.resize(count);
  return std::fread(numbers.data(), sizeof(double), count, stdin) == count;
}

template <typename T>
std::vector<T> converted(const std::vector<double> &numbers) {
  return {numbers.begin(), numbers.end()};
}

template <typename T>
void put(T value) {
  std::fwrite(&value, sizeof value, 1, stdout);
}

} // namespace

int main() {
  std::vector<double> facts, biases, prompt, answer, mask, logits;
  while (readNumbers(facts, 15)) {
    const auto count = [&](size_t i) { return static_cast<size_t>(facts[i]); };
    if (!readNumbers(biases, 2 * count(10)) || !readNumbers(prompt, count(11)) || !readNumbers(answer, count(12)) ||
        !readNumbers(mask, count(13)) || !readNumbers(logits, count(14)))
      return 1;
    vx::text::SamplingOptions options;
    options.order = facts[0] != 0 ? vx::text::SamplingOrder::llama_cpp : vx::text::SamplingOrder::openai;
    options.repetition_penalty = facts[1];
    options.presence_penalty = facts[2];
    options.frequency_penalty = facts[3];
    options.penalty_window = count(4);
    options.temperature = facts[5];
    options.top_k = count(6);
    options.top_p = facts[7];
    options.min_p = facts[8];
    options.seed = count(9);
    for (size_t i = 0; i < biases.size(); i += 2)
      options.logit_bias.emplace_back(static_cast<int32_t>(biases[i]), biases[i + 1]);
    const auto promptTokens = converted<int32_t>(prompt), answerTokens = converted<int32_t>(answer);
    const auto words = converted<uint32_t>(mask);
    const auto values = converted<float>(logits);
    try {
      vx::text::Sampler sampler(options);
      const vx::text::SamplingContext context{promptTokens, answerTokens, words};
      const int32_t chosen = sampler.sample(values, context);
      const auto &distribution = sampler.distribution(values, context);
      put(static_cast<uint32_t>(distribution.size()));
      put(chosen);
      for (const auto &[token, probability] : distribution) {
        put(token);
        put(probability);
      }
    } catch (const vx::text::Error &error) {
      std::fprintf(stderr, "sampler_peer: error: %s\n", error.what());
      return 1;
    }
    std::fflush(stdout);
  }
  return 0;
}
