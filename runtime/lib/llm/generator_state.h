// A language model on its device, which a generator and its answers in progress share.
#ifndef VX_LIB_LLM_GENERATOR_STATE_H
#define VX_LIB_LLM_GENERATOR_STATE_H

#include "chat_prompt.h"

#include "vx/llm/generator.hpp"
#include "vx/text/sampler.hpp"
#include "vx/text/tokenizer.hpp"

#include <atomic>

namespace vx::llm {

// The functions of the same names of Generator document these.
struct __attribute__((visibility("hidden"))) Generator::Implementation {
  Implementation(const Module &module, InstanceOptions options, size_t context);

  std::vector<int32_t> encode(std::string_view text) const;
  void clear();
  std::vector<float> append(std::span<const int32_t> tokens);
  std::vector<double> score(std::span<const int32_t> tokens, size_t first);
  std::vector<float> embed(std::span<const int32_t> tokens, Pooling pooling);

  // `append` of tokens that fit, a part of a long prompt at a time; empty if it ends early since `isCancelled` says so.
  std::vector<float> compute(std::span<const int32_t> tokens, const std::function<bool()> &isCancelled = {});
  std::vector<float> run(Call &call, std::span<const int32_t> tokens);
  // Pages of the cache for so many tokens.
  size_t pagesFor(size_t tokens) const;
  void checkTokens(const char *function, std::span<const int32_t> tokens) const;

  const Module module;
  const ModelInfo info;
  const text::Tokenizer words;
  const size_t room;
  const size_t pagePlaces; // positions of a page
  std::optional<ChatPrompt> chat;
  std::optional<Error> noChat; // the reason
  const Instance placed;
  Call extend, decode;
  std::optional<Call> prefill, states; // made when they are used first
  std::vector<int32_t> cached;         // the tokens whose keys and values the cache has
  uint64_t answers = 0;                // that were started
};

struct __attribute__((visibility("hidden"))) Generation::Implementation {
  Implementation(std::shared_ptr<Generator::Implementation> model, std::span<const int32_t> prompt,
                 const GenerateOptions &options);
  std::optional<std::string> next();
  bool isCancelled();

  const std::shared_ptr<Generator::Implementation> model;
  const std::vector<int32_t> prompt;
  const std::function<bool()> askCancelled;
  const size_t most; // tokens of the answer
  text::Sampler sampler;
  text::StopStrings stops;
  text::DecodeStream stream;
  Answer answer;
  const uint64_t number; // of the model's answers
  bool isDone = false;
  std::atomic<bool> isCancelledByUser = false;
};

struct GeneratorAccess {
  static const text::Tokenizer &tokenizer(const Generator &generator) { return generator.implementation->words; }
};

} // namespace vx::llm

#endif
