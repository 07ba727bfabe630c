// Text out of a language model: a module that vx-compile made of a GGUF file or of a folder.
#ifndef VX_LIB_LLM_GENERATOR_H
#define VX_LIB_LLM_GENERATOR_H

#include "vx/runtime/vx.hpp"
#include "vx/text/sampler.hpp"
#include "vx/text/tokenizer.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vx::llm {

// An error, as one line with the expected and the given value. Failures of the runtime itself are vx::Error.
class Error : public std::runtime_error {
public:
  enum class Kind {
    argument, // a prompt or an option that does not fit the model
    data      // a module that is no language model, or is damaged
  };
  Error(Kind kind, const std::string &message) : std::runtime_error(message), what_kind(kind) {}
  Kind kind() const { return what_kind; }

private:
  Kind what_kind;
};

// Of the module. Immutable.
struct ModelInfo {
  std::string family;
  size_t context = 0;        // the most tokens of a sequence
  size_t vocabulary = 0;     // the number of logits
  std::vector<int32_t> ends; // tokens that end an answer
  std::string chatTemplate;  // Jinja; empty: the model has none
  // Variables of the template: "bos_token" and others.
  std::map<std::string, std::string> templateTokens;
};

struct GenerateOptions {
  text::SamplingOptions sampling = {};
  size_t maxTokens = 0;          // of the answer; 0: as many as there is room for
  std::vector<std::string> stop; // strings that end the answer, which does not have them
  // Called with each piece of the answer, whole characters of UTF-8. It may throw, which ends the answer.
  std::function<void(std::string_view piece)> onText = {};
  // Asked before each token and between parts of a long prompt; true ends the answer.
  std::function<bool()> isCancelled = {};
};

enum class FinishReason : uint8_t {
  stop,     // the model has ended the answer, or a stop string was found
  length,   // maxTokens, or the room of the cache
  cancelled // isCancelled
};

// "stop", "length" or "cancelled"
std::string_view finishReasonName(FinishReason reason);

struct Answer {
  std::vector<int32_t> tokens; // without one that ends the answer
  std::string text;
  FinishReason finish = FinishReason::stop;
  size_t promptTokens = 0;
  size_t cachedTokens = 0;                     // of the prompt, which the cache had from the call before
  double promptSeconds = 0, answerSeconds = 0; // the calls for the prompt, and those for tokens after the first
};

class Generator;

// An answer in progress. The generator outlives it. The next answer that the generator starts ends this one.
// Thread-compatible.
class Generation {
public:
  // Computes the next token, the prompt before the first one. Returns the piece of text that it completes, whole
  // characters of UTF-8, which may be empty; nothing after the last one. Throws Error::argument if the generator has
  // started another answer.
  std::optional<std::string> next();
  // As far as it goes. `finish` is valid after the last piece.
  const Answer &answer() const { return made; }

private:
  friend class Generator;
  Generation(Generator &generator, std::span<const int32_t> prompt, const GenerateOptions &options);
  bool isCancelled();

  Generator &generator;
  const std::vector<int32_t> prompt;
  const std::function<bool()> cancel;
  const size_t most; // tokens of the answer
  text::Sampler sampler;
  text::StopStrings stops;
  text::DecodeStream stream;
  Answer made;
  uint64_t number = 0; // of the generator's answers
  bool isDone = false;
};

// A module on a device, with a cache of keys and values for one sequence. Thread-compatible.
class Generator {
public:
  // `context` is the room of the cache in tokens; 0: 4096, or the model's context if that is less. Throws Error::data
  // if the module is no language model, Error::argument for more than the model's context, and vx::Error if the runtime
  // refuses the device or the memory does not suffice.
  Generator(const Module &module, InstanceOptions options, size_t context = 0);
  ~Generator();
  Generator(const Generator &) = delete;
  Generator &operator=(const Generator &) = delete;

  // Whether a module claims to be a language model; the constructor finds out whether it is.
  static bool isLanguageModel(const Module &module);
  // Of a module that need not be on a device. Throws Error::data.
  static ModelInfo infoOf(const Module &module);

  const ModelInfo &info() const { return model; }
  size_t context() const { return room; }
  const text::Tokenizer &tokenizer() const { return *words; }
  const Instance &instance() const { return *placed; }

  // Computes the prompt, then one token after another. Throws Error::argument for an empty prompt, for one that leaves
  // no room for an answer, with both numbers, and for one that is no UTF-8; text::Error for options that do not fit.
  Answer generate(std::string_view prompt, const GenerateOptions &options);
  // The same for the tokens of a prompt. What the prompt has in common with the beginning of the last one and its
  // answer is not computed again.
  Answer generate(std::span<const int32_t> prompt, const GenerateOptions &options);
  // The same, a piece at a time; `onText` is not called.
  Generation start(std::span<const int32_t> prompt, const GenerateOptions &options);
  // The tokens of a prompt. Throws as `generate`.
  std::vector<int32_t> encode(std::string_view prompt) const;
  // Forgets the tokens of the cache. An answer in progress ends.
  void clear();
  // The logits of the token after `tokens`, which follow those of the cache and stay in it. An answer in progress ends.
  // Throws Error::argument for no tokens, for more than the room that is left, and for a number that is no token.
  std::vector<float> append(std::span<const int32_t> tokens);
  // The natural logarithm of the probability of each token from number `first` on, given all tokens before it. The
  // cache does not change. The logits of all tokens are in memory at one time, 4 bytes for each word of the vocabulary
  // and token. Throws Error::argument for a `first` that is not from 1 to the number of tokens, for more tokens than
  // the context, and for a number that is no token.
  std::vector<double> score(std::span<const int32_t> tokens, size_t first);

private:
  friend class Generation;
  std::vector<float> run(Call &call, std::span<const int32_t> tokens);
  // `append` of tokens that fit, a part of a long prompt at a time; empty if it ends early since `isCancelled` says so.
  std::vector<float> compute(std::span<const int32_t> tokens, const std::function<bool()> &isCancelled = {});
  void checkTokens(const char *function, std::span<const int32_t> tokens) const;

  const Module module;
  ModelInfo model;
  size_t room = 0;
  std::optional<text::Tokenizer> words;
  std::optional<Instance> placed;
  std::optional<Call> extend, decode;
  std::optional<Call> prefill; // made when it is used first
  std::vector<int32_t> cached; // the tokens whose keys and values the cache has
  uint64_t answers = 0;        // that were started
};

} // namespace vx::llm

#endif
